"""Full-text search (FTS5, stemmed) with bounded work at any number of memories.

FTS5 takes about 40 ns to find a row with a term and 1 µs to score it. When the terms of a query
occur in more rows than `SearchEffort.scored_rows`, only rows with one of the rarer terms are
scored, still by all terms. This loses only rows that contain nothing but common terms, and only
while there are enough others.

Invariant: terms are data. They reach FTS5 only as quoted strings, so no operator, quote or column
name has a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from wellkept.core.query import Filter, RetrieverHit
from wellkept.core.records import record
from wellkept.core.text import clean
from wellkept.store.sqlite.connection.database import Connection, bindable
from wellkept.store.sqlite.search.candidates import CandidateReader, Scored
from wellkept.store.sqlite.search.selective_filters import is_narrow
from wellkept.store.sqlite.search.term_cache import TermCache
from wellkept.store.sqlite.tables.filters import condition

_Name = TypeVar("_Name")


@record
class SearchEffort:
    """Limits on the work of one search.

    A project of at most `small_project_rows` rows, and less than half of the store, is searched by
    itself. Otherwise the best `first_pass` matches are filtered before all are. At most about
    `scored_rows` are scored. Terms in `ubiquitous_rows` or more are ignored if there are others.
    """

    small_project_rows: int = 20_000
    first_pass: int = 400
    scored_rows: int = 6_000
    ubiquitous_rows: int = 50_000


DEFAULT_EFFORT = SearchEffort()


class FtsQuery(NamedTuple):
    """An FTS5 expression; its scores are `copies` times too large."""

    expression: str
    copies: int = 1


class ProjectSizes:
    """Caches which projects are small, so that not every query counts rows.

    May be out of date: it affects the query plan, not the result.
    """

    _GROWTH = 1.1

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, bool]] = {}

    def is_small(self, db: Connection, project: str, *, newest: int, most: int) -> bool:
        """Whether a project has at most `most` rows; counted again when the store has grown."""
        seen, small = self._known.get(project, (0, False))
        if not 0 < seen <= newest <= seen * self._GROWTH:
            (rows,) = db.execute(
                "SELECT count(*) FROM (SELECT 1 FROM memories WHERE home IN (?, '') LIMIT ?)",
                (bindable(project), most + 1),
            ).fetchone()
            small = int(rows) <= most
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
    candidates: CandidateReader | None = None,
    term_cache: TermCache | None = None,
    project_sizes: ProjectSizes | None = None,
    effort: SearchEffort = DEFAULT_EFFORT,
) -> list[RetrieverHit]:
    """The best memories by BM25 that contain any of the terms.

    With a `term_cache` the order is exact at any size.
    """
    wanted = [quote(term) for term in dict.fromkeys(terms) if term.strip()]
    if not wanted or not limit:
        return []
    search = _Search(db, where, limit, candidates or CandidateReader(), effort)
    (newest,) = db.execute("SELECT coalesce(max(row), 0) FROM memories").fetchone()
    if newest <= effort.scored_rows:
        return _ranked(search, FtsQuery(_any_of(wanted)))
    if is_narrow(db, where):
        return _within(search, _any_of(wanted), rowid="rowid")
    # For a project that is most of the store the first pass costs half as much.
    small = min(effort.small_project_rows, newest // 2)
    project_sizes = project_sizes or ProjectSizes()
    project = where.project
    if project is not None and project_sizes.is_small(db, project, newest=newest, most=small):
        return _within(search, _any_of(wanted))
    exact = _exactly(search, wanted, term_cache)
    if exact is not None:
        return exact
    query = _cheap_query(db, wanted, limit=limit, effort=effort)
    hits = _ranked(search, query)
    if len(hits) < limit and query.copies > 1:
        return _filtered(search, FtsQuery(_any_of(wanted)))
    return hits


@record
class _Search:
    """Parameters of one search."""

    db: Connection
    where: Filter
    limit: int
    candidates: CandidateReader
    effort: SearchEffort

    def first_passing(self, best: Scored) -> list[RetrieverHit]:
        return self.candidates.first_passing(self.db, best, self.where, limit=self.limit)


def _exactly(
    search: _Search, wanted: Sequence[str], term_cache: TermCache | None
) -> list[RetrieverHit] | None:
    """The best matches through the term cache, or None when it cannot answer."""
    for wide in (2 * search.limit, max(search.effort.first_pass, 8 * search.limit)):
        best = term_cache.best(search.db, wanted, limit=wide) if term_cache else None
        if best is None:
            return None
        hits = search.first_passing(best)
        if len(hits) >= search.limit or len(best) < wide:
            return hits
    return None


def _cheap_query(
    db: Connection, wanted: Sequence[str], *, limit: int, effort: SearchEffort
) -> FtsQuery:
    """All terms, or only rows with the rarer ones where scoring all would cost too much.

    In `rare AND (rare OR common OR common)` each term occurs twice, so every score doubles and the
    order is that of the plain query.
    """
    if len(wanted) == 1:
        return FtsQuery(_any_of(wanted))
    rows = {term: _rows_holding(db, term, most=effort.ubiquitous_rows) for term in wanted}
    rare, common = split_terms(rows, least=limit, effort=effort)
    if not common:
        return FtsQuery(_any_of(rare))
    return FtsQuery(f"({_any_of(rare)}) AND ({_any_of([*rare, *common, *common])})", copies=2)


def split_terms(
    rows: Mapping[_Name, int], *, least: int, effort: SearchEffort
) -> tuple[list[_Name], list[_Name]]:
    """The terms whose rows are scored, and those that only add to scores."""
    rare: list[_Name] = []
    common: list[_Name] = []
    total = 0
    for term in sorted(rows, key=lambda term: rows[term]):
        if total < least or total + rows[term] <= effort.scored_rows:
            rare.append(term)
            total += rows[term]
        elif rows[term] < effort.ubiquitous_rows:
            common.append(term)
    return rare, common


def _rows_holding(db: Connection, term: str, *, most: int) -> int:
    (count,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (term, most)
    ).fetchone()
    return int(count)


def _any_of(terms: Sequence[str]) -> str:
    return " OR ".join(terms)


def _ranked(search: _Search, query: FtsQuery) -> list[RetrieverHit]:
    """The best matches inside the filter.

    The first pass filters only the best matches; when too few pass, every match is filtered. Both
    give the same result.
    """
    wide = max(search.effort.first_pass, 4 * search.limit)
    found = search.db.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
        (query.expression, wide),
    ).fetchall()
    hits = search.first_passing([(row, score / query.copies) for row, score in found])
    if len(hits) >= search.limit or len(found) < wide:
        return hits
    return _filtered(search, query)


def _within(search: _Search, expression: str, *, rowid: str = "+rowid") -> list[RetrieverHit]:
    """The best matches among the few rows that pass the filter.

    The plus keeps FTS5 from looking up the rows one by one, which pays for very few only.
    """
    filter_sql = condition(search.where)
    best = search.db.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ?"
        f" AND {rowid} IN (SELECT m.row FROM memories m WHERE {filter_sql.sql})"
        " ORDER BY rank, rowid LIMIT ?",
        (expression, *filter_sql.params, search.limit),
    ).fetchall()
    return search.first_passing(best)


def _filtered(search: _Search, query: FtsQuery) -> list[RetrieverHit]:
    """The best of all matches that pass the filter."""
    filter_sql = condition(search.where)
    best = search.db.execute(
        "SELECT w.rowid, -w.rank FROM words w CROSS JOIN memories m ON m.row = w.rowid"
        f" WHERE w.words MATCH ? AND {filter_sql.sql} ORDER BY w.rank, w.rowid LIMIT ?",
        (query.expression, *filter_sql.params, search.limit),
    ).fetchall()
    return search.first_passing([(row, score / query.copies) for row, score in best])
