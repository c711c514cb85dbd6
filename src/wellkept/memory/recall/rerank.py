"""A second opinion on the best candidates from a model that reads question and text together.

The model's scores have no fixed scale, so they are spread over 0 to 1 among the texts it saw and
count half; what it did not see keeps its place behind them. Knows nothing of how it was ranked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.memory.recall.ranking import Contents, Ranked, RankedCandidates
from wellkept.memory.recall.requests import ScorePart

if TYPE_CHECKING:
    from wellkept.core.ports.models import Reranker

RERANKED = 30
_SHARE = 0.5


def reranked(
    ranking: RankedCandidates, query: str, *, reranker: Reranker, contents: Contents
) -> RankedCandidates:
    """The ranking with its best part reordered by the reranker's opinion."""
    head, tail = ranking.order[:RERANKED], ranking.order[RERANKED:]
    texts = contents([r.candidate.id for r in head])
    seen = [r for r in head if r.candidate.id in texts]
    opinions = _spread(reranker.scores(query, [texts[r.candidate.id] for r in seen]), len(seen))
    top = max((r.score for r in seen), default=0.0)
    mixed = {
        r.candidate.id: (1 - _SHARE) * r.score + _SHARE * opinion * top
        for r, opinion in zip(seen, opinions, strict=True)
    }
    first = sorted(
        (Ranked(r.candidate, mixed[r.candidate.id]) for r in seen),
        key=lambda r: (-r.score, r.candidate.id),
    )
    floor = first[-1].score if first else 0.0
    rest = [Ranked(r.candidate, min(r.score, floor)) for r in tail]

    def parts(memory_id: str) -> tuple[ScorePart, ...]:
        own = ranking.parts(memory_id)
        if memory_id not in mixed:
            return own
        value = opinion_of[memory_id]
        return (*own, ScorePart("reranker", value, _SHARE, _SHARE * value * top))

    opinion_of = {r.candidate.id: o for r, o in zip(seen, opinions, strict=True)}
    return RankedCandidates((*first, *rest), parts)


def _spread(scores: list[float], expected: int) -> list[float]:
    """Scores moved onto 0 to 1; all alike means no opinion."""
    if len(scores) != expected:
        raise ProviderError(f"The reranker gave {len(scores)} scores for {expected} texts.")
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(s - low) / (high - low) if high > low else 0.5 for s in scores]
