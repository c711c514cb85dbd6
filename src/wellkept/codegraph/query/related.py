"""Files that belong with a file: by history, by structure, by what was opened together.

Each source ranks by its own measure; the ranks are added up, so that no source has to be made
comparable with another, and a file that several name comes first. Knows neither git nor storage.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from wellkept.core.records import record

HISTORY, STRUCTURE, SESSIONS = 1.0, 0.7, 0.5
"""How much the ranks of each source count."""
_SOFTNESS: Final = 4.0
"""The larger, the less the first rank of a source is worth more than the next."""


@record
class RelatedFile:
    """A file that belongs with another; `score` is 1 for one that every source names first."""

    path: str
    score: float
    reasons: tuple[str, ...]


@record
class NamedFile:
    """A file that a source names, with its reasons."""

    path: str
    reasons: tuple[str, ...]


@record
class FileRanking:
    """What one source names, the best first."""

    weight: float
    files: Sequence[NamedFile]


def fused(
    rankings: Sequence[FileRanking], *, is_there: Callable[[str], bool], limit: int
) -> list[RelatedFile]:
    """The files that the sources agree on, best first; files that are gone are passed over."""
    scores: defaultdict[str, float] = defaultdict(float)
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for ranking in rankings:
        there = [named for named in ranking.files if is_there(named.path)]
        for rank, named in enumerate(there):
            scores[named.path] += ranking.weight * _SOFTNESS / (_SOFTNESS + rank)
            reasons[named.path] += named.reasons
    most = sum(ranking.weight for ranking in rankings if ranking.files) or 1.0
    best = sorted(scores, key=lambda path: (-scores[path], path))[:limit]
    return [
        RelatedFile(path, round(scores[path] / most, 3), tuple(dict.fromkeys(reasons[path])))
        for path in best
    ]
