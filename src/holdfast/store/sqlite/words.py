"""Word search over the stemmed index.

Invariant: a term is data. It reaches FTS5 only inside a quoted string, so no operator, quote or
column name in it has a meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.query import Filter, Hit
from holdfast.core.text import clean
from holdfast.store.sqlite.database import Connection
from holdfast.store.sqlite.filters import Condition, condition

_FIRST_LOOK = 1_000


def quote(term: str) -> str:
    """A term as an FTS5 string."""
    return '"' + clean(term).replace('"', '""') + '"'


def search_words(db: Connection, terms: Sequence[str], where: Filter, *, limit: int) -> list[Hit]:
    """The best memories by BM25 that hold any of the terms."""
    wanted = [quote(term) for term in dict.fromkeys(terms) if term.strip()]
    if not wanted or not limit:
        return []
    return ranked(db, " OR ".join(wanted), condition(where), limit=limit)


def ranked(db: Connection, expression: str, fits: Condition, *, limit: int) -> list[Hit]:
    """The best matches inside the filter.

    A first look takes the best matches without the filter and filters those; only when too few
    of them pass is every match filtered. Both give the same answer.
    """
    wide = max(_FIRST_LOOK, 4 * limit)
    best = db.execute(
        "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?",
        (expression, wide),
    ).fetchall()
    if not best:
        return []
    ids = _passing(db, [row for row, _ in best], fits)
    hits = [Hit(ids[row], -rank) for row, rank in best if row in ids]
    if len(hits) >= limit or len(best) < wide:
        return hits[:limit]
    rows = db.execute(
        "SELECT m.id, -w.rank FROM words w CROSS JOIN memories m ON m.row = w.rowid"
        f" WHERE w.words MATCH ? AND {fits.sql} ORDER BY w.rank, w.rowid LIMIT ?",
        (expression, *fits.params, limit),
    )
    return [Hit(*row) for row in rows]


def _passing(db: Connection, rows: Sequence[int], fits: Condition) -> dict[int, str]:
    """The ids of those rows that pass the filter."""
    listed = ",".join(map(str, rows))
    found = db.execute(
        f"SELECT m.row, m.id FROM memories m WHERE m.row IN ({listed}) AND {fits.sql}", fits.params
    )
    return dict(found.fetchall())
