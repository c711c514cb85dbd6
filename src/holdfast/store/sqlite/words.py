"""Word search over the stemmed index, with bounded work however many memories there are.

Finding the rows that hold a term costs FTS5 some 40 ns each; scoring one costs 1 µs. So when the
terms of a query stand in more rows than `Effort.scored_rows`, only rows with one of the rarer
terms are scored. Their score still counts every term. What is lost are rows that hold nothing but
common terms, and only while there are enough others.

Invariant: a term is data. It reaches FTS5 only inside a quoted string, so no operator, quote or
column name in it has a meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.core.query import Filter, Hit
from holdfast.core.records import record
from holdfast.core.text import clean
from holdfast.store.sqlite.database import Connection, bindable
from holdfast.store.sqlite.filters import Condition, condition
from holdfast.store.sqlite.frequent import FrequentTerms, Scored


@record
class Effort:
    """How much work one search may take.

    A project of at most `small_project` rows, and not half of all, is searched by itself. Otherwise
    the `first_look` best matches are filtered before all are. At most about `scored_rows` are
    scored. A term in `everywhere_rows` or more is left out when others are there.
    """

    small_project: int = 20_000
    first_look: int = 400
    scored_rows: int = 6_000
    everywhere_rows: int = 50_000


USUAL = Effort()


class Query(NamedTuple):
    """An FTS5 expression, and by how much its scores are inflated."""

    expression: str
    copies: int = 1


class ProjectSizes:
    """Remembers which projects are small, so that not every question counts rows.

    What it says may be somewhat out of date: it decides the way to an answer, not the answer.
    """

    _GROWTH = 1.1

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, bool]] = {}

    def is_small(self, db: Connection, project: str, *, newest: int, most: int) -> bool:
        """Whether a project has at most so many rows; looked up again when the store has grown."""
        seen, small = self._known.get(project, (0, False))
        if not 0 < seen <= newest <= seen * self._GROWTH:
            small = _is_small(db, project, most=most)
            self._known[project] = (newest, small)
        return small


def quote(term: str) -> str:
    """A term as an FTS5 string."""
    return '"' + clean(term).replace('"', '""') + '"'


def search_words(
    db: Connection,
    terms: Sequence[str],
    where: Filter,
    *,
    limit: int,
    frequent: FrequentTerms | None = None,
    sizes: ProjectSizes | None = None,
    effort: Effort = USUAL,
) -> list[Hit]:
    """The best memories by BM25 that hold any of the terms.

    With `frequent`, a process that asks often gets the exact order at any size.
    """
    wanted = [quote(term) for term in dict.fromkeys(terms) if term.strip()]
    if not wanted or not limit:
        return []
    fits = condition(where)
    (newest,) = db.execute("SELECT coalesce(max(row), 0) FROM memories").fetchone()
    if newest <= effort.scored_rows:
        return _ranked(db, Query(_any_of(wanted)), fits, limit=limit, effort=effort)
    # A project that is most of the store is what a first look finds anyway, at half the cost.
    small = min(effort.small_project, newest // 2)
    sizes = sizes or ProjectSizes()
    project = where.project
    if project is not None and sizes.is_small(db, project, newest=newest, most=small):
        return _within(db, _any_of(wanted), fits, limit=limit)
    exact = _exactly(db, wanted, fits, limit=limit, frequent=frequent, effort=effort)
    if exact is not None:
        return exact
    query = _cheap_query(db, wanted, limit=limit, effort=effort)
    hits = _ranked(db, query, fits, limit=limit, effort=effort)
    if len(hits) < limit and query.copies > 1:
        return _filtered(db, Query(_any_of(wanted)), fits, limit=limit)
    return hits


def _exactly(
    db: Connection,
    wanted: Sequence[str],
    fits: Condition,
    *,
    limit: int,
    frequent: FrequentTerms | None,
    effort: Effort,
) -> list[Hit] | None:
    """The best matches by what is kept of the terms, or None where that does not serve."""
    for wide in (2 * limit, max(effort.first_look, 8 * limit)):
        best = frequent.best(db, wanted, limit=wide) if frequent else None
        if best is None:
            return None
        hits = _first_passing(db, best, fits, limit=limit)
        if len(hits) >= limit or len(best) < wide:
            return hits
    return None


def _cheap_query(db: Connection, wanted: Sequence[str], *, limit: int, effort: Effort) -> Query:
    """All the terms, or rows with the rarer ones where scoring all would be too much.

    In `rare AND (rare OR common OR common)` each term stands twice, so that every score is twice
    what it would be: the order is that of the plain query.
    """
    if len(wanted) == 1:
        return Query(_any_of(wanted))
    rows = {term: _rows_holding(db, term, most=effort.everywhere_rows) for term in wanted}
    rare, common = _split(rows, least=limit, effort=effort)
    if not common:
        return Query(_any_of(rare))
    return Query(f"({_any_of(rare)}) AND ({_any_of([*rare, *common, *common])})", copies=2)


def _split(rows: dict[str, int], *, least: int, effort: Effort) -> tuple[list[str], list[str]]:
    """The terms whose rows are scored, and those that only add to a score."""
    rare: list[str] = []
    common: list[str] = []
    total = 0
    for term in sorted(rows, key=lambda term: rows[term]):
        if total < least or total + rows[term] <= effort.scored_rows:
            rare.append(term)
            total += rows[term]
        elif rows[term] < effort.everywhere_rows:
            common.append(term)
    return rare, common


def _rows_holding(db: Connection, term: str, *, most: int) -> int:
    (count,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (term, most)
    ).fetchone()
    return int(count)


def _is_small(db: Connection, project: str, *, most: int) -> bool:
    (rows,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM memories WHERE home IN (?, '') LIMIT ?)",
        (bindable(project), most + 1),
    ).fetchone()
    return int(rows) <= most


def _any_of(terms: Sequence[str]) -> str:
    return " OR ".join(terms)


def _ranked(
    db: Connection, query: Query, fits: Condition, *, limit: int, effort: Effort
) -> list[Hit]:
    """The best matches inside the filter.

    A first look takes the best matches without the filter and filters those; only when too few
    of them pass is every match filtered. Both give the same answer.
    """
    wide = max(effort.first_look, 4 * limit)
    found = db.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
        (query.expression, wide),
    ).fetchall()
    best = [(row, score / query.copies) for row, score in found]
    hits = _first_passing(db, best, fits, limit=limit)
    if len(hits) >= limit or len(best) < wide:
        return hits
    return _filtered(db, query, fits, limit=limit)


def _first_passing(db: Connection, best: Scored, fits: Condition, *, limit: int) -> list[Hit]:
    """The first of these matches that pass the filter; most often the very first do."""
    hits: list[Hit] = []
    near, far = limit + limit // 4, 4 * limit
    for part in (best[:near], best[near:far], best[far:]):
        ids = _passing(db, [row for row, _ in part], fits)
        hits += [Hit(ids[row], score) for row, score in part if row in ids]
        if len(hits) >= limit:
            break
    return hits[:limit]


def _passing(db: Connection, rows: list[int], fits: Condition) -> dict[int, str]:
    """The ids of those rows that pass the filter."""
    if not rows:
        return {}
    # CROSS JOIN, lest SQLite walk through a whole project to find these few rows.
    found = db.execute(
        "SELECT m.row, m.id FROM json_each(?) j CROSS JOIN memories m ON m.row = j.value"
        f" WHERE {fits.sql}",
        (str(rows), *fits.params),
    )
    return dict(found.fetchall())


def _within(db: Connection, expression: str, fits: Condition, *, limit: int) -> list[Hit]:
    """The best matches among the few rows that pass the filter; only those are scored."""
    # The plus keeps FTS5 from looking up each of the rows by itself.
    rows = db.execute(
        "SELECT m.id, best.score FROM (SELECT rowid AS row, -rank AS score FROM words"
        f" WHERE words MATCH ? AND +rowid IN (SELECT m.row FROM memories m WHERE {fits.sql})"
        " ORDER BY rank, rowid LIMIT ?) best CROSS JOIN memories m ON m.row = best.row"
        " ORDER BY best.score DESC, best.row",
        (expression, *fits.params, limit),
    )
    return [Hit(full_id, score) for full_id, score in rows]


def _filtered(db: Connection, query: Query, fits: Condition, *, limit: int) -> list[Hit]:
    """The best of all matches that pass the filter; only those are scored."""
    rows = db.execute(
        "SELECT m.id, -w.rank FROM words w CROSS JOIN memories m ON m.row = w.rowid"
        f" WHERE w.words MATCH ? AND {fits.sql} ORDER BY w.rank, w.rowid LIMIT ?",
        (query.expression, *fits.params, limit),
    )
    return [Hit(full_id, score / query.copies) for full_id, score in rows]
