"""Lines for the start of a session that come from watching earlier ones, by section.

Imports of `observe` and git wait until there is a session to tell of: every hook that asks for
context loads this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from wellkept.context.build import ContextRequest, Moment
from wellkept.context.candidates import ContextCandidate
from wellkept.context.sections import Section, SectionLine, SectionLines
from wellkept.core.records import record, replace
from wellkept.memory.engine import Engine

if TYPE_CHECKING:
    from wellkept.context.client_files import ClientFiles
    from wellkept.context.start.resume import Situation, WorkNote
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.observe.failures.traps import Trap
    from wellkept.observe.failures.working_commands import WorkingCommand
    from wellkept.project.work_tree import WorkTree

_MAX_NOTES = 200
_MAX_COMMANDS = 3
_MAX_TRAPS = 3
_COMMAND_CHARS = 220
_MAX_FILE_TRAPS = 2
ReadTree: TypeAlias = "Callable[[Path, Sequence[str]], WorkTree | None]"
"""Folder and the paths that matter most -> what git says now."""


@record(kw_only=True)
class StartOptions:
    """How much earlier work is told, where the work tree is, and how it is read."""

    root: Path
    sessions: int
    observations: int
    days: int
    read_tree: ReadTree
    branch: str | None = None


def read_tree_now(folder: Path, paths: Sequence[str]) -> WorkTree | None:
    """What git says now, within a short time limit."""
    from wellkept.project.work_tree_reader import read_work_tree

    return read_work_tree(folder, paths=paths)


def no_tree(folder: Path, paths: Sequence[str]) -> WorkTree | None:  # noqa: ARG001
    """Do not ask git, as when earlier sessions are replayed."""
    return None


@record
class SessionStart:
    """Sections without a memory, and the sessions they tell of; None when nobody looked.
    `is_silent` when nothing at all shall be told."""

    sections: tuple[SectionLines, ...] = ()
    sessions: frozenset[str] | None = None
    is_silent: bool = False
    vouched: tuple[ContextCandidate, ...] = ()


def session_start(
    engine: Engine, request: ContextRequest, *, options: StartOptions, files: ClientFiles
) -> SessionStart:
    """What the start of a session that asks nothing else is told of earlier ones."""
    if request.moment is not Moment.SESSION or request.query.strip() or request.files:
        return SessionStart()
    # Also with no session to tell of: whether a team starts shows in the latest ones.
    latest = engine.store.sessions(project=request.project, limit=2 * options.sessions + 3)
    known = [one for one in latest if one.id != request.session]
    handed = _handed_over(engine, request, known, options=options)
    if not known:
        from wellkept.context.start.first_session import first_session

        sections, modules = first_session(engine, request, files=files)
        return SessionStart((*_sections(handed), *sections), frozenset(), vouched=modules)
    here = _situation(engine, request, options=options)
    from wellkept.context.start.resume import is_team_starting

    if is_team_starting(known, at=here):
        return SessionStart(is_silent=True)
    left_off, sessions = _left_off(engine, request, known, here, options=options)
    commands, named = _commands(engine, request, files=files)
    traps, vouched = _traps(engine, request, files=files, named=named)
    sections = _sections(handed, left_off, commands, traps)
    return SessionStart(sections, sessions, vouched=vouched)


def _handed_over(
    engine: Engine,
    request: ContextRequest,
    known: Sequence[SessionRecord],
    *,
    options: StartOptions,
) -> SectionLines | None:
    """What a colleague handed over on this branch, where sharing is on or a server sent it."""
    spaces = ("sharing", "handoffs")
    if all(engine.store.get_value(one, request.project) is None for one in spaces):
        return None
    from wellkept.core.doors import each
    from wellkept.core.git.repository import current_branch

    branch = options.branch or current_branch(options.root)
    if branch is None:
        return None
    mine = [one.last_event_at for one in known if one.branch == branch]
    found = each(
        "start_section",
        engine,
        request.project,
        options.root,
        branch,
        seen_until=max(mine, default=None),
    )
    return next(iter(found), None)


def file_traps(engine: Engine, request: ContextRequest) -> tuple[SectionLines, ...]:
    """Traps tied to the kind of file that is about to be written."""
    if request.moment is not Moment.FILE or request.reading:
        return ()
    from wellkept.observe.failures.traps import traps_for_file

    found = {
        trap.text: SectionLine.of(
            Section.KNOWN, trap.line, reason="trap for this kind of file", name=_trap_name(trap)
        )
        for path in request.files
        for trap in traps_for_file(engine, project=request.project, file=path)
    }
    lines = tuple(found.values())[:_MAX_FILE_TRAPS]
    return (SectionLines(Section.KNOWN, lines),) if lines else ()


def _traps(
    engine: Engine, request: ContextRequest, *, files: ClientFiles, named: frozenset[str]
) -> tuple[SectionLines | None, tuple[ContextCandidate, ...]]:
    """Known traps, dearest first; those with a memory behind them cite it. `named` are memories
    that the commands section tells already."""
    from datetime import timedelta

    from wellkept.observe.failures.traps import known_traps

    since = engine.clock() - timedelta(days=request.days)
    known = [
        one
        for one in known_traps(engine, project=request.project, limit=2 * _MAX_TRAPS)
        if one.last_at >= since and one.memory_id not in named and not files.has(one.text)
    ][:_MAX_TRAPS]
    memories = {
        one.id: one for one in engine.store.get([t.memory_id for t in known if t.memory_id])
    }
    vouched = tuple(
        ContextCandidate(
            memories[one.memory_id], 3.0, "known trap", text=one.line, section=Section.TRAPS
        )
        for one in known
        if one.memory_id in memories
    )
    lines = tuple(
        SectionLine.of(Section.TRAPS, one.line, reason="known trap", name=_trap_name(one))
        for one in known
        if one.memory_id not in memories
    )
    return (SectionLines(Section.TRAPS, lines) if lines else None), vouched


def _short(command: WorkingCommand) -> str:
    """A command with the form that fails, when both fit on a line."""
    text = command.text
    return text if len(text) <= _COMMAND_CHARS else replace(command, fails=None, cause=None).text


def _trap_name(trap: Trap) -> str:
    """What a trap is about: its counts change, its name does not."""
    return " ".join((*trap.files, *trap.commands)) or trap.text


def _sections(*found: SectionLines | None) -> tuple[SectionLines, ...]:
    return tuple(one for one in found if one is not None)


def _situation(engine: Engine, request: ContextRequest, *, options: StartOptions) -> Situation:
    from wellkept.context.start.resume import Situation
    from wellkept.core.git.repository import current_branch

    return Situation(
        now=engine.clock(),
        branch=options.branch or current_branch(options.root),
        root=str(options.root),
        current=request.session,
        exists=lambda path: (options.root / path).exists(),
    )


def _commands(
    engine: Engine, request: ContextRequest, *, files: ClientFiles
) -> tuple[SectionLines | None, frozenset[str]]:
    """Commands in the form that last worked here; not those that the client's files name. Also the
    memories that they tell of."""
    from wellkept.observe.failures.working_commands import working_commands

    known = working_commands(engine, project=request.project, limit=2 * _MAX_COMMANDS)
    told = [one for one in known if one.fails or not files.has_command(one.command)]
    lines = tuple(
        SectionLine.of(
            Section.COMMANDS, _short(one), reason=f"{one.kind} command", name=one.command
        )
        for one in told[:_MAX_COMMANDS]
    )
    named = frozenset(one.memory_id for one in told[:_MAX_COMMANDS] if one.memory_id)
    if len(lines) < _MAX_COMMANDS:
        from wellkept.context.start.first_session import COMMANDS_TITLE, declared_lines

        seen = [one.kind for one in known]
        declared = declared_lines(engine, request, files=files, without=seen)
        if declared:
            lines = (*lines, *declared[: _MAX_COMMANDS - len(lines)])
            return SectionLines(Section.COMMANDS, lines, title=COMMANDS_TITLE), named
    return (SectionLines(Section.COMMANDS, lines) if lines else None), named


def _left_off(
    engine: Engine,
    request: ContextRequest,
    known: Sequence[SessionRecord],
    here: Situation,
    *,
    options: StartOptions,
) -> tuple[SectionLines | None, frozenset[str]]:
    from wellkept.context.start.resume import Limits, left_off, recent_work
    from wellkept.context.start.unfinished_work import open_ends

    limits = Limits(sessions=options.sessions, observations=options.observations, days=options.days)
    works = recent_work(known, at=here, limits=limits)
    if not works:
        return None, frozenset()
    tree = options.read_tree(options.root, works[0].edited)
    told = {work.session.id for work in works}
    others = [open_ends(one) for one in known if one.id not in told]
    found = left_off(
        works,
        at=replace(here, tree=tree, branch=(tree.branch if tree else None) or here.branch),
        notes=_notes(engine, request.project, tuple(told)),
        others=others,
        limits=limits,
    )
    if found is None:
        return None, frozenset(told)
    lines = tuple(SectionLine.of(Section.LEFT_OFF, text, reason="session") for text in found.lines)
    return SectionLines(Section.LEFT_OFF, lines, title=found.title), frozenset(told)


def _notes(engine: Engine, project: str, sessions: tuple[str, ...]) -> list[WorkNote]:
    """Commits and other observations of these sessions, oldest first."""
    from wellkept.context.start.resume import NOTED_KINDS, WorkNote
    from wellkept.core.payloads import Observation
    from wellkept.core.query import Filter, Order
    from wellkept.core.types import MemoryType
    from wellkept.memory.recall.progressive import index_row

    where = Filter(project=project, types=(MemoryType.OBSERVATION,), sessions=sessions)
    page = engine.store.list(where, order=Order.NEWEST, limit=_MAX_NOTES)
    found: list[WorkNote] = []
    for memory in page.items:
        seen = memory.payload
        if not isinstance(seen, Observation) or memory.session_id is None:
            continue
        is_commit = bool(seen.commit) and (seen.subtitle or "").startswith("Commit")
        if not is_commit and seen.kind not in NOTED_KINDS:
            continue
        found.append(
            WorkNote(
                session=memory.session_id,
                at=memory.valid_from,
                kind=seen.kind,
                title=seen.title,
                commit=seen.commit if is_commit else None,
                cite=f"[m:{memory.short}]",
                read_tokens=index_row(engine, memory).read_tokens,
            )
        )
    return found[::-1]
