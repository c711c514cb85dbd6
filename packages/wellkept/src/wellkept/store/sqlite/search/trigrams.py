"""Case-insensitive substring search over the trigram index.

The index finds memories with all trigrams of a substring; the content then confirms the match. One
or two characters are looked up through the trigrams that begin with them. Invariant: every hit
contains the substring.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.query import Filter, RetrieverHit
from wellkept.core.text import clean
from wellkept.store.sqlite.connection.database import Connection, SqlValue
from wellkept.store.sqlite.search.candidates import CandidateReader
from wellkept.store.sqlite.search.fulltext import quote
from wellkept.store.sqlite.search.selective_filters import is_narrow
from wellkept.store.sqlite.tables.filters import Condition, condition

_WIDTH = 3
_MOST_TRIGRAMS = 6
_ENOUGH_TRIGRAMS = 3
_MOST_CONTINUATIONS = 1_000
_MOST_HOLDERS = 2_000


def search_substrings(
    db: Connection,
    substrings: Sequence[str],
    where: Filter,
    *,
    limit: int,
    candidates: CandidateReader | None = None,
) -> list[RetrieverHit]:
    """Memories that contain any of the substrings, most matched characters first.

    The score is the number of matched characters; ties: newest first. For a substring in very many
    memories only the newest matches count.
    """
    if not limit:
        return []
    filter_sql = condition(where)
    narrow = is_narrow(db, where)
    scores: dict[int, float] = {}
    for fragment in dict.fromkeys(clean(f).lower() for f in substrings if f):
        expression = None if narrow else _expression(db, fragment)
        for row in _holders(db, fragment, expression, filter_sql, max(limit, _MOST_HOLDERS)):
            scores[row] = scores.get(row, 0.0) + len(fragment)
    best = sorted(scores, key=lambda row: (-scores[row], -row))[:limit]
    known = (candidates or CandidateReader()).passing(db, best, where)
    # The cache may be newer than this snapshot: another thread can have updated it.
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
