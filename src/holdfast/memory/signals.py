"""What speaks for a candidate: its own match, its neighbours', its session's, who, when, how.

Each signal is a number of about -1 to 1, scaled within one question, so that weights learned on
one body of memories hold on another. A memory without a session, an author or a vector simply
lacks the signals that need one. Knows nothing of weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum

from holdfast.core.clock import to_ms
from holdfast.core.query import Candidate
from holdfast.core.text import fold
from holdfast.memory.arms import Pool
from holdfast.memory.plan import QueryPlan
from holdfast.memory.wording.dates import DateWindow

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

    @property
    def label(self) -> str:
        """The signal's name for people and data files."""
        return self.name.lower()


Signals = list[float]
_NO_MATCH = (0.0, 0.0)
_ALONE = [0.0] * 8
_UNREAD = (0.0,) * (Signal.TELLS_WHEN - Signal.ASKS + 1)


class SignalTable:
    """The signals of every candidate of one pool."""

    def __init__(self, pool: Pool, plan: QueryPlan) -> None:
        self._plan = plan
        self._words = _scaled(pool.words)
        self._meaning = _meaning(pool, self._words)
        self._fragments = _scaled(pool.fragments)
        self._links = _scaled(pool.links)
        self._causal = _scaled(pool.causal)
        self._places: dict[tuple[str | None, int], str] = {
            (c.session_id, c.seq): c.id
            for c in pool.candidates
            if c.session_id is not None and c.seq is not None
        }
        words, meaning = self._words, self._meaning
        self._matches = {
            place: (words.get(each, 0.0), meaning.get(each, 0.0))
            for place, each in self._places.items()
        }
        authors = {c.author for c in pool.candidates if c.author}
        self._speaking: set[str | None] = {a for a in authors if fold(a) in plan.speakers}
        self._session_words = _best_by_session(pool.candidates, self._words)
        self._session_meaning = _best_by_session(pool.candidates, self._meaning)
        self._rows = {c.id: self._row(c) for c in pool.candidates}

    def __getitem__(self, memory_id: str) -> Signals:
        return self._rows[memory_id]

    def read_texts(self, contents: Mapping[str, str], candidates: Sequence[Candidate]) -> None:
        """Add what only the text tells, for those candidates whose text is at hand."""
        asking = {each for each, text in contents.items() if _asks(text)}
        for candidate in candidates:
            text = contents.get(candidate.id)
            if text is None:
                continue
            row = self._rows[candidate.id]
            row[Signal.ASKS] = float(candidate.id in asking)
            before = self._neighbour(candidate, -1) if candidate.seq is not None else None
            if before is not None and before in asking:
                row[Signal.ANSWERS_WORDS] = self._words.get(before, 0.0)
                row[Signal.ANSWERS_MEANING] = self._meaning.get(before, 0.0)
            if self._plan.asks_when:
                row[Signal.TELLS_WHEN] = float(_tells_when(text))

    def _row(self, c: Candidate) -> Signals:
        """One candidate's signals, in the order of `Signal`."""
        words, meaning = self._words, self._meaning
        around = self._around(c) if c.session_id is not None and c.seq is not None else _ALONE
        session = c.session_id or c.id
        window = self._plan.window
        return [
            words.get(c.id, 0.0),
            meaning.get(c.id, 0.0),
            *around,
            self._session_words.get(session, 0.0),
            self._session_meaning.get(session, 0.0),
            1.0 if c.author in self._speaking else 0.0,
            _nearness(c.valid_from_ms, window) if window else 0.0,
            _length(c.content_chars),
            1.0 if c.seq is not None and c.seq < _OPENING_TURNS else 0.0,
            *_UNREAD,
            self._fragments.get(c.id, 0.0),
            self._links.get(c.id, 0.0),
            self._causal.get(c.id, 0.0),
        ]

    def _around(self, c: Candidate) -> Signals:
        """Words, then meaning, of what stands one before, one after, two before, two after."""
        session, seq, at = c.session_id, c.seq or 0, self._matches.get
        before, before_meaning = at((session, seq - 1), _NO_MATCH)
        after, after_meaning = at((session, seq + 1), _NO_MATCH)
        two_before, two_before_meaning = at((session, seq - 2), _NO_MATCH)
        two_after, two_after_meaning = at((session, seq + 2), _NO_MATCH)
        return [
            before,
            after,
            two_before,
            two_after,
            before_meaning,
            after_meaning,
            two_before_meaning,
            two_after_meaning,
        ]

    def _neighbour(self, c: Candidate, offset: int) -> str | None:
        """The id of what stands that many places further in the session, if it is in the pool."""
        return self._places.get((c.session_id, (c.seq or 0) + offset))


def _scaled(scores: Mapping[str, float] | None) -> dict[str, float]:
    """Scores as shares of the best one; what scores nothing is left out."""
    best = max(scores.values(), default=0.0) if scores else 0.0
    if not scores or best <= 0:
        return {}
    return {each: score / best for each, score in scores.items() if score > 0}


def _meaning(pool: Pool, words: Mapping[str, float]) -> dict[str, float]:
    """Scaled cosines. A memory that has no vector yet is judged by its words instead, so that it
    is not buried while a re-index runs."""
    if pool.meaning is None:
        return {}
    scaled = _scaled(pool.meaning)
    for c in pool.candidates:
        if c.id not in pool.meaning and c.id in words:
            scaled[c.id] = words[c.id]
    return scaled


def _best_by_session(
    candidates: Sequence[Candidate], scores: Mapping[str, float]
) -> dict[str, float]:
    best: dict[str, float] = {}
    for c in candidates:
        session = c.session_id or c.id
        score = scores.get(c.id, 0.0)
        if score > best.get(session, 0.0):
            best[session] = score
    return best


def _nearness(at_ms: int, window: DateWindow) -> float:
    """How sure the window is, falling with the days outside; things are told after they happen."""
    since, until = to_ms(window.since), to_ms(window.until)
    days_early = max(0, since - at_ms) / _DAY_MS
    days_late = max(0, at_ms - until) / _DAY_MS
    off = days_early / _TOLD_EARLIER_DAYS + days_late / _TOLD_LATER_DAYS
    return window.certainty * math.exp(-off)


def _length(chars: int) -> float:
    """Very short texts say little; beyond a few sentences more length is no merit."""
    return min(_LONGEST, math.log((chars + _CHARS_OFFSET) / _USUAL_CHARS))


def _tells_when(text: str) -> bool:
    return _TELLS_WHEN.search(text[:READ_CHARS]) is not None


def _asks(text: str) -> bool:
    """Whether a text ends in a question; a note in brackets after it does not count."""
    end = text[-_END_CHARS:].rstrip()
    if end.endswith("]"):
        end = end.rpartition("[")[0].rstrip()
    return end.endswith(("?", "？"))
