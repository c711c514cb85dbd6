"""Counts with exponential decay at three rates, measured in commits.

The caller advances the clock: one tick per commit. Does not know what is counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from heapq import nlargest
from math import exp
from typing import Final, Generic, TypeVar

DECAY_COMMITS: Final = (40.0, 400.0, 4000.0)
"""Commits after which a count has decayed to 1/e: short, medium and long term."""
SHORT, MEDIUM, LONG = range(3)

DecayedValues = tuple[float, float, float]
"""One value per decay rate."""
ZERO: Final[DecayedValues] = (0.0, 0.0, 0.0)
Key = TypeVar("Key", bound=Hashable)


class DecayedCount:
    """One count, decayed at three rates. `times` is the plain count, `at` the last tick."""

    __slots__ = ("_values", "at", "times")

    def __init__(self) -> None:
        self._values = ZERO
        self.at = 0
        self.times = 0

    def now(self, tick: int) -> DecayedValues:
        """The values at a tick."""
        age = self.at - tick
        a, b, c = self._values
        return (
            a * exp(age / DECAY_COMMITS[0]),
            b * exp(age / DECAY_COMMITS[1]),
            c * exp(age / DECAY_COMMITS[2]),
        )

    def value(self, rate: int, tick: int) -> float:
        """The value at one decay rate only."""
        return self._values[rate] * exp((self.at - tick) / DECAY_COMMITS[rate])

    def add(self, weight: float, tick: int) -> None:
        """Count once more."""
        a, b, c = self.now(tick)
        self._values = (a + weight, b + weight, c + weight)
        self.at = tick
        self.times += 1


class ChangeCounts(Generic[Key]):
    """How often something changed, and how often others changed with it."""

    __slots__ = ("others", "own")

    def __init__(self) -> None:
        self.own = DecayedCount()
        self.others: defaultdict[Key, DecayedCount] = defaultdict(DecayedCount)

    def with_other(self, other: Key, tick: int) -> DecayedValues:
        """How often another changed with it."""
        count = self.others.get(other)
        return count.now(tick) if count else ZERO

    def most_frequent(self, limit: int, tick: int, *, rate: int = LONG) -> list[Key]:
        """The others that changed with it most often."""
        others = self.others
        return nlargest(limit, others, key=lambda other: others[other].value(rate, tick))
