"""The `InjectionLog` port, and injections as rows.

Per-session figures are computed when asked for: of several lines with one id in a session the
strongest outcome counts. So the figures always agree with the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wellkept.core.clock import from_ms, to_ms
from wellkept.store.queries import parse_cursor, require_limit
from wellkept.store.rows import INJECTIONS, KIND_USES, LINE_USES, LINES, OUTCOME_NAMES, OUTCOME_RANK
from wellkept.store.sqlite.database import Component, placeholders

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
    from wellkept.store.sqlite.database import Connection, SqlValue

_JOINED: Final = "injections i JOIN injected_lines l ON l.injection = i.id"
# One row for each session and line, with its strongest outcome.
_PER_SESSION: Final = (
    "SELECT l.line_id, i.session_id, max(l.kind) AS kind, count(*) AS given,"
    f" sum(l.tokens) AS tokens, {OUTCOME_RANK} AS best, max(l.work_tokens) AS work_tokens,"
    " min(i.at_ms) AS first_ms, max(i.at_ms) AS last_ms,"
    " max(CASE l.outcome WHEN 'used' THEN l.outcome_ms END) AS used_ms"
    f" FROM {_JOINED} WHERE {{where}} GROUP BY l.line_id, i.session_id"
)
_COUNTS: Final = (
    "sum(best = 3), sum(best = 1), sum(best = 2), sum(best = 4), sum(tokens),"
    " coalesce(sum(CASE best WHEN 3 THEN work_tokens END), 0)"
)


class SqliteInjections(Component):
    """The `InjectionLog` port."""

    def injections(
        self, where: InjectionFilter, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Injection]:
        from wellkept.core.query import Page

        require_limit(limit)
        condition, values = _condition(where)
        with self._database.reading() as db:
            total = db.execute(
                f"SELECT count(DISTINCT i.id) FROM {_JOINED} WHERE {condition}", values
            ).fetchone()[0]
            after, place = "", ()
            if cursor is not None:
                after, place = "AND (i.at_ms, i.id) < (?, ?)", parse_cursor(cursor)
            rows = db.execute(
                f"SELECT DISTINCT {INJECTIONS.listed('i')} FROM {_JOINED} WHERE {condition} {after}"
                " ORDER BY i.at_ms DESC, i.id DESC LIMIT ?",
                (*values, *place, limit + 1),
            ).fetchall()
            shown = rows[:limit]
            lines = _lines(db, [row[0] for row in shown], condition, values)
        items = tuple(INJECTIONS.read(row, lines=tuple(lines.get(row[0], ()))) for row in shown)
        more = len(rows) > limit and bool(items)
        return Page(items, total, f"{shown[-1][1]}:{shown[-1][0]}" if more else None)

    def line_uses(self, *, project: str, line_ids: Sequence[str] | None = None) -> list[LineUse]:
        condition, values = "i.project = ?", [project]
        if line_ids is not None:
            condition += f" AND l.line_id IN ({placeholders(line_ids)})"
            values += line_ids
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT line_id, max(kind), sum(given), count(*), {_COUNTS}, min(first_ms),"
                f" max(last_ms), max(used_ms) FROM ({_PER_SESSION.format(where=condition)})"
                " GROUP BY line_id ORDER BY max(last_ms) DESC, line_id",
                values,
            ).fetchall()
        return list(map(LINE_USES.read, rows))

    def line_outcomes(
        self, *, project: str, line_id: str, since: datetime | None = None
    ) -> list[LineOutcome]:
        from wellkept.core.ports.injections import LineOutcome

        condition = "i.project = ? AND l.line_id = ? AND i.at_ms > ?"
        after = -1 if since is None else to_ms(since)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT best FROM ({_PER_SESSION.format(where=condition)})"
                " ORDER BY last_ms DESC, session_id DESC",
                (project, line_id, after),
            ).fetchall()
        return [LineOutcome(OUTCOME_NAMES[best]) for (best,) in rows]

    def injection_totals(
        self, *, project: str | None, since: datetime | None = None
    ) -> InjectionTotals:
        from wellkept.core.ports.injections import InjectionTotals

        condition = "(? IS NULL OR i.project = ?) AND i.at_ms >= ?"
        values = (project, project, 0 if since is None else to_ms(since))
        with self._database.reading() as db:
            whole = db.execute(
                "SELECT count(*), count(DISTINCT i.session_id), coalesce(sum(i.tokens), 0),"
                f" min(i.at_ms) FROM injections i WHERE {condition}",
                values,
            ).fetchone()
            kinds = db.execute(
                f"SELECT kind, sum(given), sum(best > 0), {_COUNTS},"
                " sum(best = 3 AND work_tokens IS NOT NULL)"
                f" FROM ({_PER_SESSION.format(where=condition)}) GROUP BY kind"
                " ORDER BY sum(given) DESC, kind",
                values,
            ).fetchall()
            silent = db.execute(
                "SELECT count(*) FROM silent_lines WHERE ? IS NULL OR project = ?",
                (project, project),
            ).fetchone()[0]
        return InjectionTotals(
            injections=whole[0],
            sessions=whole[1],
            lines=sum(row[1] for row in kinds),
            tokens=whole[2],
            kinds=tuple(map(KIND_USES.read, kinds)),
            silent=silent,
            since=None if whole[3] is None else from_ms(whole[3]),
        )

    def silent_lines(self, *, project: str) -> list[SilentLine]:
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT line_id, at_ms, reason FROM silent_lines s WHERE project = ?"
                " AND NOT EXISTS (SELECT 1 FROM memories m"
                " WHERE m.id = s.line_id AND m.updated_ms > s.at_ms) ORDER BY line_id",
                (project,),
            ).fetchall()
        if not rows:
            # Every hook asks; the records are loaded only when there is something to tell.
            return []
        from wellkept.core.ports.injections import SilentLine

        return [SilentLine(line_id, from_ms(at_ms), reason) for line_id, at_ms, reason in rows]

    def prune_injections(self, *, before: datetime, keep_lines: int) -> int:
        require_limit(keep_lines)
        with self._database.writing() as db:
            old = db.execute("DELETE FROM injections WHERE at_ms < ?", (to_ms(before),)).rowcount
            # Newest first, an injection stays while it ends within the lines to keep.
            many = db.execute(
                "DELETE FROM injections WHERE id IN (SELECT id FROM (SELECT i.id,"
                " sum((SELECT count(*) FROM injected_lines l WHERE l.injection = i.id))"
                " OVER (ORDER BY i.at_ms DESC, i.id DESC) AS through FROM injections i)"
                " WHERE through > ?)",
                (keep_lines,),
            ).rowcount
        return old + many


def put_injection_change(db: Connection, change: InjectionChange) -> None:
    """Write an injection, outcomes of its lines, or whether a line is silent."""
    from wellkept.core.changes import PutInjection, PutVerdicts

    if isinstance(change, PutInjection):
        _put_injection(db, change.injection)
    elif isinstance(change, PutVerdicts):
        db.executemany(
            "UPDATE injected_lines SET outcome = ?, outcome_by = ?, outcome_ms = ?"
            " WHERE injection = ? AND number = ?",
            [
                (
                    one.outcome.value,
                    one.by,
                    None if one.at is None else to_ms(one.at),
                    one.injection_id,
                    one.number,
                )
                for one in change.verdicts
            ],
        )
    elif change.line is None:
        db.execute(
            "DELETE FROM silent_lines WHERE project = ? AND line_id = ?",
            (change.project, change.line_id),
        )
    else:
        db.execute(
            "INSERT OR REPLACE INTO silent_lines VALUES (?, ?, ?, ?)",
            (change.project, change.line_id, to_ms(change.line.at), change.line.reason),
        )


def _put_injection(db: Connection, injection: Injection) -> None:
    done = db.execute(
        f"INSERT OR IGNORE INTO injections ({INJECTIONS.listed()})"
        f" VALUES ({placeholders(INJECTIONS.columns)})",
        INJECTIONS.values(injection),
    )
    if not done.rowcount:
        return
    db.executemany(
        f"INSERT INTO injected_lines (injection, number, {LINES.listed()})"
        f" VALUES (?, ?, {placeholders(LINES.columns)})",
        [(injection.id, n, *LINES.values(line)) for n, line in enumerate(injection.lines)],
    )
    db.execute(
        "UPDATE injected_lines SET text = '', reason = '' WHERE injection = ?"
        " AND memory_id IS NOT NULL AND memory_id NOT IN (SELECT id FROM memories)",
        (injection.id,),
    )


def _condition(where: InjectionFilter) -> tuple[str, list[SqlValue]]:
    outcome = None if where.outcome is None else where.outcome.value
    given = {
        "i.project": where.project,
        "i.session_id": where.session_id,
        "i.moment": where.moment,
        "l.line_id": where.line_id,
        "l.outcome": outcome,
    }
    asked = {column: value for column, value in given.items() if value is not None}
    return " AND ".join(["1", *(f"{column} = ?" for column in asked)]), list(asked.values())


def _lines(
    db: Connection, ids: Sequence[str], condition: str, values: Sequence[SqlValue]
) -> dict[str, list[InjectedLine]]:
    found: dict[str, list[InjectedLine]] = {}
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        rows = db.execute(
            f"SELECT l.injection, {LINES.listed('l')} FROM {_JOINED} WHERE {condition}"
            f" AND i.id IN ({placeholders(some)}) ORDER BY l.injection, l.number",
            (*values, *some),
        ).fetchall()
        for row in rows:
            found.setdefault(row[0], []).append(LINES.read(row[1:]))
    return found
