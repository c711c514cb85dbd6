"""The level that a person chose for a session, e.g. with a hotkey."""

from __future__ import annotations

from wellkept_agent.thinking.levels import ThinkingLevel


class ThinkingState:
    """Unset until a person chooses; `NONE` is a choice too, and turns thinking off."""

    def __init__(self, level: ThinkingLevel | None = None) -> None:
        self.level = level

    def toggle_next(self) -> ThinkingLevel:
        """None, deep, ultra, and none again; returns the new level."""
        self.level = (self.level or ThinkingLevel.NONE).next
        return self.level

    def toggle_previous(self) -> ThinkingLevel:
        """The other way round."""
        self.level = (self.level or ThinkingLevel.NONE).previous
        return self.level

    def set_level(self, level: ThinkingLevel | None) -> None:
        """Choose a level; None lets the other sources decide again."""
        self.level = level
