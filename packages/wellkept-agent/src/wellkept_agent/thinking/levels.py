"""The levels of thinking."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal


class ThinkingLevel(StrEnum):
    """How much a model thinks before it answers."""

    NONE = "none"
    DEEP = "deep_think"
    ULTRA = "ultra_think"

    @property
    def effort(self) -> Literal["high", "xhigh"] | None:
        """The level for providers that take an effort."""
        return _EFFORTS.get(self)

    @property
    def next(self) -> ThinkingLevel:
        """None, deep, ultra, and none again."""
        return _CYCLE[(_CYCLE.index(self) + 1) % len(_CYCLE)]

    @property
    def previous(self) -> ThinkingLevel:
        """The other way round."""
        return _CYCLE[_CYCLE.index(self) - 1]


_CYCLE = list(ThinkingLevel)
_EFFORTS: dict[ThinkingLevel, Literal["high", "xhigh"]] = {
    ThinkingLevel.DEEP: "high",
    ThinkingLevel.ULTRA: "xhigh",
}
