"""`GuardedStore`: the store as one person of a team sees it.

Which memories of others were handed out is noted in the audit log before the caller has them: a
read that cannot be noted fails. A standby takes no notes; what is read there while the primary is
away goes to the program's log `wellkept.audit`, with ids and without contents.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from wellkept.core.errors import ForbiddenError, StoreReadOnlyError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order, Page
from wellkept.core.team.records import SharedRecord
from wellkept_team.postgres.connection.database import Value
from wellkept_team.postgres.store import PostgresStore

_NOTED_AT_ONCE = 500
_LOG = logging.getLogger("wellkept.audit")


class GuardedStore(PostgresStore):
    """A store under row-level security, with an audit of what is read."""

    def get(self, ids: Sequence[str]) -> list[Memory]:
        found = super().get(ids)
        self._note(found)
        return found

    def contents(self, ids: Sequence[str]) -> dict[str, str]:
        found = super().contents(ids)
        self._note_ids(list(found))
        return found

    def find_key(self, key: str, *, project: str, user_scope: bool) -> Memory | None:
        found = super().find_key(key, project=project, user_scope=user_scope)
        if found is not None:
            self._note([found])
        return found

    def list(
        self,
        where: Filter,
        *,
        order: Order = Order.NEWEST,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Memory]:
        page = super().list(where, order=order, limit=limit, cursor=cursor)
        self._note(page.items)
        return page

    def iterate(self, where: Filter) -> Iterator[Memory]:
        memories = super().iterate(where)
        while batch := list(islice(memories, _NOTED_AT_ONCE)):
            self._note(batch)
            yield from batch

    def shared_changes(
        self, project: str, *, after: int, limit: int, seen_by: str | None, waiting: bool = False
    ) -> list[SharedRecord]:
        found = super().shared_changes(
            project, after=after, limit=limit, seen_by=seen_by, waiting=waiting
        )
        # Nobody is told what the server takes over into its own memory.
        if found and seen_by != "":
            self._require_noted(
                "SELECT note_shared_reads(%(project)s, %(ids)s)",
                project=project,
                ids=[one.id for one in found],
            )
        return found

    def continue_upgrade(self) -> bool:
        """Indexes are made by whoever owns the database."""
        return False

    def close(self) -> None:
        """Flush; the pool is shared and stays open."""
        super().close()

    def _note(self, memories: Iterable[Memory]) -> None:
        self._note_ids([memory.id for memory in memories])

    def _note_ids(self, ids: list[str]) -> None:
        if ids:
            self._require_noted("SELECT note_reads(%(ids)s)", ids=ids)

    def _require_noted(self, sql: str, *, ids: Sequence[str], **params: Value) -> None:
        try:
            with self._database.reading() as db:
                is_noted = bool(db.value(sql, ids=list(ids), **params))
        except StoreReadOnlyError:
            is_noted = self._logged(ids)
        if not is_noted:
            raise ForbiddenError("Your token is no longer valid.", hint="Ask for another.")

    def _logged(self, ids: Sequence[str]) -> bool:
        """Log a read on a standby; whether the token still counts. StoreReadOnlyError elsewhere."""
        with self._database.reading() as db:
            row = db.row("SELECT person, token, pg_is_in_recovery() FROM asking()")
            if row is not None and not row[2]:
                raise StoreReadOnlyError(
                    f"PostgreSQL at {self._database.place} takes no notes of reads now.",
                    hint="Try again later.",
                )
            if row is None or row[0] is None:
                return False
            mine = db.rows(
                "SELECT id FROM memories WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)"
                " AND owner = %(person)s",
                ids=list(ids),
                person=row[0],
            )
        others = sorted({*ids} - {full_id for (full_id,) in mine})
        if others:
            told = {"tenant": self._database.tenant, "person": row[0], "token": row[1]}
            _LOG.warning("Read on a standby: %s", json.dumps({**told, "ids": others}))
        return True
