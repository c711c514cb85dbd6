"""Where in the code something is: files for a request, from their words and from history.

A file speaks through its path, the symbols it defines and its text; and history speaks for it: past
commits whose messages resemble the request vote for the files they touched, recent ones louder,
broad ones softer; files that change along with the best ones, and files worked on just now, are
heard too; so is the meaning of code and changes (`codegraph.meaning`), if there is a model. The
whole request is asked, and its first line once more. A hit's score is the weighted sum of these
signals, and it says what spoke for it. Knows neither git nor the file system.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import exp, inf, log, log1p, sqrt
from posixpath import basename
from typing import Final

import numpy as np

from wellkept.codegraph.history.commits import is_test, subject
from wellkept.codegraph.online_ranker import Table
from wellkept.codegraph.search.embeddings import CodeEmbeddings, EmbeddingScores
from wellkept.codegraph.search.tokens import words
from wellkept.core.ports.code_search import CodeSearchStore, CommitCount, CommitHit, TextHit
from wellkept.core.records import record
from wellkept.core.text import shorten, stem

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
FEW_WORDS: Final = 4
"""A request of about so many words says little: what was worked on last counts more then."""
SHORT_REPORT, LONG_REPORT = 20, 80
"""A request of more words than the first is taken for a report, of the second surely: it wants the
code that is to be mended rather than a test or a document."""
_SUBJECT_CHARS: Final = 60
_ALONG: Final = 10
_DOCUMENTS = (".md", ".rst", ".txt")
_FILE_NAME = re.compile(r"[\w./-]*\w")
_NO_HEADLINE = re.compile(r"[#>|`~<]|\*\*|[-*] \[")

SIGNALS: Final = (
    "words", "text", "path", "symbols", "votes", "votes in all", "best vote", "about it",
    "changes along", "no vote", "long", "meaning of its code", "meaning of its changes",
    "often changed", "changed lately", "changed just now", "named in full", "test", "document",
    "changed lately, few words", "changed just now, few words", "test, many words",
    "document, many words",
)  # fmt: skip
WEIGHTS: Final = (
    1.52, 1.14, 1.02, 0.70, 0.71, 0.68, 0.99, 0.21, 0.04, -0.48, -0.98, 2.03, 3.24,
    -0.01, 0.51, 0.42, 1.98, -0.03, -0.03, 1.41, 1.61, -1.50, -1.50,
)  # fmt: skip
"""Learned by `bench.localise --train`, but for those `SET_BY_HAND`."""
SET_BY_HAND: Final = frozenset({"symbols", "test, many words", "document, many words"})
"""What a history does not tell: symbols count beside the path, and a report wants code. See
docs/decisions/code-search.md."""

WITHOUT_HISTORY: Final = (
    1.0, 0.0, 0.0, 0.3, 0.3, 0.0, 0.3, 0.3, 0.0, 0.0, 0.0, 1.0, 0.0,
    0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, -0.5, -0.5,
)  # fmt: skip
"""Weights where there are no commits to speak of: words and meaning have to do."""
YOUNG_COMMITS: Final = 50
"""So few commits are no history."""


@record
class FoundFile:
    """A file that may be what was asked for, why, and the past commits that spoke for it."""

    path: str
    score: float
    reasons: tuple[str, ...]
    commits: tuple[str, ...] = ()


@record
class CandidateSignals:
    """Everything known about the candidates of one request: one row of signals for each."""

    paths: tuple[str, ...]
    table: Table
    votes: dict[str, list[CommitHit]]


NOTHING: Final = CandidateSignals((), np.zeros((0, len(SIGNALS))), {})


class FileSearch:
    """Finds files of one tree."""

    def __init__(
        self,
        texts: CodeSearchStore,
        tree: str,
        *,
        meaning: CodeEmbeddings | None = None,
        weights: Sequence[float] = WEIGHTS,
    ) -> None:
        self._texts = texts
        self._tree = tree
        self._meaning = meaning
        self._weights = weights

    def find(self, request: str, *, limit: int = 10) -> list[FoundFile]:
        """The files likeliest to be meant, best first; nothing when no word of it is known."""
        evidence = self.evidence(request)
        if not evidence.paths:
            return []
        scores = evidence.table @ np.array(self._weights_now())
        order: list[int] = np.argsort(-scores, kind="stable")[:limit].tolist()
        return [_found(evidence, row, round(float(scores[row]), 3)) for row in order]

    def evidence(self, request: str) -> CandidateSignals:
        """The candidates of a request with their signals.

        The whole request and its first line are asked, and what is said to either counts alike: a
        title says in few words what the rest is about.
        """
        request = request.strip()[:MAX_REQUEST_CHARS]
        now = self._now()
        asked = [text for text in dict.fromkeys((request, headline(request))) if words(text)]
        voices = [self._voices(text, now) for text in asked]
        if not any(heard.hits or heard.ballot.votes for heard in voices):
            return NOTHING
        recent_files = self._texts.recent_files(self._tree, commits=RECENT_COMMITS)
        known = self._texts.text_stamps(self._tree)
        named = {*recent_files, *(path for heard in voices for path in heard.candidates())}
        stamps = {path: known[path] for path in sorted(named & known.keys())}
        if not stamps:
            return NOTHING
        commit_counts = self._texts.commit_counts(self._tree, stamps)
        for heard in voices:
            heard.near = self._near(heard.text, stamps, commit_counts)
        said = np.mean([[heard.signals(path) for path in stamps] for heard in voices], axis=0)
        moment = _Moment(request, stamps, now=now)
        held = np.array([moment.signals(path, commit_counts.get(path)) for path in stamps])
        votes = {p: hits for heard in voices[::-1] for p, hits in heard.ballot.by_file.items()}
        return CandidateSignals(tuple(stamps), np.hstack([said, held]), votes)

    def _voices(self, text: str, now: int) -> _Voices:
        """What words and history say to a text."""
        asked = [word for word, _ in Counter(words(text)).most_common(MAX_QUERY_WORDS)]
        hits = {h.path: h for h in self._texts.search_texts(self._tree, asked, limit=TEXTS)}
        ballot = _Ballot(self._texts.search_commits(self._tree, asked, limit=VOTERS), now)
        along = self._along_with(hits, ballot)
        return _Voices(text, frozenset(asked), hits=hits, ballot=ballot, along=along)

    def _near(
        self, text: str, stamps: Mapping[str, str], commit_counts: Mapping[str, CommitCount]
    ) -> Mapping[str, EmbeddingScores]:
        return self._meaning.likeness(text, stamps, commit_counts) if self._meaning else {}

    def _weights_now(self) -> Sequence[float]:
        return self._weights if self._now() >= YOUNG_COMMITS else WITHOUT_HISTORY

    def _now(self) -> int:
        last = self._texts.last_commit(self._tree)
        return last.order if last else 0

    def _along_with(self, hits: dict[str, TextHit], ballot: _Ballot) -> dict[str, float]:
        """Files that change along with the best by words and the best by votes."""
        gathered: dict[str, float] = defaultdict(float)
        for path in dict.fromkeys([*ballot.best(3), *list(hits)[:2]]):
            for other in self._texts.co_changed(self._tree, path, limit=_ALONG):
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


class _Voices:
    """What is said of candidates to one text: the first of `SIGNALS`."""

    def __init__(
        self,
        text: str,
        asked: frozenset[str],
        *,
        hits: dict[str, TextHit],
        ballot: _Ballot,
        along: dict[str, float],
    ) -> None:
        self.text = text
        self.hits = hits
        self.ballot = ballot
        self.near: Mapping[str, EmbeddingScores] = {}
        self._asked = asked
        self._along = along
        self._most = {
            part: max((score(hit) for hit in hits.values()), default=0.0) or 1.0
            for part, score in _PARTS.items()
        }
        self._most_votes = max(ballot.votes.values(), default=0.0) or 1.0

    def candidates(self) -> Iterable[str]:
        """The files that words, votes or habits name."""
        return chain(self.hits, self.ballot.best(TEXTS), self._along)

    def signals(self, path: str) -> list[float]:
        """What is said of one candidate."""
        hit, votes = self.hits.get(path), self.ballot.votes.get(path, 0.0)
        near = self.near.get(path, _FAR)
        return [
            *(score(hit) / self._most[p] if hit else 0.0 for p, score in _PARTS.items()),
            votes / self._most_votes,
            log1p(votes),
            self.ballot.strongest.get(path, 0.0),
            float(stem(subject(path)) in self._asked),
            self._along.get(path, 0.0),
            float(votes == 0),
            log(10 + (hit.body_length if hit else 0)) / 10,
            near.code,
            near.said,
        ]


class _Moment:
    """What holds of candidates when a request comes: the rest of `SIGNALS`."""

    def __init__(self, request: str, paths: Iterable[str], *, now: int) -> None:
        self._named = file_names(request)
        self._alike = Counter(basename(path).lower() for path in paths)
        self._now = now
        count = len(set(words(request)))
        self._few = exp(-count / FEW_WORDS)
        self._many = min(1.0, max(0.0, (count - SHORT_REPORT) / (LONG_REPORT - SHORT_REPORT)))

    def signals(self, path: str, touch: CommitCount | None) -> list[float]:
        """What holds of one candidate."""
        ago = self._now - touch.last_order if touch else inf
        lately, just_now = exp(-ago / 20), exp(-ago / 3)
        test, document = float(is_test(path)), float(path.lower().endswith(_DOCUMENTS))
        return [
            log1p(touch.times if touch else 0),
            lately,
            just_now,
            self._naming(path.lower()),
            test,
            document,
            lately * self._few,
            just_now * self._few,
            test * self._many,
            document * self._many,
        ]

    def _naming(self, path: str) -> float:
        """How surely the request names a file: a name that several share may mean any of them."""
        name = basename(path)
        if name not in self._named:
            return 0.0
        with_folder = "/".join(path.split("/")[-2:])
        return 1.0 if with_folder in self._named else 1 / self._alike[name]


def file_names(request: str) -> frozenset[str]:
    """Whatever in a request may be the name of a file, alone and with the folder before it."""
    found = (path.split("/") for path in _FILE_NAME.findall(request.lower().replace("\\", "/")))
    return frozenset("/".join(parts[-count:]) for parts in found for count in (1, 2))


def headline(request: str) -> str:
    """The first line of a request that says something, past headings of a form to fill in."""
    lines = (line.strip() for line in request.splitlines())
    return next((ln for ln in lines if words(ln) and not _NO_HEADLINE.match(ln)), request)


_FAR: Final = EmbeddingScores()
_PARTS: Final[dict[str, Callable[[TextHit], float]]] = {
    "words": lambda hit: hit.score,
    "text": lambda hit: hit.body_score,
    "path": lambda hit: hit.path_score,
    "symbols": lambda hit: hit.symbol_score,
}


def _found(evidence: CandidateSignals, row: int, score: float) -> FoundFile:
    path = evidence.paths[row]
    voters = evidence.votes.get(path, [])
    reasons = tuple(_reasons(evidence.table[row].tolist(), voters))
    return FoundFile(path, score, reasons, tuple(hit.sha for hit in voters[:3]))


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
