"""Predicts co-changes from pairs of file names, learned from history.

`docs/fr/docs/async.md` changed with `docs/fr/docs/features.md`, so `docs/de/docs/async.md` may
change with `docs/de/docs/features.md`. Where each `src/x.py` came with `tests/test_x.py`, the next
one will. A pattern is a path with one part replaced by a placeholder. Counts of two patterns with
the same part apply to every value of the placeholder, even to files that do not exist yet.
Only knows names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from math import exp
from typing import Final, Generic, TypeVar

from wellkept.core.records import record
from wellkept.graph.history.commits import subject

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


# -- Pairs of names -------------------------------------------------------------------------------


MAX_COMMIT_FILES: Final = 20
"""Larger commits are ignored."""
_MAX_PARTNERS: Final = 40
_PLACEHOLDER: Final = "\0"
_SMOOTHING: Final = (0.5, 1.0)
"""Added to the denominator, so that one joint change does not count as certainty."""


@record
class NamePair:
    """Likelihood (0 to 1, short and medium term) that a file changes too, judged by files with
    similar names; and how often that was seen."""

    short_term: float
    medium_term: float
    times: int


class NamePairs:
    """Change counts of name patterns of one repository."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, ChangeCounts[str]] = defaultdict(ChangeCounts[str])

    def count(self, names: Sequence[str], *, weight: float, tick: int) -> None:
        """Add the files of a commit."""
        if len(names) > MAX_COMMIT_FILES:
            return
        per_file = [patterns(name) for name in names]
        for index, mine in enumerate(per_file):
            for part, (pattern, _) in mine.items():
                counts = self._counts[pattern]
                counts.own.add(weight, tick)
                for other, theirs in enumerate(per_file):
                    if other != index and part in theirs:
                        counts.others[theirs[part][0]].add(weight, tick)

    def partners(
        self, path: str, tick: int, *, own: DecayedCount, joint: Callable[[str], DecayedCount]
    ) -> dict[str, NamePair]:
        """Files that change with files named like `path`. They need not exist.

        The file's own history (`own` changes, `joint` with another) is subtracted first.
        """
        found: dict[str, NamePair] = {}
        for pattern, value in patterns(path).values():
            counts = self._counts.get(pattern)
            if counts is None or counts.own.times <= own.times:
                continue
            for other in counts.most_frequent(_MAX_PARTNERS, tick, rate=MEDIUM):
                name = other.replace(_PLACEHOLDER, value)
                pair = _pair(counts, counts.others[other], own, joint(name), tick)
                known = found.get(name)
                if pair.times > 0 and (known is None or pair.medium_term > known.medium_term):
                    found[name] = pair
        found.pop(path, None)
        return found


def _pair(
    counts: ChangeCounts[str],
    pattern_joint: DecayedCount,
    own: DecayedCount,
    own_joint: DecayedCount,
    tick: int,
) -> NamePair:
    changed, with_other = counts.own.now(tick), pattern_joint.now(tick)
    own_changed, own_with_other = own.now(tick), own_joint.now(tick)
    likelihoods = [
        max(0.0, with_other[i] - own_with_other[i])
        / (max(0.0, changed[i] - own_changed[i]) + _SMOOTHING[i])
        for i in (SHORT, MEDIUM)
    ]
    return NamePair(likelihoods[0], likelihoods[1], pattern_joint.times - own_joint.times)


@lru_cache(100_000)
def patterns(path: str) -> Mapping[str, tuple[str, str]]:
    """For each part of a path, in lower case: the path with a placeholder for it, and the part.

    A part is the subject of a folder or file name: "urls" in `tests/test_urls.py`.
    """
    names = path.split("/")
    subjects = [subject(name) for name in names]
    found: dict[str, tuple[str, str]] = {}
    for part in dict.fromkeys(subjects):
        replaced = [
            _with_placeholder(name, part) if own == part else (name, "")
            for name, own in zip(names, subjects, strict=True)
        ]
        value = next((text for _, text in replaced if text), "")
        if value:
            found[part] = ("/".join(name for name, _ in replaced), value)
    return found


def _with_placeholder(name: str, part: str) -> tuple[str, str]:
    """A name with a placeholder for a part, and the part as written there."""
    at = name.lower().find(part)
    if at < 0:
        return name, ""
    return name[:at] + _PLACEHOLDER + name[at + len(part) :], name[at : at + len(part)]
