"""Make pairs of texts that belong together out of code, commits, documents and translations.

Each function yields (left, right): what a person would say, and what it speaks of.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.train_embedder.sources import git

Pair = tuple[str, str]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_FIELD = re.compile(
    r"^\s*(:\w+|Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|-{3,}|\.\. )"
)
_KEYWORDS = frozenset(
    "the and for def self cls return import from class none true false not pass raise with try "
    "except finally else elif while yield lambda assert async await global func type struct "
    "interface public private protected static final void const let var function export default "
    "this new end then fn pub impl use mod mut string int bool float int64 str dict list args "
    "kwargs null undefined override package namespace using".split()
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_MARKUP = re.compile(
    r"`{1,3}|\*\*|:\w{1,20}:`|<[^>]{1,200}>|\[([^\]]*)\]\([^)]*\)|https?://\S+|::|[|]"
)
_HEADING = re.compile(r"^(#{1,5})\s+(.+?)\s*#*$")
_UNDERLINE = re.compile(r"^([=\-~^\"'+*#])\1{3,}$")
_COMMENTED = re.compile(r"\s*(//|#(?!\[|!|include|if|end|define|region)|/?\*)")
_ATTRIBUTE = re.compile(r"\s*(@\w|#\[|\[\w)")
_DECLARED = re.compile(
    r"\s*(?:(?:pub(?:\([a-z]+\))?|export|default|public|protected|private|static|final|async|"
    r"abstract|override|unsafe|const|virtual|internal|sealed|readonly|open|suspend)\s+)*"
    r"(?:(?:func|fn|function|class|interface|struct|enum|trait|type|def|module|fun)\s|"
    r"[\w<>,\[\]?]{2,40} [a-z]\w{2,40}\()"
)
_MAX_LINE = 300
_TICKET = re.compile(r"\s*\(?#\d+\)?|^\[[^\]]*\]\s*|^\w+(\([^)]*\))?!?:\s*")
_TAGS = re.compile(r"^\s*(?:///?|//!|\*|/\*\*|#)?\s?", re.MULTILINE)
_XML = re.compile(r"</?\w+[^>]*>")


def identifiers(code: str, limit: int = 48) -> str:
    """The distinct names in a piece of code, in order."""
    found: dict[str, None] = {}
    for name in _NAME.findall(_STRING.sub(" ", code)):
        if name.lower() not in _KEYWORDS:
            found[name] = None
            if len(found) >= limit:
                break
    return " ".join(found)


def plain(text: str) -> str:
    """Prose without markup, on one line."""
    return " ".join(_MARKUP.sub(r" \1 ", text).split())


def summary_of(doc: str) -> str:
    """The first sentence of a documentation text."""
    first: list[str] = []
    for line in doc.strip().split("\n"):
        if not line.strip() or _FIELD.match(line):
            break
        first.append(line.strip())
    joined = plain(" ".join(first))
    return _SENTENCE_END.split(joined)[0][:240]


def python_pairs(source: str, refused: Refused) -> Iterator[tuple[str, Pair]]:
    """Functions and classes with a docstring."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = source.split("\n")
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        doc = ast.get_docstring(node)
        if not doc:
            continue
        summary = summary_of(doc)
        if not _worthwhile(summary) or refused.matches(node.name, summary):
            continue
        begin = node.lineno - 1
        after_doc = node.body[0].end_lineno or node.lineno
        head = "\n".join(lines[begin : node.body[0].lineno - 1])
        body = "\n".join(lines[after_doc : min(node.end_lineno or after_doc, after_doc + 25)])
        code = identifiers(head + "\n" + body)
        if len(code.split()) >= 3:
            yield "code", (summary, code)
            # The name is what a question most often meets; the docstring often stays with it.
            yield "name", (summary, identifiers(head, 12))
            # As it is written, so that keywords and the like come to count little.
            further = doc[doc.find("\n") :][:300] if "\n" in doc else ""
            yield "function", (summary, f"{head}\n{further}\n{body}"[:900])
        rest = plain(doc[doc.find("\n\n") :])[:500] if "\n\n" in doc else ""
        if len(rest) > 60:
            yield "doc", (summary, rest)


def comment_pairs(source: str) -> Iterator[tuple[str, Pair]]:
    """Declarations under a comment, in languages other than Python."""
    lines = [line[:_MAX_LINE] for line in source.split("\n")]
    comment: list[str] = []
    for number, line in enumerate(lines):
        if _COMMENTED.match(line):
            comment.append(line)
            continue
        if comment and _ATTRIBUTE.match(line):
            continue
        if comment and _DECLARED.match(line):
            doc = _XML.sub(" ", _TAGS.sub("", "\n".join(comment[:14]).replace("*/", "")))
            summary = summary_of(re.split(r"\n\s*@", doc)[0])
            below = [one for one in lines[number : number + 16] if not _COMMENTED.match(one)]
            code = identifiers("\n".join(below), 40)
            if _worthwhile(summary) and len(code.split()) >= 2:
                yield "comment", (summary, code)
        comment = []


def document_pairs(source: str) -> Iterator[tuple[str, Pair]]:
    """Headings with the paragraph below, and neighbouring sentences."""
    title, heading, previous = "", "", ""
    in_code = False
    paragraph: list[str] = []

    def flush() -> Iterator[tuple[str, Pair]]:
        text = plain(" ".join(paragraph))
        paragraph.clear()
        if (
            len(text) < 50
            or text.count(" ") < 8
            or sum(c.isalpha() for c in text) < 0.6 * len(text)
        ):
            return
        if heading:
            yield "heading", (heading, text[:500])
        sentences = [s for s in _SENTENCE_END.split(text) if 30 <= len(s) <= 300]
        if len(sentences) >= 2:
            yield "sentence", (sentences[0], sentences[1])

    for line in source.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
            continue
        if in_code or line.startswith(("    ", "\t", "..", "import ", "|")):
            continue
        found = _HEADING.match(line)
        underlined = bool(_UNDERLINE.match(line.strip())) and 2 < len(previous.strip()) < 90
        if found or underlined:
            if underlined and paragraph:
                paragraph.pop()
            yield from flush()
            name = plain(found.group(2) if found else previous)
            if not title:
                title = name
            heading = name if name == title or len(name) > 24 else f"{title}: {name}"
        elif not line.strip():
            yield from flush()
        else:
            paragraph.append(line.strip())
        previous = line
    yield from flush()


def commit_pairs(folder: Path, commits: int) -> Iterator[tuple[str, Pair]]:
    """Commit subjects with their bodies, changed paths and changed names."""
    mark = "\x01"
    text = git(
        folder, "log", "--no-merges", f"-n{commits}", f"--format={mark}%s\x02%b\x02", "-p", "-U0",
        "--no-renames", "--no-color", "--", ".", ":!*.lock", ":!*.json", ":!*.svg", ":!*.snap",
        ":!*.po",
    )  # fmt: skip
    for entry in text.split(mark)[1:]:
        subject, body, diff = [*entry.split("\x02", 2), "", ""][:3]
        subject = _TICKET.sub("", subject).strip()
        if not _worthwhile(subject) or re.match(
            r"(bump|merge|release|update dep|revert)", subject, re.I
        ):
            continue
        body = plain(
            re.sub(
                r"^(Signed-off|Co-authored|PiperOrigin|Reviewed|Fixes|Closes|Refs|\* ).*$",
                "",
                body,
                flags=re.M | re.I,
            )
        )
        if len(body) > 60:
            yield "message", (subject, body[:400])
        paths = re.findall(r"^\+\+\+ b/(.+)$", diff, re.M)[:6]
        added = "\n".join(re.findall(r"^[+](?!\+\+)(.+)$", diff[:20_000], re.M))
        names = identifiers(added, 40)
        if paths and len(names.split()) >= 3:
            yield "commit", (subject, " ".join(paths) + " " + names)


_LANGUAGES = frozenset("de fr es it pt_BR nl pl ru uk cs sv tr ja ko zh_Hans zh_CN".split())


def po_pairs(path: str, source: str) -> Iterator[tuple[str, Pair]]:
    """English messages and their translations, of a gettext file."""
    if not any(part in _LANGUAGES for part in re.split(r"[/.]", path)):
        return
    entry = re.compile(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"\n?)+)', re.M)
    for left, right in entry.findall(source):
        yield from _translated(_unquoted(left), _unquoted(right))


def json_translations(english: str, other: str) -> Iterator[tuple[str, Pair]]:
    """Values of equal keys in two JSON files of messages."""
    try:
        left, right = _flat(json.loads(english)), _flat(json.loads(other))
    except (ValueError, RecursionError):
        return
    for key in left.keys() & right.keys():
        yield from _translated(left[key], right[key])


def _translated(left: str, right: str) -> Iterator[tuple[str, Pair]]:
    left = plain(re.sub(r"%\(\w+\)[sd]|%[sd]|\{[^}]*\}|[&_](?=\w)", " ", left))
    right = plain(re.sub(r"%\(\w+\)[sd]|%[sd]|\{[^}]*\}|[&_](?=\w)", " ", right))
    if 4 <= len(left) <= 240 and right and left.lower() != right.lower():
        yield "translation", (left, right[:240])


def _unquoted(lines: str) -> str:
    return (
        "".join(line.strip()[1:-1] for line in lines.strip().split("\n"))
        .replace("\\n", " ")
        .replace('\\"', '"')
    )


def _flat(value: object, prefix: str = "") -> dict[str, str]:
    if isinstance(value, str):
        return {prefix: value}
    if isinstance(value, dict):
        return {
            k: v for name, item in value.items() for k, v in _flat(item, f"{prefix}/{name}").items()
        }
    return {}


def _worthwhile(text: str) -> bool:
    words = text.split()
    return (
        len(words) >= 3
        and 12 <= len(text) <= 240
        and sum(c.isalpha() or c == " " for c in text) > 0.75 * len(text)
    )


class Refused:
    """Functions that must stay out, because they are in a set that is measured on."""

    def __init__(self, codes: list[str]) -> None:
        self._names_with_summary: set[tuple[str, str]] = set()
        self._summaries: set[str] = set()
        for code in codes:
            name = re.search(r"def\s+(\w+)", code)
            doc = re.search(r'"""(.*?)"""|\'\'\'(.*?)\'\'\'', code, re.S)
            summary = summary_of(doc.group(1) or doc.group(2) or "") if doc else ""
            self._names_with_summary.add((name.group(1) if name else "", _key(summary)[:40]))
            if len(summary.split()) >= 4:
                self._summaries.add(_key(summary))

    def matches(self, name: str, summary: str) -> bool:
        """Whether a function is one of the refused ones."""
        key = _key(summary)
        return key in self._summaries or (name, key[:40]) in self._names_with_summary


def _key(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.lower())
