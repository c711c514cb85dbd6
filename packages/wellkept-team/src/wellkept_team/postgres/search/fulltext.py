"""Full-text search: BM25 with the numbers of SQLite's FTS5, computed by the server.

`texts` holds the words of each memory in order, `term_counts` in how many memories each stands.
A GIN index finds the memories with any of the words; the statement counts the words in each and
sums the scores. When the terms of a query stand in more memories than `SearchEffort.scored_rows`,
memories with one of the rarer terms are scored first, by all terms; those with common terms only
follow where they could still be among the best. Beyond `_MOST_SCORED` the first answer stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

from wellkept.core.query import Filter, RetrieverHit
from wellkept.core.records import record
from wellkept.core.text import clean
from wellkept.store.queries import DEFAULT_EFFORT, SearchEffort, split_terms
from wellkept_team.postgres.connection.database import Connection, Value
from wellkept_team.postgres.search.phrase_counts import PhraseCounts
from wellkept_team.postgres.search.selective_filters import few_sql
from wellkept_team.postgres.tables.filters import Condition, condition
from wellkept_team.postgres.tables.index_keys import query_tokens
from wellkept_team.postgres.tables.memory_rows import SELECTED_CANDIDATE, to_candidate

# Constants of FTS5's bm25().
_K1: Final = 1.2
_B: Final = 0.75
_MIN_IDF: Final = 1e-6
_FIRST_PASS: Final = DEFAULT_EFFORT.first_pass
_MOST_SCORED: Final = 30_000


@record
class _Term:
    """Words of a search term, several for a phrase, and in how many memories it stands."""

    tokens: tuple[int, ...]
    holding: int

    def weight(self, memories: int) -> float:
        """What a match can add to a score at most."""
        share = (memories - self.holding + 0.5) / (self.holding + 0.5)
        return max(math.log(share), _MIN_IDF) * (_K1 + 1)


def search_fulltext(
    db: Connection,
    terms: Sequence[str],
    where: Filter,
    *,
    limit: int,
    narrow: bool = False,
    effort: SearchEffort = DEFAULT_EFFORT,
    phrases: PhraseCounts | None = None,
) -> list[RetrieverHit]:
    """The best memories by BM25 that contain any of the terms.

    `narrow` says that few memories pass the filter.
    """
    asked = [tuple(query_tokens(clean(term))) for term in dict.fromkeys(terms) if term.strip()]
    wanted = [tokens for tokens in asked if tokens]
    if not wanted or not limit:
        return []
    totals = db.row(
        "SELECT memories, tokens FROM text_totals WHERE tenant = %(tenant)s AND project = ''"
    )
    if totals is None or totals[0] <= 0:
        return []
    memories, tokens = totals
    counted = _holding(db, wanted, tokens, phrases or PhraseCounts())
    found = [_Term(each, holding) for each, holding in counted if holding > 0]
    if not found:
        return []
    usual_length = tokens / memories or 1.0
    query = _Query(db, condition(where), limit, memories, usual_length)
    if narrow:
        return query.among_few(found)
    rare = _rarer(found, memories, limit=limit, effort=effort)
    hits = query.best(having=rare, scored=found)
    if len(hits) < limit:
        return hits if len(rare) == len(found) else query.best(having=found, scored=found)
    needed = _needed(found, memories, least=hits[-1].score)
    if set(needed) <= set(rare) or sum(term.holding for term in needed) > _MOST_SCORED:
        return hits
    return query.best(having=needed, scored=found)


def _rarer(
    terms: Sequence[_Term], memories: int, *, limit: int, effort: SearchEffort
) -> list[_Term]:
    """Terms whose memories are scored first: the rarer ones, or all of a small store."""
    if memories <= effort.scored_rows:
        return list(terms)
    rows = {n: min(term.holding, effort.ubiquitous_rows) for n, term in enumerate(terms)}
    return [terms[n] for n in split_terms(rows, least=limit, effort=effort)[0]]


def _needed(terms: Sequence[_Term], memories: int, *, least: float) -> list[_Term]:
    """Terms of which a memory must have one to score better than `least`.

    A term adds less than its weight, whatever the memory: the terms that weigh no more than `least`
    together cannot lift a memory above it.
    """
    needed = sorted(terms, key=lambda term: term.weight(memories))
    total = 0.0
    while needed and total + needed[0].weight(memories) <= least:
        total += needed.pop(0).weight(memories)
    return needed


def _holding(
    db: Connection, wanted: Sequence[tuple[int, ...]], length: int, phrases: PhraseCounts
) -> list[tuple[tuple[int, ...], int]]:
    """In how many memories of the tenant each term stands."""
    words = list({token for tokens in wanted for token in tokens})
    counts = dict(
        db.rows(
            "SELECT term, memories FROM term_counts"
            " WHERE tenant = %(tenant)s AND project = '' AND term = ANY(%(words)s)",
            words=words,
        )
    )
    found: list[tuple[tuple[int, ...], int]] = []
    for tokens in wanted:
        holding = min(counts.get(token, 0) for token in tokens)
        if len(tokens) > 1 and holding > 0:
            count = partial(_phrase_holding, db, tokens)
            holding = phrases.of(tokens, length=length, count=count)
        found.append((tokens, holding))
    return found


def _phrase_holding(db: Connection, tokens: Sequence[int]) -> int:
    return db.value(
        f"SELECT count(*) FROM {_source(db, 'NULL', 'p0', 'all')} t WHERE t.tenant = %(tenant)s"
        f" AND t.tokens @> %(p0)s::bigint[] AND {_count_sql(0, tokens)} > 0",
        p0=list(tokens),
    )


def _source(db: Connection, homes: str, words: str, operator: str) -> str:
    """Where texts with words are found. Under row-level security the index serves a function only,
    which applies the same rules."""
    if not db.is_guarded:
        return "texts"
    return f"texts_holding({homes}, %({words})s::bigint[], '{operator}')"


def _count_sql(number: int, tokens: Sequence[int]) -> str:
    """How often a term stands in `t.tokens`."""
    if len(tokens) == 1:
        return f"coalesce(cardinality(array_positions(t.tokens, (%(p{number})s::bigint[])[1])), 0)"
    return (
        f"(SELECT count(*) FROM unnest(array_positions(t.tokens, (%(p{number})s::bigint[])[1]))"
        f" AS at (i) WHERE t.tokens[at.i : at.i + {len(tokens) - 1}] = %(p{number})s::bigint[])"
    )


@record
class _Query:
    """What all statements of one search share."""

    db: Connection
    filter_sql: Condition
    limit: int
    memories: int
    usual_length: float

    def best(self, *, having: Sequence[_Term], scored: Sequence[_Term]) -> list[RetrieverHit]:
        """The best memories that have one of the terms, scored by all.

        First only the best matches are filtered, and their memories read one by one; when too few
        pass, every match is filtered. Both give the same result.
        """
        params = self._params(scored)
        params["wide"] = max(_FIRST_PASS, 4 * self.limit)
        params["heads"] = [term.tokens[0] for term in having]
        matches = self._matches(scored, self._tests(having, params), source=self._source())
        rows = self.db.rows(
            f"WITH b AS MATERIALIZED ({matches} ORDER BY score DESC, number LIMIT %(wide)s)"
            " SELECT m.*, b.score, (SELECT count(*) FROM b) FROM b CROSS JOIN LATERAL"
            f" (SELECT {SELECTED_CANDIDATE} FROM memories m WHERE m.tenant = %(tenant)s"
            f" AND m.home = b.home AND m.number = b.number AND {self.filter_sql.sql} OFFSET 0) AS m"
            " ORDER BY b.score DESC, b.number LIMIT %(limit)s",
            **params,
        )
        if len(rows) >= self.limit or (rows and rows[0][-1] < params["wide"]):
            return [RetrieverHit(to_candidate(row), row[-2]) for row in rows]
        rows = self.db.rows(
            f"SELECT {SELECTED_CANDIDATE}, b.score FROM ({matches}) AS b JOIN memories m"
            " ON m.tenant = %(tenant)s AND m.home = b.home AND m.number = b.number"
            f" WHERE {self.filter_sql.sql} ORDER BY b.score DESC, b.number LIMIT %(limit)s",
            **params,
        )
        return [RetrieverHit(to_candidate(row), row[-1]) for row in rows]

    def among_few(self, scored: Sequence[_Term]) -> list[RetrieverHit]:
        """The best of the few memories that pass the filter."""
        params = self._params(scored)
        tests = (
            f"t.home = few.at_home AND t.number = few.at_number AND ({self._tests(scored, params)})"
        )
        rows = self.db.rows(
            f"{few_sql(self.filter_sql)} SELECT few.*, b.score FROM few"
            f" CROSS JOIN LATERAL ({self._matches(scored, tests, source='texts')}) AS b"
            " ORDER BY b.score DESC, few.at_number LIMIT %(limit)s",
            **params,
        )
        return [RetrieverHit(to_candidate(row), row[-1]) for row in rows]

    def _params(self, scored: Sequence[_Term]) -> dict[str, Value]:
        params: dict[str, Value] = {**self.filter_sql.params}
        params |= {"limit": self.limit, "usual": self.usual_length}
        for number, term in enumerate(scored):
            params[f"p{number}"] = list(term.tokens)
            params[f"w{number}"] = term.weight(self.memories)
        return params

    def _source(self) -> str:
        homes = "NULL" if self.filter_sql.homes is None else "%(homes)s"
        return _source(self.db, homes, "heads", "any")

    def _matches(self, scored: Sequence[_Term], tests: str, *, source: str) -> str:
        """Texts that pass the tests and have a score, in no order."""
        counts = ", ".join(f"{_count_sql(n, t.tokens)} AS c{n}" for n, t in enumerate(scored))
        score = " + ".join(
            f"%(w{n})s::float8 * c.c{n} / (c.c{n} + c.damping)" for n in range(len(scored))
        )
        # OFFSET 0 keeps the planner from computing the counts again for the sort.
        return (
            "SELECT home, number, score FROM"
            f" (SELECT c.home, c.number, {score} AS score FROM"
            f" (SELECT t.home, t.number, {counts},"
            f" {_K1} * ({1 - _B} + {_B} * t.length / %(usual)s::float8) AS damping"
            f" FROM {source} t WHERE {self.filter_sql.within('t')} AND ({tests}) OFFSET 0) AS c"
            " OFFSET 0) AS s WHERE score > 0"
        )

    @staticmethod
    def _tests(having: Sequence[_Term], params: dict[str, Value]) -> str:
        """Which texts are read: those with any of the words, or all words of a phrase."""
        words = [term.tokens[0] for term in having if len(term.tokens) == 1]
        tests: list[str] = []
        if words:
            params["words"] = words
            tests.append("t.tokens && %(words)s::bigint[]")
        for number, term in enumerate(term for term in having if len(term.tokens) > 1):
            params[f"h{number}"] = list(term.tokens)
            tests.append(f"t.tokens @> %(h{number})s::bigint[]")
        return " OR ".join(tests)
