"""Word search over the stemmed index, with bounded work however many memories there are.

Finding the rows that hold a term costs FTS5 some 40 ns each; scoring one costs 1 µs. So when the
terms of a query stand in more rows than `SearchEffort.scored_rows`, only rows with one of the rarer
terms are scored. Their score still counts every term. What is lost are rows that hold nothing but
common terms, and only while there are enough others.

Invariant: a term is data. It reaches FTS5 only inside a quoted string, so no operator, quote or
column name in it has a meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wellkept.core.query import Filter, RetrieverHit
from wellkept.core.records import record
from wellkept.core.text import clean
from wellkept.store.sqlite.connection.database import Connection, bindable
from wellkept.store.sqlite.search.candidates import CandidateReader, Scored
from wellkept.store.sqlite.search.term_cache import TermCache
from wellkept.store.sqlite.tables.filters import condition


@record
class SearchEffort:
    """How much work one search may take.

    A project of at most `small_project` rows, and not half of all, is searched by itself. Otherwise
    the `first_look` best matches are filtered before all are. At most about `scored_rows` are
    scored. A term in `everywhere_rows` or more is left out when others are there.
    """

    small_project: int = 20_000
    first_look: int = 400
    scored_rows: int = 6_000
    everywhere_rows: int = 50_000


USUAL = SearchEffort()


class FtsQuery(NamedTuple):
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


def search_fulltext(
    db: Connection,
    terms: Sequence[str],
    where: Filter,
    *,
    limit: int,
    facts: CandidateReader | None = None,
    frequent: TermCache | None = None,
    sizes: ProjectSizes | None = None,
    effort: SearchEffort = USUAL,
) -> list[RetrieverHit]:
    """The best memories by BM25 that hold any of the terms.

    With `frequent`, a process that asks often gets the exact order at any size.
    """
    wanted = [quote(term) for term in dict.fromkeys(terms) if term.strip()]
    if not wanted or not limit:
        return []
    look = _Look(db, where, limit, facts or CandidateReader(), effort)
    (newest,) = db.execute("SELECT coalesce(max(row), 0) FROM memories").fetchone()
    if newest <= effort.scored_rows:
        return _ranked(look, FtsQuery(_any_of(wanted)))
    # A project that is most of the store is what a first look finds anyway, at half the cost.
    small = min(effort.small_project, newest // 2)
    sizes = sizes or ProjectSizes()
    project = where.project
    if project is not None and sizes.is_small(db, project, newest=newest, most=small):
        return _within(look, _any_of(wanted))
    exact = _exactly(look, wanted, frequent)
    if exact is not None:
        return exact
    query = _cheap_query(db, wanted, limit=limit, effort=effort)
    hits = _ranked(look, query)
    if len(hits) < limit and query.copies > 1:
        return _filtered(look, FtsQuery(_any_of(wanted)))
    return hits


@record
class _Look:
    """One search: where to look, how many to find, and how much work to put in."""

    db: Connection
    where: Filter
    limit: int
    facts: CandidateReader
    effort: SearchEffort

    def first_passing(self, best: Scored) -> list[RetrieverHit]:
        return self.facts.first_passing(self.db, best, self.where, limit=self.limit)


def _exactly(
    look: _Look, wanted: Sequence[str], frequent: TermCache | None
) -> list[RetrieverHit] | None:
    """The best matches by what is kept of the terms, or None where that does not serve."""
    for wide in (2 * look.limit, max(look.effort.first_look, 8 * look.limit)):
        best = frequent.best(look.db, wanted, limit=wide) if frequent else None
        if best is None:
            return None
        hits = look.first_passing(best)
        if len(hits) >= look.limit or len(best) < wide:
            return hits
    return None


def _cheap_query(
    db: Connection, wanted: Sequence[str], *, limit: int, effort: SearchEffort
) -> FtsQuery:
    """All the terms, or rows with the rarer ones where scoring all would be too much.

    In `rare AND (rare OR common OR common)` each term stands twice, so that every score is twice
    what it would be: the order is that of the plain query.
    """
    if len(wanted) == 1:
        return FtsQuery(_any_of(wanted))
    rows = {term: _rows_holding(db, term, most=effort.everywhere_rows) for term in wanted}
    rare, common = _split(rows, least=limit, effort=effort)
    if not common:
        return FtsQuery(_any_of(rare))
    return FtsQuery(f"({_any_of(rare)}) AND ({_any_of([*rare, *common, *common])})", copies=2)


def _split(
    rows: dict[str, int], *, least: int, effort: SearchEffort
) -> tuple[list[str], list[str]]:
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


def _ranked(look: _Look, query: FtsQuery) -> list[RetrieverHit]:
    """The best matches inside the filter.

    A first look takes the best matches without the filter and filters those; only when too few
    of them pass is every match filtered. Both give the same answer.
    """
    wide = max(look.effort.first_look, 4 * look.limit)
    found = look.db.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
        (query.expression, wide),
    ).fetchall()
    hits = look.first_passing([(row, score / query.copies) for row, score in found])
    if len(hits) >= look.limit or len(found) < wide:
        return hits
    return _filtered(look, query)


def _within(look: _Look, expression: str) -> list[RetrieverHit]:
    """The best matches among the few rows that pass the filter; only those are scored."""
    fits = condition(look.where)
    # The plus keeps FTS5 from looking up each of the rows by itself.
    best = look.db.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ?"
        f" AND +rowid IN (SELECT m.row FROM memories m WHERE {fits.sql})"
        " ORDER BY rank, rowid LIMIT ?",
        (expression, *fits.params, look.limit),
    ).fetchall()
    return look.first_passing(best)


def _filtered(look: _Look, query: FtsQuery) -> list[RetrieverHit]:
    """The best of all matches that pass the filter; only those are scored."""
    fits = condition(look.where)
    best = look.db.execute(
        "SELECT w.rowid, -w.rank FROM words w CROSS JOIN memories m ON m.row = w.rowid"
        f" WHERE w.words MATCH ? AND {fits.sql} ORDER BY w.rank, w.rowid LIMIT ?",
        (query.expression, *fits.params, look.limit),
    ).fetchall()
    return look.first_passing([(row, score / query.copies) for row, score in best])
