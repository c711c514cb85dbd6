"""Which files change together: learned from history, commit by commit, oldest first.

For a file that is about to change, the others are ranked by how often they changed with it, lately
and ever (counts fade over 40, 400 and 4,000 commits), with the habits of its folder and of its
kind standing in where its own history is short; by what the names say (a test and its source); and
by what was worked on just now. A broad commit says little of each pair, a bulk one nothing. The
weights of these signals are shipped and adapt to the repository. Knows neither git nor storage.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest
from math import exp, log, log1p
from posixpath import dirname, splitext
from typing import Final

import numpy as np

from holdfast.codegraph.learner import Learner, Table
from holdfast.codegraph.past import FileNumbers, PastCommit, is_test, path_words, subject
from holdfast.core.records import record

FADES: Final = (40.0, 400.0, 4000.0)
"""After how many commits a count has faded to 1/e: just now, lately, ever."""
BULK_FILES: Final = 60
BROAD_FILES: Final = 5
"""A commit of more files than this counts less for each."""
FEWEST, MOST = 2, 10
"""Commits of so many files teach the weights."""
RECENT_COMMITS: Final = 25
ADAPT_COMMITS: Final = 800
"""How many of the newest commits teach the weights; all of them count."""
_TRUST: Final = (0.5, 0.7, 1.0)
"""How many sightings the habit of a folder is worth, for each fade."""
_TINY: Final = 1e-5
_TELL_EVERY: Final = 50

SIGNALS: Final = (
    "with it just now", "with it lately", "with it ever",
    "changed just now", "changed lately", "changed ever",
    "touched by the last commits", "with it in the last commits", "times together",
    "never together", "about the same", "words of the path", "same ending",
    "words of the path, little history", "new", "share of joint changes",
)  # fmt: skip
WEIGHTS: Final = (
    0.10, 0.05, 0.37, 0.05, 0.09, -0.11, 0.83, 0.58, 0.23, 0.55, 0.41, 0.56, 0.07, 4.16, 1.16, 2.40
)  # fmt: skip
"""Learned by `bench.cochange --train`; see docs/decisions/co-change.md."""


@record
class Partner:
    """A file that tends to change with another. `likelihood`: in how many of 1 such changes."""

    path: str
    likelihood: float
    together: int
    reasons: tuple[str, ...]


class _Count:
    """One count that fades at three speeds."""

    __slots__ = ("at", "faded", "times")

    def __init__(self) -> None:
        self.faded = (0.0, 0.0, 0.0)
        self.at = 0
        self.times = 0

    def now(self, tick: int) -> tuple[float, float, float]:
        age = self.at - tick
        a, b, c = self.faded
        return a * exp(age / FADES[0]), b * exp(age / FADES[1]), c * exp(age / FADES[2])

    def add(self, weight: float, tick: int) -> None:
        a, b, c = self.now(tick)
        self.faded = (a + weight, b + weight, c + weight)
        self.at = tick
        self.times += 1


_Counts = defaultdict[int, _Count]
_NONE: Final = (0.0, 0.0, 0.0)


class _Habit:
    """How often something changed, and what changed along with it."""

    __slots__ = ("others", "own")

    def __init__(self) -> None:
        self.own = _Count()
        self.others: _Counts = defaultdict(_Count)

    def with_other(self, other: int, tick: int) -> tuple[float, float, float]:
        count = self.others.get(other)
        return count.now(tick) if count else _NONE


class CoChange:
    """What one repository's history says of its files."""

    def __init__(self, weights: Sequence[float] = WEIGHTS) -> None:
        self.files = FileNumbers()
        self.learner = Learner(weights)
        self._tick = 0
        self._all = _Count()
        self._files: defaultdict[int, _Habit] = defaultdict(_Habit)
        self._folders: defaultdict[str, _Habit] = defaultdict(_Habit)
        self._kinds: defaultdict[str, _Habit] = defaultdict(_Habit)
        self._subjects: defaultdict[str, set[int]] = defaultdict(set)
        self._touched: dict[int, int] = {}
        self._born: dict[int, int] = {}
        self._recent: deque[list[int]] = deque(maxlen=RECENT_COMMITS)

    # -- Learning -------------------------------------------------------------------------------

    def learn(self, commit: PastCommit, *, adapt: bool = True) -> None:
        """Take in the next commit: with `adapt` it first corrects the weights, as a choice."""
        if adapt and FEWEST <= len(commit.changes) <= MOST:
            self._correct(commit)
        self._count(commit)

    def _correct(self, commit: PastCommit) -> None:
        names = [change.old for change in commit.changes]
        numbers = {number for name in names if (number := self.files.number(name)) is not None}
        for name in names:
            candidates = self._candidates(name)
            right = np.array([n in numbers for n in candidates], dtype=np.bool_)
            if right.any():
                self.learner.learn(self._table(name, candidates), right)

    def _count(self, commit: PastCommit) -> None:
        before = {change.old: self.files.number(change.old) for change in commit.changes}
        for name, number in before.items():
            if number is not None:
                self._subjects[subject(name)].discard(number)
        numbers = self.files.follow(commit)
        if len(numbers) <= BULK_FILES:
            self._tick += 1
        for number in numbers:
            self._touched[number] = self._tick
            self._born.setdefault(number, self._tick)
            if self.files.is_present(number):
                self._subjects[subject(self.files.name(number))].add(number)
        self._recent.append(numbers[:30])
        if FEWEST <= len(numbers) <= BULK_FILES:
            self._count_pairs(numbers)

    def _count_pairs(self, numbers: Sequence[int]) -> None:
        tick, weight = self._tick, min(1.0, BROAD_FILES / len(numbers))
        names = {number: self.files.name(number) for number in numbers}
        self._all.add(weight, tick)
        for number in numbers:
            self._files[number].own.add(weight, tick)
            for other in numbers:
                if other != number:
                    self._files[number].others[other].add(weight, tick)
        for habits, key_of in ((self._folders, dirname), (self._kinds, kind)):
            keys = {number: key_of(name) for number, name in names.items()}
            for key in dict.fromkeys(keys.values()):
                habits[key].own.add(weight, tick)
                for number in numbers:
                    if any(keys[other] == key for other in numbers if other != number):
                        habits[key].others[number].add(weight, tick)

    # -- Asking ---------------------------------------------------------------------------------

    def partners(self, path: str, *, limit: int = 5) -> list[Partner]:
        """The files likeliest to change with `path`, which need not exist yet."""
        candidates = self._candidates(path)
        if not candidates:
            return []
        table = self._table(path, candidates)
        best = self.learner.order(table)[:limit]
        return [self._partner(path, candidates[row], table[row].tolist()) for row in best]

    def _partner(self, path: str, other: int, signals: Sequence[float]) -> Partner:
        own = self.files.number(path)
        count = self._files[own].others.get(other) if own in self._files else None
        together = count.times if count else 0
        return Partner(
            self.files.name(other),
            round(min(1.0, exp(signals[2])), 3),
            together,
            tuple(_reasons(signals, together)),
        )

    def _candidates(self, path: str) -> list[int]:
        """Present files worth ranking, in a fixed order."""
        own = self.files.number(path)
        found = set(self._subjects.get(subject(path), ()))
        found.update(number for numbers in self._recent for number in numbers)
        if own is not None and own in self._files:
            found.update(self._files[own].others)
        found.update(self._most(self._folders.get(dirname(path)), 30))
        found.update(self._most(self._kinds.get(kind(path)), 20))
        return sorted(n for n in found if n != own and self.files.is_present(n))

    def _most(self, habit: _Habit | None, limit: int) -> list[int]:
        if habit is None:
            return []
        others, tick = habit.others, self._tick
        return nlargest(limit, others, key=lambda number: others[number].now(tick)[2])

    def _table(self, path: str, candidates: Sequence[int]) -> Table:
        view = _View(self, path)
        return np.array([view.signals(number) for number in candidates], dtype=np.float64)

    def habits(self, path: str) -> tuple[_Habit, _Habit, _Habit]:
        """The habits of a file, of its folder and of its kind; empty where there are none."""
        own = self.files.number(path)
        return (
            self._files.get(own, _Habit()) if own is not None else _Habit(),
            self._folders.get(dirname(path), _Habit()),
            self._kinds.get(kind(path), _Habit()),
        )

    def moments(self, number: int) -> tuple[int, int]:
        """How many commits ago a file was touched, and first seen."""
        return self._tick - self._touched[number], self._tick - self._born[number]

    def changed(self, number: int) -> tuple[float, float, float]:
        """How often a file changed along with others, faded."""
        habit = self._files.get(number)
        return habit.own.now(self._tick) if habit else _NONE

    @property
    def tick(self) -> int:
        """How many commits were counted."""
        return self._tick

    @property
    def changed_in_all(self) -> tuple[float, float, float]:
        """How many commits changed several files, faded."""
        return self._all.now(self._tick)


class _View:
    """The candidates as seen from one file."""

    def __init__(self, model: CoChange, path: str) -> None:
        self._model = model
        self._tick = tick = model.tick
        self._own, self._folder, self._kind = model.habits(path)
        self._all = model.changed_in_all
        self._counts = tuple(h.own.now(tick) for h in (self._own, self._folder, self._kind))
        self._subject = subject(path)
        self._words = path_words(path)
        self._ending = splitext(path)[1]
        self._shortness = 1 / (1 + self._own.own.times)

    def signals(self, other: int) -> list[float]:
        """The signals of one candidate, in the order of `SIGNALS`."""
        name = self._model.files.name(other)
        changed = self._model.changed(other)
        joint = self._own.others.get(other)
        shared = joint.now(self._tick) if joint else _NONE
        chances, popular = self._chances(other, shared, changed)
        touched_ago, born_ago = self._model.moments(other)
        words = path_words(name)
        likeness = len(words & self._words) / (len(words | self._words) or 1)
        union = self._counts[0][2] + changed[2] - shared[2] + 0.5
        return [
            *chances,
            *popular,
            exp(-touched_ago / 3),
            exp((joint.at - self._tick) / 4) if joint else 0.0,
            log1p(joint.times) if joint else 0.0,
            0.0 if joint else 1.0,
            float(subject(name) == self._subject),
            likeness,
            float(splitext(name)[1] == self._ending),
            likeness * self._shortness,
            exp(-born_ago / 10),
            shared[2] / union,
        ]

    def _chances(
        self, other: int, shared: tuple[float, float, float], changed: tuple[float, float, float]
    ) -> tuple[list[float], list[float]]:
        """Log chances that the candidate changes too, and that it changes at all, by fade."""
        in_folder = self._folder.with_other(other, self._tick)
        in_kind = self._kind.with_other(other, self._tick)
        own, folder, kin = self._counts
        chances: list[float] = []
        popular: list[float] = []
        for i, trust in enumerate(_TRUST):
            at_all = (changed[i] + 1e-3) / (self._all[i] + 1)
            by_kind = (in_kind[i] + 2 * at_all) / (kin[i] + 2)
            by_folder = (in_folder[i] + 2 * by_kind) / (folder[i] + 2)
            by_file = (shared[i] + trust * by_folder) / (own[i] + trust)
            chances.append(log(by_file + _TINY))
            popular.append(log(at_all + _TINY))
        return chances, popular


def kind(path: str) -> str:
    """Files of one kind have habits in common: test or not, top folder, ending."""
    top = path.split("/", 1)[0] if "/" in path else ""
    return f"{'test ' if is_test(path) else ''}{top}{splitext(path)[1]}".lower()


def learned(
    commits: Iterable[PastCommit],
    *,
    weights: Sequence[float] = WEIGHTS,
    tell: Callable[[int, int], None] | None = None,
) -> CoChange:
    """A model of a whole history, oldest commit first; the newest part adapts the weights."""
    everything = list(commits)
    model = CoChange(weights)
    for left, commit in zip(range(len(everything), 0, -1), everything, strict=True):
        model.learn(commit, adapt=left <= ADAPT_COMMITS)
        if tell is not None and left % _TELL_EVERY == 1:
            tell(len(everything) - left + 1, len(everything))
    return model


def _reasons(signals: Sequence[float], together: int) -> Iterable[str]:
    named = dict(zip(SIGNALS, signals, strict=True))
    if together:
        yield f"changed together {together} time{'s' if together > 1 else ''}"
    if named["about the same"]:
        yield "named alike"
    if named["touched by the last commits"] > 0.3:
        yield "worked on just now"
    if not together and not named["about the same"]:
        yield "habit of the folder"
