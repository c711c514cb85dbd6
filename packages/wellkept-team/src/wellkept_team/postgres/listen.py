"""Waits for activity with LISTEN: a follower is told at the commit and need not poll."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

from wellkept_team.postgres.connection.database import Component
from wellkept_team.postgres.tables.activity import CHANNEL


class PostgresListener(Component):
    """Notifications about activity of the tenant."""

    def notifications(
        self, *, timeout_s: float, on_ready: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """One item for each commit that logged activity, until the time is over.

        Holds a connection of its own. Every commit after `on_ready` was called is told. Ask
        `activity` for what happened.
        """
        end_s = monotonic() + timeout_s
        with self._database.alone() as raw:
            raw.execute(f"LISTEN {CHANNEL}")
            if on_ready is not None:
                on_ready()
            while (left_s := end_s - monotonic()) > 0:
                for told in raw.notifies(timeout=left_s, stop_after=1):
                    if told.payload == self._database.tenant:
                        yield None
