"""Upkeep by a team's server itself: what policies keep no longer is deleted from time to time.

Every process tries; the database lets one at a time, and remembers when an organisation was done
last. A failure is told and tried again with the next round.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from wellkept.core.errors import WellkeptError

if TYPE_CHECKING:
    from wellkept.core.ports.team import TeamDatabase
    from wellkept.core.team.records import UpkeepReport

_LOOKS: Final = 10
_SHORTEST_S: Final = 0.2


class TeamUpkeep:
    """A thread of a server process. `on_done` is told None when there was nothing to do."""

    def __init__(
        self,
        teams: TeamDatabase,
        *,
        every: timedelta,
        on_done: Callable[[UpkeepReport | None], None],
        on_failure: Callable[[WellkeptError], None],
    ) -> None:
        self._teams = teams
        self._every = every
        self._on_done = on_done
        self._on_failure = on_failure
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="wellkept-upkeep", daemon=True)

    def start(self) -> None:
        """Begin, with a first round at once."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round that runs."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def run_once(self) -> None:
        """One round."""
        try:
            self._on_done(self._teams.keep_up_due(every=self._every))
        except WellkeptError as error:
            self._on_failure(error)

    def _run(self) -> None:
        # Looks more often than it has to: another process may have done it, or have died.
        pause_s = max(self._every.total_seconds() / _LOOKS, _SHORTEST_S)
        while not self._stopping.is_set():
            self.run_once()
            self._stopping.wait(pause_s)
