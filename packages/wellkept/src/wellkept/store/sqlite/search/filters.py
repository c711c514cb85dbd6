"""A `Filter` as an SQL condition on `memories m`.

Invariant: values are always bound as parameters. Knows nothing of selection or order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache

from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept.core.query import RAW_TYPES, Filter, Order, Validity
from wellkept.core.records import field, record
from wellkept.core.types import Source
from wellkept.store.memory_rows import SELECTED
from wellkept.store.queries import MAX_TAGS, LabelKind, PagePosition, sorting_of
from wellkept.store.rows import Row
from wellkept.store.sqlite.database import Connection, SqlValue, bindable, placeholders

# Each tag is a separate condition, and SQLite limits their number.
BAND = "min(5, CAST(m.confidence * 5 AS INTEGER) + 1)"
"""The dots of confidence, as `core.query.confidence_band` counts them."""
METHODOLOGY = "CASE WHEN json_valid(m.work_unit) THEN json_extract(m.work_unit, '$[0]') END"
"""The methodology of a work unit; a damaged one counts as none."""


@record
class Condition:
    """SQL for a WHERE clause and its parameters, in order."""

    sql: str
    params: tuple[SqlValue, ...]


@record(frozen=False)
class _Clauses:
    sql: list[str] = field(default_factory=list[str])
    params: list[SqlValue] = field(default_factory=list[SqlValue])

    def add(self, sql: str, *params: SqlValue) -> None:
        self.sql.append(sql)
        self.params.extend(bindable(p) if isinstance(p, str) else p for p in params)

    def any_of(self, column: str, values: Sequence[str]) -> None:
        if values:
            self.add(f"m.{column} IN ({placeholders(values)})", *map(str, values))

    def flag(self, expression: str, wanted: bool | None) -> None:
        if wanted is not None:
            self.add(f"{expression} = ?", int(wanted))


@lru_cache(maxsize=256)
def condition(where: Filter) -> Condition:
    """The condition for memories that pass the filter."""
    clauses = _Clauses()
    _add_visibility(clauses, where)
    clauses.any_of("type", where.types)
    clauses.any_of("scope", where.scopes)
    clauses.any_of("source", where.sources)
    clauses.any_of("session_id", where.sessions)
    clauses.any_of("author", where.authors)
    if where.methodologies:
        listed = placeholders(where.methodologies)
        clauses.add(f"{METHODOLOGY} IN ({listed})", *where.methodologies)
    if where.bands:
        clauses.add(f"{BAND} IN ({placeholders(where.bands)})", *where.bands)
    _add_labels(clauses, where)
    if where.min_confidence > 0:
        clauses.add("m.confidence >= ?", where.min_confidence)
    if where.min_importance > 0:
        clauses.add("m.importance >= ?", where.min_importance)
    _add_time(clauses, where)
    clauses.flag("(m.stale_ms IS NOT NULL)", where.stale)
    clauses.flag("(m.archived_ms IS NOT NULL)", where.archived)
    clauses.flag("m.needs_review", where.needs_review)
    clauses.flag("m.user_verified", where.user_verified)
    clauses.flag("m.pinned", where.pinned)
    if where.raw is not None:
        _add_raw(clauses, where.raw)
    return Condition(" AND ".join(clauses.sql) or "1", tuple(clauses.params))


def _add_visibility(clauses: _Clauses, where: Filter) -> None:
    if where.project is None:
        return
    if where.include_user:
        clauses.add("m.home IN (?, '')", where.project)
    else:
        clauses.add("m.project = ?", where.project)


def _add_raw(clauses: _Clauses, wanted: bool) -> None:
    clauses.add(
        f"(m.type IN ({placeholders(RAW_TYPES)}) AND m.source = ?"
        " AND NOT m.user_verified AND NOT m.pinned) = ?",
        *RAW_TYPES,
        Source.OBSERVER_INFERRED.value,
        int(wanted),
    )


def _add_labels(clauses: _Clauses, where: Filter) -> None:
    tags = tuple(dict.fromkeys(where.tags))
    if len(tags) > MAX_TAGS:
        raise UsageError(
            f"{len(tags):,} tags are too many for one filter.", hint=f"Use at most {MAX_TAGS}."
        )
    for tag in tags:
        _add_label(clauses, "tag", [tag])
    if where.files:
        _add_label(clauses, "file", where.files)
    if where.modules:
        _add_label(clauses, "module", where.modules)


def _add_label(clauses: _Clauses, kind: LabelKind, values: Iterable[str]) -> None:
    wanted = tuple(values)
    listed = placeholders(wanted)
    clauses.add(
        f"m.row IN (SELECT memory FROM labels WHERE kind = ? AND value IN ({listed}))",
        kind,
        *wanted,
    )


def _add_time(clauses: _Clauses, where: Filter) -> None:
    if where.as_of is not None:
        moment = to_ms(where.as_of)
        clauses.add("m.valid_from_ms <= ?", moment)
        clauses.add("(m.valid_to_ms IS NULL OR m.valid_to_ms > ?)", moment)
    elif where.validity is not Validity.ANY:
        wanted = "IS NULL" if where.validity is Validity.OPEN else "IS NOT NULL"
        clauses.add(f"m.valid_to_ms {wanted}")
    _add_bound(clauses, ">=", where.since)
    _add_bound(clauses, "<", where.until)


def _add_bound(clauses: _Clauses, comparison: str, moment: datetime | None) -> None:
    if moment is not None:
        clauses.add(f"m.valid_from_ms {comparison} ?", to_ms(moment))


def fetch(
    db: Connection, filter_sql: Condition, *, order: Order, after: PagePosition | None, limit: int
) -> list[Row]:
    """The next rows in an order."""
    sorting = sorting_of(order)
    direction, beyond = ("DESC", "<") if sorting.descending else ("ASC", ">")
    follows = "" if after is None else f"AND (m.{sorting.column}, m.id) {beyond} (?, ?)"
    ordered = f"ORDER BY m.{sorting.column} {direction}, m.id {direction}"
    # The inner query reads narrow rows; only the page itself is read whole.
    return db.execute(
        f"SELECT {SELECTED} FROM memories m WHERE m.row IN"
        f" (SELECT m.row FROM memories m WHERE {filter_sql.sql} {follows} {ordered} LIMIT ?)"
        f" {ordered}",
        (*filter_sql.params, *(after or ()), limit),
    ).fetchall()
