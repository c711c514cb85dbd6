"""Documents of a project as statements that point to them.

Pages for those who work on the project (read-me, contributing, architecture, releasing, testing …)
give one statement for each section: what it says in short, and its path and heading. Other pages
give one statement each, with their headings. Decision records give one decision each. What a client
loads itself (AGENTS.md, CLAUDE.md …) is pointed to like any other page, and is never told unasked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath

from wellkept.core.text import shorten
from wellkept.core.types import MemoryType
from wellkept.memory.exchange.markdown_document import Section, slugify
from wellkept.project.repository.project_files import ProjectFiles, Statement
from wellkept.project.repository.sections import (
    LEAD_CHARS,
    SectionDigest,
    digest,
    document_sections,
    document_title,
)

MAX_SECTIONS = 130
MAX_PAGES = 90
MAX_DECISIONS = 60
MAX_WARNINGS = 40
_WARNINGS_A_PAGE = 8
_MIN_WARNING_CHARS = 40
_MAX_PER_PAGE = 30
_MAX_HEADINGS = 40
_MAX_HEADINGS_CHARS = 700
_PAGE_LEAD_CHARS = 260
_SUFFIX = r"\.(?:md|mdx|markdown|rst|adoc|asciidoc|txt)"
_DOC_NAMES = re.compile(rf".*{_SUFFIX}", re.IGNORECASE)
_FOLDERS = re.compile(
    r"^(?:docs?|documentation|adrs?|decisions|rfcs?|design|guides?|manual|website/docs|site/content"
    r"|site|book|wiki|content|www)/",
    re.IGNORECASE,
)
_FOR_WORKERS = re.compile(
    r"readme|contribut\w*|develop\w*|hacking|architecture|design\w*|internals?|testing|tests?"
    r"|releas\w*|maintain\w*|maintenance|building|build|setup|conventions?|style\w*|coding\w*"
    r"|governance|security|faq|troubleshooting|glossary|guidelines|roadmap|agents|claude|gemini"
    r"|\w*(?:designdocument|releaseprocess)|workflow\w*|onboarding",
    re.IGNORECASE,
)
_INSTRUCTIONS = re.compile(
    r"(?:contribut|style|coding|convention|guideline|agents|claude|gemini)\w*", re.I
)
_LOGS = re.compile(r"(?:change[-_ ]?log|changes|history|news|release[-_]?notes|releases)", re.I)
_NOT_PROSE = re.compile(
    r"licen[cs]e\w*|copying|notice|authors|contributors|code[-_]of[-_]conduct|pull_request_template"
    r"|issue_template|requirements\w*|robots|cmakelists|template|bug_report|feature_request"
    r"|\w*-?words?|dependencies|manifest",
    re.IGNORECASE,
)
_FOREIGN = re.compile(
    r"(?:^|/)(?:\.[\w-]+|node_modules|vendor|vendored|third[_-]party|dist|build|target|out|testdata"
    r"|fixtures?|snapshots?|locales?|i18n|translations|_posts|archive[sd]?|old|skills)/",
    re.IGNORECASE,
)
_TRANSLATED = re.compile(
    r"[._-](?:zh|ja|ko|de|fr|es|pt|ru|it|tr|pl|nl|uk|vi|hu|id|ar|fa)(?:[-_]\w+)?$|[^\x00-\x7f]",
    re.I,
)
_DECISION_FOLDERS = re.compile(r"(?:^|/)(?:adrs?|decisions?|rfcs?)/", re.IGNORECASE)
_NOT_DECISIONS = frozenset({"readme", "index", "template", "0000-template", "adr-template"})
_TELLING = re.compile(
    r"contribut|develop|hacking|architectur|design|internals|test|releas|build|convention|style|why"
    r"|faq|secur|compatib|version|licen[cs]e|motivation|philosoph|limitation|performance"
    r"|how it works"
    r"|further|editor|getting help|support|depend",
    re.IGNORECASE,
)
_GOTCHA = re.compile(
    r"\b(?:gotchas?|pitfalls?|caveats?|troubleshooting|known (?:issues|problems|limitations))\b",
    re.I,
)
_RULES = re.compile(
    r"\b(?:must|never|always|do not|don't|should|avoid|prefer|please|required|make sure|ensure)\b",
    re.I,
)
_WARNING = re.compile(
    r"(?P<open>[>\s]*(?:!!!\+?|:::|\.\.|\[!|\*\*|#{3,6}[^{\n]*\{:\s*\.)\s*)?"
    r"(?P<word>warning|caution|danger|attention|pitfall|gotcha)\b(?P<close>[\]}:*]*)\s*(?P<rest>.*)",
    re.IGNORECASE,
)
"""A box that warns, as Markdown, reStructuredText, AsciiDoc and their sites write it."""
_STATUS = re.compile(r"(?im)^\W*status\W*\s*:?\W*\s*(\w+)")


def is_document(name: str) -> bool:
    """Whether a file is a hand-written page of the project, by its path."""
    path = PurePosixPath(name)
    if not _DOC_NAMES.fullmatch(name) or _NOT_PROSE.fullmatch(path.stem):
        return False
    if _TRANSLATED.search(path.stem) or (_FOREIGN.search(name) and not name.startswith(".github/")):
        return False
    is_page = path.suffix.lower() != ".txt" or bool(_FOR_WORKERS.fullmatch(path.stem))
    at_top = "/" not in name or name.startswith(".github/")
    if name.startswith(".github/"):
        return bool(_INSTRUCTIONS.fullmatch(path.stem))
    return is_page and (
        at_top or bool(_FOLDERS.match(name)) or bool(_FOR_WORKERS.fullmatch(path.stem))
    )


def document_statements(
    files: ProjectFiles, *, generated: frozenset[str] = frozenset()
) -> Iterator[Statement]:
    """What the documents say, bounded: pages for those who work on the project first."""
    names = [name for name in files.names if is_document(name) and name not in generated]
    decisions = [name for name in names if _is_decision(name)]
    logs = [name for name in names if _LOGS.fullmatch(PurePosixPath(name).stem)]
    pages = [name for name in names if name not in set(decisions) and name not in set(logs)]
    for name in decisions[:MAX_DECISIONS]:
        yield from _decision(files, name)
    for name in [one for one in logs if one.count("/") <= 1][:2]:
        yield from _change_log(files, name)
    budget = MAX_SECTIONS
    others: list[str] = []
    for name in sorted(pages, key=_order):
        stem = PurePosixPath(name).stem
        sections = document_sections(name, files.text(name))
        if budget > 0 and _FOR_WORKERS.fullmatch(stem) and name.count("/") <= 3:
            every = list(_sections(name, sections))
            told = _most_telling(every, limit=min(budget, _MAX_PER_PAGE))
            budget -= len(told)
            yield from told
            if len(told) < len(every):
                others.insert(0, name)
        else:
            others.append(name)
    for name in others[:MAX_PAGES]:
        yield from _page(files, name)
    warnings = (one for name in sorted(pages, key=_order) for one in _warnings(files, name))
    yield from islice(warnings, MAX_WARNINGS)


def _order(name: str) -> tuple[int, int, str]:
    """Pages for those who work on the project first, then few folders first."""
    stem = PurePosixPath(name).stem.lower()
    first = 0 if _FOR_WORKERS.fullmatch(stem) else 1
    if name.count("/") and stem == "readme":
        first = 1
    return first, name.count("/"), name


def _is_decision(name: str) -> bool:
    return (
        bool(_DECISION_FOLDERS.search(name))
        and PurePosixPath(name).stem.lower() not in _NOT_DECISIONS
    )


# -- Sections and pages ---------------------------------------------------------------------------


def _sections(name: str, sections: Sequence[Section]) -> Iterator[Statement]:
    for section in sections:
        short = digest(section)
        if short.is_empty:
            continue
        titles = short.titles or ("introduction",)
        # The title of the document is named by its path already.
        shown = " › ".join(titles[1:] or titles)
        yield Statement(
            key=f"doc:{name}#{short.slug}",
            text=f"{name} › {shown}: {_said(short)}",
            read_from=f"{name}#{short.slug}",
            type=_type(name, titles, short),
            importance=_importance(name),
            tags=("document",),
            files=(name,),
        )


def _most_telling(every: list[Statement], *, limit: int) -> list[Statement]:
    """The sections for those who work on the project, then the first ones; in their order."""
    if len(every) <= limit:
        return every
    first = [
        one for one in every if _TELLING.search(one.text.partition(": ")[0].rpartition("› ")[2])
    ]
    chosen = {one.key for one in [*first, *every][:limit]}
    return [one for one in every if one.key in chosen]


def _said(short: SectionDigest) -> str:
    text = short.lead
    if short.code:
        text += f"\n```\n{short.code}\n```"
    if short.names:
        joint = "\n" if short.code else " "
        text += f"{joint}Mentions {', '.join(f'`{one}`' for one in short.names)}."
    return text


def _type(name: str, titles: Sequence[str], short: SectionDigest) -> MemoryType:
    stem = PurePosixPath(name).stem
    if _GOTCHA.search(titles[-1]):
        return MemoryType.GOTCHA
    if _INSTRUCTIONS.fullmatch(stem) and _RULES.search(short.lead):
        return MemoryType.CONVENTION
    return MemoryType.FACT


def _importance(name: str) -> float:
    stem = PurePosixPath(name).stem.lower()
    if "/" in name and stem == "readme":
        return 0.4
    return 0.55 if _INSTRUCTIONS.fullmatch(stem) else 0.5


def _page(files: ProjectFiles, name: str) -> Iterator[Statement]:
    text = files.text(name)
    sections = document_sections(name, text)
    title = document_title(name, text, sections)
    leads = (digest(section).lead for section in sections[:6])
    lead = shorten(next((one for one in leads if len(one) > 20), ""), limit=_PAGE_LEAD_CHARS)
    headings = [digest(one).titles[-1] for one in sections if len(one.titles) > 1]
    told = ", ".join(
        dict.fromkeys(shorten(one, limit=60) for one in headings[:_MAX_HEADINGS] if one)
    )
    told = shorten(told, limit=_MAX_HEADINGS_CHARS)
    if not lead and not told:
        return
    said = f"{name} documents {title}"
    said += f": {lead}" if lead else "."
    said += f" Sections: {told}." if told else ""
    yield Statement(
        key=f"page:{name}",
        text=said,
        read_from=name,
        importance=0.4,
        tags=("document",),
        files=(name,),
    )


def _warnings(files: ProjectFiles, name: str) -> Iterator[Statement]:
    """What a page warns of: each box as a trap, below its heading."""
    seen = dict[str, None]()
    for section in document_sections(name, files.text(name)):
        lines = section.body.split("\n")
        for at, line in enumerate(lines):
            mark = _WARNING.match(line)
            if mark is None or not (mark["open"] or mark["close"].startswith(":")):
                continue
            text = _boxed(mark, lines[at + 1 :])
            if len(text) < _MIN_WARNING_CHARS or text in seen or len(seen) >= _WARNINGS_A_PAGE:
                continue
            seen[text] = None
            where = " › ".join((name, *section.titles[-1:]))
            yield Statement(
                key=f"warning:{name}#{slugify(text)[:60]}",
                text=f"Known trap, what goes wrong easily ({where}): {text}",
                read_from=f"{name}#{section.slug}",
                type=MemoryType.GOTCHA,
                importance=0.45,
                tags=("document", "trap"),
                files=(name,),
            )


def _boxed(mark: re.Match[str], after: Sequence[str]) -> str:
    """The text of a box: what stands on its first line and in the paragraph below."""
    is_quoted = mark[0].lstrip().startswith(">")
    rest = mark["rest"].strip(" \"'")
    # `!!! warning "Title"` and `::: warning Title` begin below.
    told = [] if (mark["open"] or "").strip() in ("!!!", "!!!+", ":::") else [rest]
    for line in after:
        bare = line.strip().lstrip(">").strip()
        if bare.startswith((":::", "```")) or (not bare and any(told)):
            break
        if is_quoted and not line.lstrip().startswith(">"):
            break
        told.append(bare)
    text = digest(Section(titles=(), slug="", body="\n".join(filter(None, told)))).lead
    return shorten(text, limit=LEAD_CHARS)


def _change_log(files: ProjectFiles, name: str) -> Iterator[Statement]:
    sections = document_sections(name, files.text(name))
    titles = [one.titles[-1] for one in sections if one.titles]
    newest = next((one for one in titles if re.search(r"\d+\.\d+", one)), "")
    said = f"Changes of each version are recorded in the change log {name}"
    said += f"; its newest entry is “{shorten(newest, limit=60)}”." if newest else "."
    yield Statement(
        key=f"changelog:{name}",
        text=said,
        read_from=name,
        importance=0.4,
        tags=("document", "changelog"),
        files=(name,),
    )


# -- Decision records -----------------------------------------------------------------------------


def _decision(files: ProjectFiles, name: str) -> Iterator[Statement]:
    text = files.text(name)
    sections = document_sections(name, text)
    title = document_title(name, text, sections)
    title = re.sub(r"^(?:adr|rfc)?[-\s#]*\d+\s*[.:-]\s*", "", title, flags=re.IGNORECASE)
    parts = {one.titles[-1].lower(): digest(one) for one in sections if one.titles}
    decided = _named(parts, "decision", "outcome", "proposal", "solution", "summary")
    because = _named(parts, "context", "rationale", "motivation", "problem", "why", "background")
    if not decided:
        decided = next((d.lead for d in parts.values() if d.lead and d.lead != because), "")
    if not decided and not because:
        return
    status = _STATUS.search(text)
    told = f" ({status[1].lower()})" if status else ""
    said = f"Decision{told}: {title}. {decided}"
    if because:
        said += f" Reason: {because}"
    yield Statement(
        key=f"decision:{name}",
        text=f"{said.rstrip()} See {name}.",
        read_from=name,
        type=MemoryType.DECISION,
        importance=0.6,
        tags=("decision",),
        files=(name,),
    )


def _named(parts: dict[str, SectionDigest], *names: str) -> str:
    found = (part.lead for name in names for title, part in parts.items() if name in title)
    return next((lead for lead in found if lead), "")
