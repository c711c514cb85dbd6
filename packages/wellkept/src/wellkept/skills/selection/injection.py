"""Renders selected skills as text for an agent's context, within a budget.

Each skill is shown in full if it fits, else cut with a note on how much is missing and where to
find it, else as one line. Invariant: the text never exceeds its budget, contains no clock times,
and no skill can close the frame around it. Knows nothing of how skills were selected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from wellkept.core.records import record
from wellkept.core.session.injected_text import FRAME
from wellkept.core.skills import Skill
from wellkept.core.text import shorten
from wellkept.skills.commands.rendering import PromptBudget, most_that_fit
from wellkept.skills.selection.select import SkillChoice

MAX_LINES: Final = 200
MAX_CHARS: Final = 15_000
_OPENING = f'<{FRAME} about="{{about}}">'
_ADVICE = "Instructions for such work; use what fits."
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
    at_most = min(budget.max_lines, len(lines))
    most = most_that_fit(at_most, lambda count: fits(_section(choice, lines, shown=count)))
    if most and most >= min(_SHORTEST_PART_LINES, len(lines)):
        return "cut", _section(choice, lines, shown=most)
    about = _line(f"{choice.skill.name}: {choice.skill.description}")
    line = f"- skill {about} ({_line(_why(choice))}; {_whole_at(choice.skill)})"
    return ("named", line) if fits(line) else ("left_out", "")


def _section(choice: SkillChoice, lines: list[str], *, shown: int) -> str:
    head = f"## {_line(choice.skill.name)}\n({_line(_why(choice))})\n\n"
    body = "\n".join(lines[:shown]).rstrip()
    if shown >= len(lines):
        return head + body
    left_out = len(lines) - shown
    return f"{head}{body}\n[{left_out} of {len(lines)} lines left out; {_whole_at(choice.skill)}]"


def _why(choice: SkillChoice) -> str:
    source = f"{choice.skill.source.kind.value} skill"
    return f"{source}; {choice.reasons[0]}" if choice.reasons else source


def _whole_at(skill: Skill) -> str:
    return f"the whole: `wellkept skill show {_line(skill.name)}`"


def _framed(sections: Sequence[str]) -> str:
    if not sections:
        return ""
    opening = f"{_OPENING.format(about='skills')}\n{_ADVICE}"
    return "\n\n".join([opening, *sections]) + f"\n{_CLOSING}"


def without_frame(text: str) -> str:
    """Skill text that cannot close or open the frame."""
    return _FRAME_TAG.sub(FRAME, text)


def _line(text: str) -> str:
    return shorten(without_frame(" ".join(text.split())), limit=_LINE_CHARS)


# -- Reminders of skills in use -------------------------------------------------------------------

# A skill may have its own reminders; where the requested length is missing, the next shorter one is
# used, then a longer one, and without any the description (sparse: only that it is in use).

MAX_REMINDER_CHARS: Final = 4_000


class ReminderLevel(StrEnum):
    """The length of a reminder."""

    SPARSE = "sparse"
    NORMAL = "normal"
    DETAILED = "detailed"


_NEAREST: Final = {
    ReminderLevel.SPARSE: ("sparse", "normal", "detailed"),
    ReminderLevel.NORMAL: ("normal", "sparse", "detailed"),
    ReminderLevel.DETAILED: ("detailed", "normal", "sparse"),
}
_ROOM_CHARS: Final = dict(zip(ReminderLevel, (200, 600, 2_000), strict=True))


def reminder_of(skill: Skill, level: ReminderLevel = ReminderLevel.NORMAL) -> str:
    """The reminder of a skill at a level."""
    said = skill.reminders
    own = {"sparse": said.sparse, "normal": said.normal, "detailed": said.detailed}
    text = next((own[name] for name in _NEAREST[level] if own[name]), None)
    if text is None and level is ReminderLevel.SPARSE:
        text = "in use"
    elif text is None:
        with_use = level is ReminderLevel.DETAILED and skill.when_to_use
        text = f"{skill.description} Use: {skill.when_to_use}" if with_use else skill.description
    text = without_frame(text.strip())
    whole = text if level is ReminderLevel.DETAILED else " ".join(text.split())
    return shorten(whole, limit=_ROOM_CHARS[level])


def render_reminders(
    skills: Iterable[Skill],
    level: ReminderLevel = ReminderLevel.NORMAL,
    *,
    with_names: bool = True,
    max_chars: int = MAX_REMINDER_CHARS,
) -> str:
    """Reminders of several skills as one text; empty when there are none.

    Those that do not fit are counted in the last line.
    """
    lines = [
        f"- {f'{skill.name}: ' if with_names else ''}{reminder_of(skill, level)}"
        for skill in skills
    ]
    for count in range(len(lines), 0, -1):
        left_out = len(lines) - count
        more = [f"({left_out} more)"] if left_out else []
        opening = _OPENING.format(about="skills in use")
        text = "\n".join([opening, *lines[:count], *more, _CLOSING])
        if len(text) <= max_chars:
            return text
    return ""
