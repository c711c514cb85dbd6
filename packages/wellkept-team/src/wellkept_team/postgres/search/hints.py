"""What the searches of one tenant remember, to choose the faster of two ways.

Shared by all stores of a tenant in a process: the server of a team opens one for each request. It
says nothing about what anybody may see.
"""

from __future__ import annotations

from typing import NamedTuple

from wellkept_team.postgres.search.phrase_counts import PhraseCounts
from wellkept_team.postgres.search.selective_filters import NarrowFilters
from wellkept_team.postgres.search.vector_index import LARGE_PROJECT, VectorIndexes


class SearchHints(NamedTuple):
    """Which homes have a vector index, which filters are narrow, and how often phrases stand."""

    vector_indexes: VectorIndexes
    narrow: NarrowFilters
    phrases: PhraseCounts


def new_hints(*, large_project: int = LARGE_PROJECT) -> SearchHints:
    """Nothing is remembered yet; a project is large from so many vectors on."""
    return SearchHints(
        VectorIndexes(least=large_project),
        NarrowFilters(few=large_project // 100),
        PhraseCounts(),
    )
