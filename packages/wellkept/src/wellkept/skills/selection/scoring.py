"""Scoring profiles for skill selection.

`default` adds up words, embeddings, files at hand and detection; its weights were tuned on the
development half of bench/data/skills (docs/decisions/skill-selection.md). `document` is the order
of the source documents: detected skills first, then their word formula.

Invariant: a score is the sum of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.ports.models import Embedder
from wellkept.core.records import record
from wellkept.core.skills import Skill
from wellkept.skills.globs import matching_glob
from wellkept.skills.selection.detection import DetectedSkill, has_rule
from wellkept.skills.selection.lexical import WordIndex, WordMatch, document_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_PROFILE: Final = "default"

WORDS, MEANING, FILES, DETECTED, OTHER_PROJECT = 1.0, 5.4, 1.25, 1.0, -1.0
_DETECTED_FIRST = 1_000.0
FORCED: Final = 10_000.0
_NOTHING: Mapping[int, WordMatch] = MappingProxyType({})


@record
class SkillScorePart:
    """One term of a score: its value, weight and detail."""

    name: str
    value: float
    weight: float
    detail: str = ""

    also_shown = ("effect",)

    @property
    def effect(self) -> float:
        """The contribution to the score."""
        return self.value * self.weight


class SkillSearch:
    """The skills to select from, indexed by words and, with an embedder, by vectors."""

    def __init__(self, skills: Sequence[Skill], *, embedder: Embedder | None = None) -> None:
        self.skills = tuple(skills)
        self.embeddings = _SkillEmbeddings(self.skills, embedder)

    @cached_property
    def words(self) -> WordIndex:
        """The word index, built on first use."""
        return WordIndex(self.skills)


@record
class SkillQuery:
    """The input of a selection: the prompt, files at hand, and detected skills.

    `detected` is None when no project was scanned.
    """

    prompt: str
    files: tuple[str, ...] = ()
    detected: Mapping[str, DetectedSkill] | None = None


@record
class _Ranking:
    """Scores by the position of a skill, and their parts on request."""

    scores: Mapping[int, float]
    parts: Callable[[int], tuple[SkillScorePart, ...]]


@record
class Profile:
    """A scoring function, and the minimum score for injection.

    `min_score_words` applies without vectors.
    """

    name: str
    rank: Callable[[SkillSearch, SkillQuery], _Ranking]
    min_score: float
    min_score_words: float


def _rank_fused(search: SkillSearch, query: SkillQuery) -> _Ranking:
    """Words, embeddings, files and detection, added up."""
    prompt = query.prompt.strip()
    matches = search.words.match(prompt) if prompt else _NOTHING
    similarities = search.embeddings.cosines(prompt) if prompt else []

    def parts(position: int) -> tuple[SkillScorePart, ...]:
        match = matches.get(position)
        words = (
            () if match is None else (SkillScorePart("words", match.score, WORDS, match.detail),)
        )
        similarity = similarities[position] if similarities else 0.0
        embeddings = (SkillScorePart("meaning", similarity, MEANING),) if similarity > 0 else ()
        return (*words, *embeddings, *_project_parts(search.skills[position], query))

    scores = {
        position: sum(part.effect for part in _project_parts(skill, query))
        + (matches[position].score * WORDS if position in matches else 0.0)
        + (max(0.0, similarities[position]) * MEANING if similarities else 0.0)
        for position, skill in enumerate(search.skills)
    }
    return _Ranking(scores, parts)


def _project_parts(skill: Skill, query: SkillQuery) -> tuple[SkillScorePart, ...]:
    """A file at hand that matches the skill; a project that calls for it, or for others."""
    parts: list[SkillScorePart] = []
    for path in query.files if skill.globs else ():
        glob = matching_glob(path, skill.globs)
        if glob is not None:
            parts.append(SkillScorePart("files", 1.0, FILES, f"{path} fits {glob}"))
            break
    if query.detected:
        found = query.detected.get(skill.name)
        if found is not None:
            parts.append(SkillScorePart("detected", found.strength, DETECTED, found.reason))
        elif has_rule(skill):
            parts.append(SkillScorePart("another kind of project", 1.0, OTHER_PROJECT))
    return tuple(parts)


def _rank_as_documented(search: SkillSearch, query: SkillQuery) -> _Ranking:
    """Detected skills first, by priority; then the word formula of the documents."""
    words = document_scores(search.skills, query.prompt)
    detected = query.detected or {}

    def parts(position: int) -> tuple[SkillScorePart, ...]:
        skill = search.skills[position]
        first = (
            SkillScorePart(
                "detected", 1.0, _DETECTED_FIRST + skill.priority, detected[skill.name].reason
            )
            if skill.name in detected
            else None
        )
        by_words = SkillScorePart("words", words[position], 1.0)
        return (first, by_words) if first else (by_words,)

    scores = {
        position: words[position] + (_DETECTED_FIRST + s.priority if s.name in detected else 0.0)
        for position, s in enumerate(search.skills)
    }
    return _Ranking(scores, parts)


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        DEFAULT_PROFILE: Profile(DEFAULT_PROFILE, _rank_fused, 3.3, 1.65),
        "document": Profile("document", _rank_as_documented, 1.0, 1.0),
    }
)


def profile_named(name: str) -> Profile:
    """The profile with that name."""
    try:
        return PROFILES[name]
    except KeyError:
        raise UsageError(
            f"Unknown skill profile {name!r}.", hint=f"Choose one of: {', '.join(PROFILES)}."
        ) from None


# -- Similarity of a prompt and each skill, by embeddings -----------------------------------------


_BODY_CHARS = 600


class _SkillEmbeddings:
    """The vectors of a set of skills."""

    def __init__(self, skills: Sequence[Skill], embedder: Embedder | None) -> None:
        self._skills = skills
        self._embedder = embedder
        self._matrix: NDArray[np.float32] | None = None
        self.problem: str | None = None

    @property
    def is_usable(self) -> bool:
        """Whether there is an embedder that has not failed."""
        return self._embedder is not None and self.problem is None and bool(self._skills)

    def cosines(self, text: str) -> list[float]:
        """The cosine of the text with each skill in order; empty when there are no vectors."""
        if self._embedder is None or not self.is_usable:
            return []
        import numpy as np

        try:
            query = np.frombuffer(self._embedder.embed_query(text), dtype="<f4")
            if self._matrix is None:
                vectors = self._embedder.embed_documents([embedding_text(s) for s in self._skills])
                self._matrix = np.stack([np.frombuffer(v, dtype="<f4") for v in vectors])
        except ProviderError as error:
            self.problem = str(error)
            return []
        cosines: list[float] = (self._matrix @ query).tolist()
        return cosines


def embedding_text(skill: Skill) -> str:
    """The text of a skill that is embedded."""
    name = skill.name.replace("-", " ").replace("_", " ")
    parts = (f"{name}.", skill.description, skill.when_to_use or "", " ".join(skill.tags))
    return " ".join(part for part in (*parts, skill.body[:_BODY_CHARS]) if part)
