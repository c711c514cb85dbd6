"""The verbs of sessions. `core.verbs` says what a declaration is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from wellkept.context.start.session_timeline import SessionTimeline, session_timeline
from wellkept.core.errors import NotFoundError
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.records import record
from wellkept.core.session.injected_text import quoted
from wellkept.core.session.scratchpad import QaIssue
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.team.people import Role
from wellkept.core.verbs import Alias, Arg, Effect, Table, verb
from wellkept.memory.arguments import Names
from wellkept.memory.history import Event
from wellkept.memory.workspace import OpenMemory

if TYPE_CHECKING:
    from wellkept.context.start.handoff import Handoff
    from wellkept.observe.failures.command_records import CommandRecord
    from wellkept.observe.observer.api import Observer
    from wellkept.observe.observer.methodology import Methodologies

_PAGE = 100
_MAX_SKIPPED = 20


class MemoryOfSessions(OpenMemory, Protocol):
    """An open memory with what was learned from its sessions."""

    @cached_property
    def observer(self) -> Observer: ...

    @cached_property
    def methodology(self) -> Methodologies: ...

    @cached_property
    def sharing(self) -> Any: ...

    @cached_property
    def remote(self) -> Any: ...

    def handoff(self, branch: str | None = None) -> Handoff: ...


def _project(wk: OpenMemory, *, all_projects: bool) -> str | None:
    """The project to look into; None for all, which takes a person."""
    if not all_projects:
        return wk.project
    from wellkept.core.team.people import asking

    asking().require_person("Looking into every project")
    return None


@record(kw_only=True)
class Sessions:
    """Sessions, the latest active first."""

    items: tuple[SessionRecord, ...]
    next_offset: int | None = None

    @property
    def ids(self) -> list[str]:
        """Their ids."""
        return [one.id for one in self.items]

    @property
    def more(self) -> Mapping[str, int]:
        """The arguments of the next page."""
        return {} if self.next_offset is None else {"offset": self.next_offset}

    def as_table(self) -> Table:
        """A row each."""
        headings = ("id", "when", "client", "title", "prompts", "tools", "observed", "state")
        empty = "No sessions yet. Install Wellkept in a coding client with `wellkept install`."
        return Table(headings, [_cells(one) for one in self.items], empty)

    def as_text(self) -> str:
        """A line each."""
        return "\n".join("  ".join(_cells(one)) for one in self.items) or "No sessions yet."


def _cells(one: SessionRecord) -> tuple[str, ...]:
    return (
        one.id[:12],
        f"{one.last_event_at:%Y-%m-%d %H:%M}",
        one.client,
        quoted(one.title or ""),
        str(one.prompt_count),
        str(one.tool_count),
        str(one.observation_count),
        one.state,
    )


@verb(noun="session", examples=({}, {"open_only": True}))
def list_(
    wk: MemoryOfSessions,
    *,
    limit: Annotated[int, Arg("How many.", 1, 1000, "-n")] = 20,
    offset: Annotated[int, Arg("How many to skip.", 0, 100_000, hidden=True)] = 0,
    open_only: Annotated[bool, Arg("Only those that may go on.", flag="--open")] = False,
    all_projects: Annotated[bool, Arg("Of any project.")] = False,
) -> Sessions:
    """List sessions, newest first."""
    project = _project(wk, all_projects=all_projects)
    found = wk.engine.store.sessions(project=project, open_only=open_only, limit=offset + limit + 1)
    more = len(found) > offset + limit
    return Sessions(
        items=tuple(found[offset : offset + limit]), next_offset=offset + limit if more else None
    )


@verb(
    noun="session",
    toolset="page",
    aliases=(Alias("session_timeline", {"timeline": True}),),
    tell="What happened in one session: its summary, prompts and observations; with timeline in "
    "order, with the lines that the agent was given.",
    examples=({"name": "{session}"},),
)
def show(
    wk: MemoryOfSessions,
    name: Annotated[
        str, Arg("A session's id or its beginning.", 1, aka=("session", "id"), names="session")
    ],
    *,
    all_projects: Annotated[bool, Arg("Of any project.")] = False,
) -> SessionTimeline:
    """Show what happened in a session: summary, prompts, observations, lines given."""
    project = _project(wk, all_projects=all_projects)
    return session_timeline(wk.engine.store, name, project=project)


@record(kw_only=True)
class Events:
    """What happened lately, oldest first."""

    items: tuple[Event, ...]

    @property
    def found(self) -> bool:
        """Whether anything did."""
        return bool(self.items)

    def as_text(self) -> str:
        """A line each."""
        none = "No activity yet. Include other projects with --all-projects."
        return "\n".join(one.as_text() for one in self.items) or none


@verb(noun="session", examples=({},))
def events(
    wk: MemoryOfSessions,
    *,
    limit: Annotated[int, Arg("How many of the latest.", 0, 1000, "-n")] = 20,
    after: Annotated[int | None, Arg("All after this number instead.", 0)] = None,
    all_projects: Annotated[bool, Arg("Of any project.")] = False,
) -> Events:
    """Show recent activity.

    Sessions that start and end, and memories that are stored, changed and forgotten. No server is
    needed.
    """
    from wellkept.memory.history import latest_activity

    store, project = wk.engine.store, _project(wk, all_projects=all_projects)
    if after is None:
        items = latest_activity(store, project=project, limit=limit) if limit else []
        return Events(items=tuple(map(Event.of, items)))
    newest = store.activity_range().newest
    return Events(items=tuple(events_after(wk, after, until=newest, project=project)))


def events_after(wk: OpenMemory, after: int, *, until: int, project: str | None) -> Iterator[Event]:
    """Every event after a number, up to another."""
    from wellkept.memory.history import read_activity

    while after < until:
        page = read_activity(wk.engine.store, project=project, after=after, limit=_PAGE)
        yield from map(Event.of, page)
        after = page[-1].news.number if len(page) == _PAGE else until


@record(kw_only=True)
class HandedOver:
    """What is handed over: titled sections with their lines; with `stage`, what earlier stages of
    the methodology pass to it. `path` is the file that it was written to."""

    branch: str
    author: str | None
    at: datetime | None
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    path: str | None = None
    sent: bool = False
    stage: str = ""
    relayed: tuple[Memory, ...] = ()
    text: str

    @property
    def found(self) -> bool:
        """Whether there is anything to hand over."""
        return bool(self.text)

    @property
    def notes(self) -> tuple[str, ...]:
        """Where it went."""
        told = ["Sent to the team's server."] if self.sent else []
        if self.path:
            told.append(f"Written to {self.path}: commit and push it on this branch.")
        return tuple(told)

    def as_text(self) -> str:
        """The hand-over as people read it."""
        if not self.text:
            return (
                "Nothing to pass on."
                if self.stage
                else f"Nothing is known of work on {self.branch}."
            )
        return self.text.rstrip()


@verb(noun="session", effect=Effect.ADDS, finds=True, examples=({"branch": "main"},))
def handoff(
    wk: MemoryOfSessions,
    branch: Annotated[str, Arg("Default: the one that is checked out.")] = "",
    *,
    write: Annotated[bool, Arg("Write it into the shared folder, to commit.")] = False,
    push: Annotated[bool, Arg("Send it to the team's server.")] = False,
    relay: Annotated[
        str, Arg("What earlier stages pass to this stage instead.", metavar="STAGE")
    ] = "",
    units: Annotated[
        Names, Arg("With --relay: only this unit, outermost first.", flag="--unit", hidden=True)
    ] = (),
) -> HandedOver:
    """Hand a branch over to the next person's agent.

    Prints what it needs to go on: what was asked and done, open ends, commands that work, traps and
    decisions. With --write it is put into the team's shared folder: once pushed on that branch, a
    colleague's next session there begins with it, until somebody went on. With --push it goes
    through the team's server instead.
    """
    if relay:
        path = (units,) if isinstance(units, str) else tuple(units)
        unit = WorkUnitRef(wk.methodology.active.id, path, path[-1]) if path else None
        memories, text = wk.methodology.relay(relay, unit=unit)
        return HandedOver(
            branch=branch,
            author=None,
            at=None,
            sections=(),
            stage=relay,
            relayed=tuple(memories),
            text=text,
        )
    made = wk.handoff(branch or None)
    written = wk.sharing.hand_over(made) if write and made.sections else None
    if push and made.sections:
        wk.remote.hand_over(made)
    return HandedOver(
        branch=made.branch,
        author=made.author,
        at=made.at,
        sections=made.sections,
        path=str(written) if written is not None else None,
        sent=push and bool(made.sections),
        text=made.text if made.sections else "",
    )


@record(kw_only=True)
class NotPromoted:
    """A conclusion that did not become a memory, and why."""

    rule: str
    subject: str
    reason: str


@record(kw_only=True)
class Judged:
    """What a verdict led to; `note` says why nothing could be promoted yet."""

    session: str
    verdict: str
    promoted: tuple[str, ...]
    confirmed: tuple[str, ...]
    error_patterns: tuple[str, ...]
    discarded: int
    skipped: tuple[NotPromoted, ...]
    note: str

    def as_text(self) -> str:
        """How many memories that makes."""
        shown = self.skipped[:_MAX_SKIPPED]
        lines = [
            f"{self.session} {self.verdict}: {len(self.promoted)} memories promoted,"
            f" {len(self.confirmed)} confirmed, {len(self.error_patterns)} error patterns kept,"
            f" {self.discarded} sub-tasks discarded.",
            self.note,
            *(f"not promoted ({one.rule}): {one.reason}" for one in shown),
        ]
        if more := len(self.skipped) - len(shown):
            lines.append(f"not promoted: {more} more")
        return "\n".join(filter(None, lines))


@verb(
    noun="session",
    effect=Effect.ADDS,
    toolset="recipes",
    aliases=("record_verdict",),
    tell="After checking finished work: say whether a session's work, or one sub-task of it, "
    "passed or failed, with what was found. Passed work is learned from; what a failed run noticed "
    "is discarded; critical and high issues are kept as error patterns.",
    examples=({"verdict": "passed"},),
)
def verdict(
    wk: MemoryOfSessions,
    verdict: Annotated[Literal["passed", "failed"], Arg("How it went.")],
    session: Annotated[
        str, Arg("A session's id or its beginning. Default: the latest.", names="session")
    ] = "",
    *,
    task: Annotated[str, Arg("One sub-task. Default: all of the work.")] = "",
    detail: Annotated[str, Arg("What was checked, and how.", 0, 2_000)] = "",
    issues: Annotated[tuple[QaIssue, ...], Arg("What was found.", 0, 50, hidden=True)] = (),
    complexity: Annotated[
        Literal["trivial", "standard", "complex"] | None,
        Arg("Size of the work. Default: derived from the session.", hidden=True),
    ] = None,
) -> Judged:
    """Report whether the work of a session passed; its findings are then promoted or discarded."""
    found = _session(wk, session)
    result = wk.observer.verdict(
        found.id,
        verdict,
        detail=detail,
        task=task or None,
        issues=issues,
        complexity=complexity,
    )
    report = result.report
    return Judged(
        session=found.id,
        verdict=verdict,
        promoted=report.promoted if report else (),
        confirmed=report.confirmed if report else (),
        error_patterns=result.error_patterns,
        discarded=report.discarded if report else 0,
        skipped=tuple(
            NotPromoted(rule=one.rule, subject=quoted(one.subject), reason=quoted(one.reason))
            for one in (report.skipped if report else ())
        ),
        note=result.note,
    )


def _session(wk: MemoryOfSessions, name: str) -> SessionRecord:
    from wellkept.context.start.session_view import find_session

    if name.strip():
        return find_session(wk.engine.store, name, project=wk.project)
    latest = wk.engine.store.sessions(project=wk.project, limit=1)
    if not latest:
        raise NotFoundError(
            "No session of this project is known, so there is nothing to judge.",
            hint="Sessions are watched through the client's hooks: `wellkept install`.",
        )
    return latest[0]


@record(kw_only=True)
class Commands:
    """Commands that worked here, as they were typed."""

    items: tuple[CommandRecord, ...]

    @property
    def found(self) -> bool:
        """Whether there are any."""
        return bool(self.items)

    def as_text(self) -> str:
        """A line each."""
        none = "No commands yet. A command is listed once a session ran it with success."
        return "\n".join(f"{one.purpose:8} {quoted(one.text)}" for one in self.items) or none


@verb(noun="session", examples=({},))
def commands(
    wk: MemoryOfSessions,
    *,
    limit: Annotated[int, Arg("How many.", 1, 500, "-n")] = 20,
) -> Commands:
    """Show the commands that worked here last, as they were typed."""
    return Commands(items=tuple(wk.observer.commands(limit=limit)))


@record(kw_only=True)
class WorkUnit:
    """A unit of work and how many memories belong to it."""

    methodology: str
    hierarchy: tuple[str, ...]
    label: str
    memories: int
    latest_at: datetime


@record(kw_only=True)
class WorkUnits:
    """Units of work with memories that are not archived, latest first."""

    items: tuple[WorkUnit, ...]

    def as_text(self) -> str:
        """A line each."""
        lines = [f"{one.label} ({one.methodology}): {one.memories} memories" for one in self.items]
        return "\n".join(lines) or "No work units."


@verb(
    noun="session",
    toolset="page",
    aliases=("work_units",),
    tell="Units of work with memories that are not archived.",
    examples=({},),
)
def units(wk: MemoryOfSessions) -> WorkUnits:
    """List the units of work that have memories, latest first."""
    from collections import Counter

    from wellkept.core.query import Filter, Order
    from wellkept.core.records import replace

    store, counts = wk.engine.store, Counter[WorkUnitRef]()
    latest: dict[WorkUnitRef, datetime] = {}
    where = Filter(project=wk.project, include_user=False)
    named = {one.methodology for one in store.memory_groups(where)}
    if not (methodologies := tuple(sorted(one for one in named if one))):
        return WorkUnits(items=())
    where = replace(where, methodologies=methodologies)
    cursor: str | None = None
    while True:
        page = store.list(where, order=Order.UPDATED, limit=500, cursor=cursor)
        for memory in page.items:
            if (unit := memory.work_unit) is not None:
                counts[unit] += 1
                latest[unit] = max(latest.get(unit, memory.updated_at), memory.updated_at)
        if (cursor := page.next_cursor) is None:
            break
    return WorkUnits(
        items=tuple(
            WorkUnit(
                methodology=one.methodology,
                hierarchy=one.hierarchy,
                label=one.label,
                memories=counts[one],
                latest_at=latest[one],
            )
            for one in sorted(counts, key=lambda ref: latest[ref], reverse=True)
        )
    )


@record(kw_only=True)
class Archived:
    """Memories of a unit of work that were archived, or would be."""

    unit: tuple[str, ...]
    dry_run: bool
    changed: int
    ids: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def as_text(self) -> str:
        """How many."""
        verb = "Would archive" if self.dry_run else "Archived"
        return f"{verb} {self.changed} memories of {' / '.join(self.unit)}."


@verb(
    noun="session",
    effect=Effect.ADDS,
    toolset="page",
    needs_toolset=True,
    aliases=("archive_work_unit",),
    tell="Archive the memories of a finished unit of work.",
    role=Role.REVIEWER,
    examples=({"methodology": "native", "units": ["main"], "dry_run": True},),
)
def archive(
    wk: MemoryOfSessions,
    methodology: Annotated[str, Arg("Whose unit it is.", 1)],
    units: Annotated[Names, Arg("Its path, outermost first.", 1, 20, aka=("hierarchy", "unit"))],
    *,
    dry_run: Annotated[bool, Arg("Show what would be archived only.")] = False,
) -> Archived:
    """Archive the memories of a finished work unit, and of those below it.

    Archived memories are excluded from recall; `wellkept list --archived` shows them, and
    `wellkept undo` brings them back.
    """
    from wellkept.memory.lifecycle.pruning import archive_work_unit

    path = (units,) if isinstance(units, str) else tuple(units)
    done = archive_work_unit(
        wk.engine,
        ref=WorkUnitRef(methodology, path, path[-1]),
        project=wk.project,
        dry_run=dry_run,
    )
    ids = tuple(dict.fromkeys(one.id for one in done.items))
    return Archived(unit=path, dry_run=dry_run, changed=done.changed, ids=ids, notes=done.notes)
