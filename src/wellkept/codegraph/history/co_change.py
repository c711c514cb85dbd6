"""Which files change together: learned from history, commit by commit, oldest first.

For a file that is about to change, the others are ranked by how often they changed with it, lately
and ever, with the habits of its folder and of its kind standing in where its own history is short;
by what files of like names do (`codegraph.parallels`), which may name one that is not there yet;
and by what was worked on just now. A broad commit says little of each pair, a bulk one nothing.
The weights of these signals are shipped and adapt to the repository. Knows neither git nor storage.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from math import exp, inf, log, log1p
from posixpath import dirname, splitext
from typing import Final

import numpy as np

from wellkept.codegraph.history.commits import FileNumbers, PastCommit, is_test, path_words, subject
from wellkept.codegraph.history.decayed_counts import (
    EVER,
    NOTHING,
    ChangeCounts,
    DecayedCount,
    Faded,
)
from wellkept.codegraph.history.name_pairs import NamePair, NamePairs
from wellkept.codegraph.online_ranker import OnlineRanker, Table
from wellkept.core.records import record

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
_NOBODY: Final = -1
_UNLIKE: Final = NamePair(0.0, 0.0, 0)
_CAUTION: Final = 10.0
_TELL_EVERY: Final = 50
_FEWEST_LIKES: Final = 2
"""How often files of like names must have come along before one that is not there is named."""

EXPECTED: Final = "expected by the names of others"
"""Why a file is named that is not there."""

SIGNALS: Final = (
    "with it just now", "with it lately", "with it ever",
    "changed just now", "changed lately", "changed ever",
    "touched by the last commits", "with it in the last commits", "times together",
    "about the same", "words of the path", "same ending", "words of the path, little history",
    "new", "share of joint changes", "its likes just now", "its likes lately", "not there yet",
)  # fmt: skip
WEIGHTS: Final = (
    0.10, 0.09, 0.26, 0.05, 0.05, -0.10, 0.82, 0.59, 0.33, -0.01, 0.62, -0.02, 4.37, 0.87, 2.37,
    1.14, 0.34, 1.0,
)  # fmt: skip
"""Learned by `bench.cochange --train`; see docs/decisions/co-change.md."""


@record
class CoChangePartner:
    """A file that tends to change with another. `likelihood`: in how many of 1 such changes.

    One that is not there is a file that the names of others lead to expect.
    """

    path: str
    likelihood: float
    together: int
    reasons: tuple[str, ...]
    is_there: bool = True


class CoChange:
    """What one repository's history says of its files."""

    def __init__(self, weights: Sequence[float] = WEIGHTS) -> None:
        self.files = FileNumbers()
        self.learner = OnlineRanker(weights, caution=_CAUTION)
        self._tick = 0
        self._all = DecayedCount()
        self._files: defaultdict[int, ChangeCounts[int]] = defaultdict(ChangeCounts[int])
        self._folders: defaultdict[str, ChangeCounts[int]] = defaultdict(ChangeCounts[int])
        self._kinds: defaultdict[str, ChangeCounts[int]] = defaultdict(ChangeCounts[int])
        self._subjects: defaultdict[str, set[int]] = defaultdict(set)
        self._touched: dict[int, int] = {}
        self._born: dict[int, int] = {}
        self._parallels = NamePairs()
        self._recent: deque[list[int]] = deque(maxlen=RECENT_COMMITS)

    # -- Learning -------------------------------------------------------------------------------

    def learn(self, commit: PastCommit, *, adapt: bool = True) -> None:
        """Take in the next commit: with `adapt` it first corrects the weights, as a choice."""
        if adapt and FEWEST <= len(commit.changes) <= MOST:
            self._correct(commit)
        self._count(commit)

    def _correct(self, commit: PastCommit) -> None:
        names = {change.old: None for change in commit.changes}
        for name in names:
            view = _View(self, name)
            candidates = self._candidates(name, view)
            right = np.array([other in names for other in candidates], dtype=np.bool_)
            if right.any():
                self.learner.learn(view.table(candidates), right)

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
        self._parallels.count(list(names.values()), weight=weight, tick=tick)
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

    def partners(self, path: str, *, limit: int = 5) -> list[CoChangePartner]:
        """The files likeliest to change with `path`, which need not exist yet, nor need they."""
        view = _View(self, path)
        candidates = self._candidates(path, view)
        if not candidates:
            return []
        table = view.table(candidates)
        best = self.learner.order(table)[:limit]
        return [self._partner(path, candidates[row], table[row].tolist()) for row in best]

    def _partner(self, path: str, other: str, signals: Sequence[float]) -> CoChangePartner:
        together = self.together(path, other).times
        return CoChangePartner(
            other,
            round(min(1.0, exp(signals[EVER])), 3),
            together,
            tuple(_reasons(signals, together)),
            is_there=self.files.number(other) is not None,
        )

    def _candidates(self, path: str, view: _View) -> list[str]:
        """Files worth ranking, in a fixed order."""
        found = set(self._subjects.get(subject(path), ()))
        found.update(number for numbers in self._recent for number in numbers)
        found.update(view.own.others)
        found.update(view.folder.most(30, self._tick))
        found.update(view.kind.most(20, self._tick))
        names = {self.files.name(number) for number in found if self.files.is_present(number)}
        for name, said in view.likes.items():
            is_there = self.files.number(name) is not None
            if is_there or (said.times >= _FEWEST_LIKES and not self.files.was_there(name)):
                names.add(name)
        return sorted(names - {path})

    def habits(self, path: str) -> tuple[ChangeCounts[int], ChangeCounts[int], ChangeCounts[int]]:
        """The habits of a file, of its folder and of its kind; empty where there are none."""
        return (
            self.habit(self.files.number(path)),
            self._folders.get(dirname(path), _NO_HABIT),
            self._kinds.get(kind(path), _NO_HABIT),
        )

    def habit(self, number: int | None) -> ChangeCounts[int]:
        """The habits of a file by its number."""
        return _NO_HABIT if number is None else self._files.get(number, _NO_HABIT)

    def together(self, path: str, other: str) -> DecayedCount:
        """How often two files changed together."""
        number = self.files.number(other)
        own = self.habit(self.files.number(path))
        return _NO_COUNT if number is None else own.others.get(number, _NO_COUNT)

    def likes(self, path: str) -> dict[str, NamePair]:
        """The files that would go with one by what files of like names do."""
        return self._parallels.of(
            path,
            self._tick,
            own=self.habit(self.files.number(path)).own,
            along=lambda other: self.together(path, other),
        )

    def moments(self, number: int) -> tuple[float, float]:
        """How many commits ago a file was touched, and first seen."""
        if number == _NOBODY:
            return inf, inf
        return self._tick - self._touched[number], self._tick - self._born[number]

    @property
    def tick(self) -> int:
        """How many commits were counted."""
        return self._tick

    @property
    def changed_in_all(self) -> Faded:
        """How many commits changed several files, faded."""
        return self._all.now(self._tick)


_NO_HABIT: Final = ChangeCounts[int]()
_NO_COUNT: Final = DecayedCount()


class _View:
    """The candidates as seen from one file."""

    def __init__(self, model: CoChange, path: str) -> None:
        self._model = model
        self._tick = tick = model.tick
        self.own, self.folder, self.kind = model.habits(path)
        self.likes = model.likes(path)
        self._all = model.changed_in_all
        self._counts = tuple(h.own.now(tick) for h in (self.own, self.folder, self.kind))
        self._subject = subject(path)
        self._words = path_words(path)
        self._ending = splitext(path)[1]
        self._shortness = 1 / (1 + self.own.own.times)

    def table(self, candidates: Sequence[str]) -> Table:
        """The signals of candidates, a row for each."""
        return np.array([self.signals(name) for name in candidates], dtype=np.float64)

    def signals(self, name: str) -> list[float]:
        """The signals of one candidate, in the order of `SIGNALS`."""
        number = self._model.files.number(name)
        other = _NOBODY if number is None else number
        joint = self.own.others.get(other)
        shared = joint.now(self._tick) if joint else NOTHING
        changed = self._model.habit(other).own.now(self._tick)
        touched_ago, born_ago = self._model.moments(other)
        words = path_words(name)
        likeness = len(words & self._words) / (len(words | self._words) or 1)
        union = self._counts[0][EVER] + changed[EVER] - shared[EVER] + 0.5
        like = self.likes.get(name, _UNLIKE)
        return [
            *self._chances(other, shared, changed),
            exp(-touched_ago / 3),
            exp((joint.at - self._tick) / 4) if joint else 0.0,
            log1p(joint.times) if joint else 0.0,
            float(subject(name) == self._subject),
            likeness,
            float(splitext(name)[1] == self._ending),
            likeness * self._shortness,
            exp(-born_ago / 10),
            shared[EVER] / union,
            like.just_now,
            like.lately,
            float(number is None),
        ]

    def _chances(self, other: int, shared: Faded, changed: Faded) -> list[float]:
        """Log chances that the candidate changes too, and that it changes at all, by fade."""
        in_folder = self.folder.with_other(other, self._tick)
        in_kind = self.kind.with_other(other, self._tick)
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
        return chances + popular


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
    if named["not there yet"]:
        yield EXPECTED
    elif named["its likes lately"] > 0.2:
        yield "as with files named alike"
    elif not together and not named["about the same"]:
        yield "habit of the folder"
