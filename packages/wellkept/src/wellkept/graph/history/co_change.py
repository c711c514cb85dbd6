"""Predicts which files change together, learned from history commit by commit, oldest first.

For a file about to change, other files are ranked by how often they changed with it (short to long
term), with the counts of its folder and file kind as fallback; by name patterns (`name_pairs`),
which can also predict a file that does not exist yet; and by recent activity. Large commits count
less, bulk commits not at all. The weights are shipped and adapt to the repository.
Does not know git or storage.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from math import exp, inf, log, log1p
from posixpath import dirname, splitext
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records import record
from wellkept.graph.history.commits import FileNumbers, PastCommit, is_test, path_words, subject
from wellkept.graph.history.name_pairs import (
    LONG,
    ZERO,
    ChangeCounts,
    DecayedCount,
    DecayedValues,
    NamePair,
    NamePairs,
)

BULK_FILES: Final = 60
"""Commits of more files are ignored."""
BROAD_FILES: Final = 5
"""Commits of more files count less for each pair."""
MIN_TRAINING_FILES, MAX_TRAINING_FILES = 2, 10
"""Commits of this size adapt the weights."""
RECENT_COMMITS: Final = 25
ADAPT_COMMITS: Final = 800
"""Only the newest commits adapt the weights; all are counted."""
_FOLDER_PRIOR: Final = (0.5, 0.7, 1.0)
"""Weight of the folder's counts, in observations, for each decay rate."""
_TINY: Final = 1e-5
_NO_NUMBER: Final = -1
_NO_PAIR: Final = NamePair(0.0, 0.0, 0)
_CAUTION: Final = 10.0
_PROGRESS_EVERY: Final = 50
_MIN_PAIR_TIMES: Final = 2
"""A file that does not exist is named only if its name pair was seen this often."""

EXPECTED: Final = "expected by similar names"
"""Reason given for a file that does not exist yet."""

SIGNALS: Final = (
    "together short term", "together medium term", "together long term",
    "changed short term", "changed medium term", "changed long term",
    "changed in recent commits", "together in recent commits", "times together",
    "same subject", "shared path words", "same extension", "shared path words, little history",
    "new", "share of joint changes", "name pair short term", "name pair medium term", "missing",
)  # fmt: skip
WEIGHTS: Final = (
    0.10, 0.09, 0.26, 0.05, 0.05, -0.10, 0.82, 0.59, 0.33, -0.01, 0.62, -0.02, 4.37, 0.87, 2.37,
    1.14, 0.34, 1.0,
)  # fmt: skip
"""Learned by `bench.cochange --train`; see docs/decisions/co-change.md."""


@record
class _Partner:
    """A file that tends to change with another. `likelihood` is the fraction of such changes.

    `exists` is false for a file that is only expected by its name.
    """

    path: str
    likelihood: float
    together: int
    reasons: tuple[str, ...]
    exists: bool = True


class CoChange:
    """Co-change model of one repository."""

    def __init__(self, weights: Sequence[float] = WEIGHTS) -> None:
        self.files = FileNumbers()
        self.ranker = OnlineRanker(weights, caution=_CAUTION)
        self._tick = 0
        self._all = DecayedCount()
        self._files: defaultdict[int, ChangeCounts[int]] = defaultdict(ChangeCounts[int])
        self._folders: defaultdict[str, ChangeCounts[int]] = defaultdict(ChangeCounts[int])
        self._kinds: defaultdict[str, ChangeCounts[int]] = defaultdict(ChangeCounts[int])
        self._subjects: defaultdict[str, set[int]] = defaultdict(set)
        self._last_changed: dict[int, int] = {}
        self._first_seen: dict[int, int] = {}
        self._name_pairs = NamePairs()
        self._recent: deque[list[int]] = deque(maxlen=RECENT_COMMITS)

    # -- Learning -------------------------------------------------------------------------------

    def learn(self, commit: PastCommit, *, adapt: bool = True) -> None:
        """Add the next commit. With `adapt` it corrects the weights first."""
        if adapt and MIN_TRAINING_FILES <= len(commit.changes) <= MAX_TRAINING_FILES:
            names = {change.old: None for change in commit.changes}
            for name in names:
                view = _View(self, name)
                candidates = self._candidates(name, view)
                right = np.array([other in names for other in candidates], dtype=np.bool_)
                if right.any():
                    self.ranker.learn(view.table(candidates), right)
        self._count(commit)

    def _count(self, commit: PastCommit) -> None:
        before = {change.old: self.files.number(change.old) for change in commit.changes}
        for name, number in before.items():
            if number is not None:
                self._subjects[subject(name)].discard(number)
        numbers = self.files.follow(commit)
        if len(numbers) <= BULK_FILES:
            self._tick += 1
        for number in numbers:
            self._last_changed[number] = self._tick
            self._first_seen.setdefault(number, self._tick)
            if self.files.is_present(number):
                self._subjects[subject(self.files.name(number))].add(number)
        self._recent.append(numbers[:30])
        if MIN_TRAINING_FILES <= len(numbers) <= BULK_FILES:
            self._count_pairs(numbers)

    def _count_pairs(self, numbers: Sequence[int]) -> None:
        tick, weight = self._tick, min(1.0, BROAD_FILES / len(numbers))
        names = {number: self.files.name(number) for number in numbers}
        self._all.add(weight, tick)
        self._name_pairs.count(list(names.values()), weight=weight, tick=tick)
        for number in numbers:
            self._files[number].own.add(weight, tick)
            for other in numbers:
                if other != number:
                    self._files[number].others[other].add(weight, tick)
        for counts, key_of in ((self._folders, dirname), (self._kinds, file_kind)):
            keys = {number: key_of(name) for number, name in names.items()}
            for key in dict.fromkeys(keys.values()):
                counts[key].own.add(weight, tick)
                for number in numbers:
                    if any(keys[other] == key for other in numbers if other != number):
                        counts[key].others[number].add(weight, tick)

    # -- Predicting -----------------------------------------------------------------------------

    def partners(self, path: str, *, limit: int = 5, min_together: int = 0) -> list[_Partner]:
        """The files most likely to change with `path`. Neither needs to exist yet, unless they
        must have changed together before."""
        view = _View(self, path)
        if min_together:
            joint = (n for n, seen in view.own.others.items() if seen.times >= min_together)
            candidates = sorted(self.files.name(n) for n in joint if self.files.is_present(n))
        else:
            candidates = self._candidates(path, view)
        if not candidates:
            return []
        table = view.table(candidates)
        best = self.ranker.order(table)[:limit]
        return [self._partner(path, candidates[row], table[row].tolist()) for row in best]

    def _partner(self, path: str, other: str, signals: Sequence[float]) -> _Partner:
        together = self.together(path, other).times
        return _Partner(
            other,
            round(min(1.0, exp(signals[LONG])), 3),
            together,
            tuple(_reasons(signals, together)),
            exists=self.files.number(other) is not None,
        )

    def _candidates(self, path: str, view: _View) -> list[str]:
        """Files worth ranking, sorted."""
        found = set(self._subjects.get(subject(path), ()))
        found.update(number for numbers in self._recent for number in numbers)
        found.update(view.own.others)
        found.update(view.folder.most_frequent(30, self._tick))
        found.update(view.kind.most_frequent(20, self._tick))
        names = {self.files.name(number) for number in found if self.files.is_present(number)}
        for name, pair in view.name_pairs.items():
            exists = self.files.number(name) is not None
            if exists or (pair.times >= _MIN_PAIR_TIMES and not self.files.ever_existed(name)):
                names.add(name)
        return sorted(names - {path})

    def counts(self, path: str) -> tuple[ChangeCounts[int], ChangeCounts[int], ChangeCounts[int]]:
        """Change counts of a file, its folder and its kind; empty where there are none."""
        return (
            self.file_counts(self.files.number(path)),
            self._folders.get(dirname(path), _NO_COUNTS),
            self._kinds.get(file_kind(path), _NO_COUNTS),
        )

    def file_counts(self, number: int | None) -> ChangeCounts[int]:
        """Change counts of a file by number."""
        return _NO_COUNTS if number is None else self._files.get(number, _NO_COUNTS)

    def together(self, path: str, other: str) -> DecayedCount:
        """How often two files changed together."""
        number = self.files.number(other)
        own = self.file_counts(self.files.number(path))
        return _NO_COUNT if number is None else own.others.get(number, _NO_COUNT)

    def name_pairs(self, path: str) -> dict[str, NamePair]:
        """Files that change with files of similar names."""
        return self._name_pairs.partners(
            path,
            self._tick,
            own=self.file_counts(self.files.number(path)).own,
            joint=lambda other: self.together(path, other),
        )

    def ages(self, number: int) -> tuple[float, float]:
        """Commits since a file last changed, and since it was first seen."""
        if number == _NO_NUMBER:
            return inf, inf
        return self._tick - self._last_changed[number], self._tick - self._first_seen[number]

    @property
    def tick(self) -> int:
        """Number of counted commits."""
        return self._tick

    @property
    def commit_count(self) -> DecayedValues:
        """Decayed number of commits that changed several files."""
        return self._all.now(self._tick)


_NO_COUNTS: Final = ChangeCounts[int]()
_NO_COUNT: Final = DecayedCount()


class _View:
    """Signals of candidates, relative to one file."""

    def __init__(self, model: CoChange, path: str) -> None:
        self._model = model
        self._tick = tick = model.tick
        self.own, self.folder, self.kind = model.counts(path)
        self.name_pairs = model.name_pairs(path)
        self._all = model.commit_count
        self._counts = tuple(c.own.now(tick) for c in (self.own, self.folder, self.kind))
        self._subject = subject(path)
        self._words = path_words(path)
        self._extension = splitext(path)[1]
        self._little_history = 1 / (1 + self.own.own.times)

    def table(self, candidates: Sequence[str]) -> Table:
        """The signals of candidates, one row each."""
        return np.array([self.signals(name) for name in candidates], dtype=np.float64)

    def signals(self, name: str) -> list[float]:
        """The signals of one candidate, in the order of `SIGNALS`."""
        number = self._model.files.number(name)
        other = _NO_NUMBER if number is None else number
        joint = self.own.others.get(other)
        shared = joint.now(self._tick) if joint else ZERO
        changed = self._model.file_counts(other).own.now(self._tick)
        changed_ago, seen_ago = self._model.ages(other)
        words = path_words(name)
        similarity = len(words & self._words) / (len(words | self._words) or 1)
        union = self._counts[0][LONG] + changed[LONG] - shared[LONG] + 0.5
        pair = self.name_pairs.get(name, _NO_PAIR)
        return [
            *self._likelihoods(other, shared, changed),
            exp(-changed_ago / 3),
            exp((joint.at - self._tick) / 4) if joint else 0.0,
            log1p(joint.times) if joint else 0.0,
            float(subject(name) == self._subject),
            similarity,
            float(splitext(name)[1] == self._extension),
            similarity * self._little_history,
            exp(-seen_ago / 10),
            shared[LONG] / union,
            pair.short_term,
            pair.medium_term,
            float(number is None),
        ]

    def _likelihoods(
        self, other: int, shared: DecayedValues, changed: DecayedValues
    ) -> list[float]:
        """Log likelihoods that the candidate changes too, then that it changes at all, for each
        decay rate."""
        in_folder = self.folder.with_other(other, self._tick)
        in_kind = self.kind.with_other(other, self._tick)
        own, folder, kind = self._counts
        joint: list[float] = []
        overall: list[float] = []
        for i, prior in enumerate(_FOLDER_PRIOR):
            at_all = (changed[i] + 1e-3) / (self._all[i] + 1)
            by_kind = (in_kind[i] + 2 * at_all) / (kind[i] + 2)
            by_folder = (in_folder[i] + 2 * by_kind) / (folder[i] + 2)
            by_file = (shared[i] + prior * by_folder) / (own[i] + prior)
            joint.append(log(by_file + _TINY))
            overall.append(log(at_all + _TINY))
        return joint + overall


def file_kind(path: str) -> str:
    """Files are of one kind if they share top folder, extension, and being a test or not."""
    top = path.split("/", 1)[0] if "/" in path else ""
    return f"{'test ' if is_test(path) else ''}{top}{splitext(path)[1]}".lower()


def train(
    commits: Iterable[PastCommit],
    *,
    weights: Sequence[float] = WEIGHTS,
    progress: Callable[[int, int], None] | None = None,
) -> CoChange:
    """A model of a whole history, oldest commit first. The newest part adapts the weights."""
    everything = list(commits)
    model = CoChange(weights)
    for left, commit in zip(range(len(everything), 0, -1), everything, strict=True):
        model.learn(commit, adapt=left <= ADAPT_COMMITS)
        if progress is not None and left % _PROGRESS_EVERY == 1:
            progress(len(everything) - left + 1, len(everything))
    return model


def _reasons(signals: Sequence[float], together: int) -> Iterable[str]:
    named = dict(zip(SIGNALS, signals, strict=True))
    if together:
        yield f"changed together {together} time{'s' if together > 1 else ''}"
    if named["same subject"]:
        yield "similar name"
    if named["changed in recent commits"] > 0.3:
        yield "changed recently"
    if named["missing"]:
        yield EXPECTED
    elif named["name pair medium term"] > 0.2:
        yield "like files with similar names"
    elif not together and not named["same subject"]:
        yield "common in this folder"


# -- A linear ranker that starts from shipped weights and learns online from one repository -------


Table = NDArray[np.float64]

STEP = 0.15
CAUTION = 50.0
"""Initial sum of squared gradients: keeps the first steps small."""
PULL_BACK = 1e-3


class OnlineRanker:
    """Weights of one ranking, for one repository."""

    def __init__(
        self, weights: Sequence[float], *, caution: float = CAUTION, pull_back: float = PULL_BACK
    ) -> None:
        self._start = np.array(weights, dtype=np.float64)
        self._weights = self._start.copy()
        self._squared_gradients = np.full(len(weights), caution)
        self._pull_back = pull_back

    def scores(self, table: Table) -> NDArray[np.float64]:
        """The score of each row."""
        return table @ self._weights

    def order(self, table: Table) -> list[int]:
        """Row indices, best first; stable for equal scores."""
        return np.argsort(-self.scores(table), kind="stable").tolist()

    def learn(self, table: Table, right: NDArray[np.bool_]) -> None:
        """Learn which candidates were right; nothing if none was."""
        hits = int(right.sum())
        if not hits:
            return
        scores = self.scores(table)
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        gradient = table.T @ (right / hits - chances) - self._pull_back * (
            self._weights - self._start
        )
        self._squared_gradients += gradient * gradient
        self._weights += STEP * gradient / np.sqrt(self._squared_gradients)

    @property
    def weights(self) -> tuple[float, ...]:
        """The current weights."""
        return tuple(self._weights.tolist())
