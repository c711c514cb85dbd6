"""The rules of a team's server: what a push does to the shared records, and who decides.

- What a writer pushes is proposed. It becomes the team's when a second person says the same, or a
  reviewer says yes; what a reviewer taught or confirmed is the team's at once.
- A writer who closes a team's statement withdraws it: it ends when a second person does too, or a
  reviewer says so.
- What ended and is brought back waits in the same way, and is ended for all others meanwhile.
- Two statements that replace the same one are rivals until a reviewer decides or one is closed.

Invariant: pushing the same items twice changes nothing. The server's clock counts; moments from
laptops are never taken beyond it. Knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.ports.store import SharedRecordStore
from wellkept.core.records import record, replace
from wellkept.core.team.records import OPEN_STATES, SharedState
from wellkept_team.sharing.shared_file import SharedMemory
from wellkept_team.sharing.team_entry import (
    PushAction,
    PushItem,
    PushOutcome,
    PushResult,
    TeamEntry,
    checked_shared,
    told_state,
    without_end,
)
from wellkept_team.sharing.team_ledger import TeamLedger

_TRIES = 8
_ENOUGH = 2
_KEPT_MARKS = 20


@record(kw_only=True)
class Person:
    """Who pushes or decides."""

    name: str
    may_review: bool = False


def receive(
    store: SharedRecordStore, project: str, items: Sequence[PushItem], *, by: Person, now: datetime
) -> list[PushResult]:
    """Take in what a laptop pushed, in one transaction; results are in the order of the items."""
    # Statements first: what a close names as its heir is then known.
    order = sorted(range(len(items)), key=lambda n: items[n].action is not PushAction.PUT)

    def attempt(ledger: TeamLedger) -> list[PushResult]:
        rules = _Rules(ledger=ledger, by=by, now=now)
        made = {n: rules.take(items[n]) for n in order}
        return [made[n] for n in range(len(items))]

    named = [
        *(item.id for item in items),
        *(one for item in items if item.shared for one in item.shared.replaces),
        *(one for item in items for one in item.rivals),
    ]
    statements = [item.shared.statement for item in items if item.shared]
    ledger, results = _committed(store, project, attempt, named, statements)
    return [_numbered(one, ledger) for one in results]


def decide(
    store: SharedRecordStore,
    project: str,
    ids: Sequence[str],
    *,
    holds: bool,
    by: Person,
    now: datetime,
) -> list[PushResult]:
    """A reviewer's yes or no to what waits, or to what is the team's."""
    if not by.may_review:
        raise UsageError(f"{by.name} may not decide for the team.", hint="Ask a reviewer.")

    def attempt(ledger: TeamLedger) -> list[PushResult]:
        rules = _Rules(ledger=ledger, by=by, now=now)
        return [rules.decide(one, holds=holds) for one in dict.fromkeys(ids)]

    ledger, results = _committed(store, project, attempt, list(ids), [])
    return [_numbered(one, ledger) for one in results]


def _committed(
    store: SharedRecordStore,
    project: str,
    attempt: Callable[[TeamLedger], list[PushResult]],
    ids: list[str],
    statements: list[str],
) -> tuple[TeamLedger, list[PushResult]]:
    for left in reversed(range(_TRIES)):
        ledger = TeamLedger(store, project)
        ledger.load(ids, statements)
        results = attempt(ledger)
        try:
            ledger.commit()
        except ConflictError:
            if not left:
                raise
        else:
            return ledger, results
    raise AssertionError("unreachable")


def _numbered(result: PushResult, ledger: TeamLedger) -> PushResult:
    known = ledger.find(result.same_as or result.id)
    if known is None:
        return result
    return replace(result, seq=known.seq, state=told_state(known.state))


@record(kw_only=True)
class _Rules:
    """The rules for one person, on the records of one transaction."""

    ledger: TeamLedger
    by: Person
    now: datetime

    def take(self, item: PushItem) -> PushResult:
        """Take in one item."""
        try:
            match item.action:
                case PushAction.PUT:
                    return self._put(item)
                case PushAction.CLOSE:
                    return self._close(item)
                case PushAction.ERASE:
                    return self._erase(item)
                case PushAction.CONFIRM:
                    return self._confirm_named(item)
        except UsageError as error:
            return PushResult(id=item.id, outcome=PushOutcome.REFUSED, reason=str(error))

    def decide(self, full_id: str, *, holds: bool) -> PushResult:
        """A reviewer's word on one record."""
        known = self.ledger.find(full_id)
        if known is None or known.state is SharedState.ERASED:
            raise NotFoundError(f"Nothing is shared under the id {full_id!r}.")
        entry = self.ledger.entry(full_id)
        reviewed = replace(entry, reviewer=self.by.name, reviewed_at=self.now)
        if holds:
            was_team = known.state is SharedState.TEAM
            kept = replace(without_end(reviewed), withdrawn_by=())
            self.ledger.put(full_id, kept, state=SharedState.TEAM)
            if was_team:
                self._settle_rivals(full_id)
            else:
                self._become_team(full_id)
        else:
            self.ledger.put(full_id, reviewed)
            self._end(full_id, until=self.now)
            self._give_back(full_id)
        return PushResult(id=full_id, outcome=PushOutcome.ACCEPTED)

    # -- Statements -------------------------------------------------------------------------------

    def _put(self, item: PushItem) -> PushResult:
        if item.shared is None or item.shared.id != item.id:
            raise UsageError("A statement must come with its own id.")
        shared = checked_shared(item.shared, author=self.by.name, now=self.now)
        known = self.ledger.find(item.id)
        if known is None:
            return self._put_new(item, shared)
        if known.state is SharedState.ERASED:
            return _result(item, PushOutcome.REFUSED, "Its text was erased for everybody.")
        return self._put_known(item, shared)

    def _put_new(self, item: PushItem, shared: SharedMemory) -> PushResult:
        twin = self.ledger.twin(shared.statement)
        if twin is not None:
            self._take_back(twin)
            self._confirm(twin)
            return PushResult(id=item.id, outcome=PushOutcome.SAME, same_as=twin)
        is_decided = self.by.may_review and item.vouched
        entry = TeamEntry(
            shared=shared,
            confirmed_by=(self.by.name,),
            reviewer=self.by.name if is_decided else None,
            reviewed_at=self.now if is_decided else None,
        )
        state = SharedState.TEAM if is_decided else SharedState.PROPOSED
        self.ledger.put(item.id, entry, state=state, owner=self.by.name)
        self._name_heir(item.id)
        for rival in item.rivals:
            self._make_rivals(item.id, rival)
        if is_decided:
            self._become_team(item.id)
        return _result(item, PushOutcome.ACCEPTED if is_decided else PushOutcome.WAITS)

    def _put_known(self, item: PushItem, shared: SharedMemory) -> PushResult:
        known, entry = self.ledger.known(item.id), self.ledger.entry(item.id)
        there = entry.shared
        assert there is not None
        is_current = item.base == known.seq
        if known.state is SharedState.CLOSED:
            return self._put_closed(item, is_current=is_current)
        if known.state is SharedState.BROUGHT_BACK and known.owner != self.by.name:
            if is_current:  # a second person brings it back, too
                self._confirm(item.id)
            return _result(item, PushOutcome.ACCEPTED)
        # An earlier wording is an old request come late, unless it is said knowing the latest.
        is_late = shared.mark in entry.past and not is_current
        if shared.mark == there.mark or is_late:
            self._confirm(item.id)
        elif shared.statement == there.statement:
            labelled = _labelled(there, shared, united=not is_current)
            self.ledger.put(item.id, replace(entry, shared=labelled, past=_past(entry)))
        elif is_current and self._may_change(item):
            worded = replace(shared, since=there.since, replaces=there.replaces)
            self.ledger.put(item.id, replace(entry, shared=worded, past=_past(entry)))
        else:
            return _result(item, PushOutcome.CONFLICT, "It was worded anew meanwhile.")
        return _result(item, PushOutcome.ACCEPTED)

    def _put_closed(self, item: PushItem, *, is_current: bool) -> PushResult:
        """Somebody who knows that it was closed brings it back; others have not heard of it yet."""
        entry = self.ledger.entry(item.id)
        if not is_current:
            return _result(item, PushOutcome.ACCEPTED)
        is_decided = (self.by.may_review and item.vouched) or entry.ended_by == self.by.name
        opened = replace(entry, confirmed_by=(self.by.name,), withdrawn_by=(), was_team=False)
        self.ledger.put(
            item.id,
            without_end(opened) if is_decided else opened,
            state=SharedState.TEAM if is_decided else SharedState.BROUGHT_BACK,
            owner=self.by.name,
        )
        return _result(item, PushOutcome.ACCEPTED if is_decided else PushOutcome.WAITS)

    def _may_change(self, item: PushItem) -> bool:
        known = self.ledger.known(item.id)
        is_proposed = known.state in (SharedState.PROPOSED, SharedState.BROUGHT_BACK)
        is_own = is_proposed and known.owner == self.by.name
        return is_own or (self.by.may_review and item.vouched)

    # -- Confirming -------------------------------------------------------------------------------

    def _confirm_named(self, item: PushItem) -> PushResult:
        known = self.ledger.find(item.id)
        if known is None or known.state not in OPEN_STATES:
            return _result(item, PushOutcome.REFUSED, "It is no longer there.")
        self._confirm(item.id)
        return _result(item, PushOutcome.ACCEPTED)

    def _confirm(self, full_id: str) -> None:
        entry = self.ledger.entry(full_id)
        if self.by.name in entry.confirmed_by:
            return
        confirmed = (*entry.confirmed_by, self.by.name)
        self.ledger.put(full_id, replace(entry, confirmed_by=confirmed))
        is_team = self.ledger.known(full_id).state is SharedState.TEAM
        if not is_team and len(confirmed) >= _ENOUGH:
            held = without_end(self.ledger.entry(full_id))
            self.ledger.put(full_id, held, state=SharedState.TEAM)
            self._become_team(full_id)

    def _take_back(self, full_id: str) -> None:
        """Who says it again withdraws it no longer."""
        entry = self.ledger.entry(full_id)
        left = tuple(one for one in entry.withdrawn_by if one != self.by.name)
        self.ledger.put(full_id, replace(entry, withdrawn_by=left))

    def _become_team(self, full_id: str) -> None:
        """Close what it replaces; other heirs of that are its rivals now."""
        shared = self.ledger.entry(full_id).shared
        assert shared is not None
        for old in shared.replaces:
            known = self.ledger.find(old)
            if known is None or known.state is SharedState.ERASED:
                continue
            if known.state in OPEN_STATES:
                self._end(old, until=self.now, superseded_by=full_id)
        self._name_heir(full_id)
        for rival in self.ledger.entry(full_id).rivals:
            self._make_rivals(full_id, rival)

    # -- Ending -----------------------------------------------------------------------------------

    def _close(self, item: PushItem) -> PushResult:
        known = self.ledger.find(item.id)
        if known is None or known.state not in OPEN_STATES:
            return _result(item, PushOutcome.ACCEPTED)
        if known.state is SharedState.BROUGHT_BACK and known.owner != self.by.name:
            return _result(item, PushOutcome.ACCEPTED)  # for them it has ended
        if not self._may_change(item) and not self._withdraw(item.id):
            return _result(item, PushOutcome.WAITS)
        heir = item.superseded_by
        heir_known = self.ledger.find(heir) if heir else None
        is_heir = heir_known is not None and heir_known.state is SharedState.TEAM
        until = min(item.until or self.now, self.now)
        self._end(item.id, until=until, superseded_by=heir if is_heir else None)
        return _result(item, PushOutcome.ACCEPTED)

    def _erase(self, item: PushItem) -> PushResult:
        known = self.ledger.find(item.id)
        if known is None or known.state is SharedState.ERASED:
            return _result(item, PushOutcome.ACCEPTED)
        if self.by.may_review or known.owner == self.by.name:
            self._settle_rivals(item.id)
            erased = TeamEntry(shared=None, ended_by=self.by.name, until=self.now)
            self.ledger.put(item.id, erased, state=SharedState.ERASED)
            return _result(item, PushOutcome.ACCEPTED)
        return self._close(replace(item, action=PushAction.CLOSE))

    def _withdraw(self, full_id: str) -> bool:
        """Note that this person withdraws it; whether that is enough."""
        entry = self.ledger.entry(full_id)
        if self.by.name not in entry.withdrawn_by:
            entry = replace(entry, withdrawn_by=(*entry.withdrawn_by, self.by.name))
            self.ledger.put(full_id, entry)
        return len(entry.withdrawn_by) >= _ENOUGH

    def _end(self, full_id: str, *, until: datetime, superseded_by: str | None = None) -> None:
        self._settle_rivals(full_id)
        entry = self.ledger.entry(full_id)
        ended = replace(
            entry, until=until, superseded_by=superseded_by, ended_by=self.by.name, rivals=()
        )
        self.ledger.put(full_id, ended, state=SharedState.CLOSED)

    def _give_back(self, full_id: str) -> None:
        """After a no to an heir, what it would have replaced holds again for its owner."""
        known, shared = self.ledger.known(full_id), self.ledger.entry(full_id).shared
        for old in shared.replaces if shared else ():
            there = self.ledger.find(old)
            if there is not None and there.state is SharedState.TEAM:
                entry = self.ledger.entry(old)
                left = tuple(one for one in entry.withdrawn_by if one != known.owner)
                self.ledger.put(old, replace(entry, withdrawn_by=left))

    # -- Rivals -----------------------------------------------------------------------------------

    def _name_heir(self, full_id: str) -> None:
        shared = self.ledger.entry(full_id).shared
        for old in shared.replaces if shared else ():
            known = self.ledger.find(old)
            if known is None or known.state is SharedState.ERASED:
                continue
            entry = self.ledger.entry(old)
            for rival in entry.heirs:
                if rival != full_id:
                    self._make_rivals(full_id, rival)
            if full_id not in entry.heirs:
                self.ledger.put(old, replace(entry, heirs=(*entry.heirs, full_id)))

    def _make_rivals(self, one: str, other: str) -> None:
        """Both name each other; but the team's statement does not name a mere proposal."""
        states = {each: self.ledger.find(each) for each in (one, other)}
        if any(known is None or known.state not in OPEN_STATES for known in states.values()):
            return
        for this, that in ((one, other), (other, one)):
            is_team = self.ledger.known(this).state is SharedState.TEAM
            counts = not is_team or self.ledger.known(that).state is SharedState.TEAM
            entry = self.ledger.entry(this)
            named = {*entry.rivals, that} if counts else {*entry.rivals} - {that}
            if named != set(entry.rivals):
                self.ledger.put(this, replace(entry, rivals=tuple(sorted(named))))

    def _settle_rivals(self, full_id: str) -> None:
        """It has no rivals any more, and is nobody's."""
        entry = self.ledger.entry(full_id)
        for rival in entry.rivals:
            if self.ledger.find(rival) is None:
                continue
            other = self.ledger.entry(rival)
            left = tuple(one for one in other.rivals if one != full_id)
            if left != other.rivals:
                self.ledger.put(rival, replace(other, rivals=left))
        if entry.rivals:
            self.ledger.put(full_id, replace(entry, rivals=()))


def _result(item: PushItem, outcome: PushOutcome, reason: str | None = None) -> PushResult:
    return PushResult(id=item.id, outcome=outcome, reason=reason)


def _past(entry: TeamEntry) -> tuple[str, ...]:
    assert entry.shared is not None
    return (*entry.past, entry.shared.mark)[-_KEPT_MARKS:]


def _labelled(there: SharedMemory, given: SharedMemory, *, united: bool) -> SharedMemory:
    """The stored statement with the labels given, or with those of both."""
    names = ("tags", "files", "modules")
    old = {name: getattr(there, name) for name in names}
    new = {name: getattr(given, name) for name in names}
    if united:
        new = {name: tuple(sorted({*old[name], *new[name]})) for name in names}
    return replace(there, **new)
