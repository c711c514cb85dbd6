"""The skill that clearly fits a prompt, as the loop tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.context.skill_lines import shown_id
from wellkept.core.text import shorten
from wellkept.skills.selection.injection import without_frame
from wellkept_agent.budgets import SkillText
from wellkept_agent.skill_use.matched import MatchedSkill

if TYPE_CHECKING:
    from wellkept.skills.library.api import Skills
    from wellkept.skills.selection.select import SkillChoice

_LINE_CHARS = 240


class ProjectSkillMatches:
    """`SkillMatcher` over `wk.skills`. Only what was forced, and at most one that is worth telling
    unasked."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    def __call__(self, prompt: str, /) -> Sequence[MatchedSkill]:
        hint = self._skills.hint(prompt)
        choices = (*self._skills.forced(), *([hint] if hint else []))
        by_name = {one.skill.name: one for one in reversed(choices)}  # a forced one counts
        return tuple(_matched(one) for one in reversed(by_name.values()))


def _matched(choice: SkillChoice) -> MatchedSkill:
    skill = choice.skill
    why = choice.reasons[0] if choice.reasons else "fits"
    text = SkillText(
        name=skill.name,
        heading=f"## {_line(skill.name)}\n({skill.source.kind.value} skill; {_line(why)})",
        body=without_frame(skill.body),
        score=min(1.0, max(0.0, choice.score)),
    )
    return MatchedSkill(text, shown_id(skill))


def _line(text: str) -> str:
    return shorten(without_frame(" ".join(text.split())), limit=_LINE_CHARS)
