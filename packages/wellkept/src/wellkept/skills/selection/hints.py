"""Whether one skill is worth naming unasked at a prompt. Silence is the usual answer.

A selection for an agent that asked may be wrong now and then; a line that nobody asked for may not.
So a hint needs a clear match: a short request, a large share of whose words the skill's own summary
has, a high score, and no second skill that fits nearly as well. The limits were chosen on real
prompts (docs/decisions/skill-hints.md). Skills that come with Wellkept are general advice, which an
agent needs no hint for: they are named only when the prompt names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from wellkept.core.skills import InjectionPhase, Skill, SkillKind
from wellkept.core.text import fold, words
from wellkept.skills.selection.detection import DetectedSkill
from wellkept.skills.selection.lexical import summary_share
from wellkept.skills.selection.scoring import SkillSearch
from wellkept.skills.selection.select import SelectionPolicy, SkillChoice, select_skills

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
