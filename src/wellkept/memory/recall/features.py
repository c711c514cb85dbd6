"""What speaks for a candidate: its own match, its neighbours', its session's, who, when, how.

Each signal is a number of about -1 to 1, scaled within one question, so that weights learned on
one body of memories hold on another. A memory without a session, an author or a vector simply
lacks the signals that need one. Knows nothing of weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache

from wellkept.core.clock import to_ms
from wellkept.core.query import Candidate
from wellkept.core.text import fold, stem
from wellkept.memory.recall.query_plan import QueryPlan
from wellkept.memory.recall.retrievers import CandidateSet
from wellkept.memory.text.dates import DateWindow

_DAY_MS = 86_400_000
_TOLD_LATER_DAYS = 7.0
_TOLD_EARLIER_DAYS = 3.0
_USUAL_CHARS = 120
_CHARS_OFFSET = 20
_LONGEST = math.log(2.5)
_OPENING_TURNS = 2
_END_CHARS = 400
READ_CHARS = 4_000  # a text of a megabyte must not hold up an answer

_TELLS_WHEN = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|weekend|week|month|year|summer|winter"
    r"|spring|autumn|fall|recently|just|since|soon|\d{4}|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|january|february|march|april|may|june|july|august|september|october"
    r"|november|december)\b",
    re.IGNORECASE,
)


class Signal(IntEnum):
    """The signals in the order they are kept; the name is what `explain` shows."""

    WORDS = 0
    MEANING = 1
    WORDS_BEFORE = 2
    WORDS_AFTER = 3
    WORDS_TWO_BEFORE = 4
    WORDS_TWO_AFTER = 5
    MEANING_BEFORE = 6
    MEANING_AFTER = 7
    MEANING_TWO_BEFORE = 8
    MEANING_TWO_AFTER = 9
    SESSION_WORDS = 10
    SESSION_MEANING = 11
    SPEAKER = 12
    DATE = 13
    LENGTH = 14
    OPENING = 15
    ASKS = 16
    ANSWERS_WORDS = 17
    ANSWERS_MEANING = 18
    TELLS_WHEN = 19
    FRAGMENTS = 20
    LINKS = 21
    CAUSAL = 22
    COVERS = 23

    @property
    def label(self) -> str:
        """The signal's name for people and data files."""
        return self.name.lower()


TOLD_BY_TEXT = (
    Signal.ASKS,
    Signal.ANSWERS_WORDS,
    Signal.ANSWERS_MEANING,
    Signal.TELLS_WHEN,
    Signal.COVERS,
)
Signals = list[float]
_NOWHERE = -1
_WEIGHED_AT_ONCE = 4


class SignalTable:
    """The signals of every candidate of one pool.

    Kept by signal and not by candidate: most signals are felt by nobody and then have no column,
    and a column is made and weighed at a fraction of what single values take.
    """

    def __init__(self, pool: CandidateSet, plan: QueryPlan) -> None:
        self._plan = plan
        self._candidates = pool.candidates
        self._index = {c.id: number for number, c in enumerate(pool.candidates)}
        self._columns: list[Signals | None] = [None] * len(Signal)
        self._sessions = [c.session_id or c.id for c in pool.candidates]
        words = self._shares(pool.words)
        places = _places(pool.candidates)
        self._before = places[-1]
        self._add_matches(Signal.WORDS, words, places)
        self._add_matches(Signal.MEANING, self._meaning(pool, words), places)
        for signal, found in (
            (Signal.FRAGMENTS, pool.fragments),
            (Signal.LINKS, pool.links),
            (Signal.CAUSAL, pool.causal),
        ):
            self._columns[signal] = self._shares(found)
        self._add_facts()

    def __getitem__(self, memory_id: str) -> Signals:
        """One candidate's signals, in the order of `Signal`."""
        number = self._index[memory_id]
        return [0.0 if column is None else column[number] for column in self._columns]

    def weighed(
        self, weights: Sequence[float], *, only: Iterable[Signal] = Signal
    ) -> dict[str, float]:
        """The sum of each candidate's signals, or of some of them, each times its weight."""
        sums = nothing = [0.0] * len(self._candidates)
        columns = ((weights[signal], self._columns[signal]) for signal in only)
        felt = [(weight, column) for weight, column in columns if weight and column is not None]
        felt += [(0.0, nothing)] * (-len(felt) % _WEIGHED_AT_ONCE)
        # Some columns at once, which takes a third of the time of one by one.
        for start in range(0, len(felt), _WEIGHED_AT_ONCE):
            (p, ps), (q, qs), (r, rs), (s, ss) = felt[start : start + _WEIGHED_AT_ONCE]
            sums = [
                total + p * a + q * b + r * c + s * d
                for total, a, b, c, d in zip(sums, ps, qs, rs, ss, strict=True)
            ]
        return dict(zip(self._index, sums, strict=True))

    def read_texts(self, contents: Mapping[str, str]) -> None:
        """Add what only the text tells, for those candidates whose text is at hand."""
        texts = {self._index[each]: text for each, text in contents.items()}
        asking = {number for number, text in texts.items() if _asks(text)}
        answering = [n for n in texts if self._before[n] in asking]
        self._mark(Signal.ASKS, dict.fromkeys(asking, 1.0))
        for answers, match in (
            (Signal.ANSWERS_WORDS, Signal.WORDS),
            (Signal.ANSWERS_MEANING, Signal.MEANING),
        ):
            matches = self._columns[match]
            if matches is not None:
                self._mark(answers, {n: matches[self._before[n]] for n in answering})
        self._mark(Signal.COVERS, _coverage(self._plan, texts))
        if self._plan.asks_when:
            self._mark(
                Signal.TELLS_WHEN, {n: 1.0 for n, text in texts.items() if _tells_when(text)}
            )

    def _mark(self, signal: Signal, values: Mapping[int, float]) -> None:
        if values:
            self._columns[signal] = [values.get(n, 0.0) for n in range(len(self._candidates))]

    def _shares(self, scores: Mapping[str, float] | None) -> Signals | None:
        """Each candidate's score as a share of the best; None where nothing scores."""
        best = max(scores.values(), default=0.0) if scores else 0.0
        if not scores or best <= 0:
            return None
        found = [scores.get(each, 0.0) for each in self._index]
        return [score / best if score > 0 else 0.0 for score in found]

    def _meaning(self, pool: CandidateSet, words: Signals | None) -> Signals | None:
        """Shares of the best cosine. A memory that has no vector yet is judged by its words
        instead, so that it is not buried while a re-index runs."""
        cosines = pool.meaning
        if cosines is None:
            return None
        found = self._shares(cosines)
        if words is None or all(map(cosines.__contains__, self._index)):
            return found
        found = found or [0.0] * len(words)
        each = zip(self._index, found, words, strict=True)
        return [own if memory_id in cosines else word for memory_id, own, word in each]

    def _add_matches(
        self, match: Signal, column: Signals | None, places: Mapping[int, Sequence[int]]
    ) -> None:
        """How well each candidate matches by one measure, its neighbours, and its session."""
        if column is None:
            return
        columns = self._columns
        columns[match] = column
        beyond = [*column, 0.0]  # where a neighbour that is not there is looked up
        for offset, signal in _AROUND[match].items():
            columns[signal] = [beyond[place] for place in places[offset]]
        best: dict[str, float] = {}
        for session, value in zip(self._sessions, column, strict=True):
            if value > best.get(session, 0.0):
                best[session] = value
        columns[_SESSION[match]] = [best.get(session, 0.0) for session in self._sessions]

    def _add_facts(self) -> None:
        """What is known of a candidate without any match: who, when, how long, how early."""
        candidates, columns = self._candidates, self._columns
        window, speakers = self._plan.window, self._plan.speakers
        if speakers:
            speaking = {a for a in {c.author for c in candidates} if a and fold(a) in speakers}
            columns[Signal.SPEAKER] = [1.0 if c.author in speaking else 0.0 for c in candidates]
        if window is not None:
            columns[Signal.DATE] = [_nearness(c.valid_from_ms, window) for c in candidates]
        columns[Signal.LENGTH] = [_length(c.content_chars) for c in candidates]
        columns[Signal.OPENING] = [
            1.0 if c.seq is not None and c.seq < _OPENING_TURNS else 0.0 for c in candidates
        ]


# Signals of the neighbours by how many places they stand further on in the session.
_AROUND = {
    Signal.WORDS: {
        -1: Signal.WORDS_BEFORE,
        1: Signal.WORDS_AFTER,
        -2: Signal.WORDS_TWO_BEFORE,
        2: Signal.WORDS_TWO_AFTER,
    },
    Signal.MEANING: {
        -1: Signal.MEANING_BEFORE,
        1: Signal.MEANING_AFTER,
        -2: Signal.MEANING_TWO_BEFORE,
        2: Signal.MEANING_TWO_AFTER,
    },
}
_SESSION = {Signal.WORDS: Signal.SESSION_WORDS, Signal.MEANING: Signal.SESSION_MEANING}


def _places(candidates: Sequence[Candidate]) -> dict[int, list[int]]:
    """For each offset in a session, where among the candidates each one's neighbour stands."""
    sessions: dict[str, dict[int, int]] = {}
    twins: list[tuple[int, int]] = []  # of two at the same place the later one stands for both
    for number, c in enumerate(candidates):
        if c.session_id is not None and c.seq is not None:
            turns = sessions.setdefault(c.session_id, {})
            if c.seq in turns:
                twins.append((turns[c.seq], number))
            turns[c.seq] = number
    around = {offset: [_NOWHERE] * len(candidates) for offset in _AROUND[Signal.WORDS]}
    for turns in sessions.values():
        if len(turns) > 1:
            _note_neighbours(turns, around)
    for places in around.values():
        for first, later in reversed(twins):
            places[first] = places[later]
    return around


def _note_neighbours(turns: Mapping[int, int], around: Mapping[int, list[int]]) -> None:
    """Who stands one and two places before and after whom in one session."""
    for seq, number in turns.items():
        for offset in (1, 2):
            other = turns.get(seq + offset)
            if other is not None:
                around[offset][number] = other
                around[-offset][other] = number


def _nearness(at_ms: int, window: DateWindow) -> float:
    """How sure the window is, falling with the days outside; things are told after they happen."""
    since, until = to_ms(window.since), to_ms(window.until)
    days_early = max(0, since - at_ms) / _DAY_MS
    days_late = max(0, at_ms - until) / _DAY_MS
    off = days_early / _TOLD_EARLIER_DAYS + days_late / _TOLD_LATER_DAYS
    return window.certainty * math.exp(-off)


@lru_cache(maxsize=4_096)
def _length(chars: int) -> float:
    """Very short texts say little; beyond a few sentences more length is no merit."""
    return min(_LONGEST, math.log((chars + _CHARS_OFFSET) / _USUAL_CHARS))


def _coverage(plan: QueryPlan, texts: Mapping[int, str]) -> dict[int, float]:
    """How much of what is asked each text speaks of: the share of the question's words it holds,
    a word that few of the texts hold counting more.

    Unlike the shares of the best match this tells a good best match from a poor one.
    """
    names = {part for speaker in plan.speakers for part in speaker.split()}
    wanted = {stem(term) for term in plan.terms if term not in names}
    told = {number: text[:READ_CHARS].casefold() for number, text in texts.items()}
    found = dict.fromkeys(texts, 0.0)
    total = 0.0
    for word in sorted(wanted):
        holding = [number for number, text in told.items() if word in text]
        rarity = math.log(1 + (len(told) + 0.5) / (len(holding) + 0.5))
        total += rarity
        for number in holding:
            found[number] += rarity
    return {number: share / total for number, share in found.items() if share}


def _tells_when(text: str) -> bool:
    return _TELLS_WHEN.search(text[:READ_CHARS]) is not None


def _asks(text: str) -> bool:
    """Whether a text ends in a question; a note in brackets after it does not count."""
    end = text[-_END_CHARS:].rstrip()
    if end.endswith("]"):
        end = end.rpartition("[")[0].rstrip()
    return end.endswith(("?", "？"))
