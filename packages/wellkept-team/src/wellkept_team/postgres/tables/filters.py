"""A `Filter` as an SQL condition on `memories m`.

Invariant: values are always bound as parameters. Knows nothing of selection or order.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept.core.query import RAW_TYPES, Filter, Validity
from wellkept.core.records import field, record
from wellkept.core.types import Source
from wellkept.store.queries import MAX_TAGS, LabelKind
from wellkept_team.postgres.connection.database import Value, all_bindable, bindable
from wellkept_team.postgres.tables.index_keys import index_key

BAND = "least(5, trunc(m.confidence * 5)::int + 1)"
"""The dots of confidence, as `core.query.confidence_band` counts them."""
METHODOLOGY = "(m.work_unit::json ->> 0)"
"""The methodology of a work unit."""


@record
class Condition:
    """SQL for a WHERE clause with its parameters. `homes` are the places that can have matches;
    None means all."""

    sql: str
    params: dict[str, Value]
    homes: tuple[str, ...] | None

    def within(self, table: str) -> str:
        """The same rows of the tenant in another table with a home; uses the same parameters."""
        homes = "" if self.homes is None else f" AND {table}.home = ANY(%(homes)s)"
        return f"{table}.tenant = %(tenant)s{homes}"


@record(frozen=False)
class _Clauses:
    sql: list[str] = field(default_factory=list[str])
    params: dict[str, Value] = field(default_factory=dict[str, Value])

    def add(self, sql: str, value: Value) -> None:
        """Add a condition; `{}` in it is the parameter."""
        name = f"f{len(self.params)}"
        self.sql.append(sql.replace("{}", f"%({name})s"))
        self.params[name] = value

    def any_of(self, column: str, values: Sequence[str]) -> None:
        if values:
            self.add(f"m.{column} = ANY({{}})", all_bindable(values))

    def flag(self, expression: str, wanted: bool | None) -> None:
        if wanted is not None:
            self.sql.append(expression if wanted else f"NOT {expression}")


@lru_cache(maxsize=256)
def condition(where: Filter) -> Condition:
    """The condition for memories that pass the filter."""
    clauses = _Clauses()
    homes = _homes(where)
    clauses.sql.append("m.tenant = %(tenant)s")
    if homes is not None:
        clauses.sql.append("m.home = ANY(%(homes)s)")
        clauses.params["homes"] = list(homes)
        if not where.include_user:
            clauses.add("m.project = {}", homes[0])
    clauses.any_of("type", where.types)
    clauses.any_of("scope", where.scopes)
    clauses.any_of("source", where.sources)
    clauses.any_of("session_id", where.sessions)
    clauses.any_of("author", where.authors)
    if where.methodologies:
        clauses.add(f"{METHODOLOGY} = ANY({{}})", all_bindable(where.methodologies))
    if where.bands:
        clauses.add(f"{BAND} = ANY({{}})", list(where.bands))
    _add_labels(clauses, where)
    if where.min_confidence > 0:
        clauses.add("m.confidence >= {}", where.min_confidence)
    if where.min_importance > 0:
        clauses.add("m.importance >= {}", where.min_importance)
    _add_time(clauses, where)
    clauses.flag("(m.stale_ms IS NOT NULL)", where.stale)
    clauses.flag("(m.archived_ms IS NOT NULL)", where.archived)
    clauses.flag("m.needs_review", where.needs_review)
    clauses.flag("m.user_verified", where.user_verified)
    clauses.flag("m.pinned", where.pinned)
    if where.raw is not None:
        _add_raw(clauses, where.raw)
    return Condition(" AND ".join(clauses.sql), clauses.params, homes)


def _homes(where: Filter) -> tuple[str, ...] | None:
    return None if where.project is None else (bindable(where.project), "")


def _add_raw(clauses: _Clauses, wanted: bool) -> None:
    is_raw = (
        f"(m.type = ANY({{}}) AND m.source = '{Source.OBSERVER_INFERRED.value}'"
        " AND NOT m.user_verified AND NOT m.pinned)"
    )
    clauses.add(is_raw if wanted else f"NOT {is_raw}", [kind.value for kind in RAW_TYPES])


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


def _add_label(clauses: _Clauses, kind: LabelKind, values: Sequence[str]) -> None:
    # Said again of the labels: the planner does not follow it from the memory to them.
    inside = " AND l.home = ANY(%(homes)s)" if "homes" in clauses.params else ""
    clauses.add(
        f"EXISTS (SELECT 1 FROM labels l WHERE l.tenant = m.tenant AND l.home = m.home{inside}"
        f" AND l.number = m.number AND l.kind = '{kind}' AND l.value = ANY({{}}))",
        [index_key(bindable(value)) for value in values],
    )


def _add_time(clauses: _Clauses, where: Filter) -> None:
    if where.as_of is not None:
        moment = to_ms(where.as_of)
        clauses.add("m.valid_from_ms <= {}", moment)
        clauses.add("(m.valid_to_ms IS NULL OR m.valid_to_ms > {})", moment)
    elif where.validity is not Validity.ANY:
        wanted = "IS NULL" if where.validity is Validity.OPEN else "IS NOT NULL"
        clauses.sql.append(f"m.valid_to_ms {wanted}")
    _add_bound(clauses, ">=", where.since)
    _add_bound(clauses, "<", where.until)


def _add_bound(clauses: _Clauses, comparison: str, moment: datetime | None) -> None:
    if moment is not None:
        clauses.add(f"m.valid_from_ms {comparison} {{}}", to_ms(moment))
