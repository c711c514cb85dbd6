"""Counts that fade as commits go by: how often something happened just now, lately and ever.

Time is a tick that whoever counts moves on, one for each commit. A habit holds how often one thing
changed and how often others changed along with it. Knows nothing of what is counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from heapq import nlargest
from math import exp
from typing import Final, Generic, TypeVar

FADES: Final = (40.0, 400.0, 4000.0)
"""After how many commits a count has faded to 1/e: just now, lately, ever."""
JUST_NOW, LATELY, EVER = range(3)

Faded = tuple[float, float, float]
NOTHING: Final[Faded] = (0.0, 0.0, 0.0)
Key = TypeVar("Key", bound=Hashable)


class DecayedCount:
    """One count that fades at three speeds."""

    __slots__ = ("at", "faded", "times")

    def __init__(self) -> None:
        self.faded = NOTHING
        self.at = 0
        self.times = 0

    def now(self, tick: int) -> Faded:
        """The count as it stands at a tick."""
        age = self.at - tick
        a, b, c = self.faded
        return a * exp(age / FADES[0]), b * exp(age / FADES[1]), c * exp(age / FADES[2])

    def at_one(self, fade: int, tick: int) -> float:
        """The count at one speed only."""
        return self.faded[fade] * exp((self.at - tick) / FADES[fade])

    def add(self, weight: float, tick: int) -> None:
        """Count once more."""
        a, b, c = self.now(tick)
        self.faded = (a + weight, b + weight, c + weight)
        self.at = tick
        self.times += 1


class ChangeCounts(Generic[Key]):
    """How often something changed, and what changed along with it."""

    __slots__ = ("others", "own")

    def __init__(self) -> None:
        self.own = DecayedCount()
        self.others: defaultdict[Key, DecayedCount] = defaultdict(DecayedCount)

    def with_other(self, other: Key, tick: int) -> Faded:
        """How often another changed along."""
        count = self.others.get(other)
        return count.now(tick) if count else NOTHING

    def most(self, limit: int, tick: int, *, fade: int = EVER) -> list[Key]:
        """Those that changed along most."""
        others = self.others
        return nlargest(limit, others, key=lambda other: others[other].at_one(fade, tick))
