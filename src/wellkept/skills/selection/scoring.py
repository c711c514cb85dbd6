"""Named ways to turn what speaks for a skill into one score.

`default` adds up words, meaning, files at hand and detection; its weights were chosen on the
development half of bench/data/skills (docs/decisions/skill-selection.md). `document` is the order
of the source documents: every detected skill first, then by their word formula.
Invariant: a score explains itself: it is the sum of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Final

from wellkept.core.errors import UsageError
from wellkept.core.ports.models import Embedder
from wellkept.core.records import record
from wellkept.core.skills import Skill
from wellkept.skills.globs import matching_glob
from wellkept.skills.selection.detection import DetectedSkill, has_rule
from wellkept.skills.selection.embeddings import SkillEmbeddings
from wellkept.skills.selection.lexical import WordIndex, WordMatch, document_scores

DEFAULT_PROFILE: Final = "default"

WORDS, MEANING, FILES, DETECTED, OTHER_PROJECT = 1.0, 4.8, 1.25, 1.0, -1.0
_DETECTED_FIRST = 1_000.0
_NOTHING: Mapping[int, WordMatch] = MappingProxyType({})


@record
class SkillScorePart:
    """One term of a score: what was found, how much of it, its weight."""

    name: str
    value: float
    weight: float
    detail: str = ""

    @property
    def effect(self) -> float:
        """What the part adds."""
        return self.value * self.weight


class SkillSearch:
    """The skills to choose from, indexed by words and, where an embedder is there, by meaning."""

    def __init__(self, skills: Sequence[Skill], *, embedder: Embedder | None = None) -> None:
        self.skills = tuple(skills)
        self.embeddings = SkillEmbeddings(self.skills, embedder)

    @cached_property
    def words(self) -> WordIndex:
        """The word index, made on first use."""
        return WordIndex(self.skills)


@record
class SkillQuery:
    """What skills are chosen for: the prompt, files at hand, and what the project calls for.

    `detected` is None when nobody looked at a project.
    """

    prompt: str
    files: tuple[str, ...] = ()
    detected: Mapping[str, DetectedSkill] | None = None


@record
class _Ranking:
    """Scores by the place of a skill, and what each of them is made of, told on request."""

    scores: Mapping[int, float]
    parts: Callable[[int], tuple[SkillScorePart, ...]]


@record
class Profile:
    """A way to score, and from which score on a skill is worth injecting.

    `min_score_words` holds where no vectors took part.
    """

    name: str
    rank: Callable[[SkillSearch, SkillQuery], _Ranking]
    min_score: float
    min_score_words: float


def _rank_fused(search: SkillSearch, question: SkillQuery) -> _Ranking:
    """Words, meaning, files and detection, added up."""
    prompt = question.prompt.strip()
    matches = search.words.match(prompt) if prompt else _NOTHING
    cosines = search.embeddings.cosines(prompt) if prompt else []

    def parts(position: int) -> tuple[SkillScorePart, ...]:
        match = matches.get(position)
        words = (
            () if match is None else (SkillScorePart("words", match.score, WORDS, match.detail),)
        )
        cosine = cosines[position] if cosines else 0.0
        embeddings = (SkillScorePart("meaning", cosine, MEANING),) if cosine > 0 else ()
        return (*words, *embeddings, *_project_parts(search.skills[position], question))

    scores = {
        position: sum(part.effect for part in _project_parts(skill, question))
        + (matches[position].score * WORDS if position in matches else 0.0)
        + (max(0.0, cosines[position]) * MEANING if cosines else 0.0)
        for position, skill in enumerate(search.skills)
    }
    return _Ranking(scores, parts)


def _project_parts(skill: Skill, question: SkillQuery) -> tuple[SkillScorePart, ...]:
    """A file at hand that the skill is about; a project that calls for it, or for others."""
    parts: list[SkillScorePart] = []
    for path in question.files if skill.globs else ():
        glob = matching_glob(path, skill.globs)
        if glob is not None:
            parts.append(SkillScorePart("files", 1.0, FILES, f"{path} fits {glob}"))
            break
    if question.detected:
        found = question.detected.get(skill.name)
        if found is not None:
            parts.append(SkillScorePart("detected", found.strength, DETECTED, found.reason))
        elif has_rule(skill):
            parts.append(SkillScorePart("another kind of project", 1.0, OTHER_PROJECT))
    return tuple(parts)


def _rank_as_documented(search: SkillSearch, question: SkillQuery) -> _Ranking:
    """Detected ones first, by priority; then the word formula of the documents."""
    words = document_scores(search.skills, question.prompt)
    detected = question.detected or {}

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
        DEFAULT_PROFILE: Profile(DEFAULT_PROFILE, _rank_fused, 2.9, 1.65),
        "document": Profile("document", _rank_as_documented, 1.0, 1.0),
    }
)


def profile_named(name: str) -> Profile:
    """The profile of that name."""
    try:
        return PROFILES[name]
    except KeyError:
        raise UsageError(
            f"Unknown skill profile {name!r}.", hint=f"Choose one of: {', '.join(PROFILES)}."
        ) from None
