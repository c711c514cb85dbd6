"""`wk.team_memory`: what a team shares, on its server. Laptops push to it and pull from it.

The rules are in `team_rules`. The server's own memory follows the records as every laptop's does,
so that it can be searched and shown there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from wellkept.context.start.handoff import read_handoff, write_handoff
from wellkept.core.codec import Json
from wellkept.core.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    StoreError,
    UsageError,
)
from wellkept.core.ids import is_full_id
from wellkept.core.records import record, replace
from wellkept.memory.edit import Bases
from wellkept.memory.exchange.passages import fingerprint
from wellkept_team.sharing.replica import take_changes
from wellkept_team.sharing.team_entry import (
    MAX_ITEMS,
    Pulled,
    PushItem,
    PushOutcome,
    PushResult,
    TeamChange,
    change_for,
    change_of,
    checked_item,
)
from wellkept_team.sharing.team_rules import Person, decide, receive

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.api.wiring.services import Services
    from wellkept.core.ports.store import Store

MAX_PAGE = 200
MAX_HANDOFFS = 30
_LOGS, _FOLLOWED, _BASES = "team.log", "team.followed", "team.base"
_HANDOFFS = "team.handoffs"


@record(kw_only=True)
class Pushed:
    """What became of each item."""

    results: tuple[PushResult, ...]
    head: int
    log: str


class TeamMemory:
    """The shared records of one project."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def push(self, items: Sequence[dict[str, Json]], *, by: Person) -> Pushed:
        """Take in what a laptop pushed; what cannot be read is refused item by item."""
        if len(items) > MAX_ITEMS:
            raise UsageError(f"At most {MAX_ITEMS} items at once.", hint="Send several batches.")
        read = [_checked(item) for item in items]
        good = [one for one in read if isinstance(one, PushItem)]
        made = iter(receive(self._store, self._project, good, by=by, now=self._now()))
        results = [one if isinstance(one, PushResult) else next(made) for one in read]
        log = self._log()
        self._try_to_follow()
        return Pushed(results=tuple(results), head=self._store.shared_head(self._project), log=log)

    def pull(self, *, after: int, limit: int, by: Person) -> Pulled:
        """What changed after a number, without what others proposed."""
        if not 1 <= limit <= MAX_PAGE or after < 0:
            raise UsageError(f"Ask for 1 to {MAX_PAGE} changes after a number.")
        head = self._store.shared_head(self._project)
        found = self._store.shared_changes(self._project, after=after, limit=limit, seen_by=by.name)
        is_all = len(found) < limit
        last = found[-1].seq if found else after
        return Pulled(
            changes=tuple(change_for(one, by.name) for one in found),
            cursor=max(last, head) if is_all else last,
            head=head,
            log=self._known_log(),
            at=self._now(),
            handoffs=_mark(self._handoffs()),
        )

    def waiting(self, *, after: int = 0, limit: int = MAX_PAGE) -> tuple[TeamChange, ...]:
        """What waits for a second person or a reviewer."""
        found = self._store.shared_changes(
            self._project, after=after, limit=limit, seen_by=None, waiting=True
        )
        return tuple(map(change_of, found))

    def decide(self, ids: Sequence[str], *, holds: bool, by: Person) -> tuple[PushResult, ...]:
        """A reviewer's yes or no."""
        if not ids or not all(map(is_full_id, ids)):
            raise UsageError("Name the records by their full ids.")
        made = decide(self._store, self._project, ids, holds=holds, by=by, now=self._now())
        self._log()
        self._try_to_follow()
        return tuple(made)

    def hand_over(self, text: str, *, by: Person) -> None:
        """Keep a hand-over for its branch, under the name of who sent it; the latest counts."""
        made = replace(read_handoff(text), author=by.name, at=self._now())
        if not made.sections:
            raise UsageError("The hand-over says nothing.")
        known = {**self._handoffs(), made.branch: write_handoff(made)}
        latest = sorted(known, key=lambda one: read_handoff(known[one]).at)[-MAX_HANDOFFS:]
        value: Json = {branch: known[branch] for branch in latest}
        self._store.put_value(_HANDOFFS, self._project, value)

    def handoffs(self) -> dict[str, str]:
        """The latest hand-overs, by branch."""
        return self._handoffs()

    def _handoffs(self) -> dict[str, str]:
        known = self._store.get_value(_HANDOFFS, self._project)
        return {k: str(v) for k, v in known.items()} if isinstance(known, dict) else {}

    def _try_to_follow(self) -> None:
        """The records count; where who asks may not write all of it, the next request goes on."""
        with suppress(ForbiddenError, NotFoundError, ConflictError, StoreError):
            self._follow()

    def _follow(self) -> None:
        """Bring the server's own memory up to date. Repeatable, so no lock is needed."""
        engine = self._services.engine
        bases = Bases(engine, self._project, namespace=_BASES)
        seen = self._store.get_value(_FOLLOWED, self._project)
        after = seen if isinstance(seen, int) else 0
        while found := self._store.shared_changes(
            self._project, after=after, limit=MAX_PAGE, seen_by=""
        ):
            changes = [change_for(one, "") for one in found]
            take_changes(engine, changes, project=self._project, bases=bases, me="")
            after = found[-1].seq
            self._store.put_value(_FOLLOWED, self._project, after)

    def _log(self) -> str:
        """The name of this history, made with the first push."""
        known = self._known_log()
        if not known:
            known = self._services.engine.new_id()
            self._store.put_value(_LOGS, self._project, known)
        return known

    def _known_log(self) -> str:
        known = self._store.get_value(_LOGS, self._project)
        return known if isinstance(known, str) else ""

    def _now(self) -> datetime:
        return self._services.clock()

    @property
    def _store(self) -> Store:
        return self._services.store

    @property
    def _project(self) -> str:
        return self._services.project


def _checked(data: dict[str, Json]) -> PushItem | PushResult:
    try:
        return checked_item(data)
    except UsageError as error:
        return PushResult(
            id=str(data.get("id", "")), outcome=PushOutcome.REFUSED, reason=str(error)
        )


def _mark(handoffs: dict[str, str]) -> str:
    """Changes with every hand-over, so that laptops know when to ask for them."""
    if not handoffs:
        return ""
    return fingerprint("\0".join(text for _, text in sorted(handoffs.items())))
