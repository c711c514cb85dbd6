"""Where in the code something is: files for a request, from their words and from history.

A file speaks through its path, the symbols it defines and its text; and history speaks for it: past
commits whose messages resemble the request vote for the files they touched, recent ones louder,
broad ones softer; files that change along with the best ones, and files worked on just now, are
heard too; so is the meaning of code and changes (`codegraph.meaning`), if there is a model. A hit's
score is the weighted sum of these signals, and it says what spoke for it. Knows neither git nor
the file system.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, inf, log, log1p, sqrt
from posixpath import basename
from typing import Final

import numpy as np

from holdfast.codegraph.code_words import words
from holdfast.codegraph.learner import Table
from holdfast.codegraph.meaning import Likeness, Meaning
from holdfast.codegraph.past import is_test, subject
from holdfast.core.code_texts import CodeTexts, CommitHit, TextHit, Touch
from holdfast.core.records import record
from holdfast.core.text import shorten, stem

VOTERS: Final = 40
"""How many past commits are heard."""
TEXTS: Final = 60
"""How many files are taken for their words."""
RECENT_COMMITS: Final = 15
"""The files of so many last commits are always considered: a request may be one more of a kind."""
VOTES_FADE: Final = 1_500
"""After how many commits a vote has faded to 1/e."""
MAX_REQUEST_CHARS: Final = 20_000
"""A longer request is read this far."""
MAX_QUERY_WORDS: Final = 120
"""Of a longer request, the words it repeats are asked, then the first ones."""
NEAR: Final = 0.45
"""A cosine that is worth telling of."""
_SUBJECT_CHARS: Final = 60
_ALONG: Final = 10
_DOCUMENTS = (".md", ".rst", ".txt")

SIGNALS: Final = (
    "words", "text", "path", "symbols", "votes", "votes in all", "best vote", "often changed",
    "changed lately", "changed just now", "named in full", "about it", "test", "document",
    "changes along", "no vote", "long", "meaning of its code", "meaning of its changes",
)  # fmt: skip
WEIGHTS: Final = (
    1.50, 1.11, 0.68, 0.70, 0.75, 0.93, 0.72, -0.14, 0.77, 0.21, 1.47, 0.26, -0.12, -0.34, 0.23,
    -0.49, -0.08, 2.38, 3.29,
)  # fmt: skip
"""Learned by `bench.localise --train`, but for the symbols, which a history does not tell: set by
hand beside the path. See docs/decisions/code-search.md."""

WITHOUT_HISTORY: Final = (
    1.0, 0.0, 0.0, 0.3, 0.3, 0.0, 0.3, 0.0, 0.0, 0.0, 0.5, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0,
)  # fmt: skip
"""Weights where there are no commits to speak of: words and meaning have to do."""
YOUNG_COMMITS: Final = 50
"""So few commits are no history."""


@record
class Found:
    """A file that may be what was asked for, why, and the past commits that spoke for it."""

    path: str
    score: float
    reasons: tuple[str, ...]
    commits: tuple[str, ...] = ()


@record
class Evidence:
    """Everything known about the candidates of one request: one row of signals for each."""

    paths: tuple[str, ...]
    table: Table
    votes: dict[str, list[CommitHit]]


NOTHING: Final = Evidence((), np.zeros((0, len(SIGNALS))), {})


class Finder:
    """Finds files of one tree."""

    def __init__(
        self,
        texts: CodeTexts,
        tree: str,
        *,
        meaning: Meaning | None = None,
        weights: Sequence[float] = WEIGHTS,
    ) -> None:
        self._texts = texts
        self._tree = tree
        self._meaning = meaning
        self._weights = weights

    def find(self, request: str, *, limit: int = 10) -> list[Found]:
        """The files likeliest to be meant, best first; nothing when no word of it is known."""
        evidence = self.evidence(request)
        if not evidence.paths:
            return []
        scores = evidence.table @ np.array(self._weights_now())
        order: list[int] = np.argsort(-scores, kind="stable")[:limit].tolist()
        return [_found(evidence, row, round(float(scores[row]), 3)) for row in order]

    def evidence(self, request: str) -> Evidence:
        """The candidates of a request with their signals."""
        request = request[:MAX_REQUEST_CHARS]
        asked = [word for word, _ in Counter(words(request)).most_common(MAX_QUERY_WORDS)]
        if not asked:
            return NOTHING
        hits = {h.path: h for h in self._texts.search_texts(self._tree, asked, limit=TEXTS)}
        commits = self._texts.search_commits(self._tree, asked, limit=VOTERS)
        ballot = _Ballot(commits, self._now())
        along = self._along_with(hits, ballot)
        if not hits and not commits:
            return NOTHING
        recent = self._texts.recent(self._tree, commits=RECENT_COMMITS)
        paths = sorted({*hits, *ballot.best(TEXTS), *along, *recent})
        known = self._texts.text_stamps(self._tree)
        paths = [path for path in paths if path in known]
        touches = self._texts.touches(self._tree, paths)
        row = _Row(
            request,
            frozenset(asked),
            hits=hits,
            ballot=ballot,
            along=along,
            near=self._near(request, {path: known[path] for path in paths}, touches),
            now=self._now(),
        )
        table = np.array([row.signals(path, touches.get(path)) for path in paths], dtype=np.float64)
        return Evidence(tuple(paths), table.reshape(len(paths), len(SIGNALS)), ballot.by_file)

    def _near(
        self, request: str, stamps: Mapping[str, str], touches: Mapping[str, Touch]
    ) -> Mapping[str, Likeness]:
        return self._meaning.likeness(request, stamps, touches) if self._meaning else {}

    def _weights_now(self) -> Sequence[float]:
        return self._weights if self._now() >= YOUNG_COMMITS else WITHOUT_HISTORY

    def _now(self) -> int:
        last = self._texts.last_commit(self._tree)
        return last.order if last else 0

    def _along_with(self, hits: dict[str, TextHit], ballot: _Ballot) -> dict[str, float]:
        """Files that change along with the best by words and the best by votes."""
        gathered: dict[str, float] = defaultdict(float)
        for path in dict.fromkeys([*ballot.best(3), *list(hits)[:2]]):
            for other in self._texts.together(self._tree, path, limit=_ALONG):
                gathered[other.path] += other.share
        return dict(sorted(gathered.items(), key=lambda pair: (-pair[1], pair[0]))[:15])


class _Ballot:
    """The votes of past commits for the files they touched."""

    def __init__(self, commits: Sequence[CommitHit], now: int) -> None:
        self.votes: dict[str, float] = defaultdict(float)
        self.strongest: dict[str, float] = defaultdict(float)
        self.by_file: dict[str, list[CommitHit]] = defaultdict(list)
        best = commits[0].score if commits else 1.0
        for commit in commits:
            share = commit.score / best if best > 0 else 0.0
            breadth = sqrt(len(commit.files) or 1)
            for path in commit.files:
                self.votes[path] += share**2 * exp((commit.order - now) / VOTES_FADE) / breadth
                self.strongest[path] = max(self.strongest[path], share / breadth)
                self.by_file[path].append(commit)

    def best(self, limit: int) -> list[str]:
        """The files with the most votes."""
        return sorted(self.votes, key=lambda path: (-self.votes[path], path))[:limit]


class _Row:
    """The signals of one request's candidates, in the order of `SIGNALS`."""

    def __init__(
        self,
        request: str,
        asked: frozenset[str],
        *,
        hits: dict[str, TextHit],
        ballot: _Ballot,
        along: dict[str, float],
        near: Mapping[str, Likeness],
        now: int,
    ) -> None:
        self._request = request.lower()
        self._asked = asked
        self._hits = hits
        self._ballot = ballot
        self._along = along
        self._near = near
        self._now = now
        self._most = {
            part: max((score(hit) for hit in hits.values()), default=0.0) or 1.0
            for part, score in _PARTS.items()
        }
        self._most_votes = max(ballot.votes.values(), default=0.0) or 1.0

    def signals(self, path: str, touch: Touch | None) -> list[float]:
        """One candidate's signals."""
        hit, lower = self._hits.get(path), path.lower()
        votes = self._ballot.votes.get(path, 0.0)
        ago = self._now - touch.last_order if touch else inf
        named = basename(lower) in self._request
        near = self._near.get(path, _FAR)
        return [
            *(score(hit) / self._most[p] if hit else 0.0 for p, score in _PARTS.items()),
            votes / self._most_votes,
            log1p(votes),
            self._ballot.strongest.get(path, 0.0),
            log1p(touch.times if touch else 0),
            exp(-ago / 20),
            exp(-ago / 3),
            float(named),
            float(stem(subject(path)) in self._asked),
            float(is_test(path)),
            float(lower.endswith(_DOCUMENTS)),
            self._along.get(path, 0.0),
            float(votes == 0),
            log(10 + (hit.body_length if hit else 0)) / 10,
            near.code,
            near.said,
        ]


_FAR: Final = Likeness()
_PARTS: Final[dict[str, Callable[[TextHit], float]]] = {
    "words": lambda hit: hit.score,
    "text": lambda hit: hit.body_score,
    "path": lambda hit: hit.path_score,
    "symbols": lambda hit: hit.symbol_score,
}


def _found(evidence: Evidence, row: int, score: float) -> Found:
    path = evidence.paths[row]
    voters = evidence.votes.get(path, [])
    reasons = tuple(_reasons(evidence.table[row].tolist(), voters))
    return Found(path, score, reasons, tuple(hit.sha for hit in voters[:3]))


def _reasons(signals: Sequence[float], voters: Sequence[CommitHit]) -> Iterable[str]:
    named = dict(zip(SIGNALS, signals, strict=True))
    if named["named in full"]:
        yield "named in the request"
    if named["words"] > 0.3:
        yield "its words match"
    if named["symbols"] > 0.5:
        yield "defines what is named"
    if named["votes"] > 0.2:
        yield "touched by similar commits"
        yield f'as in {voters[0].sha[:8]} "{shorten(voters[0].subject, limit=_SUBJECT_CHARS)}"'
    if named["meaning of its code"] > NEAR:
        yield "its code is about such things"
    if named["meaning of its changes"] > NEAR:
        yield "was changed for such things"
    if named["changes along"] > 0.2:
        yield "changes along with likely files"
    if named["changed just now"] > 0.3:
        yield "worked on just now"
