"""Which files a change is about, from what people say of it.

    python -m bench.localise --repo PATH [--repo PATH …] [--queries FILE] [--json] [--train]

Walks a repository's history from the oldest commit on. Each commit of the last fifth that changes
one to ten files is asked by its message, before it is taken in: is one of the files it changed
(and that were there before) among the first five? Files are known as they were at that moment.
Plain BM25 over path and content is measured in the same run on the same questions.

`--queries FILE` asks other texts instead, such as real issues: a line of JSON each, {"query": "…",
"files": ["path", …]}, or nearly any other form (see `bench.queries`). Each is asked in the state
of its `base_commit`, else in the newest, and nothing that came later is known then. A query that
names an unknown commit, or no file of that state, or says nothing, cannot be asked: it is counted
apart. `all_at_1` and `all_at_5`: every right file is among the first. With `functions`, or with a
`patch` that changes some, those are looked for as well; the peer is BM25 over the functions of its
five files. `bench/data/code_questions.jsonl` holds questions as people ask them: flask and gin are
for development, requests and the framework of Laravel are only measured.

With `--train`, weights are learned from the first four fifths of all repositories, and for each
repository from the others alone ("left out").
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from numpy.typing import NDArray

from bench.functions import FunctionBm25, changed_functions, is_named
from bench.queries import Query, read_queries
from bench.report import finish, machine, parser, say
from bench.states import TREE, Blobs, State, Words, commit_named, depth, files_of
from wellkept.core.codec import Json
from wellkept.graph.history.co_change import OnlineRanker, Table
from wellkept.graph.history.commits import ChangeStatus, FileNumbers, PastCommit
from wellkept.graph.history.git_log import read_past
from wellkept.graph.index.file_kind import file_kind
from wellkept.graph.search.file_search import (
    SET_BY_HAND,
    SIGNALS,
    WEIGHTS,
    CandidateSignals,
    FileSearch,
)
from wellkept.graph.search.term_index import TermIndex, words

TOP = 5
LATE = 0.8
WARM_UP = 0.3
MOST_FILES = 10
EPOCHS = 5

Choice = tuple[Table, NDArray[np.bool_]]


class Walk:
    """One repository while its history goes by: what the finder knows at each moment."""

    def __init__(self, repo: Path, folder: Path, weights: Sequence[float]) -> None:
        self._blobs = Blobs(repo)
        self.words = Words(folder)
        self._files = FileNumbers()
        self._book = TermIndex(self.words.texts, TREE, root=repo)
        self.finder = self.words.finder(weights)

    def existing(self, commit: PastCommit) -> set[str]:
        """The files of a commit that are there before it."""
        return {c.old for c in commit.changes if self._files.number(c.old) is not None}

    def take(self, commit: PastCommit) -> None:
        """Go on to the state after a commit."""
        self._files.follow(commit)
        self._book.add_commits([commit])
        gone = (ChangeStatus.DELETED, ChangeStatus.RENAMED)
        self.words.drop([c.old for c in commit.changes if c.status in gone])
        there = [c.new for c in commit.changes if c.status is not ChangeStatus.DELETED]
        bodies = {path: self._blobs.text(commit.sha, path) for path in there}
        self.words.put(bodies, stamp=commit.sha)

    def close(self) -> None:
        """Let go of the file and the process."""
        self.words.texts.close()
        self._blobs.close()


def questions(
    commits: Sequence[PastCommit], walk: Walk, *, first: float
) -> Iterator[tuple[int, str, set[str]]]:
    """Walk a history; at each commit worth asking about, its place, message and files."""
    for place, commit in enumerate(commits):
        files = walk.existing(commit)
        asked = place >= first * len(commits) and 0 < len(commit.changes) <= MOST_FILES
        if asked and files and words(commit.message_text):
            yield place, commit.message_text, files
        walk.take(commit)


class Tally:
    """How often ours and BM25 named a right file among the first ones, or all of them."""

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()
        self._seconds = 0.0

    def ask(
        self,
        request: str,
        files: Set[str],
        *,
        words: Words,
        finder: FileSearch,
        functions: Set[str] = frozenset(),
    ) -> None:
        """One question to both."""
        before = process_time()
        found = finder.find(request, limit=TOP)
        self._seconds += process_time() - before
        named = [file.path for file in found]
        if functions:
            symbols = sorted((s for f in found for s in f.symbols), key=lambda s: -s.score)
            plain = FunctionBm25(words.by_bm25(request, limit=TOP), words.body)
            self._count_functions("ours", [s.id for s in symbols], functions)
            self._count_functions("bm25", plain.search(request, limit=TOP), functions)
            self.hits["functions"] += 1
        self._count("ours", named, files)
        self._count("bm25", words.by_bm25(request, limit=TOP), files)
        self.hits["asked"] += 1
        if named and named[0] not in files:
            self.hits[f"first: {file_kind(named[0])}"] += 1

    def add(self, other: Tally) -> None:
        """Count what another counted."""
        self.hits.update(other.hits)
        self._seconds += other._seconds

    def _count_functions(self, who: str, named: Sequence[str], wanted: Set[str]) -> None:
        for top in (1, TOP):
            self.hits[f"{who} function@{top}"] += is_named(named, wanted, top=top)

    def _count(self, who: str, named: Sequence[str], files: Set[str]) -> None:
        self.hits[who] += bool(files & set(named))
        self.hits[f"{who} first"] += bool(files & set(named[:1]))
        self.hits[f"{who} all@1"] += files <= set(named[:1])
        self.hits[f"{who} all@5"] += files <= set(named)

    def figures(self, *, commits: int) -> dict[str, Json]:
        """Percentages, and what a question costs."""
        asked = self.hits["asked"] or 1
        ours, bm25 = 100 * self.hits["ours"] / asked, 100 * self.hits["bm25"] / asked
        return {
            "commits": commits,
            "questions": self.hits["asked"],
            "acc_at_1": round(100 * self.hits["ours first"] / asked, 1),
            "bm25_acc_at_1": round(100 * self.hits["bm25 first"] / asked, 1),
            "acc_at_5": round(ours, 1),
            "bm25_acc_at_5": round(bm25, 1),
            "better_by": round(ours - bm25, 1),
            **{
                f"{who}_all_at_{top}": round(100 * self.hits[f"{who} all@{top}"] / asked, 1)
                for who in ("ours", "bm25")
                for top in (1, TOP)
            },
            "function_questions": self.hits["functions"],
            **{
                f"{who}_function_at_{top}": round(
                    100 * self.hits[f"{who} function@{top}"] / (self.hits["functions"] or 1), 1
                )
                for who in ("ours", "bm25")
                for top in (1, TOP)
            },
            "wrong_first_by_kind": {
                name.removeprefix("first: "): count
                for name, count in sorted(self.hits.items())
                if name.startswith("first: ")
            },
            "cpu_ms_each": round(1000 * self._seconds / asked, 2),
        }


def measured(
    repo: Path, commits: Sequence[PastCommit], weights: Sequence[float]
) -> dict[str, Json]:
    """Ours and BM25 on one history."""
    tally = Tally()
    with TemporaryDirectory() as folder:
        walk = Walk(repo, Path(folder), weights)
        for _, request, files in questions(commits, walk, first=LATE):
            tally.ask(request, files, words=walk.words, finder=walk.finder)
        walk.close()
    return tally.figures(commits=len(commits))


def answered(repo: Path, queries: Sequence[Query], total: Tally | None = None) -> dict[str, Json]:
    """Given texts, each in its state, from the oldest to the newest; `total` counts them too."""
    tally = Tally()
    state = State(repo)
    for sha, asked in _by_state(repo, queries, tally.hits):
        state.go_to(sha)
        for query in asked:
            files = (query.files or files_of(repo, query.commit or "")) & state.files.keys()
            if not query.text:
                tally.hits["no_text"] += 1
            elif not files:
                tally.hits["no_file"] += 1
            else:
                functions = query.functions or changed_functions(query.patch, state.words.body)
                tally.ask(
                    query.text,
                    files,
                    words=state.words,
                    finder=state.finder,
                    functions=functions,
                )
    commits = state.commits
    state.close()
    if total is not None:
        total.add(tally)
    return {
        **tally.figures(commits=commits),
        "skipped_unknown_commit": tally.hits["unknown_commit"],
        "skipped_no_such_file": tally.hits["no_file"],
        "skipped_no_text": tally.hits["no_text"],
    }


def _by_state(
    repo: Path, queries: Sequence[Query], hits: Counter[str]
) -> Iterator[tuple[str, list[Query]]]:
    """The queries of each state, the one with the shortest history first."""
    states: dict[str, list[Query]] = {}
    for query in queries:
        name = query.base or (f"{query.commit}^" if query.commit else "HEAD")
        sha = commit_named(repo, name)
        if sha is None:
            hits["unknown_commit"] += 1
        else:
            states.setdefault(sha, []).append(query)
    for sha in sorted(states, key=lambda sha: (depth(repo, sha), sha)):
        yield sha, states[sha]


# -- Training -------------------------------------------------------------------------------------


def choices_of(repo: Path, commits: Sequence[PastCommit]) -> list[Choice]:
    """What there was to choose from in the first four fifths, after three tenths to warm up."""
    made: list[Choice] = []
    early = commits[: int(LATE * len(commits))]
    with TemporaryDirectory() as folder:
        walk = Walk(repo, Path(folder), WEIGHTS)
        for place, request, files in questions(early, walk, first=WARM_UP):
            if place % 2:
                made.append(_choice(walk.finder.candidates(request), files))
        walk.close()
    return made


def _choice(candidates: CandidateSignals, files: set[str]) -> Choice:
    return candidates.table, np.array([path in files for path in candidates.paths], dtype=np.bool_)


def trained(choices: Sequence[Choice]) -> tuple[float, ...]:
    """Weights from choices in random order, several times over; those set by hand stay."""
    learned = np.array([name not in SET_BY_HAND for name in SIGNALS])
    rng = np.random.default_rng(0)
    learner = OnlineRanker([0.0] * len(SIGNALS), pull_back=1e-4, caution=1e-6)
    for _ in range(EPOCHS):
        for place in map(int, rng.permutation(len(choices))):
            table, right = choices[place]
            learner.learn(table * learned, right)
    weights = np.where(learned, learner.weights, WEIGHTS)
    return tuple(round(weight, 2) for weight in weights.tolist())


def run(options: Namespace) -> dict[str, Json]:
    """Figures of every repository."""
    if options.queries:
        total = Tally()
        figures: dict[str, Json] = {}
        for path in options.repo:
            say(f"asking about {path}")
            queries = read_queries(options.queries, repo=path)
            figures["/".join(path.parts[-2:])] = answered(path, queries, total)
        return {**figures, "all": total.figures(commits=0)}
    past = {path: commits for path in options.repo if (commits := _read(path))}
    if not options.train:
        return {path.name: measured(path, c, WEIGHTS) for path, c in past.items()}
    choices = {path: choices_of(path, commits) for path, commits in past.items()}
    left_out: dict[str, Json] = {}
    for path, commits in past.items():
        say(f"training without {path.name}")
        others = [choice for other in past if other != path for choice in choices[other]]
        left_out[path.name] = measured(path, commits, trained(others))
    weights = trained([choice for one in choices.values() for choice in one])
    return {"left_out": left_out, "weights": list(weights)}


def _read(path: Path) -> list[PastCommit]:
    commits = read_past(path, limit=1_000_000)
    if not commits:
        raise SystemExit(f"{path} has no history that git can read: give a repository's folder.")
    say(f"{path}: {len(commits)} commits")
    return commits


def main() -> None:
    """Measure, print, keep."""
    made = parser(__doc__)
    made.add_argument("--repo", type=Path, action="append", required=True)
    made.add_argument("--queries", type=Path, help="texts with their files, as in bench.queries")
    made.add_argument("--train", action="store_true", help="learn the shipped weights anew")
    options = made.parse_args()
    figures = run(options)
    finish(
        "localise",
        {"repositories": figures, "machine": machine()},
        as_json=options.json,
        lines=json.dumps(figures, indent=2).splitlines(),
    )


if __name__ == "__main__":
    main()
