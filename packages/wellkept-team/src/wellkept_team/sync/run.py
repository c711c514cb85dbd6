"""Keeps a laptop and its team's server the same: pull, push, pull again.

In bounded batches, each written down before the next, so that a cut costs at most one batch. What
was sent twice counts once. A failure is written down as a condition with the time of the next try;
nothing of it is half done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.changes import Close
from wellkept.core.errors import (
    ConflictError,
    NotFoundError,
    ProviderError,
    StoreError,
    UsageError,
    WellkeptError,
)
from wellkept.core.file_locks import lock, open_lock
from wellkept.core.ids import short_id
from wellkept.core.records import field, record, replace
from wellkept.core.settings import paths
from wellkept.core.team.records import SharedState
from wellkept.memory.edit import Base, Bases
from wellkept_team.people.policies import keep_policy
from wellkept_team.sharing.push import Outgoing
from wellkept_team.sharing.replica import take_changes
from wellkept_team.sharing.team_entry import (
    Pulled,
    PushAction,
    PushItem,
    PushOutcome,
    PushResult,
)
from wellkept_team.sync.connection import TIMEOUT_S, TeamConnection
from wellkept_team.sync.handoffs import keep_handoffs
from wellkept_team.sync.managed_skills import keep_managed_skills
from wellkept_team.sync.state import (
    Condition,
    Remote,
    get_remote,
    get_token,
    put_remote,
)

if TYPE_CHECKING:
    from wellkept.memory.engine import Engine

PAGE = 200
BATCH = 100
EVERY = timedelta(minutes=1)
LONGEST_WAIT = timedelta(hours=1)
SKEW_WORTH_TELLING_S = 300.0
_FIRST_WAIT_S = 15.0
_ACTIVITY_PAGE = 1_000
_MAX_REFUSED = 20


@record(frozen=False, kw_only=True)
class SyncReport:
    """What a run did."""

    condition: Condition = Condition.OK
    problem: str | None = None
    busy: bool = False
    """Another process is at it."""
    pushed: int = 0
    waiting: int = 0
    pulled: int = 0
    new: int = 0
    changed: int = 0
    closed: int = 0
    conflicts: list[str] = field(default_factory=list[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])


def sync_project(
    engine: Engine,
    project: str,
    *,
    environment: Mapping[str, str],
    author: str = "",
    timeout_s: float = TIMEOUT_S,
) -> SyncReport:
    """Sync the project with its remote; what goes wrong is in the report and in the remote."""
    folder = paths.data_folder(environment) / "remotes"
    with closing(open_lock(folder, f"sync {project}")) as held:
        if not lock(held):
            return SyncReport(busy=True)
        remote = get_remote(engine.store, project)
        if remote is None:
            raise NotFoundError(
                "This project has no remote.", hint="Add one: wellkept team join URL"
            )
        return _run(
            engine,
            project,
            remote,
            lambda: connection_of(remote, environment, author=author, timeout_s=timeout_s),
        )


def connection_of(
    remote: Remote,
    environment: Mapping[str, str],
    *,
    author: str = "",
    timeout_s: float = TIMEOUT_S,
) -> TeamConnection:
    """A connection to the project on its server."""
    return TeamConnection(
        remote.url,
        get_token(environment, remote.url),
        project=remote.project,
        person=remote.person or author,
        timeout_s=timeout_s,
    )


def _run(
    engine: Engine, project: str, remote: Remote, connect: Callable[[], TeamConnection]
) -> SyncReport:
    report = SyncReport()
    try:
        connection = connect()
        run = _Sync(engine, project, remote, connection, report)
        try:
            run.run()
        finally:
            remote = run.remote
    except WellkeptError as error:
        _note_failure(engine, project, remote, error, report)
    else:
        now = engine.clock()
        done = replace(
            remote,
            condition=Condition.OK,
            problem=None,
            failures=0,
            synced_at=now,
            next_at=now + EVERY,
            refused=tuple(f"{name}: {why}" for name, why in report.refused.items())[:_MAX_REFUSED],
        )
        put_remote(engine.store, project, done)
    return report


class _Sync:
    """One run."""

    def __init__(
        self,
        engine: Engine,
        project: str,
        remote: Remote,
        connection: TeamConnection,
        report: SyncReport,
    ) -> None:
        self._engine = engine
        self._project = project
        self.remote = remote
        self._connection = connection
        self._report = report
        self._bases = Bases(engine, project)
        self._again: list[str] = []

    def run(self) -> None:
        """Pull, push, pull what the push brought about, and fetch the organisation's skills. Its
        policy comes with every pull."""
        self._pull()
        if self._push():
            self._pull()
        keep_managed_skills(self._engine.store, self._project, self._connection.managed_skills())

    # -- Pulling ----------------------------------------------------------------------------------

    def _pull(self) -> None:
        while True:
            page = self._page()
            made = take_changes(
                self._engine,
                page.changes,
                project=self._project,
                bases=self._bases,
                me=self.remote.person,
            )
            report = self._report
            report.pulled += len(page.changes)
            report.new += len(made.new)
            report.changed += len(made.changed)
            report.closed += len(made.closed)
            report.conflicts += made.conflicts
            self._keep(cursor=page.cursor)
            if len(page.changes) < PAGE:
                self._fetch_handoffs(page.handoffs)
                return

    def _fetch_handoffs(self, mark: str) -> None:
        if mark != self.remote.handoffs:
            found = self._connection.handoffs() if mark else {}
            keep_handoffs(self._engine.store, self._project, found)
            self._keep(handoffs=mark)

    def _page(self) -> Pulled:
        """The next page. Where the server began a new history, or was set back to an old copy, we
        begin anew, too: what it lost is pushed again."""
        answer = self._connection.pull(after=self.remote.cursor, limit=PAGE)
        page = answer.page
        is_other = bool(page.log and self.remote.log and page.log != self.remote.log)
        if is_other or page.head < self.remote.cursor:
            self._bases.clear()
            self._keep(cursor=0, looked_at=-1, log=page.log)
            answer = self._connection.pull(after=0, limit=PAGE)
            page = answer.page
        self._keep(
            log=page.log or self.remote.log,
            person=answer.person or self.remote.person,
            role=answer.role,
            skew_s=round((page.at - self._engine.clock()).total_seconds(), 1),
        )
        keep_policy(self._engine.store, self._project, answer.policy)
        return page

    # -- Pushing ----------------------------------------------------------------------------------

    def _push(self) -> bool:
        if self.remote.role == "reader":
            return False
        newest = self._engine.store.activity_range().newest
        outgoing = Outgoing(
            engine=self._engine,
            project=self._project,
            bases=self._bases,
            scopes=self.remote.scopes,
            types=self.remote.types,
            refused=self._report.refused,
        )
        ids = self._changed_ids()
        again = self.remote.again
        items = outgoing.of_everything() if ids is None else outgoing.of_these((*ids, *again))
        is_any = False
        self._again = []
        for batch in _batches(items):
            is_any = True
            answer = self._connection.push(batch)
            for item, result in zip(batch, answer.results, strict=True):
                self._note(item, result)
            self._keep(log=answer.log or self.remote.log)
        self._keep(looked_at=newest, again=tuple(self._again))
        return is_any

    def _changed_ids(self) -> list[str] | None:
        """Memories that changed since the last look; None to look at all of them."""
        store, after = self._engine.store, self.remote.looked_at
        known = store.activity_range()
        if after < 0 or after > known.newest or (known.oldest > after + 1):
            return None
        found: dict[str, None] = {}
        while page := store.activity(after=after, project=self._project, limit=_ACTIVITY_PAGE):
            found |= {one.memory_id: None for one in page if one.memory_id}
            after = page[-1].number
        return list(found)

    def _note(self, item: PushItem, result: PushResult) -> None:
        """Write down what became of one item."""
        bases, report = self._bases, self._report
        known = bases.get(item.id)
        state = result.state or SharedState.TEAM
        match result.outcome:
            case PushOutcome.REFUSED:
                report.refused[short_id(item.id)] = result.reason or "refused"
                if item.shared is not None:  # not again until it changes
                    bases.put(item.id, _refused(known, item.shared.mark))
                return
            case PushOutcome.CONFLICT:
                # The pull that follows brings theirs once more, and keeps ours beside it.
                bases.put(item.id, Base(seq=result.seq, state=state))
                self._keep(cursor=min(self.remote.cursor, result.seq - 1))
                return
            case PushOutcome.SAME:
                report.pushed += 1
                if not self._give_way(item.id, result.same_as or ""):
                    self._again.append(item.id)
                return
            case PushOutcome.ACCEPTED | PushOutcome.WAITS:
                report.pushed += 1
                report.waiting += result.outcome is PushOutcome.WAITS
        if item.action is PushAction.PUT and item.shared is not None:
            rivals = known.rivals if known else ()
            bases.put(
                item.id, Base(seq=result.seq, mark=item.shared.mark, state=state, rivals=rivals)
            )
            if result.seq != item.base:  # what others made of it meanwhile is pulled once more
                self._keep(cursor=min(self.remote.cursor, max(result.seq - 1, 0)))
        elif item.action is PushAction.CLOSE and known is not None:
            asked = result.outcome is PushOutcome.WAITS
            ended = known.state if asked else SharedState.CLOSED
            bases.put(item.id, replace(known, seq=result.seq, state=ended, asked=asked))
        elif item.action is PushAction.ERASE:
            ended = SharedState.ERASED if result.outcome is PushOutcome.ACCEPTED else state
            bases.put(item.id, Base(seq=result.seq, state=ended))

    def _give_way(self, full_id: str, same_as: str) -> bool:
        """Somebody said the same before: where theirs holds here, ours ends. Else theirs comes
        with a pull, or ended meanwhile; then ours is pushed again."""
        store = self._engine.store
        ours, theirs = store.get([full_id]), store.get([same_as])
        if ours and theirs and ours[0].is_open and theirs[0].is_open:
            at = max(self._engine.clock(), ours[0].valid_from)
            with suppress(ConflictError):
                store.apply([Close(full_id, at, same_as, ours[0].updated_at)])
                return True
        return False

    def _keep(self, **fields: object) -> None:
        changed = replace(self.remote, **fields)
        if changed != self.remote:
            self.remote = changed
            put_remote(self._engine.store, self._project, changed)


def _refused(known: Base | None, mark: str) -> Base:
    return replace(known or Base(seq=0, state=SharedState.PROPOSED), mark=mark)


def _batches(items: Iterable[PushItem]) -> Iterator[list[PushItem]]:
    left = iter(items)
    while batch := list(islice(left, BATCH)):
        yield batch


# -- Failures -------------------------------------------------------------------------------------


def _note_failure(
    engine: Engine, project: str, remote: Remote, error: WellkeptError, report: SyncReport
) -> None:
    report.condition, report.problem = _condition(error), str(error)
    failures = remote.failures + 1
    failed = replace(
        remote,
        condition=report.condition,
        problem=report.problem,
        failures=failures,
        next_at=engine.clock() + _wait(error, report.condition, failures, project),
    )
    with suppress(StoreError):  # a full disk: the report tells, and the next run tries again
        put_remote(engine.store, project, failed)


def _condition(error: WellkeptError) -> Condition:
    if isinstance(error, ProviderError):
        match error.status:
            case 401:
                return Condition.LOGIN
            case 403:
                return Condition.FORBIDDEN
            case 429:
                return Condition.BUSY
            case None:
                return Condition.FAILING if error.cause == "answer" else Condition.OFFLINE
            case _:
                return Condition.FAILING
    if isinstance(error, NotFoundError):
        return Condition.LOGIN
    return Condition.LOCAL if isinstance(error, (StoreError, UsageError)) else Condition.FAILING


def _wait(error: WellkeptError, condition: Condition, failures: int, project: str) -> timedelta:
    """Twice as long each time, a little different for each laptop, and as the server asks."""
    asked = error.retry_after_s if isinstance(error, ProviderError) else None
    if asked is not None:
        return min(timedelta(seconds=max(asked, 1.0)), LONGEST_WAIT)
    if condition in (Condition.LOGIN, Condition.FORBIDDEN):
        return LONGEST_WAIT
    seed = hashlib.sha256(f"{project}{failures}{Path.home()}".encode()).digest()[0] / 255
    seconds = _FIRST_WAIT_S * 2 ** min(failures - 1, 10) * (1 + seed / 4)
    return min(timedelta(seconds=seconds), LONGEST_WAIT)
