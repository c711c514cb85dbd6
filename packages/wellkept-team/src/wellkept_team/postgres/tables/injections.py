"""The `InjectionLog` port. Rows are those of `store.rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wellkept.core.clock import from_ms, to_ms
from wellkept.store.queries import parse_cursor, require_limit
from wellkept.store.rows import INJECTIONS, KIND_USES, LINE_USES, LINES, OUTCOME_NAMES, OUTCOME_RANK
from wellkept_team.postgres.connection.database import Component, all_bindable, bindable

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
    from wellkept_team.postgres.connection.database import Connection, Value

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
    " count(*) FILTER (WHERE best = 2), count(*) FILTER (WHERE best = 4), sum(tokens)::bigint,"
    " coalesce(sum(CASE best WHEN 3 THEN work_tokens END), 0)::bigint"
)
_LINE_NAMES: Final = ("project", "injection", "number", *LINES.columns)


class PostgresInjections(Component):
    """The `InjectionLog` port."""

    def injections(
        self, where: InjectionFilter, *, limit: int = 50, cursor: str | None = None
    ) -> Page[Injection]:
        from wellkept.core.query import Page

        require_limit(limit)
        condition, values = _condition(where)
        place: dict[str, Value] = {}
        after = ""
        if cursor is not None:
            at_ms, injection_id = parse_cursor(cursor)
            after = "AND (i.at_ms, i.id) < (%(at_ms)s, %(after)s)"
            place = {"at_ms": at_ms, "after": bindable(injection_id)}
        with self._database.snapshot() as db:
            total = db.value(
                f"SELECT count(DISTINCT i.id) FROM {_JOINED} WHERE {condition}", **values
            )
            rows = db.rows(
                f"SELECT DISTINCT {INJECTIONS.listed('i')} FROM {_JOINED} WHERE {condition} {after}"
                " ORDER BY i.at_ms DESC, i.id DESC LIMIT %(limit)s",
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
        where = "i.tenant = %(tenant)s AND i.project = %(project)s"
        if line_ids is not None:
            where += " AND l.line_id = ANY(%(lines)s)"
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT line_id, max(kind), sum(given)::bigint, count(*), {_COUNTS},"
                " min(first_ms), max(last_ms), max(used_ms)"
                f" FROM {_PER_SESSION.format(where=where)}"
                " GROUP BY line_id ORDER BY max(last_ms) DESC, line_id",
                project=bindable(project),
                lines=all_bindable(line_ids or ()),
            )
        return list(map(LINE_USES.read, rows))

    def line_outcomes(
        self, *, project: str, line_id: str, since: datetime | None = None
    ) -> list[LineOutcome]:
        from wellkept.core.ports.injections import LineOutcome

        where = (
            "i.tenant = %(tenant)s AND i.project = %(project)s AND l.line_id = %(line)s"
            " AND i.at_ms > %(since)s"
        )
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT best FROM {_PER_SESSION.format(where=where)}"
                " ORDER BY last_ms DESC, session_id DESC",
                project=bindable(project),
                line=bindable(line_id),
                since=-1 if since is None else to_ms(since),
            )
        return [LineOutcome(OUTCOME_NAMES[best]) for (best,) in rows]

    def injection_totals(
        self, *, project: str | None, since: datetime | None = None
    ) -> InjectionTotals:
        from wellkept.core.ports.injections import InjectionTotals

        one = "" if project is None else " AND i.project = %(project)s"
        where = f"i.tenant = %(tenant)s AND i.at_ms >= %(since)s{one}"
        values: dict[str, Value] = {
            "project": bindable(project or ""),
            "since": 0 if since is None else to_ms(since),
        }
        with self._database.snapshot() as db:
            whole = db.row(
                "SELECT count(*), count(DISTINCT i.session_id),"
                " coalesce(sum(i.tokens), 0)::bigint, min(i.at_ms)"
                f" FROM injections i WHERE {where}",
                **values,
            )
            kinds = db.rows(
                f"SELECT kind, sum(given)::bigint, count(*) FILTER (WHERE best > 0), {_COUNTS},"
                " count(*) FILTER (WHERE best = 3 AND work_tokens IS NOT NULL)"
                f" FROM {_PER_SESSION.format(where=where)} GROUP BY kind"
                " ORDER BY sum(given) DESC, kind",
                **values,
            )
            silent = db.value(
                f"SELECT count(*) FROM silent_lines i WHERE i.tenant = %(tenant)s{one}", **values
            )
        assert whole is not None
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
        from wellkept.core.ports.injections import SilentLine

        with self._database.reading() as db:
            rows = db.rows(
                "SELECT line_id, at_ms, reason FROM silent_lines s"
                " WHERE s.tenant = %(tenant)s AND s.project = %(project)s"
                " AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.tenant = s.tenant"
                " AND m.home IN (%(project)s, '') AND m.id = s.line_id"
                " AND m.updated_ms > s.at_ms) ORDER BY line_id",
                project=bindable(project),
            )
        return [SilentLine(line_id, from_ms(at_ms), reason) for line_id, at_ms, reason in rows]

    def prune_injections(self, *, before: datetime, keep_lines: int) -> int:
        require_limit(keep_lines)
        with self._database.writing() as db:
            old = db.rows(
                "DELETE FROM injections WHERE tenant = %(tenant)s AND at_ms < %(before)s"
                " RETURNING id",
                before=to_ms(before),
            )
            # Newest first, an injection stays while it ends within the lines to keep.
            many = db.rows(
                "DELETE FROM injections WHERE tenant = %(tenant)s AND id IN"
                " (SELECT id FROM (SELECT i.id, sum((SELECT count(*) FROM injected_lines l"
                " WHERE l.tenant = i.tenant AND l.project = i.project AND l.injection = i.id))"
                " OVER (ORDER BY i.at_ms DESC, i.id DESC) AS through FROM injections i"
                " WHERE i.tenant = %(tenant)s) AS counted WHERE through > %(kept)s) RETURNING id",
                kept=keep_lines,
            )
            db.run(
                "DELETE FROM injected_lines WHERE tenant = %(tenant)s AND injection = ANY(%(ids)s)",
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
            "UPDATE injected_lines SET outcome = %(outcome)s, outcome_by = %(by)s,"
            " outcome_ms = %(at)s WHERE tenant = %(tenant)s AND injection = %(injection)s"
            " AND number = %(number)s",
            [
                {
                    "outcome": one.outcome.value,
                    "by": one.by,
                    "at": None if one.at is None else to_ms(one.at),
                    "injection": one.injection_id,
                    "number": one.number,
                }
                for one in change.verdicts
            ],
        )
    elif change.line is None:
        db.run(
            "DELETE FROM silent_lines WHERE tenant = %(tenant)s AND project = %(project)s"
            " AND line_id = %(line)s",
            project=change.project,
            line=change.line_id,
        )
    else:
        db.run(
            "INSERT INTO silent_lines (tenant, project, line_id, at_ms, reason)"
            " VALUES (%(tenant)s, %(project)s, %(line)s, %(at)s, %(reason)s)"
            " ON CONFLICT (tenant, project, line_id)"
            " DO UPDATE SET at_ms = excluded.at_ms, reason = excluded.reason",
            project=change.project,
            line=change.line_id,
            at=to_ms(change.line.at),
            reason=change.line.reason,
        )


def forget_lines(db: Connection, memory_id: str) -> None:
    """Delete the text of a deleted memory from the log; its counts stay."""
    db.run(
        "UPDATE injected_lines SET text = '', reason = '', outcome_by = ''"
        " WHERE tenant = %(tenant)s AND memory_id = %(id)s",
        id=memory_id,
    )
    db.run("DELETE FROM silent_lines WHERE tenant = %(tenant)s AND line_id = %(id)s", id=memory_id)


def _put_injection(db: Connection, injection: Injection) -> None:
    known = db.row(
        "SELECT 1 FROM injections WHERE tenant = %(tenant)s AND id = %(id)s", id=injection.id
    )
    if known is not None:
        return
    db.run(
        f"INSERT INTO injections (tenant, {INJECTIONS.listed()}) VALUES"
        f" (%(tenant)s, {', '.join(f'%({name})s' for name in INJECTIONS.columns)})",
        **INJECTIONS.named(injection),
    )
    about = {"project": injection.project, "injection": injection.id}
    db.many(
        f"INSERT INTO injected_lines (tenant, {', '.join(_LINE_NAMES)}) VALUES"
        f" (%(tenant)s, {', '.join(f'%({name})s' for name in _LINE_NAMES)})",
        [{**about, "number": n, **LINES.named(line)} for n, line in enumerate(injection.lines)],
    )
    db.run(
        "UPDATE injected_lines l SET text = '', reason = '' WHERE l.tenant = %(tenant)s"
        " AND l.project = %(project)s AND l.injection = %(id)s AND l.memory_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM memories m"
        " WHERE m.tenant = l.tenant AND m.id = l.memory_id)",
        project=injection.project,
        id=injection.id,
    )


def _condition(where: InjectionFilter) -> tuple[str, dict[str, Value]]:
    given = {
        "i.project": where.project,
        "i.session_id": where.session_id,
        "i.moment": where.moment,
        "l.line_id": where.line_id,
        "l.outcome": None if where.outcome is None else where.outcome.value,
    }
    asked = {column: value for column, value in given.items() if value is not None}
    values: dict[str, Value] = {f"c{n}": bindable(v) for n, v in enumerate(asked.values())}
    tests = [f"{column} = %(c{n})s" for n, column in enumerate(asked)]
    return " AND ".join(["i.tenant = %(tenant)s", *tests]), values


def _lines(
    db: Connection, ids: Sequence[str], condition: str, values: dict[str, Value]
) -> dict[str, list[InjectedLine]]:
    found: dict[str, list[InjectedLine]] = {}
    rows = db.rows(
        f"SELECT l.injection, {LINES.listed('l')} FROM {_JOINED} WHERE {condition}"
        " AND i.id = ANY(%(ids)s) ORDER BY l.injection, l.number",
        **values,
        ids=list(ids),
    )
    for row in rows:
        found.setdefault(row[0], []).append(LINES.read(row[1:]))
    return found
