"""Project pages: what a newcomer reads first. Each line is a record, with its source.

Layout, commands, rules, decisions in force, traps and people are rendered from the memories that
`init`, people and sessions made; no text is kept here. An edit of a line, in the page or in its
Markdown file, is a correction of the record behind it: the old words are closed, not lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.ids import short_id
from wellkept.core.memory import Memory, MemoryPatch
from wellkept.core.query import Filter, Order
from wellkept.core.records import record
from wellkept.core.types import SHOWN_TYPES, EvidenceKind, MemoryType, RelationType, Source
from wellkept.memory.edit import revise
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.confirmation import may_be_injected
from wellkept.project.commands.command import PREFIX
from wellkept.project.commands.declared import declared, with_command
from wellkept.project.repository.module_facts import (
    LAYOUT_KEY,
    MODULE_LABEL,
    folder_order,
    layout_folders,
    layout_text,
    module_line,
)
from wellkept.text.events.commit_messages import commit_points

MAX_LINES = 200
MAX_COMMITS_READ = 400
_FOUND_BY_RULE = (Source.OBSERVER_INFERRED, Source.QA_AUTO, Source.MCP_AUTO)
_REASON = re.compile(
    r"\b(?:because|so that|as a result|therefore|otherwise|to avoid|due to|the reason|this way"
    r"|which (?:means|causes|breaks|allows))\b",
    re.IGNORECASE,
)
_DECIDES = re.compile(
    r"\b(?:decid\w+|switch\w*|replac\w+|drop\w*|deprecat\w+|no longer|from now on|prefer\w*"
    r"|adopt\w*|requir\w+|must|never|always|instead|default)\b",
    re.IGNORECASE,
)


class PageName(StrEnum):
    """The pages, in the order in which they are read."""

    LAYOUT = "layout"
    COMMANDS = "commands"
    RULES = "rules"
    DECISIONS = "decisions"
    TRAPS = "traps"
    PEOPLE = "people"


TITLES: Mapping[PageName, str] = {
    PageName.LAYOUT: "Layout",
    PageName.COMMANDS: "Commands",
    PageName.RULES: "Rules",
    PageName.DECISIONS: "Decisions in force",
    PageName.TRAPS: "Traps",
    PageName.PEOPLE: "People",
}
FILLED_BY: Mapping[PageName, str] = {
    PageName.LAYOUT: "`wellkept init` reads the folders of the repository.",
    PageName.COMMANDS: "`wellkept init` reads task runners, pages and build files; sessions add how"
    " runs ended.",
    PageName.RULES: "What you teach, what you say in sessions, and the repository's own pages.",
    PageName.DECISIONS: "What is agreed in sessions, decision records, and commit messages that"
    " give a reason.",
    PageName.TRAPS: "What went wrong in sessions, and known issues that documents name.",
    PageName.PEOPLE: "`wellkept init` reads owners' files and the history.",
}


_RUN_PURPOSES = ("test", "check", "install", "migrate")


@record(kw_only=True)
class LineSource:
    """Where a line comes from: `kind` is person, agent, document, commit, git or session;
    `where` a path, a commit or a session."""

    kind: str
    name: str = ""
    where: str = ""
    at: datetime | None = None

    @property
    def text(self) -> str:
        """The source in a few words."""
        day = f"{self.at:%Y-%m-%d}" if self.at else ""
        parts = (self.kind if self.kind != "document" else "", self.name, self.where, day)
        return ", ".join(one for one in parts if one)


@record(kw_only=True)
class OlderLine:
    """Words that a line amends, and how long they were in force."""

    id: str
    text: str
    source: LineSource
    since: datetime
    until: datetime | None


@record(kw_only=True)
class PageLine:
    """One line: the words of a record, or of a part of it. `label` stands before the words: a
    folder, a purpose. `seen` says how it ended when it last ran. Without `text` the record has no
    words to show yet; without `id` no record stands behind it: it only ran."""

    id: str
    label: str = ""
    text: str
    source: LineSource
    files: tuple[str, ...] = ()
    updated_at: datetime
    since: datetime
    pinned: bool = False
    quoted: bool = False
    seen: str = ""
    seen_at: datetime | None = None
    older: tuple[OlderLine, ...] = ()


@record(kw_only=True)
class ProjectPage:
    """One page with its lines; `filled_by` says what fills it."""

    name: PageName
    title: str
    filled_by: str
    lines: tuple[PageLine, ...]


@record(kw_only=True)
class LastRun:
    """How the newest run of a command ended, and what it is for."""

    at: datetime
    ok: bool
    purpose: str = "other"
    session: str = ""


def project_pages(
    engine: Engine,
    project: str,
    *,
    names: Iterable[PageName] = tuple(PageName),
    runs: Mapping[str, LastRun] | None = None,
    as_of: datetime | None = None,
) -> tuple[ProjectPage, ...]:
    """The pages as they read now, or as they read at a moment. `runs` are the newest runs by
    command line."""
    read = {
        PageName.LAYOUT: _layout,
        PageName.COMMANDS: _commands,
        PageName.RULES: _rules,
        PageName.DECISIONS: _decisions,
        PageName.TRAPS: _traps,
        PageName.PEOPLE: _people,
    }
    found = _Found(engine, project, runs or {}, as_of)
    return tuple(
        ProjectPage(
            name=name, title=TITLES[name], filled_by=FILLED_BY[name], lines=tuple(read[name](found))
        )
        for name in names
    )


@record
class _Found:
    """Where the records of pages are looked up."""

    engine: Engine
    project: str
    runs: Mapping[str, LastRun]
    as_of: datetime | None

    def list(
        self,
        *types: MemoryType,
        tags: tuple[str, ...] = (),
        order: Order = Order.NEWEST,
        limit: int = MAX_LINES,
    ) -> Sequence[Memory]:
        """Records of these types with these tags that may be told."""
        where = Filter(
            project=self.project,
            types=types,
            tags=tags,
            stale=False if self.as_of is None else None,
            as_of=self.as_of,
        )
        return self.engine.store.list(where, order=order, limit=limit).items


# -- The pages ------------------------------------------------------------------------------------


def _layout(found: _Found) -> Iterator[PageLine]:
    about = {one.key: one for one in found.list(MemoryType.FACT, tags=("about",))}
    for name, label in (("purpose", ""), ("entry", "entry points")):
        if memory := about.get(f"{PREFIX}about:{name}"):
            yield _line(memory, label=label)
    modules = found.list(MemoryType.MODULE_INSIGHT, tags=("module",))
    named = [((one.modules or (".",))[0], one) for one in modules]
    for folder, memory in sorted(named, key=lambda one: folder_order(one[0])):
        yield _line(memory, label=f"{folder}/")


def _commands(found: _Found) -> Iterator[PageLine]:
    memories = found.list(MemoryType.FACT, tags=("command",))
    known = [one for memory in memories if (one := declared(memory))]
    for one in sorted(known, key=lambda one: (*TITLES, *type(one.purpose)).index(one.purpose)):
        run = found.runs.get(one.command) or (found.runs.get(one.runs) if one.runs else None)
        seen, seen_at = ("passed" if run.ok else "failed", run.at) if run else ("", None)
        if run is None and one.worked_at is not None:
            seen, seen_at = "passed", one.worked_at
        elif run is None and one.listed_by:
            seen = f"listed by `{one.listed_by}`"
        yield _line(one.memory, label=one.purpose.value, seen=seen, at=seen_at)
    said = {line for one in known for line in (one.command, one.runs) if line}
    for line, run in found.runs.items():
        if run.ok and run.purpose in _RUN_PURPOSES and line not in said:
            yield PageLine(
                id="",
                label=run.purpose,
                text=line,
                source=LineSource(kind="session", where=run.session, at=run.at),
                updated_at=run.at,
                since=run.at,
                seen="passed",
                seen_at=run.at,
            )


def _rules(found: _Found) -> Iterator[PageLine]:
    rules = found.list(*SHOWN_TYPES["rule"])
    ordered = sorted(rules, key=lambda one: not one.has_persons_word)
    return _told(found, (one for one in ordered if not _is_habit(one)))


def _traps(found: _Found) -> Iterator[PageLine]:
    return _told(found, found.list(*SHOWN_TYPES["trap"]))


def _decisions(found: _Found) -> Iterator[PageLine]:
    decided = found.list(MemoryType.DECISION)
    commits = found.list(MemoryType.EPISODE, tags=("commit",), limit=MAX_COMMITS_READ)
    reasoned = [one for one in commits if gives_reason(one.content)]
    newest = sorted((*decided, *reasoned), key=lambda one: one.valid_from, reverse=True)
    return _told(found, newest[:MAX_LINES])


def _people(found: _Found) -> Iterator[PageLine]:
    return _told(found, reversed(found.list(MemoryType.FACT, tags=("people",))))


def gives_reason(message: str) -> bool:
    """Whether a commit message lays something down and says why."""
    subject, _, body = message.partition("\n")
    points = " ".join(commit_points(body))
    is_fix = re.match(r"\W*(?:fix|bugfix|hotfix)\b", subject, re.IGNORECASE) is not None
    return not is_fix and bool(_DECIDES.search(subject)) and bool(_REASON.search(points))


def _is_habit(memory: Memory) -> bool:
    """What only counting files or steps found: nobody said it, and nobody can judge it."""
    return memory.source in _FOUND_BY_RULE and not memory.user_verified


def _told(found: _Found, memories: Iterable[Memory]) -> Iterator[PageLine]:
    for memory in memories:
        is_doubted = memory.needs_review or (
            memory.source in _FOUND_BY_RULE and not may_be_injected(memory)
        )
        if is_doubted and found.as_of is None:
            continue
        yield _line(memory, older=_older(found.engine, memory))


def _older(engine: Engine, memory: Memory) -> tuple[OlderLine, ...]:
    ids = [
        one.target_id
        for one in memory.relations
        if one.type is RelationType.SUPERSEDES and one.target_id
    ]
    return tuple(
        OlderLine(
            id=one.id,
            text=one.content.strip(),
            source=line_source(one),
            since=one.valid_from,
            until=one.valid_to,
        )
        for one in engine.store.get(ids)
    )


def _line(
    memory: Memory,
    *,
    label: str = "",
    seen: str = "",
    at: datetime | None = None,
    older: tuple[OlderLine, ...] = (),
) -> PageLine:
    return PageLine(
        id=memory.id,
        label=label,
        text=line_text(memory),
        source=line_source(memory),
        files=memory.files,
        updated_at=memory.updated_at,
        since=memory.valid_from,
        pinned=memory.pinned,
        quoted=memory.has_persons_word or memory.is_agent_note,
        seen=seen,
        seen_at=at,
        older=older,
    )


def line_source(memory: Memory) -> LineSource:
    """Who said it, when and where."""
    cited = {one.kind: one for one in memory.evidence}
    if memory.commit_sha and not memory.user_verified:
        name, at = memory.author or "", memory.valid_from
        return LineSource(kind="commit", name=name, where=memory.commit_sha[:8], at=at)
    if memory.source is Source.IMPORTED and not memory.user_verified:
        where = cited[EvidenceKind.DOCUMENT].ref if EvidenceKind.DOCUMENT in cited else ""
        return LineSource(kind="git" if where == "git log" else "document", where=where)
    kind = "person" if memory.has_persons_word else memory.provenance.value
    return LineSource(
        kind=kind, name=memory.author or "", where=memory.session_id or "", at=memory.valid_from
    )


# -- Editing --------------------------------------------------------------------------------------


def line_text(memory: Memory) -> str:
    """The words of a record's line in a page."""
    if (command := declared(memory)) is not None:
        return command.command
    if "module" in memory.tags and memory.modules:
        return module_line(memory.content, memory.modules[0])
    return memory.content.partition(": ")[2] if "about" in memory.tags else memory.content.strip()


def edited_content(memory: Memory, text: str) -> str:
    """What the record says when its line in a page reads like this."""
    text = text.strip()
    if not text:
        raise UsageError("The line is empty.", hint="Say what is right instead.")
    if (command := declared(memory)) is not None:
        return with_command(command, text.strip("`"))
    if "module" in memory.tags and memory.modules:
        rest = memory.content.partition("\n")[2]
        where = "the root folder" if memory.modules[0] == "." else f"{memory.modules[0]}/"
        return f"{MODULE_LABEL}{where}: {text}" + (f"\n{rest}" if rest else "")
    label, colon, _ = memory.content.partition(": ")
    return f"{label}: {text}" if "about" in memory.tags and colon else text


def edit_line(
    engine: Engine, memory: Memory, text: str, *, if_updated_at: datetime | None = None
) -> Memory:
    """Correct the record behind a line; the successor has a person's word."""
    patch = MemoryPatch(
        content=edited_content(memory, text), user_verified=True, needs_review=False
    )
    corrected = revise(engine, memory.id, patch, if_updated_at=if_updated_at)
    renew_layout(engine, memory.project)
    return corrected


def renew_layout(engine: Engine, project: str) -> None:
    """The record of the whole layout says what the records of its folders say."""
    whole = engine.store.find_key(PREFIX + LAYOUT_KEY, project=project, user_scope=False)
    if whole is None:
        return
    where = Filter(project=project, types=(MemoryType.MODULE_INSIGHT,), tags=("module",))
    modules = {
        one.modules[0]: module_line(one.content, one.modules[0])
        for one in engine.store.list(where, limit=MAX_LINES).items
        if one.modules
    }
    text = layout_text(
        [(folder, modules.get(folder, "")) for folder in layout_folders(whole.content)]
    )
    if text != whole.content:
        revise(engine, whole.id, MemoryPatch(content=text))


# -- Markdown -------------------------------------------------------------------------------------

_MARK = re.compile(r"^- (?P<text>.*?)\s*<!-- (?P<id>[0-9a-f-]{36}) -->", re.DOTALL)


def as_markdown(page: ProjectPage) -> str:
    """A page as a Markdown file. Each line ends with the id of its record, so that an edit of its
    words finds it."""
    lines = [f"# {page.title}", ""]
    if not page.lines:
        lines.append(f"Nothing yet. {page.filled_by}")
    for one in page.lines:
        label = f"**{one.label}** " if one.label else ""
        text = "\n  ".join((one.text or SAYS_NOTHING).splitlines())
        mark = f" <!-- {one.id} -->" if one.id else ""
        lines += [f"- {label}{text}{mark}", f"  ({one.source.text})"]
        lines += [f"  - until {old.until:%Y-%m-%d}: {old.text}" for old in one.older if old.until]
    return "\n".join(lines) + "\n"


def as_text(page: ProjectPage) -> str:
    """A page for a terminal: each line with its source and the short id to edit it by."""
    lines = [page.title, ""]
    if not page.lines:
        lines.append(f"Nothing yet. {page.filled_by}")
    for one in page.lines:
        label = f"{one.label}  " if one.label else ""
        seen = (
            f", {one.seen}{f' {one.seen_at:%Y-%m-%d}' if one.seen_at else ''}" if one.seen else ""
        )
        lines += [f"{label}{one.text or SAYS_NOTHING}"]
        cited = f" [m:{short_id(one.id)}]" if one.id else ""
        lines += [f"    {one.source.text}{seen}{cited}"]
    return "\n".join(lines)


SAYS_NOTHING = "Says nothing about itself."


def read_markdown(text: str) -> dict[str, str]:
    """The words of each line of a page's file, by the id of its record."""
    found: dict[str, str] = {}
    for part in re.split(r"(?m)^(?=- )", text):
        if (mark := _MARK.match(part)) is not None:
            said = re.sub(r"^\*\*[^*\n]*\*\* ", "", mark["text"])
            found[mark["id"]] = "\n".join(line.removeprefix("  ") for line in said.split("\n"))
    return found


def file_edits(page: ProjectPage, text: str) -> list[tuple[PageLine, str]]:
    """The lines of a page that read differently in its file."""
    written = read_markdown(text)
    return [
        (one, said)
        for one in page.lines
        if (said := written.get(one.id, one.text).strip()) != one.text.strip()
        and said not in ("", SAYS_NOTHING)
    ]


def page_named(name: str) -> PageName:
    """A page by its name or title."""
    wanted = name.strip().lower()
    for one in PageName:
        if wanted in (one.value, TITLES[one].lower()):
            return one
    raise NotFoundError(
        f"There is no page {name!r}.", hint=f"Choose one of: {', '.join(PageName)}."
    )
