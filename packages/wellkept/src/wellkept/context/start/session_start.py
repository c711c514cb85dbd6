"""Lines for the start of a session that no memory stands behind, by section.

The last work in the words of its agent, what git says now, and for the very first session the
commands that the project's files declare. Imports of `observe` and git wait until there is a
session to tell of: every hook that asks for context loads this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from wellkept.context.moments import ContextRequest, Moment, StartOptions
from wellkept.context.sections import Section, SectionLine, SectionLines
from wellkept.core.records import record
from wellkept.memory.engine import Engine

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.context.client_files import ClientFiles
    from wellkept.context.start.last_work import Situation
    from wellkept.context.start.recent_table import WorkRow
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.observe.session.digest import SessionDigest
    from wellkept.project.work_tree_reader import WorkTree

MAX_DECLARED, MAX_FAILING = 6, 2
FAILING = "Commands that failed here, and what worked"
_RECENT_FAILING = 5
_RECENT_SESSIONS = 8
_PURPOSES = ("test", "one test", "lint", "types", "format", "build", "run", "setup")


class HandoffDoor(Protocol):
    """What colleagues hand over."""

    def handed_over(
        self, engine: Engine, project: str, root: Path, branch: str, *, seen_until: datetime | None
    ) -> SectionLines | None:
        """What was handed over on a branch, unless by this person or before `seen_until`."""
        ...


def read_tree_now(folder: Path, paths: Sequence[str]) -> WorkTree | None:
    """What git says now, within a short time limit."""
    from wellkept.project.work_tree_reader import read_work_tree

    return read_work_tree(folder, paths=paths)


def no_tree(folder: Path, paths: Sequence[str]) -> WorkTree | None:  # noqa: ARG001
    """Do not ask git, as for a branch that is not checked out."""
    return None


@record
class SessionStart:
    """Sections without a memory; `is_silent` when nothing at all shall be told."""

    sections: tuple[SectionLines, ...] = ()
    is_silent: bool = False


def session_start(
    engine: Engine, request: ContextRequest, *, options: StartOptions, files: ClientFiles
) -> SessionStart:
    """What the start of a session that asks nothing else is told of earlier ones."""
    if request.moment is not Moment.SESSION or request.query.strip() or request.files:
        return SessionStart()
    # Also with no session to tell of: whether a team starts shows in the latest ones.
    latest = engine.store.sessions(
        project=request.project, limit=2 * options.sessions + _RECENT_SESSIONS
    )
    known = [one for one in latest if one.id != request.session]
    handed = _handed_over(engine, request, known, options=options)
    if not known:
        return SessionStart(_with_lines(handed, _declared(engine, request, files=files)))
    from wellkept.context.start.last_work import is_team_starting

    here = _situation(engine, request, options=options)
    if is_team_starting(known, at=here):
        return SessionStart(is_silent=True)
    return SessionStart(_with_lines(handed, *_told(engine, known, here, options=options)))


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
    from wellkept.core.doors import find_plugin
    from wellkept.core.git.repository import current_branch

    team: HandoffDoor | None = find_plugin("team")
    branch = options.branch or current_branch(options.root)
    if team is None or branch is None:
        return None
    mine = [one.last_event_at for one in known if one.branch == branch]
    return team.handed_over(
        engine, request.project, options.root, branch, seen_until=max(mine, default=None)
    )


def _with_lines(*found: SectionLines | None) -> tuple[SectionLines, ...]:
    return tuple(one for one in found if one is not None and one.lines)


def _declared(
    engine: Engine, request: ContextRequest, *, files: ClientFiles
) -> SectionLines | None:
    """Commands as the project's files declare them, with the file; not those the client loads."""
    from wellkept.project.commands.declared import read_declared

    declared = {one.purpose.value: one for one in read_declared(engine.store, request.project)}
    lines = tuple(
        SectionLine.of(
            Section.COMMANDS, one.text, reason=f"declared {purpose} command", name=one.command
        )
        for purpose in _PURPOSES
        if (one := declared.get(purpose)) is not None
        and not files.has_command(one.command)
        and not (one.runs and files.has_command(one.runs))
    )
    return SectionLines(Section.COMMANDS, lines[:MAX_DECLARED])


def _situation(engine: Engine, request: ContextRequest, *, options: StartOptions) -> Situation:
    from wellkept.context.start.last_work import Situation
    from wellkept.core.git.repository import current_branch

    return Situation(
        now=engine.clock(),
        branch=options.branch or current_branch(options.root),
        root=str(options.root),
        current=request.session,
    )


def _told(
    engine: Engine, known: Sequence[SessionRecord], here: Situation, *, options: StartOptions
) -> Iterator[SectionLines]:
    """The last work in its agent's words, earlier work where it was asked for, and git now."""
    from wellkept.context.start.last_work import at_work, digest_line, title_of
    from wellkept.project.rule_targets import not_there

    unknown = partial(not_there, options.root)
    digests = _digests(engine, known, here, options=options)
    lines = ((one, line) for one in digests if (line := digest_line(one, unknown=unknown)))
    if options.sessions < 1 or (first := next(lines, None)) is None:
        return
    last, line = first
    earlier = list(islice(digests, options.sessions - 1))
    told = SectionLine.of(Section.LEFT_OFF, line, reason="session", name=last.session)
    title = title_of(last, branch=here.branch)
    yield SectionLines(Section.LEFT_OFF, (told,), title=title)
    yield SectionLines(
        Section.EARLIER,
        _lines(Section.EARLIER, _earlier(engine, known[0].project, earlier, options=options)),
    )
    tree = options.read_tree(options.root, last.files)
    now = (*_git_now(tree, last.files), *at_work(known, at=here))
    yield SectionLines(Section.GIT, _lines(Section.GIT, now))
    yield SectionLines(Section.COMMANDS, tuple(_failing(engine, known)), title=FAILING)
    yield SectionLines(Section.KNOWN, tuple(_waiting(engine, known)))


def _failing(engine: Engine, known: Sequence[SessionRecord]) -> Iterator[SectionLine]:
    """Commands that session after session types first, sees fail and replaces by the same other
    one: the record is told before it happens again."""
    from wellkept.observe.failures.lessons import recurring

    lately = [one.id for one in known[:_RECENT_FAILING]]
    for one in islice(recurring(engine, project=known[0].project, lately=lately), MAX_FAILING):
        yield SectionLine.of(
            Section.COMMANDS, one.as_warning, reason="fails again and again", name=one.memory.id
        )


def _waiting(engine: Engine, known: Sequence[SessionRecord]) -> Iterator[SectionLine]:
    """How many memories wait for a person's word and the command that shows them, where one began
    to wait since the latest session started. What was only seen at work speaks without it, and
    would be announced at every start."""
    from wellkept.core.query import Filter, Order
    from wellkept.core.types import Source

    said = (Source.USER_TAUGHT, Source.AGENT_EXPLICIT, Source.IMPORTED)
    where = Filter(project=known[0].project, needs_review=True, sources=said)
    page = engine.store.list(where, order=Order.UPDATED, limit=1)
    if page.items and page.items[0].updated_at >= max(one.started_at for one in known):
        text = f"To review: {page.total} (/review-memory)"
        yield SectionLine.of(Section.KNOWN, text, reason="waits for review", name="to review")


def _digests(
    engine: Engine, known: Sequence[SessionRecord], here: Situation, *, options: StartOptions
) -> Iterator[SessionDigest]:
    """What there is to tell of earlier sessions, the one to go on from first."""
    from wellkept.context.start.last_work import to_go_on_from

    recent = [one for one in known if (here.now - one.last_event_at).days <= options.days]
    digests = (digest_now(engine, one) for one in to_go_on_from(recent, at=here))
    return (one for one in digests if one.says_something)


def recent(
    engine: Engine, request: ContextRequest, *, options: StartOptions
) -> tuple[WorkRow, ...]:
    """Records of the latest sessions, newest first: the rows of the table by date."""
    from datetime import timedelta

    from wellkept.context.start.recent_table import recent_work
    from wellkept.core.query import Filter

    since = engine.clock() - timedelta(days=options.days)
    where = Filter(project=request.project, since=since)
    return tuple(recent_work(engine, where, options=options, sessions=options.sessions))


def last_digest(
    engine: Engine, request: ContextRequest, *, options: StartOptions
) -> SessionDigest | None:
    """The digest of the session to go on from."""
    known = engine.store.sessions(project=request.project, limit=_RECENT_SESSIONS)
    here = _situation(engine, request, options=options)
    return next(_digests(engine, known, here, options=options), None)


def digest_now(engine: Engine, session: SessionRecord) -> SessionDigest:
    """The digest of a session, in the agent's own words where it stored some, or in a model's."""
    from wellkept.core.payloads import SessionSummary
    from wellkept.core.query import Filter, Order
    from wellkept.core.types import MemoryType, Source
    from wellkept.observe.session.digest import digest_of
    from wellkept.observe.session.drafts import find_summary

    where = Filter(
        project=session.project,
        types=(MemoryType.TIMELINE, MemoryType.EPISODE),
        sources=(Source.AGENT_EXPLICIT,),
        sessions=(session.id,),
    )
    noted = engine.store.list(where, order=Order.NEWEST, limit=1).items
    summary = find_summary(engine, session.id, project=session.project)
    said = summary.payload if summary else None
    by_model = (
        " ".join(filter(None, (said.completed, said.next_steps)))
        if isinstance(said, SessionSummary) and said.made_by == "model"
        else ""
    )
    return digest_of(session, noted=noted[0].content if noted else "", by_model=by_model)


def _lines(section: Section, texts: Iterator[str] | Sequence[str]) -> tuple[SectionLine, ...]:
    return tuple(SectionLine.of(section, one, reason="session") for one in texts)


def _git_now(tree: WorkTree | None, named: Sequence[str]) -> Iterator[str]:
    """What git says is open at this moment: the files of the last work by name and how many others
    there are. Where none of them is, the agent's own `git status` says as much."""
    from wellkept.context.start.last_work import listed, named_first

    if tree is None:
        return
    if tree.operation:
        conflicts = f", conflicts in {listed(tree.conflicts)}" if tree.conflicts else ""
        yield f"A {tree.operation} is in progress{conflicts}"
    changed = [one for one in tree.changed if one not in tree.staged]
    kinds = (("staged", tree.staged), ("changed", changed), ("untracked", tree.untracked))
    parts = [f"{name}: {named_first(files, named)}" for name, files in kinds if files]
    # An untracked folder stands for what is in it.
    left = (*tree.staged, *changed, *tree.untracked)
    if any(one == mine or mine.startswith(f"{one.rstrip('/')}/") for one in left for mine in named):
        yield f"Not committed: {'; '.join(parts)}"
    apart = [f"{n} {word}" for n, word in ((tree.ahead, "ahead"), (tree.behind, "behind")) if n]
    if apart:
        yield f"{' and '.join(apart)} of {tree.upstream}"


def _earlier(
    engine: Engine, project: str, digests: Sequence[SessionDigest], *, options: StartOptions
) -> Iterator[str]:
    """Earlier sessions, one line each, and the records that they left, by id."""
    from wellkept.context.start.last_work import earlier_line
    from wellkept.project.rule_targets import not_there

    for one in digests:
        if line := earlier_line(one, unknown=partial(not_there, options.root)):
            yield line
    if digests and options.observations:
        from wellkept.context.start.recent_table import by_day, recent_work
        from wellkept.core.query import Filter

        ids = tuple(one.session for one in digests)
        found = recent_work(engine, Filter(project=project, sessions=ids), options=options)
        for day, rows in by_day(found).items():
            told = (f"{one.title} [m:{one.short}, ~{one.read_tokens} tokens]" for one in rows)
            yield f"{day}: {'; '.join(told)}"
