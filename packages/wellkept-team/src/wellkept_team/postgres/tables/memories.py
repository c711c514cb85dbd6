"""The `MemoryStore` port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import StoreError, WellkeptError
from wellkept.core.ids import is_full_id, normalise_short
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order, Page, Stats
from wellkept.store import queries as paging
from wellkept.store.queries import AccessBuffer, AccessCount, require_limit
from wellkept_team.postgres.connection.database import (
    Component,
    Connection,
    Row,
    Value,
    all_bindable,
    bindable,
)
from wellkept_team.postgres.tables.filters import Condition, condition
from wellkept_team.postgres.tables.index_keys import index_key
from wellkept_team.postgres.tables.memory_rows import SELECTED, to_memory
from wellkept_team.postgres.tables.project_of_id import KnownHomes

if TYPE_CHECKING:
    from wellkept.core.changes import Change

_STREAM_ROWS = 500
_MAX_RESOLVED = 10
_PREFIX_CHARS = 4
_FLUSH_TIMEOUT_MS = 200


class PostgresMemories(Component):
    """Reads and writes whole memories."""

    _accesses: AccessBuffer
    _homes: KnownHomes

    def apply(self, changes: Sequence[Change]) -> None:
        from wellkept_team.postgres.tables.apply_changes import apply_changes

        accesses = self._accesses.take_all()
        try:
            with self._database.writing() as db:
                apply_changes(db, changes, at_ms=to_ms(self._clock()))
                write_accesses(db, accesses, homes=self._homes.of(accesses))
        except WellkeptError:
            self._accesses.add(accesses.items())
            raise

    def one_read(self) -> AbstractContextManager[None]:
        return nullcontext()  # each search takes a snapshot of its own

    def get(self, ids: Sequence[str]) -> list[Memory]:
        if not ids:
            return []
        with self._database.reading() as db:

            def look_up(wanted: Sequence[str], homes: list[str] | None) -> dict[str, Memory]:
                rows = _by_id(db, SELECTED, wanted, homes)
                return {memory.id: memory for memory in map(to_memory, rows)}

            found = self._homes.read(ids, look_up)
        return [found[full_id] for full_id in ids if full_id in found]

    def contents(self, ids: Sequence[str]) -> dict[str, str]:
        if not ids:
            return {}
        with self._database.reading() as db:
            return self._homes.read(
                ids, lambda wanted, homes: dict(_by_id(db, "m.id, m.content", wanted, homes))
            )

    def resolve(self, text: str, *, project: str | None) -> list[str]:
        wanted = text.strip().lower().removeprefix("m:")
        short = normalise_short(text)
        if len(short) < _PREFIX_CHARS or not wanted.isprintable():
            return []
        short, wanted = bindable(short), bindable(wanted)
        with self._database.reading() as db:
            if is_full_id(wanted):
                return _ids(db, "m.id = %(wanted)s", project, wanted=wanted)
            return _ids(db, "m.short = %(short)s", project, short=short) or _ids(
                db,
                "(m.short BETWEEN %(short)s AND %(short)s || '~'"
                " OR m.id BETWEEN %(wanted)s AND %(wanted)s || '~')",
                project,
                short=short,
                wanted=wanted,
            )

    def find_key(self, key: str, *, project: str, user_scope: bool) -> Memory | None:
        with self._database.reading() as db:
            row = db.row(
                f"SELECT {SELECTED} FROM memories m WHERE m.tenant = %(tenant)s"
                " AND m.home = %(home)s AND m.key_index = %(key)s AND m.key IS NOT NULL"
                " AND m.valid_to_ms IS NULL",
                home="" if user_scope else bindable(project),
                key=index_key(bindable(key)),
            )
        return None if row is None else to_memory(row)

    def list(
        self,
        where: Filter,
        *,
        order: Order = Order.NEWEST,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Memory]:
        require_limit(limit, least=1)
        position = None if cursor is None else paging.decode(cursor, order=order)
        filter_sql = condition(where)
        with self._database.snapshot() as db:
            total = db.value(
                f"SELECT count(*) FROM memories m WHERE {filter_sql.sql}", **filter_sql.params
            )
            rows = _page(db, filter_sql, order=order, after=position, limit=limit + 1)
        items = tuple(map(to_memory, rows[:limit]))
        more = len(rows) > limit
        return Page(items, total, paging.encode(rows[limit - 1], order=order) if more else None)

    def iterate(self, where: Filter) -> Iterator[Memory]:
        filter_sql = condition(where)
        position: paging.PagePosition | None = None
        while True:
            with self._database.reading() as db:
                rows = _page(db, filter_sql, order=Order.OLDEST, after=position, limit=_STREAM_ROWS)
            yield from map(to_memory, rows)
            if len(rows) < _STREAM_ROWS:
                return
            position = paging.position_of(rows[-1], order=Order.OLDEST)

    def stats(self, where: Filter) -> Stats:
        filter_sql = condition(where)
        with self._database.reading() as db:
            groups = db.rows(
                "SELECT type, scope, source, count(*), count(valid_to_ms), count(stale_ms),"
                " count(archived_ms), count(*) FILTER (WHERE needs_review),"
                " count(*) FILTER (WHERE pinned), min(created_ms), max(created_ms)"
                f" FROM memories m WHERE {filter_sql.sql} GROUP BY type, scope, source",
                **filter_sql.params,
            )
        return Stats(
            total=sum(g[3] for g in groups),
            by_type=_count_by(groups, 0),
            by_scope=_count_by(groups, 1),
            by_source=_count_by(groups, 2),
            closed=sum(g[4] for g in groups),
            stale=sum(g[5] for g in groups),
            archived=sum(g[6] for g in groups),
            needs_review=sum(g[7] for g in groups),
            pinned=sum(g[8] for g in groups),
            oldest=from_ms(min(g[9] for g in groups)) if groups else None,
            newest=from_ms(max(g[10] for g in groups)) if groups else None,
        )

    def record_access(self, ids: Sequence[str], *, at: datetime) -> None:
        access = AccessCount(1, to_ms(at))
        self._accesses.add((full_id, access) for full_id in ids)

    def flush(self) -> None:
        """Write buffered accesses; keep them when the store cannot be written now."""
        accesses = self._accesses.take_all()
        if not accesses:
            return
        try:
            with self._database.writing(busy_timeout_ms=_FLUSH_TIMEOUT_MS) as db:
                write_accesses(db, accesses, homes=self._homes.of(accesses))
        except StoreError:
            self._accesses.add(accesses.items())


def _by_id(
    db: Connection, selected: str, ids: Sequence[str], homes: Sequence[str] | None
) -> list[Row]:
    """Rows of memories by id, in some homes or in all."""
    where = "" if homes is None else " AND m.home = ANY(%(homes)s)"
    return db.rows(
        f"SELECT {selected} FROM memories m"
        f" WHERE m.tenant = %(tenant)s AND m.id = ANY(%(ids)s){where}",
        ids=all_bindable(ids),
        homes=homes,
    )


def write_accesses(
    db: Connection, accesses: Mapping[str, AccessCount], *, homes: Sequence[str] = ()
) -> None:
    """Add accesses to the rows: first in the homes that are known, then everywhere; unknown ids are
    skipped."""
    if not accesses:
        return
    done = db.rows(
        "UPDATE memories m SET access_count = m.access_count + a.times,"
        " accessed_ms = greatest(m.accessed_ms, a.at_ms)"
        " FROM unnest(%(ids)s::text[], %(times)s::bigint[], %(at)s::bigint[])"
        " AS a (id, times, at_ms) WHERE m.tenant = %(tenant)s AND m.id = a.id"
        + (" AND m.home = ANY(%(homes)s)" if homes else "")
        + " RETURNING a.id",
        ids=[bindable(full_id) for full_id in accesses],
        times=[access.times for access in accesses.values()],
        at=[access.at_ms for access in accesses.values()],
        homes=list(homes),
    )
    if homes:
        counted = {full_id for (full_id,) in done}
        rest = {key: one for key, one in accesses.items() if bindable(key) not in counted}
        write_accesses(db, rest)


def _page(
    db: Connection,
    filter_sql: Condition,
    *,
    order: Order,
    after: paging.PagePosition | None,
    limit: int,
) -> list[Row]:
    """The next rows in an order."""
    sorting = paging.sorting_of(order)
    direction, beyond = ("DESC", "<") if sorting.descending else ("ASC", ">")
    params: dict[str, Value] = {**filter_sql.params, "limit": limit}
    follows = ""
    if after is not None:
        follows = f"AND (m.{sorting.column}, m.id) {beyond} (%(after)s, %(after_id)s)"
        params |= {"after": after.value, "after_id": bindable(after.id)}
    return db.rows(
        f"SELECT {SELECTED} FROM memories m WHERE {filter_sql.sql} {follows}"
        f" ORDER BY m.{sorting.column} {direction}, m.id {direction} LIMIT %(limit)s",
        **params,
    )


def _ids(db: Connection, where: str, project: str | None, **params: Value) -> list[str]:
    reach = ""
    if project is not None:
        reach = " AND m.home = ANY(%(homes)s)"
        params["homes"] = [bindable(project), ""]
    rows = db.rows(
        f"SELECT m.id FROM memories m WHERE m.tenant = %(tenant)s AND {where}{reach}"
        f" ORDER BY m.id LIMIT {_MAX_RESOLVED}",
        **params,
    )
    return [full_id for (full_id,) in rows]


def _count_by(groups: Sequence[Row], column: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for group in groups:
        name = str(group[column])
        counts[name] = counts.get(name, 0) + int(group[3])
    return counts
