"""The `InjectionLog` port, and injections as rows.

Per-session figures are computed when asked for: of several lines with one id in a session the
strongest outcome counts. So the figures always agree with the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wellkept.core.clock import from_ms, to_ms
from wellkept.store.sqlite.connection.database import Component, placeholders, require_limit
from wellkept.store.sqlite.tables.memory_rows import names_damage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from wellkept.core.changes import InjectionChange
    from wellkept.core.ports.injections import (
        InjectedLine,
        Injection,
        InjectionFilter,
        InjectionTotals,
        KindUse,
        LineOutcome,
        LineScore,
        LineUse,
        SilentLine,
    )
    from wellkept.core.query import Page
    from wellkept.store.sqlite.connection.database import Connection, SqlValue
from wellkept.store.sqlite.tables.memory_rows import Row, dump

INJECTION_COLUMNS: Final = (
    "i.id, i.at_ms, i.project, i.client, i.session_id, i.moment, i.agent, i.trigger_text, i.tokens"
)
LINE_COLUMNS: Final = (
    "l.injection, l.line_id, l.kind, l.text, l.memory_id, l.reason, l.tokens, l.work_tokens,"
    " l.outcome, l.outcome_by, l.outcome_ms, l.score"
)
OUTCOME_NAMES: Final = ("open", "ignored", "unclear", "used", "harm")
OUTCOME_RANK: Final = (
    "max(CASE l.outcome "
    + " ".join(f"WHEN '{name}' THEN {rank}" for rank, name in enumerate(OUTCOME_NAMES))
    + " END)"
)
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
                f"SELECT DISTINCT {INJECTION_COLUMNS} FROM {_JOINED} WHERE {condition} {after}"
                " ORDER BY i.at_ms DESC, i.id DESC LIMIT ?",
                (*values, *place, limit + 1),
            ).fetchall()
            shown = rows[:limit]
            lines = _lines(db, [row[0] for row in shown], condition, values)
        items = tuple(to_injection(row, lines.get(row[0], [])) for row in shown)
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
        return [to_use(row) for row in rows]

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
            kinds=tuple(map(to_kind_use, kinds)),
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
                (one.outcome.value, one.by, _ms(one.at), one.injection_id, one.number)
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


def move_silent_lines(db: Connection, alias: str, target: str) -> None:
    """Move the silent lines of a merged project."""
    db.execute("UPDATE OR IGNORE silent_lines SET project = ? WHERE project = ?", (target, alias))
    db.execute("DELETE FROM silent_lines WHERE project = ?", (alias,))


def _put_injection(db: Connection, injection: Injection) -> None:
    done = db.execute(
        "INSERT OR IGNORE INTO injections (id, project, session_id, client, agent, moment, at_ms,"
        " trigger_text, tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            injection.id, injection.project, injection.session_id, injection.client,
            injection.agent, injection.moment, to_ms(injection.at), injection.trigger,
            injection.tokens,
        ),
    )  # fmt: skip
    if not done.rowcount:
        return
    db.executemany(
        "INSERT INTO injected_lines (injection, number, line_id, memory_id, kind, text, reason,"
        " tokens, work_tokens, outcome, outcome_by, outcome_ms, score)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [line_values(injection.id, number, line) for number, line in enumerate(injection.lines)],
    )
    db.execute(
        "UPDATE injected_lines SET text = '', reason = '' WHERE injection = ?"
        " AND memory_id IS NOT NULL AND memory_id NOT IN (SELECT id FROM memories)",
        (injection.id,),
    )


def line_values(injection_id: str, number: int, line: InjectedLine) -> tuple[SqlValue, ...]:
    """The values of a line in the order of the table."""
    return (
        injection_id, number, line.line_id, line.memory_id, line.kind, line.text, line.reason,
        line.tokens, line.work_tokens, line.outcome.value, line.outcome_by, _ms(line.outcome_at),
        _dump_score(line.score),
    )  # fmt: skip


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


def parse_cursor(cursor: str) -> tuple[int, str]:
    """Time and id of the injection that a page ended with."""
    from wellkept.core.errors import UsageError

    at_ms, _, injection_id = cursor.partition(":")
    if not at_ms.lstrip("-").isdecimal() or not injection_id or len(at_ms) > 18:
        raise UsageError(
            f"The cursor {cursor!r} does not belong to this listing.",
            hint="Start again without a cursor.",
        )
    return int(at_ms), injection_id


def _lines(
    db: Connection, ids: Sequence[str], condition: str, values: Sequence[SqlValue]
) -> dict[str, list[InjectedLine]]:
    found: dict[str, list[InjectedLine]] = {}
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        rows = db.execute(
            f"SELECT {LINE_COLUMNS} FROM {_JOINED} WHERE {condition}"
            f" AND i.id IN ({placeholders(some)}) ORDER BY l.injection, l.number",
            (*values, *some),
        ).fetchall()
        for row in rows:
            found.setdefault(row[0], []).append(to_line(row))
    return found


@names_damage("injection")
def to_injection(row: Row, lines: Sequence[InjectedLine]) -> Injection:
    """The injection of a row with the columns of `INJECTION_COLUMNS`."""
    from wellkept.core.ports.injections import Injection

    return Injection(
        id=row[0],
        at=from_ms(row[1]),
        project=row[2],
        client=row[3],
        session_id=row[4],
        moment=row[5],
        agent=row[6],
        trigger=row[7],
        tokens=row[8],
        lines=tuple(lines),
    )


@names_damage("injected line")
def to_line(row: Row) -> InjectedLine:
    """The line of a row with the columns of `LINE_COLUMNS`."""
    from wellkept.core.ports.injections import InjectedLine, LineOutcome

    return InjectedLine(
        line_id=row[1],
        kind=row[2],
        text=row[3],
        memory_id=row[4],
        reason=row[5],
        tokens=row[6],
        work_tokens=row[7],
        outcome=LineOutcome(row[8]),
        outcome_by=row[9],
        outcome_at=None if row[10] is None else from_ms(row[10]),
        score=_to_score(row[11]),
    )


def _dump_score(score: LineScore | None) -> str | None:
    return None if score is None else dump([score.score, score.importance, score.confidence])


def _to_score(text: str | None) -> LineScore | None:
    if text is None:
        return None
    import json

    from wellkept.core.ports.injections import LineScore

    return LineScore(*json.loads(text))


@names_damage("injected line")
def to_use(row: Row) -> LineUse:
    """How a line fared."""
    from wellkept.core.ports.injections import LineUse

    return LineUse(
        line_id=row[0],
        kind=row[1],
        given=row[2],
        sessions=row[3],
        used=row[4],
        ignored=row[5],
        unclear=row[6],
        harm=row[7],
        tokens=row[8],
        reused_tokens=row[9],
        first_at=from_ms(row[10]),
        last_at=from_ms(row[11]),
        last_used_at=None if row[12] is None else from_ms(row[12]),
    )


@names_damage("injected lines of kind")
def to_kind_use(row: Row) -> KindUse:
    """How the lines of a kind fared."""
    from wellkept.core.ports.injections import KindUse

    return KindUse(
        kind=row[0],
        lines=row[1],
        decided=row[2],
        used=row[3],
        ignored=row[4],
        unclear=row[5],
        harm=row[6],
        tokens=row[7],
        reused_tokens=row[8],
        measured=row[9],
    )


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else to_ms(moment)
