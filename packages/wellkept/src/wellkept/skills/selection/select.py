"""Selects the few skills that help with a prompt, with reasons.

Invariant: never more than the limit; tag filters apply; a skill that is disabled, empty, or
reserved for users is never selected, unless a person forced it; the same input gives the same
result. Knows nothing of sources, files or text budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.skills import InjectionPhase, Skill, SkillFormat, SkillKind
from wellkept.core.text import fold, words
from wellkept.skills.globs import mentioned_paths
from wellkept.skills.selection.detection import DetectedSkill, allows_phase
from wellkept.skills.selection.lexical import summary_share
from wellkept.skills.selection.scoring import (
    DEFAULT_PROFILE,
    FORCED,
    Profile,
    SkillQuery,
    SkillScorePart,
    SkillSearch,
    profile_named,
)

DEFAULT_LIMIT = 3
MAX_PROMPT_CHARS = 20_000
"""Text beyond this is ignored: a pasted log does not say what is requested."""


@record(kw_only=True)
class SelectionPolicy:
    """How many skills, the minimum score, and tag filters.

    `min_score` None means the profile's own; 0 lists everything that matches. `for_people` includes
    user-only skills and convention files, which clients read by themselves.
    """

    limit: int = DEFAULT_LIMIT
    min_score: float | None = None
    include_tags: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()
    phase: InjectionPhase | None = None
    profile: str = DEFAULT_PROFILE
    for_people: bool = False
    forced: tuple[str, ...] = ()
    """Skills that are selected first whatever the prompt, by name: also those that are switched off
    or reserved for users. They count towards the limit, but none is left out for it."""


@record
class SkillChoice:
    """A selected skill: its score, reasons in words, and parts of the score."""

    skill: Skill
    score: float
    reasons: tuple[str, ...]
    parts: tuple[SkillScorePart, ...]


@record
class SkillSelection:
    """The selected skills, best first; how many were considered; notes."""

    choices: tuple[SkillChoice, ...]
    considered: int
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[SkillChoice]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)


def select_skills(
    search: SkillSearch,
    prompt: str,
    *,
    policy: SelectionPolicy | None = None,
    files: Sequence[str] = (),
    detected: Iterable[DetectedSkill] | None = None,
) -> SkillSelection:
    """The skills for a prompt. `files` are files at hand besides those named in the prompt;
    `detected` are the skills the project calls for, None when it was not scanned."""
    policy = policy or SelectionPolicy()
    _check(policy)
    profile = profile_named(policy.profile)
    by_name = None if detected is None else {one.skill.name: one for one in detected}
    prompt = prompt[:MAX_PROMPT_CHARS]
    at_hand = (path.replace("\\", "/") for path in files)
    query = SkillQuery(prompt, (*at_hand, *mentioned_paths(prompt)), by_name)
    ranking = profile.rank(search, query)
    open_to = _Allowed(policy)
    positions = [position for position, skill in enumerate(search.skills) if open_to.has(skill)]
    min_score = _min_score(policy, profile, search) if prompt.strip() else 0.0
    forced = _forced_positions(search, policy.forced)
    above = [p for p in positions if ranking.scores[p] >= min_score and p not in forced]
    above.sort(
        key=lambda p: (-ranking.scores[p], -search.skills[p].priority, search.skills[p].name)
    )
    room = max(0, policy.limit - len(forced))
    choices = (
        _choice(search.skills[position], ranking.scores[position], ranking.parts(position))
        for position in above[:room]
        if ranking.scores[position] > 0
    )
    return SkillSelection(
        (*(_forced_choice(search.skills[position]) for position in forced), *choices),
        len(positions),
        (*_notes(search), *_not_forced(search, policy.forced)),
    )


def _forced_positions(search: SkillSearch, names: Sequence[str]) -> list[int]:
    """Where the forced skills are, in the order in which they were named."""
    if not names:
        return []
    known = {skill.name: at for at, skill in enumerate(search.skills) if skill.is_usable}
    return [known[name] for name in dict.fromkeys(names) if name in known]


def _forced_choice(skill: Skill) -> SkillChoice:
    part = SkillScorePart("forced", 1.0, FORCED, "forced for this session")
    return SkillChoice(skill, part.effect, (part.detail,), (part,))


def _not_forced(search: SkillSearch, names: Sequence[str]) -> tuple[str, ...]:
    usable = {skill.name for skill in search.skills if skill.is_usable} if names else set[str]()
    return tuple(f"There is no skill {name!r} to force." for name in names if name not in usable)


def _check(policy: SelectionPolicy) -> None:
    if policy.limit < 0:
        raise UsageError(f"The limit {policy.limit} is negative.", hint="Use 0 or more.")
    both = _folded(policy.include_tags) & _folded(policy.exclude_tags)
    if both:
        raise UsageError(
            f"The tag {min(both)!r} is both included and excluded.", hint="Remove one of the two."
        )


def _min_score(policy: SelectionPolicy, profile: Profile, search: SkillSearch) -> float:
    if policy.min_score is not None:
        return policy.min_score
    return profile.min_score if search.embeddings.is_usable else profile.min_score_words


class _Allowed:
    """Applies a policy's filters."""

    def __init__(self, policy: SelectionPolicy) -> None:
        self._policy = policy
        self._included = _folded(policy.include_tags)
        self._excluded = _folded(policy.exclude_tags)

    def has(self, skill: Skill) -> bool:
        policy = self._policy
        if not (skill.enabled and allows_phase(skill, policy.phase)):
            return False
        if not policy.for_people and not _is_for_agents(skill):
            return False
        if not self._included and not self._excluded:
            return True
        tags = _folded(skill.tags)
        return (not self._included or bool(tags & self._included)) and not tags & self._excluded


def _is_for_agents(skill: Skill) -> bool:
    """Whether a skill may be added to an agent's context automatically. Convention files may not:
    the client reads them itself."""
    return (
        skill.is_usable
        and not skill.invocation.disable_model_invocation
        and skill.format is not SkillFormat.CONVENTION
    )


def _choice(skill: Skill, score: float, parts: tuple[SkillScorePart, ...]) -> SkillChoice:
    strongest = sorted(parts, key=lambda part: -part.effect)
    reasons = tuple(_reason(part) for part in strongest if part.effect > 0)
    return SkillChoice(skill, round(score, 6), reasons, parts)


def _reason(part: SkillScorePart) -> str:
    if part.name == "words":
        return f"shares the words {part.detail}" if part.detail else "shares words with the prompt"
    return part.detail or "is near in meaning"


def _folded(tags: Iterable[str]) -> frozenset[str]:
    return frozenset(fold(tag).strip() for tag in tags)


def _notes(search: SkillSearch) -> tuple[str, ...]:
    problem = search.embeddings.problem
    return (f"Chosen by words alone: {problem}",) if problem else ()


# -- The one skill worth naming unasked -----------------------------------------------------------


MIN_SCORE: Final = 5.0
MIN_SCORE_WORDS: Final = 3.5
"""Without an embedder, whose part is missing from the score."""
MIN_GAP: Final = 1.0
MIN_SHARE: Final = 0.3
MIN_WORDS: Final = 4
MAX_WORDS: Final = 40
_EXAMINED: Final = 20


def hint_for(
    search: SkillSearch,
    prompt: str,
    *,
    phase: InjectionPhase | None = None,
    files: Sequence[str] = (),
    detected: Iterable[DetectedSkill] | None = None,
) -> SkillChoice | None:
    """The one skill to name at a prompt, or None."""
    policy = SelectionPolicy(limit=_EXAMINED, min_score=0.0, phase=phase)
    count = len(words(prompt))
    if not 0 < count <= MAX_WORDS:
        return None
    found = select_skills(search, prompt, policy=policy, files=files, detected=detected).choices
    named = [choice for choice in found if _names(prompt, choice.skill)]
    if len(named) == 1:
        return named[0]
    own = [one for one in found if one.skill.source.kind is not SkillKind.BUILTIN]
    if not own or count < MIN_WORDS:
        return None
    best, second = own[0], own[1].score if len(own) > 1 else 0.0
    least = MIN_SCORE if search.embeddings.is_usable else MIN_SCORE_WORDS
    is_clear = best.score >= least and best.score - second >= MIN_GAP
    return best if is_clear and summary_share(best.skill, prompt) >= MIN_SHARE else None


def _names(prompt: str, skill: Skill) -> bool:
    """Whether the prompt has the name of a skill as it is written; a plain word is no name."""
    name = fold(skill.name)
    return "-" in name and name in fold(prompt)
