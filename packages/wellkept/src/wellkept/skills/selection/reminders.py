"""Reminders of skills in use, at three lengths.

A skill may have its own reminders; where the requested length is missing, the next shorter one is
used, then a longer one, and without any the description (sparse: only the name). Invariant: a
reminder cannot close the frame around it and never exceeds its budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from wellkept.core.records import record
from wellkept.core.session.injected_text import FRAME
from wellkept.core.skills import Skill, SkillReminders
from wellkept.core.text import shorten

MAX_CHARS: Final = 4_000
_FRAME_TAG = re.compile(rf"</?\s*{FRAME}", re.IGNORECASE)
_OPENING: Final = f'<{FRAME} about="skills in use">'


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
_ROOM_CHARS: Final = {
    ReminderLevel.SPARSE: 200,
    ReminderLevel.NORMAL: 600,
    ReminderLevel.DETAILED: 2_000,
}


@record
class _Reminder:
    """The reminder of one skill; `own` when it is the skill's own text."""

    skill: Skill
    text: str
    own: bool

    def line(self, *, with_name: bool = True) -> str:
        """The reminder as it is injected."""
        return f"- {self.skill.name}: {self.text}" if with_name else f"- {self.text}"


def reminder_of(skill: Skill, level: ReminderLevel = ReminderLevel.NORMAL) -> _Reminder:
    """The reminder of a skill at a level."""
    own_text = _own_text(skill.reminders, level)
    text = own_text or _fallback(skill, level)
    return _Reminder(skill, _fitted(text, level), own_text is not None)


def _own_text(reminders: SkillReminders, level: ReminderLevel) -> str | None:
    by_name = {
        "sparse": reminders.sparse,
        "normal": reminders.normal,
        "detailed": reminders.detailed,
    }
    return next((by_name[name] for name in _NEAREST[level] if by_name[name]), None)


def _fallback(skill: Skill, level: ReminderLevel) -> str:
    if level is ReminderLevel.SPARSE:
        return "in use"
    parts = [skill.description]
    if level is ReminderLevel.DETAILED and skill.when_to_use:
        parts.append(f"Use: {skill.when_to_use}")
    return " ".join(parts)


def _fitted(text: str, level: ReminderLevel) -> str:
    plain = _FRAME_TAG.sub(FRAME, text.strip())
    if level is not ReminderLevel.DETAILED:
        plain = " ".join(plain.split())
    return shorten(plain, limit=_ROOM_CHARS[level])


def render_reminders(
    skills: Iterable[Skill],
    level: ReminderLevel = ReminderLevel.NORMAL,
    *,
    with_names: bool = True,
    max_chars: int = MAX_CHARS,
) -> str:
    """Reminders of several skills as one text; empty when there are none.

    Those that do not fit are counted in the last line.
    """
    lines = [reminder_of(skill, level).line(with_name=with_names) for skill in skills]
    for count in range(len(lines), 0, -1):
        left_out = len(lines) - count
        more = [f"({left_out} more)"] if left_out else []
        text = "\n".join([_OPENING, *lines[:count], *more, f"</{FRAME}>"])
        if len(text) <= max_chars:
            return text
    return ""
