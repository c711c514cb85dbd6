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

from holdfast.core.errors import UsageError
from holdfast.core.ports import Embedder
from holdfast.core.records import record
from holdfast.core.skills import Skill
from holdfast.skills.detection import Detected, has_rule
from holdfast.skills.globs import fits_any
from holdfast.skills.lexical import WordIndex, WordMatch, document_scores
from holdfast.skills.meaning import MeaningIndex

DEFAULT_PROFILE: Final = "default"

WORDS, MEANING, FILES, DETECTED, OTHER_PROJECT = 1.0, 3.8, 1.0, 0.8, -0.8
_DETECTED_FIRST = 1_000.0
_NOTHING: Mapping[int, WordMatch] = MappingProxyType({})


@record
class ScorePart:
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
        self.meaning = MeaningIndex(self.skills, embedder)

    @cached_property
    def words(self) -> WordIndex:
        """The word index, made on first use."""
        return WordIndex(self.skills)


@record
class Question:
    """What skills are chosen for: the prompt, files at hand, and what the project calls for.

    `detected` is None when nobody looked at a project.
    """

    prompt: str
    files: tuple[str, ...] = ()
    detected: Mapping[str, Detected] | None = None


Scores = Mapping[int, tuple[ScorePart, ...]]


@record
class Profile:
    """A way to score, and from which score on a skill is worth injecting.

    `min_score_words` holds where no vectors took part.
    """

    name: str
    scores: Callable[[SkillSearch, Question], Scores]
    min_score: float
    min_score_words: float


def fused_scores(search: SkillSearch, question: Question) -> Scores:
    """Words, meaning, files and detection, added up."""
    prompt = question.prompt.strip()
    matches = search.words.match(prompt) if prompt else _NOTHING
    cosines = search.meaning.cosines(prompt) if prompt else []
    return {
        place: parts
        for place, skill in enumerate(search.skills)
        if (parts := tuple(_fused_parts(skill, matches.get(place), cosines[place:], question)))
    }


def _fused_parts(
    skill: Skill, match: WordMatch | None, cosines: Sequence[float], question: Question
) -> list[ScorePart]:
    parts: list[ScorePart] = []
    if match is not None:
        parts.append(ScorePart("words", match.score, WORDS, ", ".join(match.shared)))
    if cosines and cosines[0] > 0:
        parts.append(ScorePart("meaning", cosines[0], MEANING))
    return [*parts, *_file_parts(skill, question), *_detection_parts(skill, question)]


def _file_parts(skill: Skill, question: Question) -> list[ScorePart]:
    """A file at hand that the skill is about."""
    for path in question.files if skill.globs else ():
        glob = fits_any(path, skill.globs)
        if glob is not None:
            return [ScorePart("files", 1.0, FILES, f"{path} fits {glob}")]
    return []


def _detection_parts(skill: Skill, question: Question) -> list[ScorePart]:
    """The project calls for the skill; or for others, while its own rule does not hold."""
    if question.detected is None:
        return []
    found = question.detected.get(skill.name)
    if found is not None:
        return [ScorePart("detected", found.strength, DETECTED, found.reason)]
    if has_rule(skill) and question.detected:
        return [ScorePart("another kind of project", 1.0, OTHER_PROJECT)]
    return []


def as_documented(search: SkillSearch, question: Question) -> Scores:
    """Detected ones first, by priority; then the word formula of the documents."""
    found: dict[int, tuple[ScorePart, ...]] = {}
    scores = document_scores(search.skills, question.prompt)
    for place, (skill, score) in enumerate(zip(search.skills, scores, strict=True)):
        detected = (question.detected or {}).get(skill.name)
        parts = (ScorePart("words", score, 1.0),) if score > 0 else ()
        if detected is not None:
            first = _DETECTED_FIRST + skill.priority
            parts = (ScorePart("detected", 1.0, first, detected.reason), *parts)
        if parts:
            found[place] = parts
    return found


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        DEFAULT_PROFILE: Profile(DEFAULT_PROFILE, fused_scores, 2.3, 1.3),
        "document": Profile("document", as_documented, 1.0, 1.0),
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
