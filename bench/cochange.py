"""How well history foretells which files change together.

    python -m bench.cochange --repo PATH [--repo PATH …] [--json] [--train]

Reads the whole history, oldest commit first. For each file of each commit of two to ten files in
the last fifth, the other files of the repository are ranked before the commit is taken in; what
counts is how many of the commit's other files are among the first five. `all` looks at every file
of the commit, also at those that it adds, which only the names of others can foretell; `existing`
at files that were there before. Plain association rules are measured on the same questions.

With `--train`, weights are learned from the first four fifths of all repositories, and for each
repository from the others alone ("left out"), which is the honest figure for a new repository.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from bench.report import finish, machine, parser, say
from wellkept.core.codec import Json
from wellkept.graph.history.co_change import (
    MAX_TRAINING_FILES,
    MIN_TRAINING_FILES,
    SIGNALS,
    WEIGHTS,
    CoChange,
    OnlineRanker,
    Table,
)
from wellkept.graph.history.commits import FileNumbers, PastCommit
from wellkept.graph.history.git_log import read_past

TOP = 5
TRAINED_SHARE = 0.8
EPOCHS = 4
_ALL_COMMITS = 1_000_000

Choice = tuple[Table, NDArray[np.bool_]]


@dataclass(slots=True)
class Recall:
    """Shares of the other files that were named, question by question."""

    existing: list[float] = field(default_factory=list[float])
    all: list[float] = field(default_factory=list[float])

    def add(self, named: Sequence[str], others: set[str], existing: set[str]) -> None:
        """One question with what was named for it."""
        first = set(named[:TOP])
        self.all.append(len(first & others) / len(others))
        if existing:
            self.existing.append(len(first & existing) / len(existing))

    def as_json(self) -> dict[str, Json]:
        """Percentages and how many questions they stand on."""
        return {
            "existing": _percent(self.existing),
            "all": _percent(self.all),
            "questions_existing": len(self.existing),
            "questions_all": len(self.all),
        }


def _percent(shares: Sequence[float]) -> float:
    return round(100 * sum(shares) / len(shares), 1) if shares else 0.0


class AssociationRules:
    """The peer: how often files changed together, nothing else."""

    def __init__(self) -> None:
        self._files = FileNumbers()
        self._together: defaultdict[int, Counter[int]] = defaultdict(Counter)

    def named(self, path: str) -> list[str]:
        """The files seen most often with this one."""
        number = self._files.number(path)
        if number is None:
            return []
        return [self._files.name(other) for other, _ in self._together[number].most_common(TOP)]

    def learn(self, commit: PastCommit) -> None:
        """Count a commit."""
        numbers = self._files.follow(commit)
        if len(numbers) <= 30:
            for number in numbers:
                self._together[number].update(n for n in numbers if n != number)


def asked(
    commits: Sequence[PastCommit],
    *,
    name: Callable[[str], list[str]],
    learn: Callable[[PastCommit], None],
) -> Recall:
    """Walk a history, asking before each late commit is learned."""
    recall, seen = Recall(), FileNumbers()
    first = int(len(commits) * TRAINED_SHARE)
    for place, commit in enumerate(commits):
        if place >= first and MIN_TRAINING_FILES <= len(commit.changes) <= MAX_TRAINING_FILES:
            names = {change.old for change in commit.changes}
            existing = {path for path in names if seen.number(path) is not None}
            for path in sorted(names):
                others = names - {path}
                if others:
                    recall.add(name(path), others, existing - {path})
        learn(commit)
        seen.follow(commit)
    return recall


def measured(commits: Sequence[PastCommit], weights: Sequence[float]) -> dict[str, Json]:
    """Ours and the peer on one history."""
    model, peer = CoChange(weights), AssociationRules()
    before = process_time()
    ours = asked(
        commits,
        name=lambda path: [partner.path for partner in model.partners(path, limit=TOP)],
        learn=model.learn,
    )
    seconds = process_time() - before
    rules = asked(commits, name=peer.named, learn=peer.learn)
    return {
        "commits": len(commits),
        "recall_at_5": ours.as_json(),
        "association_rules": rules.as_json(),
        "cpu_s": round(seconds, 1),
    }


# -- Training -------------------------------------------------------------------------------------


class _Recording(OnlineRanker):
    """Keeps every choice instead of learning from it."""

    def __init__(self, weights: Sequence[float]) -> None:
        super().__init__(weights)
        self.choices: list[Choice] = []

    def learn(self, table: Table, right: NDArray[np.bool_]) -> None:
        self.choices.append((table, right))


def choices_of(commits: Sequence[PastCommit]) -> list[Choice]:
    """Every choice of the first four fifths of a history, after a tenth to warm up."""
    model = CoChange()
    recording = _Recording(WEIGHTS)
    model.ranker = recording
    size = len(commits)
    for place, commit in enumerate(commits[: int(size * TRAINED_SHARE)]):
        model.learn(commit, adapt=place > size / 10)
    return recording.choices


def trained(choices: Sequence[Choice], *, seed: int = 0) -> tuple[float, ...]:
    """Weights from choices in random order, several times over."""
    rng = np.random.default_rng(seed)
    ranker = OnlineRanker([0.0] * len(SIGNALS), pull_back=1e-4, caution=1e-6)
    for _ in range(EPOCHS):
        for place in map(int, rng.permutation(len(choices))):
            table, right = choices[place]
            ranker.learn(table, right)
    return tuple(round(weight, 2) for weight in ranker.weights)


def run(options: Namespace) -> dict[str, Json]:
    """Figures of every repository."""
    past = {path: commits for path in options.repo if (commits := _read(path))}
    figures: dict[str, Json] = {path.name: measured(c, WEIGHTS) for path, c in past.items()}
    if not options.train:
        return {"repositories": figures}
    say("collecting choices")
    choices = {path: choices_of(commits) for path, commits in past.items()}
    left_out: dict[str, Json] = {}
    for path, commits in past.items():
        say(f"training without {path.name}")
        others = [choice for other in past if other != path for choice in choices[other]]
        left_out[path.name] = measured(commits, trained(others))
    weights = trained([choice for one in choices.values() for choice in one])
    return {"repositories": figures, "left_out": left_out, "weights": list(weights)}


def _read(path: Path) -> list[PastCommit]:
    commits = read_past(path, limit=_ALL_COMMITS)
    if not commits:
        raise SystemExit(f"{path} has no history that git can read: give a repository's folder.")
    say(f"{path}: {len(commits)} commits")
    return commits


def main() -> None:
    """Measure, print, keep."""
    made = parser(__doc__)
    made.add_argument("--repo", type=Path, action="append", required=True)
    made.add_argument("--train", action="store_true", help="learn the shipped weights anew")
    options = made.parse_args()
    figures = run(options)
    finish(
        "cochange",
        {**figures, "machine": machine()},
        as_json=options.json,
        lines=json.dumps(figures, indent=2).splitlines(),
    )


if __name__ == "__main__":
    main()
