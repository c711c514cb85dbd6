"""Sections of Markdown, reStructuredText and AsciiDoc documents, and what each says in short.

`digest` keeps the first prose, the first code block whole and the names that a section mentions:
enough to be found and to be right, the rest stays in the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept.memory.exchange.markdown_document import (
    Section,
    read_front_matter,
    slugify,
    split_sections,
)
from wellkept.text.secrets.redaction import redact

LEAD_CHARS = 420
LIST_CHARS = 1_200
"""Each item of a list is a rule or a step of its own."""
MAX_CODE_CHARS = 420
MAX_NAMES = 12
_MIN_ITEMS = 4
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_ADOC_HEADING = re.compile(r"(?P<marks>={1,6}) (?P<title>\S.*)$")
_FENCE = re.compile(r"\s*(?P<mark>`{3,}|~{3,}|-{4,}$|\.{4,}$)")
_RST_CODE = re.compile(r"\s*\.\. (?:code-block|code|sourcecode|prompt)::")
_DIRECTIVE = re.compile(r"\s*\.\. |\s*:[\w-]+:|\s*\[[\w,= \"%-]*\]\s*$|\s*//|\s*\|[\s|:-]+\|?\s*$")
_BADGE = re.compile(r"\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?|<img[^>]*>|<a [^>]*>\s*</a>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|!?\[([^\]]+)\]\[[^\]]*\]")
_RST_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]*>`__?|:[\w:+-]+:`~?([^`<]+?)(?:\s*<[^`>]*>)?`")
_HTML = re.compile(r"</?[a-zA-Z][^>\n]*>")
_NAME = re.compile(r"(?<!`)`{1,2}([^`\n]{2,60})`{1,2}(?!`)")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)]|[a-z][.)])\s+")


@record
class SectionDigest:
    """What a section says: its titles, a lead, a code block as it stands, and names."""

    titles: tuple[str, ...]
    slug: str
    lead: str
    code: str = ""
    names: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not self.lead and not self.code


def document_sections(path: str, text: str) -> list[Section]:
    """The sections of a document in order, by its kind."""
    _, body = read_front_matter(text)
    body = _COMMENT.sub("", re.sub(r"\]\(\s*\n\s*", "](", body))
    if path.endswith((".rst", ".txt")):
        body = _rst_as_markdown(body)
    elif path.endswith((".adoc", ".asciidoc")):
        body = "\n".join(_adoc_lines(body))
    # As a whole: parts of a secret, such as the later rows of a table, look like nothing.
    return split_sections(redact(body).text)


def document_title(path: str, text: str, sections: Sequence[Section]) -> str:
    """The title of a document: front matter, first heading, or its name."""
    fields, _ = read_front_matter(text)
    title = fields.get("title")
    if isinstance(title, str) and title.strip():
        return title.strip()
    titled = next((one.titles[0] for one in sections if one.titles), "")
    return _plain(titled) or path.rsplit("/", 1)[-1]


def digest(section: Section) -> SectionDigest:
    """The short form of a section."""
    prose, code = _parts(section.body)
    lead = _lead(prose)
    whole = "\n".join(prose)
    names = [" ".join(one.split()) for one in _NAME.findall(whole)]
    fresh = [one for one in dict.fromkeys(names) if one not in lead and "<" not in one]
    return SectionDigest(
        titles=tuple(_plain(title) for title in section.titles),
        slug=section.slug or slugify(section.titles[-1] if section.titles else ""),
        lead=lead,
        code=code,
        names=tuple(fresh[:MAX_NAMES]),
    )


# -- Prose and code -------------------------------------------------------------------------------


def _parts(body: str) -> tuple[list[str], str]:
    """The lines of prose, and the first code block that is short enough to be kept whole."""
    prose: list[str] = []
    blocks: list[list[str]] = []
    fence = ""
    is_code = False
    for line in body.split("\n"):
        opening = _FENCE.match(line)
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            elif blocks:
                blocks[-1].append(line)
            continue
        if opening:
            fence = opening["mark"].strip()
            blocks.append([])
            continue
        is_indented = line.startswith(("    ", "\t"))
        if is_indented and (is_code or (prose and not prose[-1].strip()) or not prose):
            if _ITEM.match(line) and not is_code:
                prose.append(line.strip())
                continue
            if not is_code:
                blocks.append([])
            is_code = True
            blocks[-1].append(line)
            continue
        if line.strip() or not is_code:
            is_code = False
            prose.append(line)
        elif blocks:
            blocks[-1].append(line)
    return prose, _first_code(blocks)


def _first_code(blocks: Sequence[Sequence[str]]) -> str:
    """The first blocks that fit, each whole."""
    kept: list[str] = []
    for block in blocks:
        lines = [line.rstrip() for line in block]
        indent = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
        text = "\n".join(line[indent:] for line in lines).strip("\n")
        if not text or text.lstrip().startswith((":", "..")):
            continue
        if sum(map(len, kept)) + len(text) > MAX_CODE_CHARS:
            break
        kept.append(text)
    return "\n\n".join(kept)


def _lead(lines: Sequence[str]) -> str:
    """The first sentences, list items included, on one line."""
    items = sum(bool(_ITEM.match(line)) for line in lines)
    limit = LIST_CHARS if items >= _MIN_ITEMS else LEAD_CHARS
    told: list[str] = []
    size = 0
    for line in lines:
        bare = line.strip()
        if not bare or _DIRECTIVE.match(line) or set(bare) <= set("=-~^*|+:_ "):
            continue
        text = _plain(_ITEM.sub("", line, count=1) if _ITEM.match(line) else bare)
        if len(text) < 2:
            continue
        is_item = bool(_ITEM.match(line))
        told.append(("; " if is_item and told else " ") + text)
        size += len(text)
        if size > limit:
            break
    text = " ".join("".join(told).split()).replace(":;", ":").replace(".;", ".")
    return _cut(text, limit=limit)


def _cut(text: str, *, limit: int) -> str:
    """Text up to the end of a sentence within the limit."""
    if len(text) <= limit:
        return text
    ends = [found.end() for found in re.finditer(r"[.!?](?=\s)", text[:limit])]
    if ends and ends[-1] > limit // 2:
        return text[: ends[-1]]
    return shorten(text, limit=limit)


def _plain(text: str) -> str:
    """Text without links, badges and tags; inline code keeps its marks."""
    text = _BADGE.sub("", text)
    text = _LINK.sub(lambda found: found[1] or found[2] or "", text)
    text = _RST_LINK.sub(lambda found: found[1] or found[2] or "", text)
    text = _HTML.sub("", text).replace("**", "").replace("``", "`").replace("::", ":")
    return " ".join(text.split())


# -- Other markups --------------------------------------------------------------------------------


def _rst_as_markdown(text: str) -> str:
    """Headings as Markdown, levels in the order in which underlines appear; code as fences."""
    levels: list[str] = []
    out: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        below = lines[at + 1] if at + 1 < len(lines) else ""
        mark = _UNDERLINE.match(below)
        is_title = bool(line.strip()) and not line[0].isspace() and not _UNDERLINE.match(line)
        if mark and is_title and len(below.rstrip()) >= min(4, len(line.rstrip())):
            if mark[1] not in levels:
                levels.append(mark[1])
            out += ["", f"{'#' * min(6, levels.index(mark[1]) + 1)} {line.strip()}"]
            at += 2
            continue
        if _UNDERLINE.match(line) and at + 2 < len(lines) and _UNDERLINE.match(lines[at + 2]):
            at += 1  # the line above a title that has lines above and below
            continue
        if _RST_CODE.match(line):
            at += 1
            continue
        # A comment or a label is no heading, though it begins like one of Markdown.
        out.append(f"\\{line}" if line.startswith("#") else line)
        at += 1
    return "\n".join(out)


def _adoc_lines(text: str) -> Iterator[str]:
    is_block = False
    for line in text.split("\n"):
        if re.fullmatch(r"-{4,}|\.{4,}", line.strip()):
            is_block = not is_block
            yield "```"
        elif not is_block and (found := _ADOC_HEADING.match(line)):
            yield f"{'#' * len(found['marks'])} {found['title']}"
        else:
            yield line
