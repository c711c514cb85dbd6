"""Ranking features of candidates: own match, neighbours' matches, session, author, date, length.

Each feature is a number of about -1 to 1, scaled within one query, so that weights learned on one
set of memories hold on another. A memory without a session, author or vector lacks the features
that need one. A memory without a place in a session is a note and has weights of its own; so has a
turn of a chat with an assistant. Knows nothing of how weights are learned.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence, Set
from enum import IntEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from wellkept.core.clock import to_ms
from wellkept.core.query import Candidate
from wellkept.core.records import record
from wellkept.core.text import fold, stem
from wellkept.memory.recall.retrievers import ROLES, CandidateSet, QueryPlan
from wellkept.text.dates import DateWindow

_DAY_MS = 86_400_000
_LATE_DECAY_DAYS = 7.0
_EARLY_DECAY_DAYS = 3.0
_HELD_THEN = 0.5  # of a note from before the window that still holds
_NOT_THEN = 0.2  # of a note from after the window
_USUAL_CHARS = 120
_CHARS_OFFSET = 20
_LONGEST = math.log(2.5)
_LONGEST_NOTE = math.log(6)
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


class Feature(IntEnum):
    """The features in storage order; `explain` shows their names."""

    WORDS = 0
    MEANING = 1
    WORDS_BEFORE = 2
    WORDS_AFTER = 3
    WORDS_TWO_BEFORE = 4
    WORDS_TWO_AFTER = 5
    SESSION_WORDS = 6
    SESSION_MEANING = 7
    SPEAKER = 8
    DATE = 9
    LENGTH = 10
    OPENING = 11
    ASKS = 12
    ANSWERS_WORDS = 13
    TELLS_WHEN = 14
    FRAGMENTS = 15
    LINKS = 16
    CAUSAL = 17
    COVERS = 18
    NOTE = 19
    COVERS_MOST = 20
    COVERS_AROUND = 21

    @property
    def label(self) -> str:
        """The name of the feature for people and data files."""
        return self.name.lower()


class Form(IntEnum):
    """What kind of memory a candidate is to the ranking."""

    TURN = 0
    CHAT = 1
    NOTE = 2


Column = list[float]
_NOWHERE = -1
_WEIGHED_AT_ONCE = 4


@record
class Weights:
    """The weight of each feature, in the order of `Feature`: for turns of a session among people,
    for those of a chat with an assistant, whose authors are roles, and for notes, which have no
    place in a session."""

    turn: tuple[float, ...]
    chat: tuple[float, ...]
    note: tuple[float, ...]

    def of(self, form: Form) -> tuple[float, ...]:
        """The weights for one form of memory."""
        if form is Form.NOTE:
            return self.note
        return self.chat if form is Form.CHAT else self.turn


class FeatureTable:
    """The features of every candidate of one set.

    Stored by feature, not by candidate: most features apply to no candidate and have no column, and
    whole columns are much cheaper than single values.
    """

    def __init__(self, pool: CandidateSet, plan: QueryPlan) -> None:
        self._plan = plan
        self._candidates = pool.candidates
        self._index = {c.id: number for number, c in enumerate(pool.candidates)}
        self._columns: list[Column | None] = [None] * len(Feature)
        self._sessions = [c.session_id or c.id for c in pool.candidates]
        roles = {a for a in {c.author for c in pool.candidates} if a and fold(a) in ROLES}
        self._forms = [_form(c, roles) for c in pool.candidates]
        words = self._shares(pool.words)
        positions = _neighbours(pool.candidates)
        self._before, self._after = positions[-1], positions[1]
        self._add_matches(Feature.WORDS, words, positions)
        self._add_matches(Feature.MEANING, self._meaning(pool, words), positions)
        for signal, found in (
            (Feature.FRAGMENTS, pool.fragments),
            (Feature.LINKS, pool.links),
            (Feature.CAUSAL, pool.causal),
        ):
            self._columns[signal] = self._shares(found)
        self._add_facts()

    def __getitem__(self, memory_id: str) -> Column:
        """The features of one candidate, in the order of `Feature`."""
        number = self._index[memory_id]
        return [0.0 if column is None else column[number] for column in self._columns]

    def form(self, memory_id: str) -> Form:
        """What kind of memory a candidate is."""
        return self._forms[self._index[memory_id]]

    def weighed(self, weights: Weights) -> dict[str, float]:
        """The weighted sum of the features of each candidate."""
        forms = sorted(set(self._forms))
        if len({weights.of(form) for form in forms}) <= 1:
            sums = self._sums(weights.of(forms[0])) if forms else []
        else:
            by_form = {form: self._sums(weights.of(form)) for form in forms}
            sums = [by_form[form][number] for number, form in enumerate(self._forms)]
        return dict(zip(self._index, sums, strict=True))

    def _sums(self, weights: Sequence[float]) -> Column:
        sums = nothing = [0.0] * len(self._candidates)
        columns = zip(weights, self._columns, strict=True)
        used = [(weight, column) for weight, column in columns if weight and column is not None]
        used += [(0.0, nothing)] * (-len(used) % _WEIGHED_AT_ONCE)
        # Some columns at once, which takes a third of the time of one by one.
        for start in range(0, len(used), _WEIGHED_AT_ONCE):
            (p, ps), (q, qs), (r, rs), (s, ss) = used[start : start + _WEIGHED_AT_ONCE]
            sums = [
                total + p * a + q * b + r * c + s * d
                for total, a, b, c, d in zip(sums, ps, qs, rs, ss, strict=True)
            ]
        return sums

    def read_texts(self, contents: Mapping[str, str]) -> None:
        """Add the features that need the text, for candidates whose text is given."""
        texts = {self._index[each]: text for each, text in contents.items()}
        asking = {number for number, text in texts.items() if _asks(text)}
        answering = [n for n in texts if self._before[n] in asking]
        self._mark(Feature.ASKS, dict.fromkeys(asking, 1.0))
        if (matches := self._columns[Feature.WORDS]) is not None:
            self._mark(Feature.ANSWERS_WORDS, {n: matches[self._before[n]] for n in answering})
        held, rarity = _held_words(self._plan, texts)
        covered = {n: math.fsum(rarity[word] for word in own) for n, own in held.items() if own}
        self._mark(Feature.COVERS, covered)
        around = {n: self._held_around(n, held) - own for n, own in held.items()}
        beside = {
            n: math.fsum(rarity[word] for word in words) for n, words in around.items() if words
        }
        self._mark(Feature.COVERS_AROUND, beside)
        # One word in common of many says little: the square tells a text that has most of them.
        self._mark(Feature.COVERS_MOST, {n: share * share for n, share in covered.items()})
        if self._plan.asks_when:
            told = {n: 1.0 for n, text in texts.items() if _TELLS_WHEN.search(text[:READ_CHARS])}
            self._mark(Feature.TELLS_WHEN, told)

    def _held_around(self, number: int, held: Mapping[int, Set[str]]) -> Set[str]:
        """The words of the query that the turns before and after a candidate have, if read."""
        nothing: Set[str] = frozenset()
        before, after = self._before[number], self._after[number]
        return held.get(before, nothing) | held.get(after, nothing)

    def _mark(self, signal: Feature, values: Mapping[int, float]) -> None:
        if values:
            self._columns[signal] = [values.get(n, 0.0) for n in range(len(self._candidates))]

    def _shares(self, scores: Mapping[str, float] | None) -> Column | None:
        """Each candidate's score as a share of the best; None where nothing scores."""
        best = max(scores.values(), default=0.0) if scores else 0.0
        if not scores or best <= 0:
            return None
        found = [scores.get(each, 0.0) for each in self._index]
        return [score / best if score > 0 else 0.0 for score in found]

    def _meaning(self, pool: CandidateSet, words: Column | None) -> Column | None:
        """Shares of the best cosine. A memory without a vector yet gets its word score, so that it
        is not buried while a re-index runs."""
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
        self, match: Feature, column: Column | None, positions: Mapping[int, Sequence[int]]
    ) -> None:
        """One kind of match: of each candidate, its neighbours, and its session."""
        if column is None:
            return
        columns = self._columns
        columns[match] = column
        if match is Feature.WORDS:
            beyond = [*column, 0.0]  # where a neighbour that is not there is looked up
            for offset, signal in _AROUND.items():
                columns[signal] = [beyond[place] for place in positions[offset]]
        best: dict[str, float] = {}
        for session, value in zip(self._sessions, column, strict=True):
            if value > best.get(session, 0.0):
                best[session] = value
        columns[_SESSION[match]] = [best.get(session, 0.0) for session in self._sessions]

    def _add_facts(self) -> None:
        """Features without a match: author, date, length, position."""
        candidates, columns = self._candidates, self._columns
        window, speakers = self._plan.window, self._plan.speakers
        if speakers:
            speaking = {a for a in {c.author for c in candidates} if a and fold(a) in speakers}
            columns[Feature.SPEAKER] = [1.0 if c.author in speaking else 0.0 for c in candidates]
        if window is not None:
            columns[Feature.DATE] = [_date_match(c, window) for c in candidates]
        columns[Feature.LENGTH] = [
            _length(c.content_chars, _LONGEST_NOTE if form is Form.NOTE else _LONGEST)
            for c, form in zip(candidates, self._forms, strict=True)
        ]
        columns[Feature.OPENING] = [
            1.0 if c.seq is not None and c.seq < _OPENING_TURNS else 0.0 for c in candidates
        ]
        if Form.NOTE in self._forms:
            columns[Feature.NOTE] = [1.0 if form is Form.NOTE else 0.0 for form in self._forms]


# What the neighbours have of the words, by their offset in the session.
_AROUND = {
    -1: Feature.WORDS_BEFORE,
    1: Feature.WORDS_AFTER,
    -2: Feature.WORDS_TWO_BEFORE,
    2: Feature.WORDS_TWO_AFTER,
}
_SESSION = {Feature.WORDS: Feature.SESSION_WORDS, Feature.MEANING: Feature.SESSION_MEANING}


def _form(c: Candidate, roles: Set[str]) -> Form:
    if c.seq is None or c.session_id is None:
        return Form.NOTE
    return Form.CHAT if c.author in roles else Form.TURN


def _neighbours(candidates: Sequence[Candidate]) -> dict[int, list[int]]:
    """For each offset in a session, the index of each candidate's neighbour."""
    sessions: dict[str, dict[int, int]] = {}
    twins: list[tuple[int, int]] = []  # of two at the same position, the later one counts for both
    for number, c in enumerate(candidates):
        if c.session_id is not None and c.seq is not None:
            turns = sessions.setdefault(c.session_id, {})
            if c.seq in turns:
                twins.append((turns[c.seq], number))
            turns[c.seq] = number
    around = {offset: [_NOWHERE] * len(candidates) for offset in _AROUND}
    for turns in sessions.values():
        if len(turns) > 1:
            _note_neighbours(turns, around)
    for positions in around.values():
        for first, later in reversed(twins):
            positions[first] = positions[later]
    return around


def _note_neighbours(turns: Mapping[int, int], around: Mapping[int, list[int]]) -> None:
    """Enter the neighbours one and two positions away in one session."""
    for seq, number in turns.items():
        for offset in (1, 2):
            other = turns.get(seq + offset)
            if other is not None:
                around[offset][number] = other
                around[-offset][other] = number


def _date_match(c: Candidate, window: DateWindow) -> float:
    """Certainty of the window, falling with the days outside; events are told after they happen.

    A note tells a state: it holds from its day on. One that was closed since can only have been
    found because it held then.
    """
    since, until = to_ms(window.since), to_ms(window.until)
    days_early = max(0, since - c.valid_from_ms) / _DAY_MS
    days_late = max(0, c.valid_from_ms - until) / _DAY_MS
    match = math.exp(-days_early / _EARLY_DECAY_DAYS - days_late / _LATE_DECAY_DAYS)
    if c.place is None and c.valid_from_ms >= until:
        match *= _NOT_THEN
    elif c.place is None:
        match = max(match, 1.0 if c.closed else _HELD_THEN)
    return window.certainty * match


@lru_cache(maxsize=4_096)
def _length(chars: int, longest: float) -> float:
    """Log length, capped: of turns, short ones say less; a long note meets many words by chance."""
    return min(longest, math.log((max(0, chars) + _CHARS_OFFSET) / _USUAL_CHARS))


def _held_words(
    plan: QueryPlan, texts: Mapping[int, str]
) -> tuple[dict[int, set[str]], dict[str, float]]:
    """The words of the query that each text has, and the share of each in the query; rare words
    count more.

    Unlike shares of the best match, this tells a good best match from a poor one.
    """
    aside = {part for speaker in plan.speakers for part in speaker.split()} | plan.date_terms
    terms = {stem(term) for term in plan.terms if term not in aside}
    starts = {number: text[:READ_CHARS] for number, text in texts.items()}
    lowered = {number: text.casefold() for number, text in starts.items()}
    held: dict[int, set[str]] = {number: set() for number in texts}
    rarity: dict[str, float] = {}
    for word in sorted(terms):
        holding = [n for n, low in lowered.items() if begins_a_word(word, low, starts[n])]
        rarity[word] = math.log(1 + (len(lowered) + 0.5) / (len(holding) + 0.5))
        for number in holding:
            held[number].add(word)
    total = sum(rarity.values())
    return held, {word: share / total for word, share in rarity.items()}


def begins_a_word(stem: str, low: str, text: str) -> bool:
    """Whether a stem begins a word of a text, or a part of a name in it: "hook" is in `userHook`,
    not in "webhooks". Text without spaces has no beginnings. `low` is the case-folded text."""
    if stem.endswith("y") and _begins_a_word(stem[:-1] + "i", low, text):  # "retry", "retries"
        return True
    return _begins_a_word(stem, low, text)


def _begins_a_word(stem: str, low: str, text: str) -> bool:
    place = low.find(stem)
    if place <= 0 or not stem.isascii():
        return place >= 0
    while place > 0 and low[place - 1].isalnum():
        if len(low) == len(text) and text[place].isupper() and text[place - 1].islower():
            return True
        place = low.find(stem, place + 1)
    return place >= 0


def _asks(text: str) -> bool:
    """Whether a text ends in a question; a note in brackets after it does not count."""
    end = text[-_END_CHARS:].rstrip()
    if end.endswith("]"):
        end = end.rpartition("[")[0].rstrip()
    return end.endswith(("?", "？"))


WEIGHTS_FILE = Path(__file__).parent / "data" / "fusion.json"


@record
class Clearness:
    """A logistic model of whether a memory answers a question: a constant and a weight for each
    kind of support, by name."""

    constant: float
    weights: Mapping[str, float]


@record
class LearnedRanking:
    """What was learned for one set of retrievers."""

    weights: Weights
    note: Clearness
    turn: Clearness


@cache
def _raw() -> Mapping[str, Any]:
    return json.loads(WEIGHTS_FILE.read_text("utf-8"))


@cache
def load_rankings() -> Mapping[str, LearnedRanking]:
    """The shipped numbers by set of retrievers; a weight that is not listed is 0."""
    return {name: _learned(values) for name, values in _raw()["sets"].items()}


@cache
def word_counts() -> Mapping[str, int]:
    """In how many of the prompts that were counted each stem is, if in more than one."""
    return _raw()["prompt_words"]


def _learned(values: Mapping[str, Any]) -> LearnedRanking:
    return LearnedRanking(
        Weights(
            turn=_in_order(values["turn"]),
            chat=_in_order(values["chat"]),
            note=_in_order(values["note"]),
        ),
        note=_clearness(values["note_answers"]),
        turn=_clearness(values["turn_answers"]),
    )


def _in_order(weights: Mapping[str, float]) -> tuple[float, ...]:
    return tuple(float(weights.get(feature.label, 0.0)) for feature in Feature)


def _clearness(values: Mapping[str, float]) -> Clearness:
    weights = {name: float(value) for name, value in values.items() if name != "constant"}
    return Clearness(float(values["constant"]), weights)
