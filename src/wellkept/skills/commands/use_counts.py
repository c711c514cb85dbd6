"""How much a command is used, fading: the number of uses, halved for every week since the last.

It orders what people are offered (lists, completion), and has no say in what is chosen for an
agent: that was measured without it, and a habit must not push a skill into a prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from wellkept.core.ports.skills import SkillUse
from wellkept.skills.commands.table import Command

HALF_LIFE_DAYS: Final = 7.0
_DAY_S: Final = 86_400.0


def use_score(use: SkillUse, *, now: datetime) -> float:
    """The score at a moment; a clock that went back counts as no time."""
    days = max(0.0, (now - use.last_used_at).total_seconds() / _DAY_S)
    return use.count * 2.0 ** (-days / HALF_LIFE_DAYS)


def most_used_first(
    commands: Iterable[Command], uses: Mapping[str, SkillUse], *, now: datetime
) -> list[Command]:
    """Commands, the most used first; those that were never used keep their order behind."""

    def score(command: Command) -> float:
        use = uses.get(command.key)
        return 0.0 if use is None else use_score(use, now=now)

    return sorted(commands, key=score, reverse=True)
