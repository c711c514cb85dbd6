"""Looking again with a made-up answer, when the question itself found too little.

A text model writes the memory that would answer the question; the search then goes by a blend of
both meanings. Used only when a text model is there; a model that fails changes nothing.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder, TextModel, Vector

ENOUGH_HITS = 3
CLEAR_SCORE = 0.5
QUERY_SHARE = 0.4
ANSWER_SHARE = 0.6
ANSWER_TOKENS = 150
_PROMPT = (
    "A developer asks their notes: {query}\n"
    "Write the one note, two sentences at most, that would answer this best. Name concrete files,"
    " commands, values or causes. Reply with the note only."
)


def is_thin(scores: Iterable[float]) -> bool:
    """Whether too few hits are clear enough to be left alone."""
    return sum(1 for score in scores if score > CLEAR_SCORE) < ENOUGH_HITS


def hypothetical_vector(query: str, *, model: TextModel, embedder: Embedder) -> Vector | None:
    """The blended meaning of a question and a made-up answer; None for an empty answer."""
    answer = model.complete(_PROMPT.format(query=query), max_tokens=ANSWER_TOKENS).strip()
    if not answer:
        return None
    return blend(embedder.embed_query(query), embedder.embed_query(answer))


def blend(query: Vector, answer: Vector) -> Vector:
    """0.4 of the question and 0.6 of the answer, scaled to unit length."""
    count = len(query) // 4
    pairs = zip(
        struct.unpack(f"<{count}f", query), struct.unpack(f"<{count}f", answer), strict=True
    )
    mixed = [QUERY_SHARE * q + ANSWER_SHARE * a for q, a in pairs]
    length = math.sqrt(sum(value * value for value in mixed)) or 1.0
    return struct.pack(f"<{count}f", *(value / length for value in mixed))
