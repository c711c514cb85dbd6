"""Ranks files for a request, by terms, history and embeddings.

Signals of a candidate: BM25 of its path, symbols and text; votes of past commits with similar
messages (recent ones weigh more, large ones less); co-change with the best files; recent activity;
and semantic similarity, if there is a model. The whole request and its first line are searched. The
score is the weighted sum of the signals, and each hit carries its reasons.
Does not know git or the file system.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import exp, log, log1p, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wellkept.core.ports.code_search import CodeSearchStore, CommitCount, CommitHit, TextHit
from wellkept.core.records import record, replace
from wellkept.core.text import shorten, stem
from wellkept.graph.history.commits import subject
from wellkept.graph.index.file_kind import FileKind, asked_kinds, file_kind
from wellkept.graph.search.embeddings import CodeEmbeddings, EmbeddingScores, ReadText
from wellkept.graph.search.request_signals import (
    QuotedCode,
    RequestLength,
    RequestSignals,
    files_asked_for,
    headline,
    is_short_question,
    with_short_forms,
    without_question_word,
)
from wellkept.graph.search.symbol_search import (
    FoundSymbol,
    best_by_file,
    find_symbols,
    read_symbols,
)
from wellkept.graph.search.term_index import words

MAX_VOTERS: Final = 40
"""Similar commits that vote."""
MAX_TEXT_HITS: Final = 60
"""Candidates by terms, and by votes."""
RECENT_COMMITS: Final = 15
"""Files of the last commits are always candidates: a request may continue that work."""
VOTE_DECAY_COMMITS: Final = 1_500
"""Commits after which a vote has decayed to 1/e."""
MAX_REQUEST_CHARS: Final = 20_000
"""Longer requests are cut here."""
MAX_QUERY_WORDS: Final = 120
"""Longer requests use their most frequent words, then the first ones."""
SIMILAR: Final = 0.45
"""Cosine that is given as a reason."""
MAX_PARSED_FILES: Final = 12
"""Files of a result whose symbols are searched."""
SYMBOL_WEIGHT: Final = 2.2
"""What the best symbol of a file adds to the score of a report; less to other requests."""
QUOTED_LEAST: Final = 0.5
"""How much of what a request quotes counts, if it is no report."""
SYMBOLS_PER_FILE: Final = 3
SYMBOL_SHARE: Final = 0.4
"""Symbols below this share of the best one's score are left out."""
_MAX_SYMBOLS: Final = 60
_SUBJECT_CHARS: Final = 60
_MAX_CO_CHANGED: Final = 10

SIGNALS: Final = (
    "words", "text", "path", "symbols", "votes", "total votes", "best vote", "subject match",
    "co-change", "no vote", "length", "code similarity", "history similarity",
    "change count", "changed lately", "changed just now", "named in request", "test", "document",
    "changed lately, few words", "changed just now, few words", "test, unasked",
    "document, unasked", "beside the code, unasked", "kind asked for",
    "changed lately, report", "changed just now, report", "code similarity, report",
)  # fmt: skip
WEIGHTS: Final = (
    1.52, 1.14, 1.02, 0.70, 0.71, 0.68, 0.99, 0.21, 0.04, -0.48, -0.98, 2.03, 3.24,
    -0.01, 0.51, 0.42, 1.98, -0.03, -0.03, 1.41, 1.61, -2.50, -2.50, -3.00, 0.80,
    -0.25, -0.30, 1.00,
)  # fmt: skip
"""Learned by `bench.localise --train`, except `SET_BY_HAND`."""
SET_BY_HAND: Final = frozenset(
    {
        "symbols", "test, unasked", "document, unasked", "beside the code, unasked",
        "kind asked for", "changed lately, report", "changed just now, report",
        "code similarity, report",
    }
)  # fmt: skip
"""Signals that commit history cannot teach. See docs/decisions/code-search.md."""

WITHOUT_HISTORY: Final = (
    1.0, 0.0, 0.0, 0.3, 0.3, 0.0, 0.3, 0.3, 0.0, 0.0, 0.0, 1.0, 0.0,
    0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, -0.5, -0.5, -1.2, 0.4,
    0.0, 0.0, 0.0,
)  # fmt: skip
"""Weights for a repository with few commits: terms and embeddings decide."""
YOUNG_COMMITS: Final = 50
"""Fewer commits count as no history."""


@record
class FoundFile:
    """A search result: the file, its score, the reasons, the commits that voted for it, and its
    functions and classes that the request may be about, if they were asked for."""

    path: str
    score: float
    reasons: tuple[str, ...]
    commits: tuple[str, ...] = ()
    symbols: tuple[FoundSymbol, ...] = ()


@record
class CandidateSignals:
    """Candidates of one request: a row of `SIGNALS` for each path, and the voting commits."""

    paths: tuple[str, ...]
    table: NDArray[np.float64]
    votes: dict[str, list[CommitHit]]


_NO_CANDIDATES: Final = CandidateSignals((), np.zeros((0, len(SIGNALS))), {})


class FileSearch:
    """Searches the files of one tree. With `read`, the symbols of the best files count too, and
    are part of the result."""

    def __init__(
        self,
        texts: CodeSearchStore,
        tree: str,
        *,
        embeddings: CodeEmbeddings | None = None,
        read: ReadText | None = None,
        weights: Sequence[float] = WEIGHTS,
    ) -> None:
        self._texts = texts
        self._tree = tree
        self._embeddings = embeddings
        self._read = read
        self._weights = weights

    def find(self, request: str, *, limit: int = 10) -> list[FoundFile]:
        """The most likely files, best first; none if no term of the request is known."""
        candidates = self.candidates(request)
        if not candidates.paths:
            return []
        scores = candidates.table @ np.array(self._current_weights())
        first = max(limit, MAX_PARSED_FILES)
        order: list[int] = np.argsort(-scores, kind="stable")[:first].tolist()
        files = [_found(candidates, row, round(float(scores[row]), 3)) for row in order]
        if self._read is not None:
            files = _with_symbols(request, files, self._read, self._embeddings)
        return files[:limit]

    def candidates(self, request: str) -> CandidateSignals:
        """The candidates of a request with their signals.

        The whole request and its first line count equally: a title summarises the rest.
        """
        request = request.strip()[:MAX_REQUEST_CHARS]
        now = self._now()
        texts = [text for text in dict.fromkeys((request, headline(request))) if words(text)]
        searches = [self._search(text, now) for text in texts]
        known = self._texts.text_stamps(self._tree)
        of_kind = files_asked_for(request, known)[:MAX_TEXT_HITS]
        found = of_kind or any(search.hits or search.votes.totals for search in searches)
        if not searches or not found:
            return _NO_CANDIDATES
        recent = self._texts.recent_files(self._tree, commits=RECENT_COMMITS)
        named = {*recent, *of_kind, *(p for search in searches for p in search.candidates())}
        stamps = {path: known[path] for path in sorted(named & known.keys())}
        if not stamps:
            return _NO_CANDIDATES
        counts = self._texts.commit_counts(self._tree, stamps)
        for search in searches:
            search.similarity = self._similarity(search.text, stamps, counts)
        by_text = np.mean(
            [[search.signals(path) for path in stamps] for search in searches], axis=0
        )
        by_request = RequestSignals(request, stamps, now=now)
        similar = by_text[:, SIGNALS.index("code similarity")]
        rest = np.array(
            [
                by_request.signals(path, counts.get(path), similarity=float(similarity))
                for path, similarity in zip(stamps, similar, strict=True)
            ]
        )
        votes = {p: hits for search in searches[::-1] for p, hits in search.votes.by_file.items()}
        return CandidateSignals(tuple(stamps), np.hstack([by_text, rest]), votes)

    def _search(self, text: str, now: int) -> _TextSearch:
        counts = Counter(words(without_question_word(text)))
        terms = [word for word, _ in counts.most_common(MAX_QUERY_WORDS)]
        if is_short_question(text):
            terms = with_short_forms(terms)
        found = self._texts.search_texts(self._tree, terms, limit=MAX_TEXT_HITS)
        hits = {hit.path: hit for hit in found}
        votes = _Votes(self._texts.search_commits(self._tree, terms, limit=MAX_VOTERS), now)
        co_changed = self._co_changed(hits, votes)
        return _TextSearch(text, frozenset(terms), hits=hits, votes=votes, co_changed=co_changed)

    def _similarity(
        self, text: str, stamps: Mapping[str, str], counts: Mapping[str, CommitCount]
    ) -> Mapping[str, EmbeddingScores]:
        return self._embeddings.scores(text, stamps, counts) if self._embeddings else {}

    def _current_weights(self) -> Sequence[float]:
        return self._weights if self._now() >= YOUNG_COMMITS else WITHOUT_HISTORY

    def _now(self) -> int:
        last = self._texts.last_commit(self._tree)
        return last.order if last else 0

    def _co_changed(self, hits: dict[str, TextHit], votes: _Votes) -> dict[str, float]:
        """Files that change with the best files by terms and by votes."""
        shares: dict[str, float] = defaultdict(float)
        for path in dict.fromkeys([*votes.best(3), *list(hits)[:2]]):
            for other in self._texts.co_changed(self._tree, path, limit=_MAX_CO_CHANGED):
                shares[other.path] += other.share
        return dict(sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))[:15])


class _Votes:
    """Votes of similar commits for the files they changed."""

    def __init__(self, commits: Sequence[CommitHit], now: int) -> None:
        self.totals: dict[str, float] = defaultdict(float)
        self.strongest: dict[str, float] = defaultdict(float)
        self.by_file: dict[str, list[CommitHit]] = defaultdict(list)
        best = commits[0].score if commits else 1.0
        for commit in commits:
            share = commit.score / best if best > 0 else 0.0
            breadth = sqrt(len(commit.files) or 1)
            decay = exp((commit.order - now) / VOTE_DECAY_COMMITS)
            for path in commit.files:
                self.totals[path] += share**2 * decay / breadth
                self.strongest[path] = max(self.strongest[path], share / breadth)
                self.by_file[path].append(commit)

    def best(self, limit: int) -> list[str]:
        """The files with the most votes."""
        return sorted(self.totals, key=lambda path: (-self.totals[path], path))[:limit]


class _TextSearch:
    """Search results for one text, and the first part of `SIGNALS`."""

    def __init__(
        self,
        text: str,
        terms: frozenset[str],
        *,
        hits: dict[str, TextHit],
        votes: _Votes,
        co_changed: dict[str, float],
    ) -> None:
        self.text = text
        self.hits = hits
        self.votes = votes
        self.similarity: Mapping[str, EmbeddingScores] = {}
        self._terms = terms
        self._co_changed = co_changed
        self._max_scores = {
            part: max((score(hit) for hit in hits.values()), default=0.0) or 1.0
            for part, score in _PARTS.items()
        }
        self._max_votes = max(votes.totals.values(), default=0.0) or 1.0

    def candidates(self) -> Iterable[str]:
        """Files named by terms, votes or co-change."""
        return chain(self.hits, self.votes.best(MAX_TEXT_HITS), self._co_changed)

    def signals(self, path: str) -> list[float]:
        """The signals of one candidate."""
        hit, votes = self.hits.get(path), self.votes.totals.get(path, 0.0)
        similarity = self.similarity.get(path, _DISSIMILAR)
        return [
            *(score(hit) / self._max_scores[p] if hit else 0.0 for p, score in _PARTS.items()),
            votes / self._max_votes,
            log1p(votes),
            self.votes.strongest.get(path, 0.0),
            float(stem(subject(path)) in self._terms),
            self._co_changed.get(path, 0.0),
            float(votes == 0),
            log(10 + (hit.body_length if hit else 0)) / 10,
            similarity.code,
            similarity.history,
        ]


def _with_symbols(
    request: str, files: list[FoundFile], read: ReadText, embeddings: CodeEmbeddings | None
) -> list[FoundFile]:
    """Files with their likeliest symbols, ranked anew by them and by what the request quotes."""
    request = request.strip()[:MAX_REQUEST_CHARS]
    length, question = RequestLength.of(request), is_short_question(request)
    request = without_question_word(request)
    title = headline(request)
    if question:
        request = f"{request}\n{' '.join(with_short_forms(words(request)))}"
    read_files = ((file.path, read(file.path)) for file in files[:MAX_PARSED_FILES])
    bodies = {path: body for path, body in read_files if body}
    asked = asked_kinds(title)
    texts = read_symbols(bodies, with_tests=FileKind.TEST in asked)
    found = find_symbols(
        request,
        title=title,
        texts=texts,
        limit=_MAX_SYMBOLS,
        similarities=embeddings.similarities if embeddings else None,
    )
    best = best_by_file(found, list(bodies))
    defined: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        defined[text.path].add(text.symbol.qualname.rpartition(".")[2])
    # A change log that repeats a message does not explain it.
    code = {
        path: body for path, body in bodies.items() if file_kind(path) in {FileKind.CODE, *asked}
    }
    quoted = QuotedCode(request, title=title, with_phrases=not question)
    evidence = quoted.scores(code, defined)
    least = SYMBOL_SHARE * found[0].score if found else 0.0
    return sorted(
        (
            replace(
                file,
                score=round(
                    file.score
                    + SYMBOL_WEIGHT * length.about_code * best.get(file.path, 0.0)
                    + max(QUOTED_LEAST, length.about_code) * evidence.get(file.path, 0.0),
                    3,
                ),
                symbols=tuple(s for s in found if s.path == file.path and s.score >= least)[
                    :SYMBOLS_PER_FILE
                ],
            )
            for file in files
        ),
        key=lambda file: -file.score,
    )


_DISSIMILAR: Final = EmbeddingScores()
_PARTS: Final[dict[str, Callable[[TextHit], float]]] = {
    "words": lambda hit: hit.score,
    "text": lambda hit: hit.body_score,
    "path": lambda hit: hit.path_score,
    "symbols": lambda hit: hit.symbol_score,
}


def _found(candidates: CandidateSignals, row: int, score: float) -> FoundFile:
    path = candidates.paths[row]
    voters = candidates.votes.get(path, [])
    reasons = tuple(_reasons(candidates.table[row].tolist(), voters))
    return FoundFile(path, score, reasons, tuple(hit.sha for hit in voters[:3]))


def _reasons(signals: Sequence[float], voters: Sequence[CommitHit]) -> Iterable[str]:
    named = dict(zip(SIGNALS, signals, strict=True))
    if named["named in request"]:
        yield "named in the request"
    if named["kind asked for"] > 1:
        yield "the kind of file asked for"
    if named["words"] > 0.3:
        yield "its words match"
    if named["symbols"] > 0.5:
        yield "defines what is named"
    if named["votes"] > 0.2:
        yield "changed by similar commits"
        yield f'as in {voters[0].sha[:8]} "{shorten(voters[0].subject, limit=_SUBJECT_CHARS)}"'
    if named["code similarity"] > SIMILAR:
        yield "similar code"
    if named["history similarity"] > SIMILAR:
        yield "similar past changes"
    if named["co-change"] > 0.2:
        yield "changes with likely files"
    if named["changed just now"] > 0.3:
        yield "changed recently"
