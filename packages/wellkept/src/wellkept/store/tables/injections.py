"""The `InjectionLog` port, and injections as rows.

Per-session figures are computed when asked for: of several lines with one id in a session the
strongest outcome counts. So the figures always agree with the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wellkept.core.clock import from_ms, to_ms
from wellkept.store.queries import parse_cursor, require_limit
from wellkept.store.rows import INJECTIONS, KIND_USES, LINE_USES, LINES, OUTCOME_NAMES, OUTCOME_RANK
from wellkept.store.tables import Component, Connection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.changes import InjectionChange
    from wellkept.core.ports.injections import (
        InjectedLine,
        Injection,
        InjectionFilter,
        InjectionTotals,
        LineOutcome,
        LineUse,
        SilentLine,
    )
    from wellkept.core.query import Page

_JOINED: Final = (
    "injections i JOIN injected_lines l"
    " ON l.tenant = i.tenant AND l.project = i.project AND l.injection = i.id"
)
# One row for each session and line, with its strongest outcome.
_PER_SESSION: Final = (
    "(SELECT l.line_id, i.session_id, max(l.kind) AS kind, count(*) AS given,"
    f" sum(l.tokens) AS tokens, {OUTCOME_RANK} AS best, max(l.work_tokens) AS work_tokens,"
    " min(i.at_ms) AS first_ms, max(i.at_ms) AS last_ms,"
    " max(CASE l.outcome WHEN 'used' THEN l.outcome_ms END) AS used_ms"
    f" FROM {_JOINED} WHERE {{where}} GROUP BY l.line_id, i.session_id) AS per_session"
)
_COUNTS: Final = (
    "count(*) FILTER (WHERE best = 3), count(*) FILTER (WHERE best = 1),"
    " count(*) FILTER (WHERE best = 2), count(*) FILTER (WHERE best = 4),"
    " CAST(sum(tokens) AS BIGINT),"
    " CAST(coalesce(sum(CASE best WHEN 3 THEN work_tokens END), 0) AS BIGINT)"
)
_OF_PROJECT: Final = "i.tenant = :tenant AND i.project = :project"
_SILENT: Final = "FROM silent_lines WHERE tenant = :tenant"


class Injections(Component):
    """The `InjectionLog` port."""

    def injections(
        self, where: InjectionFilter, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Injection]:
        from wellkept.core.query import Page

        require_limit(limit)
        condition, values = _condition(where)
        after, place = "", dict[str, object]()
        if cursor is not None:
            after = " AND (i.at_ms, i.id) < (:at_ms, :after)"
            place = dict(zip(("at_ms", "after"), parse_cursor(cursor), strict=True))
        with self._tables.snapshot() as db:
            total = db.value(
                f"SELECT count(DISTINCT i.id) FROM {_JOINED} WHERE {condition}", **values
            )
            rows = db.rows(
                f"SELECT DISTINCT {INJECTIONS.listed('i')} FROM {_JOINED}"
                f" WHERE {condition}{after} ORDER BY i.at_ms DESC, i.id DESC LIMIT :limit",
                **values,
                **place,
                limit=limit + 1,
            )
            shown = rows[:limit]
            lines = _lines(db, [row[0] for row in shown], condition, values)
        items = tuple(INJECTIONS.read(row, lines=tuple(lines.get(row[0], ()))) for row in shown)
        more = len(rows) > limit and bool(items)
        return Page(items, total, f"{shown[-1][1]}:{shown[-1][0]}" if more else None)

    def line_uses(self, *, project: str, line_ids: Sequence[str] | None = None) -> list[LineUse]:
        where = _OF_PROJECT + ("" if line_ids is None else " AND l.line_id IN :lines")
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT line_id, max(kind), CAST(sum(given) AS BIGINT), count(*), {_COUNTS},"
                " min(first_ms), max(last_ms), max(used_ms)"
                f" FROM {_PER_SESSION.format(where=where)}"
                " GROUP BY line_id ORDER BY max(last_ms) DESC, line_id",
                project=project,
                lines=line_ids or (),
            )
        return list(map(LINE_USES.read, rows))

    def line_outcomes(
        self, *, project: str, line_id: str, since: datetime | None = None
    ) -> list[LineOutcome]:
        from wellkept.core.ports.injections import LineOutcome

        where = f"{_OF_PROJECT} AND l.line_id = :line AND i.at_ms > :since_ms"
        with self._tables.reading() as db:
            rows = db.rows(
                f"SELECT best FROM {_PER_SESSION.format(where=where)}"
                " ORDER BY last_ms DESC, session_id DESC",
                project=project,
                line=line_id,
                since_ms=-1 if since is None else to_ms(since),
            )
        return [LineOutcome(OUTCOME_NAMES[best]) for (best,) in rows]

    def injection_totals(
        self, *, project: str | None, since: datetime | None = None
    ) -> InjectionTotals:
        from wellkept.core.ports.injections import InjectionTotals

        where = "i.tenant = :tenant AND i.at_ms >= :since_ms"
        silent = "" if project is None else " AND project = :project"
        if project is not None:
            where += " AND i.project = :project"
        values = {"project": project, "since_ms": 0 if since is None else to_ms(since)}
        with self._tables.snapshot() as db:
            whole = db.row(
                "SELECT count(*), count(DISTINCT i.session_id),"
                " CAST(coalesce(sum(i.tokens), 0) AS BIGINT), min(i.at_ms)"
                f" FROM injections i WHERE {where}",
                **values,
            )
            kinds = db.rows(
                "SELECT kind, CAST(sum(given) AS BIGINT), count(*) FILTER (WHERE best > 0),"
                f" {_COUNTS}, count(*) FILTER (WHERE best = 3 AND work_tokens IS NOT NULL)"
                f" FROM {_PER_SESSION.format(where=where)} GROUP BY kind"
                " ORDER BY sum(given) DESC, kind",
                **values,
            )
            silent_count = db.value(f"SELECT count(*) {_SILENT}{silent}", **values)
        assert whole is not None
        return InjectionTotals(
            injections=whole[0],
            sessions=whole[1],
            lines=sum(row[1] for row in kinds),
            tokens=whole[2],
            kinds=tuple(map(KIND_USES.read, kinds)),
            silent=silent_count,
            since=None if whole[3] is None else from_ms(whole[3]),
        )

    def silent_lines(self, *, project: str) -> list[SilentLine]:
        with self._tables.reading() as db:
            rows = db.rows(
                "SELECT line_id, at_ms, reason FROM silent_lines s"
                " WHERE s.tenant = :tenant AND s.project = :project"
                " AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.tenant = s.tenant"
                " AND m.home IN (:project, '') AND m.id = s.line_id"
                " AND m.updated_ms > s.at_ms) ORDER BY line_id",
                project=project,
            )
        if not rows:
            # Every hook asks; the records are loaded only when there is something to tell.
            return []
        from wellkept.core.ports.injections import SilentLine

        return [SilentLine(line_id, from_ms(at_ms), reason) for line_id, at_ms, reason in rows]

    def prune_injections(self, *, before: datetime, keep_lines: int) -> int:
        require_limit(keep_lines)
        with self._tables.writing() as db:
            old = db.rows(
                "DELETE FROM injections WHERE tenant = :tenant AND at_ms < :before_ms RETURNING id",
                before_ms=to_ms(before),
            )
            # Newest first, an injection stays while it ends within the lines to keep.
            many = db.rows(
                "DELETE FROM injections WHERE tenant = :tenant AND id IN (SELECT id FROM"
                " (SELECT i.id, sum((SELECT count(*) FROM injected_lines l WHERE"
                " l.tenant = i.tenant AND l.project = i.project AND l.injection = i.id))"
                " OVER (ORDER BY i.at_ms DESC, i.id DESC) AS through FROM injections i"
                " WHERE i.tenant = :tenant) AS counted WHERE through > :kept) RETURNING id",
                kept=keep_lines,
            )
            db.write(
                "DELETE FROM injected_lines WHERE tenant = :tenant AND injection IN :ids",
                ids=[row[0] for row in (*old, *many)],
            )
        return len(old) + len(many)


def put_injection_change(db: Connection, change: InjectionChange) -> None:
    """Write an injection, outcomes of its lines, or whether a line is silent."""
    from wellkept.core.changes import PutInjection, PutVerdicts

    if isinstance(change, PutInjection):
        _put_injection(db, change.injection)
    elif isinstance(change, PutVerdicts):
        db.many(
            "UPDATE injected_lines SET outcome = :outcome, outcome_by = :by, outcome_ms = :at_ms"
            " WHERE tenant = :tenant AND injection = :injection AND number = :number",
            [
                {
                    "outcome": one.outcome.value,
                    "by": one.by,
                    "at_ms": None if one.at is None else to_ms(one.at),
                    "injection": one.injection_id,
                    "number": one.number,
                }
                for one in change.verdicts
            ],
        )
    else:
        key: dict[str, object] = {"project": change.project, "line_id": change.line_id}
        if change.line is None:
            db.write(f"DELETE {_SILENT} AND project = :project AND line_id = :line_id", **key)
        else:
            row = key | {"at_ms": to_ms(change.line.at), "reason": change.line.reason}
            db.put("silent_lines", [row], key=("project", "line_id"))


def _put_injection(db: Connection, injection: Injection) -> None:
    own = "WHERE tenant = :tenant AND id"
    if db.row(f"SELECT 1 FROM injections {own} = :id", id=injection.id):
        return
    db.put("injections", [INJECTIONS.named(injection)])
    named = [one.memory_id for one in injection.lines if one.memory_id is not None]
    known = {row[0] for row in db.rows(f"SELECT id FROM memories {own} IN :ids", ids=named)}
    rows: list[dict[str, object]] = []
    for number, one in enumerate(injection.lines):
        row = {"project": injection.project, "injection": injection.id, "number": number}
        # Of a memory that was forgotten meanwhile only the counts stay.
        gone = one.memory_id is not None and one.memory_id not in known
        rows.append({**row, **LINES.named(one), **({"text": "", "reason": ""} if gone else {})})
    db.put("injected_lines", rows)


def _condition(where: InjectionFilter) -> tuple[str, dict[str, str]]:
    given = {
        "i.project": where.project,
        "i.session_id": where.session_id,
        "i.moment": where.moment,
        "l.line_id": where.line_id,
        "l.outcome": None if where.outcome is None else where.outcome.value,
    }
    asked = {column: value for column, value in given.items() if value is not None}
    tests = (f" AND {column} = :{column[2:]}" for column in asked)
    return f"i.tenant = :tenant{''.join(tests)}", {name[2:]: one for name, one in asked.items()}


def _lines(
    db: Connection, ids: Sequence[str], condition: str, values: dict[str, str]
) -> dict[str, list[InjectedLine]]:
    found: dict[str, list[InjectedLine]] = {}
    rows = db.rows(
        f"SELECT l.injection, {LINES.listed('l')} FROM {_JOINED} WHERE {condition}"
        " AND i.id IN :ids ORDER BY l.injection, l.number",
        **values,
        ids=ids,
    )
    for row in rows:
        found.setdefault(row[0], []).append(LINES.read(row[1:]))
    return found
