"""What a skill changes for the rest of a turn: the tools that are allowed, and the model.

Invariant: a skill that is used under another one's limit never widens it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wellkept.skills.commands.rendering import RenderedPrompt
    from wellkept_agent.session import AgentSession


class TurnLimits:
    """Limits that skills set in a turn, and what was there before."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._before: tuple[tuple[str, ...] | None, str | None] | None = None

    def apply(self, prompt: RenderedPrompt) -> None:
        """From now on and until the end of the turn, work as a skill says."""
        session = self._session
        if self._before is None:
            self._before = (session.permissions.only, session.model_override)
        if prompt.allowed_tools:
            session.permissions.only = narrowed(session.permissions.only, prompt.allowed_tools)
        if prompt.model:
            session.model_override = prompt.model

    def lift(self) -> None:
        """The turn is over."""
        if self._before is not None:
            self._session.permissions.only, self._session.model_override = self._before
            self._before = None

    @contextmanager
    def during(self, prompt: RenderedPrompt) -> Generator[None]:
        """Limit the tools only while a sub-agent follows a skill."""
        permissions = self._session.permissions
        before = permissions.only
        if prompt.allowed_tools:
            permissions.only = narrowed(before, prompt.allowed_tools)
        try:
            yield
        finally:
            permissions.only = before


def narrowed(limit: Sequence[str] | None, rules: Sequence[str]) -> tuple[str, ...]:
    """Rules within a limit: all of them without one, else those that it covers."""
    if limit is None:
        return tuple(rules)
    return tuple(rule for rule in rules if any(_covers(wide, rule) for wide in limit))


def _covers(wide: str, rule: str) -> bool:
    wide_name, has_pattern, _ = wide.partition("(")
    name = rule.partition("(")[0]
    return wide == rule or (not has_pattern and fnmatchcase(name, wide_name))


def tool_names(rules: Sequence[str], known: Sequence[str]) -> list[str]:
    """The tools that rules speak of; all of them without rules."""
    if not rules:
        return list(known)
    plain = [rule.strip().partition("(")[0] for rule in rules]
    return [name for name in known if any(fnmatchcase(name, one) for one in plain)]
