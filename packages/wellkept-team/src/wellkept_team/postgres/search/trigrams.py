"""Case-insensitive search for parts of words, through hashed trigrams.

The index finds memories with the trigrams of a fragment; the content then confirms the match.
Invariant: every hit contains the fragment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wellkept.core.query import Filter, RetrieverHit
from wellkept.core.text import clean
from wellkept_team.postgres.connection.database import Connection, bindable
from wellkept_team.postgres.tables.filters import Condition, condition
from wellkept_team.postgres.tables.index_keys import fold, grams_to_find
from wellkept_team.postgres.tables.memory_rows import SELECTED_CANDIDATE, to_candidate

_MOST_GRAMS: Final = 6
_MOST_HOLDERS: Final = 2_000


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
    scores: dict[int, float] = {}
    for fragment in dict.fromkeys(fold(clean(one)) for one in substrings if one):
        if not fragment:
            continue
        for number in _holders(db, fragment, filter_sql, most=max(limit, _MOST_HOLDERS)):
            scores[number] = scores.get(number, 0.0) + len(fragment)
    best = sorted(scores, key=lambda number: (-scores[number], -number))[:limit]
    if not best:
        return []
    rows = db.rows(
        f"SELECT {SELECTED_CANDIDATE}, m.number FROM memories m"
        f" WHERE {filter_sql.sql} AND m.number = ANY(%(numbers)s)",
        **filter_sql.params,
        numbers=best,
    )
    known = {row[-1]: to_candidate(row) for row in rows}
    return [RetrieverHit(known[number], scores[number]) for number in best if number in known]


def _holders(db: Connection, fragment: str, filter_sql: Condition, *, most: int) -> list[int]:
    grams = grams_to_find(fragment, most=_MOST_GRAMS)
    has_grams = "AND f.grams @> %(grams)s::int[]" if grams else ""
    # Under row-level security the index serves a function only, which applies the same rules.
    homes = "NULL" if filter_sql.homes is None else "%(homes)s"
    is_found = db.is_guarded and grams
    source = f"fragments_holding({homes}, %(grams)s::int[], 'all')" if is_found else "fragments"
    rows = db.rows(
        f"SELECT m.number FROM {source} f JOIN memories m ON m.tenant = f.tenant"
        f" AND m.home = f.home AND m.number = f.number WHERE {filter_sql.within('f')}"
        f" {has_grams} AND {filter_sql.sql}"
        " AND strpos(coalesce(f.folded, lower(m.content)), %(fragment)s) > 0"
        " ORDER BY m.number DESC LIMIT %(most)s",
        **filter_sql.params,
        grams=grams,
        fragment=bindable(fragment),
        most=most,
    )
    return [number for (number,) in rows]
