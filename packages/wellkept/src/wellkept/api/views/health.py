"""`wk.health()`: whether the memory of a project is alive, trusted and of use, at a glance.

Figures come from the rows and from the log of lines given. What nobody measured is None, never 0.
A part that cannot be read (no code graph, no home folder) is None with the reason beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from wellkept.api.pause import Pause, Pauses
from wellkept.api.views.client_setup import ClientState
from wellkept.api.views.health_score import HealthScore, ScoreShare, health_score
from wellkept.core.errors import ProviderError, UsageError, WellkeptError
from wellkept.core.memory import Memory
from wellkept.core.ports.injections import HOW_SAVED_IS_COUNTED, InjectionTotals
from wellkept.core.ports.reports import MemoryGroup
from wellkept.core.query import RAW_TYPES, Filter, Order, Validity
from wellkept.core.records import record
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import TYPE_RULES, MemoryType

if TYPE_CHECKING:
    from wellkept.api.views.parts import ProjectParts

DEFAULT_DAYS: Final = 30
MAX_DAYS: Final = 366
RECENT: Final = 8
_EPOCH = date(1970, 1, 1)
_BADGES: Final = tuple(dict.fromkeys(rule.badge for rule in TYPE_RULES.values()))
_TYPES_OF_BADGE: Final = {
    badge: tuple(
        one for one, rule in TYPE_RULES.items() if rule.badge == badge and one not in RAW_TYPES
    )
    for badge in _BADGES
}


@record(kw_only=True)
class TypeTotal:
    """Memories of one type that are still believed."""

    type: MemoryType
    badge: str
    count: int
    is_record: bool
    """Whether capture writes it: observations, prompts, session summaries."""


@record(kw_only=True)
class MemoryTotals:
    """Statements by state; `records` are what capture wrote. `active`: believed, files exist, not
    waiting for review, so that agents may be given it."""

    total: int
    active: int
    needs_review: int
    verified: int
    stale: int
    archived: int
    closed: int
    records: int
    by_type: tuple[TypeTotal, ...]


@record(kw_only=True)
class Savings:
    """Tokens saved by lines given, net. None when no used line has a measured cost."""

    saved_tokens: int | None
    reused_tokens: int | None
    given_tokens: int
    lines: int
    used_lines: int
    measured_lines: int
    harm_lines: int
    sessions: int
    used_share: float | None
    since: datetime | None
    how: str = HOW_SAVED_IS_COUNTED


@record(kw_only=True)
class MethodologyBadge:
    """The methodology in use; `installed` is False when another one stands in for it."""

    id: str
    title: str
    installed: bool


@record(kw_only=True)
class ModuleCoverage:
    """A module and what is known about it. `covered` of its `files` are named by a memory."""

    folder: str
    name: str
    files: int
    covered: int
    memories: int
    e2e: int


@record(kw_only=True)
class GrowthDay:
    """Statements and records that were added on a day; `by_badge` says of which kinds."""

    day: date
    memories: int
    records: int
    by_badge: dict[str, int]


@record(kw_only=True)
class RecallDay:
    """Lines given on a day, and how many of them were used."""

    day: date
    lines: int
    used: int
    tokens: int


@record(kw_only=True)
class SpoolState:
    """Captured events that wait, and what went wrong with capture."""

    waiting_bytes: int
    waiting_files: int
    oldest_at: datetime | None
    draining: bool
    dropped_events: int
    set_aside: int
    problems: tuple[str, ...]


@record(kw_only=True)
class IndexState:
    """Search by meaning: the model, and how many memories have its vectors."""

    model_id: str | None
    reason: str
    vectors: int | None
    wanted: int | None


@record(kw_only=True)
class GraphState:
    """The code graph of the folder; None for what is not built."""

    built_at: datetime | None
    files: int
    stale_files: int
    note: str


@record(kw_only=True)
class NextStep:
    """The one thing to do now: review, drain, install, reindex, refresh, build_graph, teach, or
    nothing. `count` says of how many."""

    kind: str
    count: int


@record(kw_only=True)
class HealthView:
    """A project at a glance."""

    project: str
    name: str
    at: datetime
    next: NextStep
    totals: MemoryTotals
    health: HealthScore
    savings: Savings
    methodology: MethodologyBadge
    modules: tuple[ModuleCoverage, ...] | None
    growth: tuple[GrowthDay, ...]
    recall: tuple[RecallDay, ...]
    sessions: tuple[SessionRecord, ...]
    observations: tuple[Memory, ...]
    spool: SpoolState | None
    index: IndexState
    graph: GraphState
    clients: tuple[ClientState, ...] | None
    off: tuple[Pause, ...] = ()
    """Where `wellkept off` silences the hooks now."""


def health(
    parts: ProjectParts,
    *,
    days: int = DEFAULT_DAYS,
    recent: int = RECENT,
    offset_minutes: int = 0,
) -> HealthView:
    """The project at a glance; series over so many days in the caller's offset from UTC."""
    if not 1 <= days <= MAX_DAYS:
        raise UsageError(f"days must be between 1 and {MAX_DAYS}, not {days}.")
    if abs(offset_minutes) > 24 * 60:
        raise UsageError(f"The offset from UTC is in minutes, not {offset_minutes}.")
    store, project = parts.engine.store, parts.project
    everything = Filter(project=project, validity=Validity.ANY, archived=None)
    totals = memory_totals(store.memory_groups(everything))
    given = parts.injected.totals()
    graph = _graph_state(parts)
    modules = module_coverage(parts) if graph.built_at else None
    index = _index_state(parts)
    spool = _spool_state(parts)
    setup = parts.services.client_setup
    clients = setup.states() if setup is not None else None
    sessions = tuple(store.sessions(project=project, limit=max(recent, 1)))
    raw = Filter(project=project, types=(MemoryType.OBSERVATION,), archived=None)
    return HealthView(
        project=project,
        name=parts.project_name,
        at=parts.engine.clock(),
        next=_next_step(totals, spool, index, graph, clients, has_sessions=bool(sessions)),
        totals=totals,
        health=health_score(
            {
                "reviewed": ScoreShare(part=totals.total - totals.needs_review, whole=totals.total),
                "current": ScoreShare(part=totals.total - totals.stale, whole=totals.total),
                **_use_shares(given),
                "covered": _covered(modules),
                "indexed": _indexed(index),
            },
            is_empty=totals.total == 0,
        ),
        savings=savings(given),
        methodology=_methodology(parts),
        modules=modules,
        growth=_growth(parts, days, offset_minutes),
        recall=_recall(parts, days, offset_minutes),
        sessions=sessions[:recent],
        observations=store.list(raw, order=Order.EVENT_LATEST, limit=recent).items
        if recent
        else (),
        spool=spool,
        index=index,
        graph=graph,
        clients=clients,
        off=Pauses.of(parts.services.environment).list(folder=parts.services.folder),
    )


# -- Memories -------------------------------------------------------------------------------------


def memory_totals(groups: Iterable[MemoryGroup]) -> MemoryTotals:
    """Totals from the counts of a whole project."""
    every = list(groups)
    believed = [one for one in every if not one.closed and not one.archived]
    said = [one for one in believed if one.type not in RAW_TYPES]

    def count(fits: Callable[[MemoryGroup], bool], among: list[MemoryGroup] = said) -> int:
        return sum(one.count for one in among if fits(one))

    types = {one.type: 0 for one in believed}
    for one in believed:
        types[one.type] += one.count
    ordered = sorted(types.items(), key=lambda item: (-item[1], item[0].value))
    statements = [one for one in every if one.type not in RAW_TYPES]
    return MemoryTotals(
        total=count(lambda _: True),
        active=count(lambda one: not one.stale and not one.needs_review),
        needs_review=count(lambda one: one.needs_review),
        verified=count(lambda one: one.user_verified),
        stale=count(lambda one: one.stale),
        archived=count(lambda one: one.archived and not one.closed, statements),
        closed=count(lambda one: one.closed, statements),
        records=sum(one.count for one in believed) - count(lambda _: True),
        by_type=tuple(
            TypeTotal(
                type=kind,
                badge=TYPE_RULES[kind].badge,
                count=number,
                is_record=kind in RAW_TYPES,
            )
            for kind, number in ordered
        ),
    )


def savings(given: InjectionTotals) -> Savings:
    """Tokens saved, from the totals of the log."""
    is_measured = given.measured > 0
    return Savings(
        saved_tokens=given.saved_tokens if is_measured else None,
        reused_tokens=given.saved_tokens + given.tokens if is_measured else None,
        given_tokens=given.tokens,
        lines=given.lines,
        used_lines=given.used,
        measured_lines=given.measured,
        harm_lines=given.harm,
        sessions=given.sessions,
        used_share=given.used_share,
        since=given.since,
    )


def _use_shares(given: InjectionTotals) -> dict[str, ScoreShare | None]:
    decided = sum(one.used + one.ignored + one.harm for one in given.kinds)
    if not decided:
        return {}
    return {
        "used": ScoreShare(part=given.used, whole=decided),
        "harmless": ScoreShare(part=decided - given.harm, whole=decided),
    }


def _growth(parts: ProjectParts, days: int, offset_minutes: int) -> tuple[GrowthDay, ...]:
    store, since = parts.engine.store, _since(parts, days, offset_minutes)

    def counts(types: tuple[MemoryType, ...]) -> dict[int, int]:
        # What was learned and replaced since was learned nevertheless.
        where = Filter(project=parts.project, types=types, validity=Validity.ANY, archived=None)
        found = store.memories_by_day(where, since=since, offset_minutes=offset_minutes)
        return {one.day: one.count for one in found}

    records = counts(RAW_TYPES)
    badges = {badge: counts(types) for badge, types in _TYPES_OF_BADGE.items()}
    return tuple(
        GrowthDay(
            day=_EPOCH + timedelta(days=day),
            memories=sum(one.get(day, 0) for one in badges.values()),
            records=records.get(day, 0),
            by_badge={badge: one[day] for badge, one in badges.items() if day in one},
        )
        for day in _days(parts, days, offset_minutes)
    )


def _recall(parts: ProjectParts, days: int, offset_minutes: int) -> tuple[RecallDay, ...]:
    found = parts.engine.store.lines_by_day(
        project=parts.project,
        since=_since(parts, days, offset_minutes),
        offset_minutes=offset_minutes,
    )
    by_day = {one.day: (one.lines, one.used, one.tokens) for one in found}
    return tuple(
        RecallDay(day=_EPOCH + timedelta(days=day), lines=lines, used=used, tokens=tokens)
        for day in _days(parts, days, offset_minutes)
        for lines, used, tokens in [by_day.get(day, (0, 0, 0))]
    )


def _days(parts: ProjectParts, days: int, offset_minutes: int) -> range:
    """The last so many days, today among them, as whole days since 1970."""
    here = parts.engine.clock().astimezone(UTC) + timedelta(minutes=offset_minutes)
    today = (here.date() - _EPOCH).days
    return range(today - days + 1, today + 1)


def _since(parts: ProjectParts, days: int, offset_minutes: int) -> datetime:
    first = _EPOCH + timedelta(days=_days(parts, days, offset_minutes)[0])
    midnight = datetime(first.year, first.month, first.day, tzinfo=UTC)
    return midnight - timedelta(minutes=offset_minutes)


# -- Modules --------------------------------------------------------------------------------------


def module_coverage(parts: ProjectParts) -> tuple[ModuleCoverage, ...] | None:
    """What is known about each module, best known first; None without a code graph."""
    try:
        modules = [one for one in parts.code_graph.modules() if not one.is_test]
    except WellkeptError:
        return None
    store, groups = parts.engine.store, {one.folder: one.files for one in modules}
    where = Filter(project=parts.project, stale=False)
    e2e = Filter(project=parts.project, stale=False, types=(MemoryType.E2E_OBSERVATION,))
    named, seen = store.count_by_files(where, groups), store.count_by_files(e2e, groups)
    found = [
        ModuleCoverage(
            folder=one.folder,
            name=one.name,
            files=len(one.files),
            covered=named[one.folder].files,
            memories=named[one.folder].memories,
            e2e=seen[one.folder].memories,
        )
        for one in modules
    ]
    return tuple(sorted(found, key=lambda one: (-one.memories, one.folder)))


def _covered(modules: tuple[ModuleCoverage, ...] | None) -> ScoreShare | None:
    if modules is None:
        return None
    return ScoreShare(part=sum(one.memories > 0 for one in modules), whole=len(modules))


# -- Machinery ------------------------------------------------------------------------------------


def _methodology(parts: ProjectParts) -> MethodologyBadge:
    chosen, usable = parts.services.settings.methodology, parts.methodology.usable
    return MethodologyBadge(id=usable.id, title=usable.title, installed=usable.id == chosen)


def _graph_state(parts: ProjectParts) -> GraphState:
    empty = GraphState(built_at=None, files=0, stale_files=0, note="")
    if not parts.code_graph.path.exists():
        return empty
    try:
        status = parts.code_graph.status()
    except WellkeptError as error:
        return GraphState(built_at=None, files=0, stale_files=0, note=str(error))
    if status.built_at is None:
        return empty
    return GraphState(
        built_at=status.built_at, files=status.files, stale_files=len(status.stale), note=""
    )


def _index_state(parts: ProjectParts) -> IndexState:
    from wellkept.api.maintenance.doctor import model_in_use

    try:
        model = model_in_use(parts.services)
    except ProviderError as error:
        return IndexState(model_id=None, reason=str(error), vectors=None, wanted=None)
    has_model = model.model_id is not None
    return IndexState(
        model_id=model.model_id,
        reason=model.reason,
        vectors=model.vectors if has_model else None,
        wanted=model.wanted if has_model else None,
    )


def _indexed(index: IndexState) -> ScoreShare | None:
    if index.vectors is None or index.wanted is None:
        return None
    return ScoreShare(part=index.vectors, whole=index.wanted)


def _spool_state(parts: ProjectParts) -> SpoolState | None:
    """The spool of this user; None without a home folder."""
    from wellkept.observe.observer.spool_folder import SpoolFolder

    try:
        found = SpoolFolder.of(parts.services.environment).status(parts.engine.store)
    except (UsageError, OSError):
        return None
    waiting = [one for one in found.files if one.waiting_bytes]
    return SpoolState(
        waiting_bytes=found.waiting_bytes,
        waiting_files=len(waiting),
        oldest_at=min((one.modified_at for one in waiting), default=None),
        draining=found.draining,
        dropped_events=found.dropped_events,
        set_aside=found.aside_entries,
        problems=tuple(f"{one.name}: {one.reason}" for one in found.bad_sources),
    )


def _next_step(
    totals: MemoryTotals,
    spool: SpoolState | None,
    index: IndexState,
    graph: GraphState,
    clients: tuple[ClientState, ...] | None,
    *,
    has_sessions: bool,
) -> NextStep:
    """The first thing that is wrong, worst first."""
    # Where sessions arrive, some client is connected, if not one of this machine.
    absent = (
        clients is not None
        and not has_sessions
        and not any(one.state in ("installed", "outdated") for one in clients)
    )
    lacking = (index.wanted or 0) - (index.vectors or 0)
    steps = (
        ("drain", spool.set_aside + spool.dropped_events if spool else 0),
        ("install", int(absent)),
        ("review", totals.needs_review),
        ("refresh", totals.stale),
        ("reindex", lacking),
        ("build_graph", int(graph.built_at is None)),
        ("teach", int(totals.total == 0)),
    )
    kind, count = next(((kind, count) for kind, count in steps if count > 0), ("nothing", 0))
    return NextStep(kind=kind, count=count)
