"""Finds an existing skill with the same purpose: by embeddings, else by words.

Compared is the purpose, not the wording: of a generated skill its heading, requests and files, of
any other its name, description and tags. The cosine threshold depends on the model and is passed
in; words have their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from wellkept.core.errors import ProviderError
from wellkept.core.records import record
from wellkept.core.skills import Skill
from wellkept.core.text import content_words, jaccard, stem

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder, Vector

WORDS_CUTOFF: Final = 0.5
_HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)
_REQUEST = re.compile(r'^- A request like "(.+)"$', re.MULTILINE)


@record
class SimilarSkill:
    """The most similar skill, its score, and the threshold for the same purpose."""

    skill: Skill
    score: float
    cutoff: float

    @property
    def is_same(self) -> bool:
        """Whether both have the same purpose."""
        return self.score >= self.cutoff


def most_similar(
    skill: Skill, others: Sequence[Skill], *, embedder: Embedder | None, cutoff: float
) -> SimilarSkill | None:
    """The most similar other skill; None when there are no others."""
    if not others:
        return None
    texts = [_purpose(other) for other in others]
    scores = _cosines(_purpose(skill), texts, embedder) if embedder is not None else []
    limit = cutoff if scores else WORDS_CUTOFF
    scores = scores or [_word_similarity(_purpose(skill), text) for text in texts]
    best = max(range(len(others)), key=lambda number: scores[number])
    return SimilarSkill(others[best], scores[best], limit)


def _purpose(skill: Skill) -> str:
    """The purpose of a skill in few words."""
    if ("generated-by", "wellkept") not in skill.metadata:
        name = skill.name.replace("-", " ").replace("_", " ")
        parts = (name, skill.description, skill.when_to_use or "", " ".join(skill.tags))
        return " ".join(part for part in parts if part)
    heading = _HEADING.search(skill.body)
    requests = _REQUEST.findall(skill.body)
    return " ".join(dict.fromkeys([heading[1] if heading else skill.name, *requests, *skill.globs]))


def _word_similarity(left: str, right: str) -> float:
    def stems(text: str) -> set[str]:
        return {stem(word) for word in content_words(text)}

    return jaccard(stems(left), stems(right))


def _cosines(text: str, texts: Sequence[str], embedder: Embedder) -> list[float]:
    try:
        vectors = embedder.embed_documents([text, *texts])
    except ProviderError:
        return []
    return [_cosine(vectors[0], vector) for vector in vectors[1:]]


def _cosine(left: Vector, right: Vector) -> float:
    """Vectors have unit length, so the product is the cosine."""
    import numpy as np

    return float(np.frombuffer(left, dtype="<f4") @ np.frombuffer(right, dtype="<f4"))
