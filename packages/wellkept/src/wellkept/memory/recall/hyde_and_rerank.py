"""Optional second passes of recall that use a model: HyDE and reranking.

HyDE: when the query finds too few clear hits, a text model writes the memory that would answer it,
and the search is repeated with a blend of both vectors. Reranking: a model that reads query and
text together reorders the best candidates. Both are used only when such a model is configured.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.memory.recall.ranking import Contents, Ranked, RankedCandidates
from wellkept.memory.recall.requests import ScorePart

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder, Reranker, TextModel, Vector

ENOUGH_HITS = 3
CLEAR_SCORE = 0.5
QUERY_SHARE = 0.4
ANSWER_SHARE = 0.6
ANSWER_TOKENS = 150
RERANKED = 30
_RERANKER_SHARE = 0.5
_PROMPT = (
    "A developer asks their notes: {query}\n"
    "Write the one note, two sentences at most, that would answer this best. Name concrete files,"
    " commands, values or causes. Reply with the note only."
)


def needs_second_pass(scores: Iterable[float]) -> bool:
    """Whether fewer than three hits score clearly."""
    return sum(1 for score in scores if score > CLEAR_SCORE) < ENOUGH_HITS


def hypothetical_vector(query: str, *, model: TextModel, embedder: Embedder) -> Vector | None:
    """The blended vector of a query and a hypothetical answer; None for an empty answer."""
    answer = model.complete(_PROMPT.format(query=query), max_tokens=ANSWER_TOKENS).strip()
    if not answer:
        return None
    return blend(embedder.embed_query(query), embedder.embed_query(answer))


def blend(query: Vector, answer: Vector) -> Vector:
    """0.4 of the query and 0.6 of the answer, scaled to unit length."""
    count = len(query) // 4
    pairs = zip(
        struct.unpack(f"<{count}f", query), struct.unpack(f"<{count}f", answer), strict=True
    )
    mixed = [QUERY_SHARE * q + ANSWER_SHARE * a for q, a in pairs]
    length = math.sqrt(sum(value * value for value in mixed)) or 1.0
    return struct.pack(f"<{count}f", *(value / length for value in mixed))


# -- Reranking ------------------------------------------------------------------------------------


def reranked(
    ranking: RankedCandidates, query: str, *, reranker: Reranker, contents: Contents
) -> RankedCandidates:
    """The ranking with its head reordered.

    Reranker scores have no fixed scale: they are spread over 0 to 1 among the texts it read, and
    count half for the order. The head's scores stay what they were and go to the new order: they
    say how likely an answer is at all, which a reranker does not.
    """
    head, tail = ranking.order[:RERANKED], ranking.order[RERANKED:]
    texts = contents([r.candidate.id for r in head])
    seen = [r for r in head if r.candidate.id in texts]
    values = _spread(reranker.scores(query, [texts[r.candidate.id] for r in seen]), len(seen))
    top = max((r.score for r in seen), default=0.0)
    value_of = {r.candidate.id: value for r, value in zip(seen, values, strict=True)}

    def mixed(r: Ranked) -> float:
        value = value_of[r.candidate.id] * top
        return (1 - _RERANKER_SHARE) * r.score + _RERANKER_SHARE * value

    order = sorted(seen, key=lambda r: (-mixed(r), r.candidate.id))
    first = [Ranked(r.candidate, earlier.score) for r, earlier in zip(order, seen, strict=True)]
    change = {
        new.candidate.id: new.score - old.score for new, old in zip(first, order, strict=True)
    }

    def parts(memory_id: str) -> tuple[ScorePart, ...]:
        own = ranking.parts(memory_id)
        if memory_id not in value_of:
            return own
        part = ScorePart("reranker", value_of[memory_id], _RERANKER_SHARE, change[memory_id])
        return (*own, part)

    return RankedCandidates((*first, *tail), parts)


def _spread(scores: list[float], expected: int) -> list[float]:
    """Scores scaled to 0 to 1; 0.5 for all when they are equal."""
    if len(scores) != expected:
        raise ProviderError(f"The reranker gave {len(scores)} scores for {expected} texts.")
    if not all(map(math.isfinite, scores)):
        raise ProviderError("The reranker gave a score that is no number.")
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(s - low) / (high - low) if high > low else 0.5 for s in scores]
