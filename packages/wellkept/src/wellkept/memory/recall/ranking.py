"""The default ranking: weighted features, then priors as bounded multipliers.

The weights were learned listwise (`features.py`, `bench.fusion_train`). A score lies between 0 and
1: the probability that the best candidate answers (`Question`), times how close a
candidate comes to that one, times its priors. Invariant: no prior takes more than a third
(staleness: half) of a score, so priors break ties and never bury a clear match. Equal scores are
ordered by id; the same candidates always give the same order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from wellkept.core.memory import Memory
from wellkept.core.query import Candidate
from wellkept.core.records import record
from wellkept.core.text import STOP_WORDS, content_words, identifiers, jaccard, stem, words
from wellkept.core.types import Phase
from wellkept.memory.recall.features import (
    READ_CHARS,
    Clearness,
    Feature,
    FeatureTable,
    Form,
    Weights,
    load_rankings,
    word_counts,
)
from wellkept.memory.recall.requests import CLEAR_SCORE, ScorePart
from wellkept.memory.recall.retrievers import CandidateSet, QueryPlan, enclosing

SUPPORT = (
    *("telling", "shared", "named", "lead", "margin"),
    *("asked_share", "wordless", "asked_lead"),
)
"""What `Question.support` gives, in order.

How much the query's words tell, and those that the memory has too; names of both; the lead of the
cosine over unrelated ones; the margin in the ranking; where somebody asks something, the share of
its words that the memory has. A memory that shares no word and no name (`wordless`) has only its
vector to show, which counts only where somebody asks in words of which half are known.
"""
TELLING = 0.5
"""From here on a word by itself tells what a request is about."""
ALIKE = 0.5
"""Texts that share this much of their words say the same: they do not compete."""
MOST_MARGIN = 3.0
_USUAL_MARGIN = 2.0
_MOST_WORDS, _MOST_NAMES = 4, 2
_LEAD_OVER = 8
# A small store has too few memories to tell how near an unrelated one comes: this share of the
# cosine of two texts that say the same, as in stores of a hundred notes.
_USUAL_BACKGROUND = 0.25
_MIN_NAME_CHARS, _CODE_CHARS = 4, 3
_MAX_QUESTION_WORDS = 20
_LITTLE = 2.0
_NEARLY_ALL = 0.7
_QUESTION = re.compile(
    r"\?\s*$|？\s*$|^\W*(?:how|what|which|where|who|whose|whom|why|when|do|did|are|can|should|must|may"
    r"|wie|was|welche[rsnm]?|wo|wer|warum|wann|womit|comment|quel(?:le)?s?|où|qui|pourquoi|quand"
    r"|cómo|qué|cuál|dónde|quién|cuándo)\b",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:this|that|these|those|it|them|here|das|dies\w*|hier|ça|cela|ici|esto|eso|aquí)\b",
    re.IGNORECASE,
)
"""Words for what is at hand."""
_QUOTED = re.compile(r"`([^`\n]{3,120})`")
"""A name or a command that a memory quotes."""
_NAME = re.compile(r"(?<![\w-])--[a-z][\w-]+|\b\w+(?:::\w+)+|(?<![\w/])/\w[\w/-]{2,}")
"""Flags, qualified names and routes; other names from code are `identifiers`."""


@record
class Question:
    """What a query offers to compare with, and the cosines of the candidates."""

    text: str
    words: Mapping[str, float]
    telling: float
    names: frozenset[str]
    asks: bool
    cosines: Mapping[str, float]
    background: float
    near: float
    known: float
    points: bool

    @classmethod
    def of(
        cls, plan: QueryPlan, pool: CandidateSet, *, near: float, unasked: bool = False
    ) -> Question:
        """The query as planned; `near` is the cosine of two texts that say the same. At an
        `unasked` moment only a short question asks something, and one that points at what is at
        hand ("is this thread safe?") and says little else, but for a command, asks about that."""
        text = " ".join(plan.query.split()).casefold()
        names = names_in(plan.query)
        words = {word: tells(word) for word in stems(plan.meaning)}
        if not unasked and not any(words.values()):  # a number, or "add" alone
            words = dict.fromkeys(words, 1.0)
        telling = sum(words.values())
        points = unasked and telling < _LITTLE and not names
        is_short = len(text.split()) <= _MAX_QUESTION_WORDS
        cosines = pool.meaning or {}
        return cls(
            text=text,
            words=words,
            telling=telling,
            names=names.union(*map(enclosing, names)),
            asks=not unasked or (is_short and _QUESTION.search(text) is not None),
            cosines=cosines,
            background=max(_background(cosines.values()), _USUAL_BACKGROUND * near),
            near=near,
            known=pool.known,
            points=points and _POINTS.search(text) is not None,
        )

    def support(self, memory: Memory, *, margin: float) -> tuple[float, ...]:
        """What speaks for a memory as an answer; `margin` is how far it is ahead of the next one
        that says something else, in the sums of the ranking."""
        text = " ".join(
            (memory.content[:READ_CHARS], *memory.tags, memory.key or "", *memory.files)
        )
        shared = sum(self.words[word] for word in stems(text) if word in self.words)
        named = self._named(memory, text)
        lead = max(0.0, self.cosines.get(memory.id, 0.0) - self.background) / self.near
        wordless = not shared and not named
        nothing = wordless and not lead and memory.seq is None  # a turn's neighbours may answer
        elsewhere = self.points and named < _MOST_NAMES
        if nothing or elsewhere or not (self.telling or self.names):
            return (0.0,) * len(SUPPORT)
        beside = (lead, min(max(margin, 0.0), MOST_MARGIN) / MOST_MARGIN)
        return (
            min(self.telling, _MOST_WORDS) / _MOST_WORDS,
            min(shared, _MOST_WORDS) / _MOST_WORDS,
            min(named, _MOST_NAMES) / _MOST_NAMES,
            *((0.0, 0.0) if wordless else beside),
            shared / self.telling if self.asks and shared else 0.0,
            float(wordless),
            min(1.0, 2 * self.known) * lead if wordless and self.asks else 0.0,
        )

    def _named(self, memory: Memory, text: str) -> float:
        """Names of both, and names and commands that the memory quotes and the query says."""
        found = float(len(self.names & (names_in(text) | frozenset(memory.files))))
        for quoted in map(str.casefold, _QUOTED.findall(memory.content[:READ_CHARS])):
            if f" {quoted} " in f" {self.text} ":
                found += _MOST_NAMES if " " in quoted else tells(stem(quoted))
        return found


def margin(sums: Sequence[float], texts: Sequence[frozenset[str]]) -> float:
    """How far the first of some candidates, best first, is ahead of the next that says something
    else, by the words of each; a usual one when there is none."""
    others = zip(sums[1:], texts[1:], strict=True)
    rivals = (total for total, held in others if jaccard(texts[0], held) < ALIKE)
    return sums[0] - next(rivals, sums[0] - _USUAL_MARGIN)


def probability(support: Sequence[float], clearness: Clearness) -> float:
    """The probability that a memory with this support answers; none without any support."""
    if not any(support):
        return 0.0
    total = clearness.constant
    for name, value in zip(SUPPORT, support, strict=True):
        total += clearness.weights.get(name, 0.0) * value
    return 1.0 / (1.0 + math.exp(-total))


def stems(text: str) -> frozenset[str]:
    """The words of a text that can be shared, in their stems."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)


def tells(word: str) -> float:
    """How much a word, given as its stem, tells what a request is about: nothing for the commonest
    of everyday work, 1 for one that is never in such prompts."""
    if len(word) < 2 or word.isdigit():
        return 0.0
    counts = word_counts()
    return 1.0 - math.log1p(counts.get(word, 0)) / math.log1p(max(counts.values()))


def names_in(text: str) -> frozenset[str]:
    """Names from code, flags, paths and error codes; versions and kinds of errors are none."""
    return frozenset(
        name.casefold()
        for name in (*identifiers(text), *_NAME.findall(text))
        if (len(name) >= _MIN_NAME_CHARS or (len(name) == _CODE_CHARS and name[1:].isdecimal()))
        and (name[0] in "-/" or any(part.isalpha() for part in name[:2]))
        and not name.endswith(("Error", "Exception"))
    )


def _background(cosines: Iterable[float]) -> float:
    """How near a memory comes that has nothing to do with the question: the eighth nearest."""
    ordered = sorted(cosines, reverse=True)
    return max(0.0, ordered[_LEAD_OVER - 1]) if len(ordered) >= _LEAD_OVER else 0.0


READ_TEXTS = 48
STALE_FACTOR = 0.5
_SOFTNESS = 3.0
_COMPETING = 8
_RECENCY_MS = 30.0 * 86_400_000
_IMPORTANCE = 0.15
_CONFIDENCE = 0.15
_RECENCY = 0.05
_CLOSED = 0.8
_UNREVIEWED = 0.95
_PHASE_POWER = 0.25
_LABELS = tuple(signal.label for signal in Feature)
# Which texts are read is decided before the features that need them are known. Words and vectors
# count alike here, so that a text that only one of them finds is read too.
_BEFORE_READING = {
    Feature.WORDS: 1.5,
    Feature.MEANING: 2.0,
    Feature.WORDS_BEFORE: 0.5,
    Feature.WORDS_AFTER: 0.5,
    Feature.SESSION_WORDS: 1.5,
    Feature.SESSION_MEANING: 1.0,
    Feature.SPEAKER: 1.5,
    Feature.DATE: 1.5,
    Feature.FRAGMENTS: 2.0,
    Feature.LINKS: 2.0,
    Feature.CAUSAL: 1.0,
}
_CHOICE = tuple(_BEFORE_READING.get(feature, 0.0) for feature in Feature)
READ_FIRST = Weights(_CHOICE, _CHOICE, _CHOICE)

Read = Callable[[Sequence[str]], list[Memory]]
Contents = Callable[[Sequence[str]], Mapping[str, str]]


@record(kw_only=True)
class RankingContext:
    """What ranking needs besides the candidates and the query plan."""

    now_ms: int
    read: Read
    contents: Contents
    near: float
    phase: Phase | None = None
    past: bool = False
    unasked: bool = False
    weight_set: str = "hybrid"


class Ranked(NamedTuple):
    """A candidate with its score."""

    candidate: Candidate
    score: float


@record
class RankedCandidates:
    """Candidates, best first, with the parts of each score on request."""

    order: tuple[Ranked, ...]
    parts: Callable[[str], tuple[ScorePart, ...]]


def rank_by_weights(
    pool: CandidateSet, plan: QueryPlan, setting: RankingContext
) -> RankedCandidates:
    """The default profile: learned weights over the features, then the priors."""
    table = FeatureTable(pool, plan)
    first = table.weighed(READ_FIRST)
    read = setting.contents(best_of(first, READ_TEXTS))
    # A damaged index may lead to another memory than the one asked for.
    contents = {each: text for each, text in read.items() if each in first}
    table.read_texts(contents)
    learned = load_rankings()[setting.weight_set]
    sums = table.weighed(learned.weights)
    clarity = _clarity(table, plan, pool, setting, contents=contents, sums=sums)
    top = max(sums.values(), default=0.0)

    each = zip(sums.values(), priors(pool.candidates, setting), strict=True)
    closeness = [math.exp((total - top) / _SOFTNESS) * prior for total, prior in each]

    def parts(c: Candidate) -> tuple[ScorePart, ...]:
        weights = learned.weights.of(table.form(c.id))
        signals = zip(_LABELS, table[c.id], weights, strict=True)
        return (
            ScorePart("clarity", clarity, 1.0, clarity),
            *(
                ScorePart(label, value, weight, value * weight)
                for label, value, weight in signals
                if value and weight
            ),
            *priors_of(c, setting),
        )

    return ranking_by(pool.candidates, closeness, parts, scale=clarity)


def _clarity(
    table: FeatureTable,
    plan: QueryPlan,
    pool: CandidateSet,
    setting: RankingContext,
    *,
    contents: Mapping[str, str],
    sums: Mapping[str, float],
) -> float:
    """The probability that the best candidate answers. What is linked to a file at hand, or to one
    that changes together with it, needs no words in common."""
    best = best_of({each: sums[each] for each in contents}, _COMPETING)
    if not best:
        return 0.0
    at_hand = {**(pool.links or {}), **(pool.causal or {})}
    if not at_hand.keys().isdisjoint(best):
        return 1.0
    question = Question.of(plan, pool, near=setting.near, unasked=setting.unasked)
    words = [frozenset(content_words(contents[each][:READ_CHARS])) for each in best]
    ahead = margin([sums[each] for each in best], words)
    learned = load_rankings()[setting.weight_set]
    for memory in setting.read(best[:1]):
        clearness = learned.note if table.form(memory.id) is Form.NOTE else learned.turn
        support = question.support(memory, margin=ahead)
        # No prompt of the training is a few words: what has nearly all of them is listed.
        has_all = not setting.unasked and support[SUPPORT.index("asked_share")] >= _NEARLY_ALL
        return max(probability(support, clearness), CLEAR_SCORE if has_all else 0.0)
    return 0.0


def best_of(sums: Mapping[str, float], count: int) -> list[str]:
    """The ids with the highest sums, best first."""
    best = sorted((-total, memory_id) for memory_id, total in sums.items())
    return [memory_id for _, memory_id in best[:count]]


def ranking_by(
    candidates: Sequence[Candidate],
    scores: Sequence[float],
    parts: Callable[[Candidate], tuple[ScorePart, ...]],
    *,
    scale: float = 1.0,
) -> RankedCandidates:
    """Best first, ids decide between equals; `scale` applies to all and changes no order."""
    scored = sorted((-score, c.id, c) for score, c in zip(scores, candidates, strict=True))
    by_id = {c.id: c for c in candidates}
    order = tuple([Ranked(c, -negative * scale) for negative, _, c in scored])
    return RankedCandidates(order, lambda memory_id: parts(by_id[memory_id]))


# -- Priors ---------------------------------------------------------------------------------------


def priors(candidates: Sequence[Candidate], setting: RankingContext) -> list[float]:
    """Query-independent weight of each memory: a product of multipliers of at most 1."""
    now_ms = setting.now_ms
    # Inlined: a call per candidate would take longer than the arithmetic.
    products = [
        (1.0 - _IMPORTANCE * (1.0 - c.importance))
        * (1.0 - _CONFIDENCE * (1.0 - c.confidence))
        * (1.0 - _RECENCY * (1.0 - math.exp(min(0, c.valid_from_ms - now_ms) / _RECENCY_MS)))
        for c in candidates
    ]
    for number, c in enumerate(candidates):
        if setting.phase is not None or c.closed or c.needs_review or c.stale:
            products[number] *= math.prod(part.effect for part in _special_priors(c, setting))
    return products


def priors_of(c: Candidate, setting: RankingContext) -> tuple[ScorePart, ...]:
    """The same multipliers one by one."""
    recency = math.exp(min(0, c.valid_from_ms - setting.now_ms) / _RECENCY_MS)
    return (
        ScorePart(
            "importance", c.importance, _IMPORTANCE, 1.0 - _IMPORTANCE * (1.0 - c.importance)
        ),
        ScorePart(
            "confidence", c.confidence, _CONFIDENCE, 1.0 - _CONFIDENCE * (1.0 - c.confidence)
        ),
        ScorePart("recency", recency, _RECENCY, 1.0 - _RECENCY * (1.0 - recency)),
        *_special_priors(c, setting),
    )


def _special_priors(c: Candidate, setting: RankingContext) -> list[ScorePart]:
    """Priors that apply only to some memories or requests."""
    found: list[ScorePart] = []
    if setting.phase is not None:
        from wellkept.memory.recall.phase_weights import STRONGEST_PHASE_WEIGHT, phase_weight

        weight = phase_weight(setting.phase, c.type)
        share = (weight / STRONGEST_PHASE_WEIGHT) ** _PHASE_POWER
        found.append(ScorePart(f"phase {setting.phase.value}", weight, _PHASE_POWER, share))
    if c.closed and not setting.past:
        found.append(ScorePart("no longer valid", 1.0, _CLOSED, _CLOSED))
    if c.needs_review:
        found.append(ScorePart("needs review", 1.0, _UNREVIEWED, _UNREVIEWED))
    if c.stale:
        found.append(ScorePart("stale", 1.0, STALE_FACTOR, STALE_FACTOR))
    return found


CLOSE = 0.1
_FURTHER_SHARE = 10  # one place of so many is for further subjects
_FURTHER_SHARE_OF_SEVERAL = 2
_ALIKE = 0.6
_COMPARED = 40
_READ_CHARS = 600
_READ_AT_ONCE = 12


def spread_out(
    ranked: Sequence[Ranked],
    *,
    contents: Contents,
    page_size: int,
    pages: int | None = None,
    several: bool = False,
) -> list[Ranked]:
    """The hits in pages of that size, all or so many; inside a page they stay in order. `several`:
    the question asks for more than one thing."""
    if len(ranked) <= page_size:
        return list(ranked)
    subjects = _Subjects(ranked, contents)
    share = _FURTHER_SHARE_OF_SEVERAL if several else _FURTHER_SHARE
    by_rank = page_size - (page_size + share // 2) // share
    least = CLOSE * ranked[0].score
    close = sum(one.score >= least for one in ranked)
    found: list[Ranked] = []
    left = list(range(len(ranked)))
    while left and pages != 0:
        pages = None if pages is None else pages - 1
        page = _page(left, subjects, page_size, by_rank, close)
        found += [ranked[number] for number in sorted(page)]
        left = [number for number in left if number not in page]
    return found


def _page(
    left: Sequence[int], subjects: _Subjects, size: int, by_rank: int, close: int
) -> set[int]:
    """The next page: so many by rank, then the best of each further subject, then by rank again.
    Numbers below `close` come close to the best."""
    page = set(left[:by_rank])
    told = {subjects[number] for number in page}
    for number in left[by_rank:]:
        if len(page) >= size or number >= close:
            break
        if subjects[number] not in told:
            told.add(subjects[number])
            page.add(number)
    for number in left[by_rank:]:
        if len(page) >= size:
            break
        page.add(number)
    return page


class _Subjects:
    """What each hit is about: its session, or the first of the notes that say nearly the same.

    Texts are read and compared only as far as a page asks.
    """

    def __init__(self, ranked: Sequence[Ranked], contents: Contents) -> None:
        self._ranked, self._contents = ranked, contents
        self._found: list[str] = []
        self._texts: dict[str, str] = {}
        self._words: list[tuple[str, frozenset[str]]] = []

    def __getitem__(self, number: int) -> str:
        while number >= len(self._found):
            self._found.append(self._subject(len(self._found)))
        return self._found[number]

    def _subject(self, number: int) -> str:
        candidate = self._ranked[number].candidate
        if candidate.place is not None:
            return candidate.place.session_id
        if number >= _COMPARED:
            return candidate.id
        if candidate.id not in self._texts:
            part = self._ranked[number : min(number + _READ_AT_ONCE, _COMPARED)]
            notes = [one.candidate.id for one in part if one.candidate.place is None]
            self._texts.update(self._contents(notes))
        words = frozenset(content_words(self._texts.get(candidate.id, "")[:_READ_CHARS]))
        alike = (name for name, others in self._words if jaccard(words, others) >= _ALIKE)
        name = next(alike, candidate.id)
        self._words.append((name, words))
        return name
