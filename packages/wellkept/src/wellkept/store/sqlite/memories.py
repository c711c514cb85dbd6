"""The `MemoryStore` port."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import StoreBusyError, StoreFullError, StoreReadOnlyError, WellkeptError
from wellkept.core.ids import is_full_id, normalise_short
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order, Page, Stats
from wellkept.store import queries as paging
from wellkept.store.memory_rows import BY_IDS, SELECTED, as_list, to_memory
from wellkept.store.queries import AccessBuffer, AccessCount, require_limit
from wellkept.store.rows import DAMAGE, damaged
from wellkept.store.sqlite.database import Component, Connection, SqlValue
from wellkept.store.sqlite.search.filters import condition, fetch

if TYPE_CHECKING:
    from wellkept.core.changes import Change
    from wellkept.core.memory import Memory


def write_accesses(db: Connection, accesses: dict[str, AccessCount]) -> None:
    """Add accesses to the rows; unknown ids are skipped."""
    db.executemany(
        "UPDATE memories SET access_count = access_count + ?,"
        " accessed_ms = max(accessed_ms, ?) WHERE id = ?",
        [(access.times, access.at_ms, full_id) for full_id, access in accesses.items()],
    )


_STREAM_ROWS = 500
_MAX_RESOLVED = 10
_PREFIX_CHARS = 4
_FLUSH_TIMEOUT_MS = 200
_RETRY_LATER = (StoreBusyError, StoreReadOnlyError, StoreFullError)


class SqliteMemories(Component):
    """Reads and writes whole memories."""

    _accesses: AccessBuffer

    def apply(self, changes: Sequence[Change]) -> None:
        from wellkept.store.sqlite.apply_changes import apply_changes

        accesses = self._accesses.take_all()
        try:
            with self._database.writing() as db:
                apply_changes(db, changes, at_ms=to_ms(self._clock()))
                write_accesses(db, accesses)
        except WellkeptError:
            self._accesses.add(accesses.items())
            raise

    def one_read(self) -> AbstractContextManager[None]:
        return self._database.one_read()

    def get(self, ids: Sequence[str]) -> list[Memory]:
        with self._database.reading() as db:
            rows = db.execute(f"SELECT {SELECTED} FROM {BY_IDS}", (as_list(ids),)).fetchall()
        found = {memory.id: memory for memory in map(to_memory, rows)}
        return [found[full_id] for full_id in ids if full_id in found]

    def contents(self, ids: Sequence[str]) -> dict[str, str]:
        with self._database.reading() as db:
            found = db.execute(f"SELECT m.id, m.content FROM {BY_IDS}", (as_list(ids),)).fetchall()
        for full_id, content in found:
            if not isinstance(content, str):
                raise damaged("memory", full_id)
        return dict(found)

    def resolve(self, text: str, *, project: str | None) -> list[str]:
        wanted = text.strip().lower().removeprefix("m:")
        short = normalise_short(text)
        if len(short) < _PREFIX_CHARS or not wanted.isprintable():
            return []
        reach, params = ("1", ()) if project is None else ("+m.home IN (?, '')", (project,))
        with self._database.reading() as db:
            if is_full_id(wanted):
                return _ids(db, f"m.id = ? AND {reach}", (wanted, *params))
            return _ids(db, f"m.short = ? AND {reach}", (short, *params)) or _ids(
                db,
                f"(m.short BETWEEN ? AND ? OR m.id BETWEEN ? AND ?) AND {reach}",
                (short, short + "~", wanted, wanted + "~", *params),
            )

    def find_key(self, key: str, *, project: str, user_scope: bool) -> Memory | None:
        reach, params = ("m.scope = 'user'", ()) if user_scope else (
            "m.project = ? AND m.scope <> 'user'", (project,)
        )  # fmt: skip
        with self._database.reading() as db:
            row = db.execute(
                f"SELECT {SELECTED} FROM memories m"
                f" WHERE m.key = ? AND m.valid_to_ms IS NULL AND {reach}",
                (key, *params),
            ).fetchone()
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
            (total,) = db.execute(
                f"SELECT count(*) FROM memories m WHERE {filter_sql.sql}", filter_sql.params
            ).fetchone()
            rows = fetch(db, filter_sql, order=order, after=position, limit=limit + 1)
        items = tuple(map(to_memory, rows[:limit]))
        more = len(rows) > limit
        return Page(items, total, paging.encode(rows[limit - 1], order=order) if more else None)

    def iterate(self, where: Filter) -> Iterator[Memory]:
        filter_sql = condition(where)
        with self._database.reading() as db:
            found = db.execute(
                f"SELECT m.row FROM memories m WHERE {filter_sql.sql} ORDER BY m.created_ms, m.id",
                filter_sql.params,
            ).fetchall()
        for start in range(0, len(found), _STREAM_ROWS):
            part = [row for (row,) in found[start : start + _STREAM_ROWS]]
            with self._database.reading() as db:
                rows = db.execute(
                    f"SELECT {SELECTED} FROM json_each(?) j CROSS JOIN memories m"
                    f" ON m.row = j.value WHERE {filter_sql.sql}",
                    (str(part), *filter_sql.params),
                ).fetchall()
            yield from map(to_memory, rows)

    def stats(self, where: Filter) -> Stats:
        filter_sql = condition(where)
        with self._database.reading() as db:
            groups = db.execute(
                "SELECT type, scope, source, count(*), count(valid_to_ms), count(stale_ms),"
                " count(archived_ms), coalesce(sum(needs_review), 0), coalesce(sum(pinned), 0),"
                " min(created_ms), max(created_ms)"
                f" FROM memories m WHERE {filter_sql.sql} GROUP BY type, scope, source",
                filter_sql.params,
            ).fetchall()
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
            oldest=_moment(where.project, min, [g[9] for g in groups]) if groups else None,
            newest=_moment(where.project, max, [g[10] for g in groups]) if groups else None,
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
                write_accesses(db, accesses)
        except _RETRY_LATER:
            self._accesses.add(accesses.items())


def _moment(
    project: str | None, pick: Callable[[Sequence[int]], int], values: Sequence[int]
) -> datetime:
    try:
        return from_ms(pick(values))
    except DAMAGE as error:
        raise damaged("date of a memory in project", project) from error


def _ids(db: Connection, where: str, params: Sequence[SqlValue]) -> list[str]:
    rows = db.execute(
        f"SELECT m.id FROM memories m WHERE {where} ORDER BY m.id LIMIT {_MAX_RESOLVED}", params
    )
    return [full_id for (full_id,) in rows]


def _count_by(groups: Sequence[Sequence[str | int]], column: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for group in groups:
        name = str(group[column])
        counts[name] = counts.get(name, 0) + int(group[3])
    return counts
