"""Fragment search: substrings, whatever their case, over the trigram index.

The index says which memories hold all trigrams of a fragment; whether they stand together is then
read from the content. A fragment of one or two characters is looked up through the trigrams that
begin with it. Invariant: a hit really holds the fragment.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.query import Filter, RetrieverHit
from wellkept.core.text import clean
from wellkept.store.sqlite.connection.database import Connection, SqlValue
from wellkept.store.sqlite.search.candidates import CandidateReader
from wellkept.store.sqlite.search.fulltext import quote
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
    facts: CandidateReader | None = None,
) -> list[RetrieverHit]:
    """Memories that hold any of the fragments, those with more and longer ones first.

    The score is the number of characters of the fragments found. Equal scores: newest first.
    Of a fragment that is nearly everywhere, only the newest holders count.
    """
    if not limit:
        return []
    fits = condition(where)
    scores: dict[int, float] = {}
    for fragment in dict.fromkeys(clean(f).lower() for f in substrings if f):
        for row in _holders(db, fragment, fits, most=max(limit, _MOST_HOLDERS)):
            scores[row] = scores.get(row, 0.0) + len(fragment)
    best = sorted(scores, key=lambda row: (-scores[row], -row))[:limit]
    known = (facts or CandidateReader()).passing(db, best, where)
    # What is known may be newer than the rows seen here: another thread can have read meanwhile.
    return [RetrieverHit(known[row], scores[row]) for row in best if row in known]


def _holders(db: Connection, fragment: str, fits: Condition, *, most: int) -> list[int]:
    expression = _expression(db, fragment)
    if expression == "":
        return []
    source, test, params = "memories m", "1", list[SqlValue]()
    if expression is not None:
        source = "fragments f CROSS JOIN memories m ON m.row = f.rowid"
        test, params = "f.fragments MATCH ?", [expression]
    column = "m.row" if expression is None else "f.rowid"
    found = db.execute(
        f"SELECT m.row FROM {source} WHERE {test} AND {fits.sql} AND holds(m.content, ?)"
        f" ORDER BY {column} DESC LIMIT ?",
        (*params, *fits.params, fragment, most),
    )
    return [row for (row,) in found]


def _rarest(db: Connection, trigrams: list[str]) -> list[str]:
    """The few trigrams that narrow most: the rows are looked at anyway."""
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
    """What to ask the index; empty when nothing can match, None to look at the rows themselves.

    A fragment with very many continuations is so common that looking at rows soon finds enough.
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
