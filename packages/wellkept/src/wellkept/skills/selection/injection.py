"""Renders selected skills as text for an agent's context, within a budget.

Each skill is shown in full if it fits, else cut with a note on how much is missing and where to
find it, else as one line. Invariant: the text never exceeds its budget, contains no clock times,
and no skill can close the frame around it. Knows nothing of how skills were selected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from wellkept.core.records import record
from wellkept.core.session.injected_text import FRAME
from wellkept.core.skills import Skill
from wellkept.core.text import shorten
from wellkept.skills.commands.rendering import PromptBudget
from wellkept.skills.selection.select import SkillChoice

MAX_LINES: Final = 200
MAX_CHARS: Final = 15_000
_OPENING = f'<{FRAME} about="skills">\nInstructions for such work; use what fits.'
_CLOSING = f"</{FRAME}>"
_FRAME_TAG = re.compile(rf"</?\s*{FRAME}", re.IGNORECASE)
_SHORTEST_PART_LINES = 8
_LINE_CHARS = 240


@record(kw_only=True)
class InjectionBudget(PromptBudget):
    """Limits: lines of one skill, characters and tokens of everything."""

    max_lines: int = MAX_LINES
    max_chars: int = MAX_CHARS


@record(kw_only=True)
class SkillPack:
    """The rendered text, and the names of the skills in full, cut, only named, and left out."""

    text: str = ""
    used_tokens: int = 0
    full: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def render_skills(
    choices: Sequence[SkillChoice], *, budget: InjectionBudget | None = None
) -> SkillPack:
    """The selected skills as one text, best first."""
    budget = budget or InjectionBudget()
    sections: list[str] = []
    placed: dict[str, list[str]] = {"full": [], "cut": [], "named": [], "left_out": []}
    for choice in choices:
        form, section = _fitted(choice, sections, budget)
        placed[form].append(choice.skill.name)
        sections += [section] if section else []
    text = _framed(sections)
    return SkillPack(
        text=text,
        used_tokens=budget.count_tokens(text) if text else 0,
        full=tuple(placed["full"]),
        cut=tuple(placed["cut"]),
        named=tuple(placed["named"]),
        left_out=tuple(placed["left_out"]),
    )


def _fitted(choice: SkillChoice, before: list[str], budget: InjectionBudget) -> tuple[str, str]:
    """The longest form of a skill that still fits, and which form that is."""
    lines = without_frame(choice.skill.body).splitlines()

    def fits(section: str) -> bool:
        return budget.allows(_framed([*before, section]))

    whole = _section(choice, lines, shown=len(lines))
    if len(lines) <= budget.max_lines and fits(whole):
        return "full", whole
    most = _most_lines(choice, lines, at_most=min(budget.max_lines, len(lines)), fits=fits)
    if most and most >= min(_SHORTEST_PART_LINES, len(lines)):
        return "cut", _section(choice, lines, shown=most)
    line = _name_line(choice)
    return ("named", line) if fits(line) else ("left_out", "")


def _most_lines(
    choice: SkillChoice, lines: list[str], *, at_most: int, fits: Callable[[str], bool]
) -> int:
    """How many lines fit, by binary search."""
    low, high = 0, at_most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(_section(choice, lines, shown=middle)):
            low = middle
        else:
            high = middle - 1
    return low


def _section(choice: SkillChoice, lines: list[str], *, shown: int) -> str:
    head = f"## {_line(choice.skill.name)}\n({_line(_why(choice))})\n\n"
    body = "\n".join(lines[:shown]).rstrip()
    if shown >= len(lines):
        return head + body
    left_out = len(lines) - shown
    return f"{head}{body}\n[{left_out} of {len(lines)} lines left out; {_whole_at(choice.skill)}]"


def _name_line(choice: SkillChoice) -> str:
    """A skill as one line."""
    skill = choice.skill
    about = _line(f"{skill.name}: {skill.description}")
    return f"- skill {about} ({_line(_why(choice))}; {_whole_at(skill)})"


def _why(choice: SkillChoice) -> str:
    source = f"{choice.skill.source.kind.value} skill"
    return f"{source}; {choice.reasons[0]}" if choice.reasons else source


def _whole_at(skill: Skill) -> str:
    return f"the whole: `wellkept skill show {_line(skill.name)}`"


def _framed(sections: Sequence[str]) -> str:
    return "\n\n".join([_OPENING, *sections]) + f"\n{_CLOSING}" if sections else ""


def without_frame(text: str) -> str:
    """Skill text that cannot close or open the frame."""
    return _FRAME_TAG.sub(FRAME, text)


def _line(text: str) -> str:
    return shorten(without_frame(" ".join(text.split())), limit=_LINE_CHARS)
