"""Full-text search (FTS5, stemmed) with bounded work at any number of memories.

FTS5 takes about 40 ns to find a row with a term and 1 µs to score it. When the terms of a query
occur in more rows than `SearchEffort.scored_rows`, only rows with one of the rarer terms are
scored, still by all terms. This loses only rows that contain nothing but common terms, and only
while there are enough others.

Invariant: terms are data. They reach FTS5 only as quoted strings, so no operator, quote or column
name has a meaning.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from wellkept.core.errors import UsageError
from wellkept.core.query import Candidate, Filter, RetrieverHit, SessionPosition
from wellkept.core.records import record
from wellkept.core.text import clean
from wellkept.store.memory_rows import SELECTED_CANDIDATE, to_candidate
from wellkept.store.queries import DEFAULT_EFFORT, SearchEffort, require_limit, split_terms
from wellkept.store.sqlite.database import Component, Connection, SqlValue, bindable, readable_index
from wellkept.store.sqlite.search import candidates
from wellkept.store.sqlite.search.candidates import Scored, few_rows, first_passing, passing
from wellkept.store.sqlite.search.filters import Condition, condition

if TYPE_CHECKING:
    from wellkept.core.ports.models import Vector
    from wellkept.store.sqlite.search.term_cache import TermCache
    from wellkept.store.sqlite.search.vector_index import PassingRows
    from wellkept.store.sqlite.search.vectors import VectorSearch

_Name = TypeVar("_Name")
# Importing numpy only for what is kept of words pays off in a large store with many queries.
LOAD_NUMPY_MIN_ROWS = 20_000


class _FtsQuery(NamedTuple):
    """An FTS5 expression; its scores are `copies` times too large."""

    expression: str
    copies: int = 1


def quote(term: str) -> str:
    """A term as an FTS5 string."""
    return '"' + clean(term).replace('"', '""') + '"'


def search_fulltext(
    db: Connection,
    terms: Sequence[str],
    where: Filter,
    *,
    limit: int,
    term_cache: Callable[[], TermCache] | None = None,
    passing: Callable[[], PassingRows] | None = None,
    effort: SearchEffort = DEFAULT_EFFORT,
) -> list[RetrieverHit]:
    """The best memories by BM25 that contain any of the terms.

    With a `term_cache` and the rows `passing` filters the order is exact at any size.
    """
    wanted = [quote(term) for term in dict.fromkeys(terms) if term.strip()]
    if not wanted or not limit:
        return []
    search = _Search(db, where, limit, effort)
    (newest,) = db.execute("SELECT coalesce(max(row), 0) FROM memories").fetchone()
    if newest <= effort.scored_rows:
        return _ranked(search, _FtsQuery(_any_of(wanted)))
    few = few_rows(db, where)
    if few is not None:
        return _within(search, _any_of(wanted), rowid="rowid") if few else []
    if term_cache and passing and ("numpy" in sys.modules or newest >= LOAD_NUMPY_MIN_ROWS):
        exact = _exactly(search, wanted, term_cache(), passing)
    else:
        exact = None
    if exact is not None:
        return exact
    # For a project that is most of the store the first pass costs half as much.
    if _is_small(db, where.project, most=min(effort.small_project_rows, newest // 2)):
        return _within(search, _any_of(wanted))
    query = _cheap_query(db, wanted, limit=limit, effort=effort)
    hits = _ranked(search, query)
    if len(hits) < limit and query.copies > 1:
        return _filtered(search, _FtsQuery(_any_of(wanted)))
    return hits


@record
class _Search:
    """Parameters of one search."""

    db: Connection
    where: Filter
    limit: int
    effort: SearchEffort

    def first_passing(self, best: Scored) -> list[RetrieverHit]:
        return first_passing(self.db, best, self.where, limit=self.limit)


def _exactly(
    search: _Search,
    wanted: Sequence[str],
    term_cache: TermCache,
    passing: Callable[[], PassingRows],
) -> list[RetrieverHit] | None:
    """The best matches through the term cache, or None when it cannot answer.

    First the best of all; where too few of them pass the filter, the best of those that do.
    """
    db, where = search.db, search.where
    wide = 2 * search.limit
    best = term_cache.best(db, wanted, limit=wide)
    if best is None:
        return None
    if not passing().knows(where):
        hits = search.first_passing(best)
        if len(hits) >= search.limit or len(best) < wide:
            return hits
    best = term_cache.best(db, wanted, limit=wide, mask=passing().mask(db, where))
    return None if best is None else search.first_passing(best)


def _is_small(db: Connection, project: str | None, *, most: int) -> bool:
    if project is None:
        return False
    (rows,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM memories WHERE home IN (?, '') LIMIT ?)",
        (bindable(project), most + 1),
    ).fetchone()
    return int(rows) <= most


def _cheap_query(
    db: Connection, wanted: Sequence[str], *, limit: int, effort: SearchEffort
) -> _FtsQuery:
    """All terms, or only rows with the rarer ones where scoring all would cost too much.

    In `rare AND (rare OR common OR common)` each term occurs twice, so every score doubles and the
    order is that of the plain query.
    """
    if len(wanted) == 1:
        return _FtsQuery(_any_of(wanted))
    rows = {term: _rows_holding(db, term, most=effort.ubiquitous_rows) for term in wanted}
    rare, common = split_terms(rows, least=limit, effort=effort)
    if not common:
        return _FtsQuery(_any_of(rare))
    return _FtsQuery(f"({_any_of(rare)}) AND ({_any_of([*rare, *common, *common])})", copies=2)


def _rows_holding(db: Connection, term: str, *, most: int) -> int:
    (count,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (term, most)
    ).fetchone()
    return int(count)


def _any_of(terms: Sequence[str]) -> str:
    return " OR ".join(terms)


def _ranked(search: _Search, query: _FtsQuery) -> list[RetrieverHit]:
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


def _filtered(search: _Search, query: _FtsQuery) -> list[RetrieverHit]:
    """The best of all matches that pass the filter."""
    filter_sql = condition(search.where)
    best = search.db.execute(
        "SELECT w.rowid, -w.rank FROM words w CROSS JOIN memories m ON m.row = w.rowid"
        f" WHERE w.words MATCH ? AND {filter_sql.sql} ORDER BY w.rank, w.rowid LIMIT ?",
        (query.expression, *filter_sql.params, search.limit),
    ).fetchall()
    return search.first_passing([(row, score / query.copies) for row, score in best])


_WIDTH = 3
_MOST_TRIGRAMS = 6
_ENOUGH_TRIGRAMS = 3
_MOST_CONTINUATIONS = 1_000
_MOST_HOLDERS = 2_000


def search_substrings(
    db: Connection, substrings: Sequence[str], where: Filter, *, limit: int
) -> list[RetrieverHit]:
    """Memories that contain any of the substrings, most matched characters first.

    The score is the number of matched characters; ties: newest first. For a substring in very many
    memories only the newest matches count.
    """
    if not limit:
        return []
    filter_sql = condition(where)
    few = few_rows(db, where)
    if few is not None and not few:
        return []
    scores: dict[int, float] = {}
    fragments = dict.fromkeys(clean(f).lower() for f in substrings if f)
    most = limit if len(fragments) == 1 else max(limit, _MOST_HOLDERS)
    for fragment in fragments:
        expression = _expression(db, fragment) if few is None else None
        for row in _holders(db, fragment, expression, filter_sql, most):
            scores[row] = scores.get(row, 0.0) + len(fragment)
    best = sorted(scores, key=lambda row: (-scores[row], -row))[:limit]
    known = passing(db, best, where)
    return [RetrieverHit(known[row], scores[row]) for row in best if row in known]


def _holders(
    db: Connection, fragment: str, expression: str | None, filter_sql: Condition, most: int
) -> list[int]:
    """The newest rows with a substring; without an expression for the index, one by one."""
    if expression == "":
        return []
    source, test, params = "memories m", "1", list[SqlValue]()
    if expression is not None:
        source = "fragments f CROSS JOIN memories m ON m.row = f.rowid"
        test, params = "f.fragments MATCH ?", [expression]
    column = "m.row" if expression is None else "f.rowid"
    found = db.execute(
        f"SELECT m.row FROM {source} WHERE {test} AND {filter_sql.sql} AND holds(m.content, ?)"
        f" ORDER BY {column} DESC LIMIT ?",
        (*params, *filter_sql.params, fragment, most),
    )
    return [row for (row,) in found]


def _rarest(db: Connection, trigrams: list[str]) -> list[str]:
    """The few most selective trigrams; the content is checked anyway."""
    if len(trigrams) <= _ENOUGH_TRIGRAMS:
        return trigrams
    rows = {
        trigram: db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM fragments WHERE fragments MATCH ? LIMIT ?)",
            (trigram, _MOST_HOLDERS),
        ).fetchone()[0]
        for trigram in trigrams
    }
    rare = [trigram for trigram in trigrams if rows[trigram] < _MOST_HOLDERS]
    return sorted(rare, key=lambda trigram: rows[trigram])[:_ENOUGH_TRIGRAMS] or trigrams


def _expression(db: Connection, fragment: str) -> str | None:
    """The index query; empty when nothing can match, None to scan the rows.

    A short substring with very many trigrams is so common that a scan finds enough quickly.
    """
    if len(fragment) >= _WIDTH:
        starts = range(len(fragment) - _WIDTH + 1)
        step = -(-len(starts) // _MOST_TRIGRAMS)
        trigrams = dict.fromkeys(quote(fragment[i : i + _WIDTH]) for i in starts[::step])
        return " AND ".join(_rarest(db, list(trigrams)))
    rows = db.execute(
        "SELECT term FROM fragment_terms WHERE term >= ? AND term < ? LIMIT ?",
        (fragment, fragment + "\U0010ffff", _MOST_CONTINUATIONS + 1),
    ).fetchall()
    if len(rows) > _MOST_CONTINUATIONS:
        return None
    return " OR ".join(quote(term) for (term,) in rows)


class SqliteSearch(Component):
    """Finds memories by words, fragments, vectors and links."""

    @cached_property
    def _term_cache(self) -> TermCache:
        from wellkept.store.sqlite.search.term_cache import TermCache

        return TermCache()

    def _passing_rows(self) -> PassingRows:
        return self._vector_search.passing_rows()

    @cached_property
    def _vector_search(self) -> VectorSearch:
        from wellkept.store.sqlite.search.vectors import VectorSearch

        return VectorSearch()

    def search_fulltext(
        self, terms: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        with readable_index(self._database.path), self._database.snapshot() as db:
            return search_fulltext(
                db,
                terms,
                where,
                limit=limit,
                term_cache=lambda: self._term_cache,
                passing=self._passing_rows,
            )

    def search_substrings(
        self, substrings: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        with readable_index(self._database.path), self._database.snapshot() as db:
            return search_substrings(db, substrings, where, limit=limit)

    def search_vectors(
        self, vector: Vector, *, model_id: str, where: Filter, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        with readable_index(self._database.path), self._database.snapshot() as db:
            return self._vector_search.nearest(
                db, vector, model_id=model_id, where=where, limit=limit
            )

    def similarities(
        self, vector: Vector, *, model_id: str, ids: Sequence[str]
    ) -> dict[str, float]:
        with readable_index(self._database.path), self._database.snapshot() as db:
            return self._vector_search.similarities(db, vector, model_id=model_id, ids=ids)

    def search_links(
        self, *, files: Sequence[str], modules: Sequence[str], where: Filter, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        links = [*(("file", f) for f in files), *(("module", m) for m in modules)]
        if not links:
            return []
        pairs = ",".join(["(?, ?)"] * len(links))
        flat: list[SqlValue] = [bindable(part) for link in links for part in link]
        filter_sql = condition(where)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SELECTED_CANDIDATE}, l.ties FROM (SELECT memory, count(*) AS ties"
                f" FROM labels WHERE (kind, value) IN (VALUES {pairs}) GROUP BY memory) l"
                f" CROSS JOIN memories m ON m.row = l.memory WHERE {filter_sql.sql}"
                " ORDER BY l.ties DESC, m.row DESC LIMIT ?",
                (*flat, *filter_sql.params, limit),
            ).fetchall()
        return [RetrieverHit(to_candidate(row), float(row[-1])) for row in rows]

    def session_neighbours(
        self, positions: Sequence[SessionPosition], where: Filter, *, span: int
    ) -> list[Candidate]:
        if span < 0:
            raise UsageError(f"span must be at least 0, not {span}.")
        with self._database.snapshot() as db:
            return candidates.session_neighbours(db, positions, where, span=span)
