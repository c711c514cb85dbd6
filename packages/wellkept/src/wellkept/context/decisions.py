"""The one decision that a prompt needs, agreed in conversation or written in a commit; and the
earlier work that a first prompt goes on from.

Searched by the words of the whole exchange that led to it (`Decision.subject`), of a commit by its
message. Told whole or not at all, so the gate asks for much: the record covers a good part of what
the prompt says, far better than any other record does. Its features are shares, never sums, so that
they do not grow with the store. Words of everyday work say nothing about a subject and never count.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from wellkept.context.candidates import ContextCandidate, is_cut, points_back
from wellkept.context.moments import ContextRequest, Moment
from wellkept.context.sections import Section, SectionLine, SectionLines
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, RetrieverHit
from wellkept.core.records import record
from wellkept.core.text import content_words, estimate_tokens, identifiers, shorten, stem
from wellkept.core.types import MemoryType, RelationType
from wellkept.memory.engine import Engine

TOLD_TOKENS, RELATED_TOKENS = 250, 95
_SUMMARIES = ("session-summary",)
HEARD_SHARE = 0.35
"""Of a prompt's word weight, from which on something heard in passing is about it."""
MAX_TERMS = 60
_PER_TERM = 60
_MOST_HITS = 200
_RARE_SHARE, _RARE_CHARS = 0.04, 4
_SMALL_STORE = 100
_FEW_RECORDS = 6.0
_SAID = 0.13
_MANY_RARE, _SAID_BY_MANY = 3, 0.09
_ALL_RARE, _ALL_COVERED, _ALL_LEAD = 2, 0.6, 0.5
_MIN_WORDS, _MIN_WORK_WORDS = 3, 6
_OF_ONE_SUBJECT = 12
_NAME_CHARS = 5
_ANSWERS = re.compile(
    r"\W*(?:y(?:es|ep|eah|up)?|no(?:pe)?|ok(?:ay)?|sure|go ahead|do (?:it|that|so)|please do"
    r"|sounds good|great|perfect|\d{1,2}|[a-d])\b(?=[\s,.!:;)-]|$)",
    re.IGNORECASE,
)
"""How an answer to the agent's own question begins: it carries no subject."""
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~-]*[/\\])+(?=[\w.@-])")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_ORDERS = re.compile(
    r"\b(?:you|your|agents?|assistants?|copilot|claude|codex|ai|llms?|the (?:model|user))\b"
    r"|(?:^|[.!?\n]\s*)(?:system|human|important)\s?:|[\[<](?:system|inst|\w+-\w+)[\]>]"
    r"|https?://|\w@[\w.]|~/|(?<![\w.])\./\w|\w +--?[a-z]|`[^`\n]* [^`\n]*`|\| *(?:ba)?sh\b"
    r"|\b(?:npx|curl|wget|install|exec(?:ute)?|sudo|rm -rf)\b",
    re.IGNORECASE,
)
"""Speaks to the agent, or hands it an address or a command: told only of a person."""
_COMMON = frozenset(
    map(
        stem,
        """add also app apply branch bug build call change check checkout code come comment
        comments commit context create current do does done error fail feature file find
        first fix follow get give go help implement issue keep know latest let like line
        list look main make master merge need new next now ok one open page part phase plan
        please point pr problem project pull push put read ready rebase remote request
        result review rid run say see seem set should show start stash state step still
        sure take task tell test thing think time todo try turn type uncommitted unstaged
        update use user valid want way well work write wrong yeah yes""".split(),
    )
)
_OF_ANY_BUG = frozenset(
    map(
        stem,
        """actual actually already anything behavior behaviour break broken cause correct currently
        different end even every exist existing expect got happen instead keep match nothing once
        properly really reason regression report repro reproduce reproduction right same something
        still stop twice without""".split(),
    )
)
"""The gate was set with these words left out (`bench.decisions`)."""
_POOLS = (
    (MemoryType.DECISION, ()),
    (MemoryType.EPISODE, ("commit",)),
)


@record
class Match:
    """How well the best record answers a prompt."""

    memory: Memory
    asked: int
    """Telling words of the prompt."""
    found: int
    rare: int
    covered: float
    """Share of the prompt's word weight."""
    lead: float
    """Share of its score by which it is ahead of the next."""
    names: int
    """Names from code that both have."""
    said: float
    """Share of the prompt's word weight that the told text itself has."""
    has_exchange: bool
    """Whether it is found by the words of the exchange that led to it."""

    @property
    def is_clear(self) -> bool:
        """Whether it is about the prompt beyond doubt."""
        return self._says_so and any(
            self.asked <= row.asked
            and self.found >= row.found
            and self.rare >= row.rare
            and self.names >= row.names
            and self.covered > row.covered
            and self.lead > row.lead
            for row in _CLEAR
        )

    @property
    def _says_so(self) -> bool:
        """Whether the told text itself speaks of the prompt, or all but all of it stood in the
        exchange: a long talk shares words with any prompt."""
        is_said = ((self.rare > 1 or self.names > 0) and self.said >= _SAID) or (
            self.rare > _MANY_RARE and self.said >= _SAID_BY_MANY
        )
        return is_said or (
            self.has_exchange
            and self.rare > _ALL_RARE
            and self.covered >= _ALL_COVERED
            and self.lead >= _ALL_LEAD
        )


@record
class _Clear:
    """One way to be clear: at most `asked` words, and of everything else at least this."""

    found: int
    covered: float
    lead: float
    asked: float = math.inf
    rare: int = 0
    names: int = 0


_CLEAR = (
    _Clear(3, 0.15, 0.2, names=1),
    _Clear(3, 0.2, 0.4, rare=3),
    _Clear(2, 0.4, 0.49, asked=6, rare=2),
    _Clear(3, 0.9, 0.3, asked=10),
    _Clear(3, 0.5, 0.3, asked=10, rare=1),
    _Clear(5, 0.27, 0.3, asked=45, rare=1),
    _Clear(5, 0.3, 0.3, rare=5),
)
"""Set on development decisions (`bench.decisions`)."""


def decision_for(engine: Engine, request: ContextRequest) -> tuple[ContextCandidate, ...]:
    """The decision to tell at a prompt; none when none is clearly meant."""
    if request.moment is not Moment.PROMPT or not _has_subject(request, words=_MIN_WORDS):
        return ()
    words = PromptWords.of(engine, request.project, request.query)
    for kind, tags in _POOLS:
        where = Filter(project=request.project, types=(kind,), tags=tags, stale=False)
        match = best_match(engine, where, words, request.query)
        if match is None or not match.is_clear:
            continue
        from wellkept.observe.session.exchange import is_firm

        memory = match.memory
        is_told = memory.id in request.shown or memory.session_id == (request.session or "")
        lays_down = kind is MemoryType.DECISION or is_firm(memory.content)
        is_whole = not (memory.needs_review or is_cut(memory) or points_back(memory))
        is_order = not memory.has_persons_word and _ORDERS.search(memory.content)
        if is_told or not lays_down or not is_whole or is_order:
            return ()
        told = fitting(memory.content, tokens=TOLD_TOKENS)
        reason = f"decided {memory.valid_from:%Y-%m-%d}"
        return (ContextCandidate(memory, 4.0, reason, text=told, whole=True),)
    return ()


def related_work(engine: Engine, request: ContextRequest, *, root: Path) -> Iterator[SectionLines]:
    """The digest of the earlier session that the first prompt of one goes on from, behind the same
    gate; not where the start told it."""
    own = (request.session or "").partition("/")[0]
    mine = engine.store.get_session(own) if own else None
    has_begun = mine is not None and mine.prompt_count > 1
    if not own or has_begun or not _has_subject(request, words=_MIN_WORK_WORDS):
        return
    where = Filter(project=request.project, types=(MemoryType.TIMELINE,), tags=_SUMMARIES)
    words = PromptWords.of(engine, request.project, request.query)
    match = best_match(engine, where, words, request.query)
    if match is None or not match.is_clear or match.memory.session_id in (None, own):
        return
    from wellkept.context.start.last_work import digest_line, title_of
    from wellkept.context.start.session_start import digest_now
    from wellkept.project.rule_targets import not_there

    session = engine.store.get_session(match.memory.session_id or "")
    digest = digest_now(engine, session) if session is not None else None
    if digest is None or not digest.outcome:
        return
    text = digest_line(digest, unknown=partial(not_there, root), tokens=RELATED_TOKENS)
    line = SectionLine.of(Section.EARLIER, text, reason="work on the same", name=digest.session)
    title = title_of(digest, first="Earlier work")
    yield SectionLines(Section.EARLIER, (line,) if text else (), title=title)


@record
class PromptWords:
    """The telling words of a prompt, and how much each tells in the whole project: among a few
    decisions every word would be rare."""

    weights: Mapping[str, float]
    rare: frozenset[str]

    @classmethod
    def of(cls, engine: Engine, project: str, prompt: str) -> PromptWords:
        """The words of a prompt of a project."""
        everything = Filter(project=project, stale=False)
        total = engine.store.stats(everything).total
        most = max(_FEW_RECORDS, _RARE_SHARE * total)
        counts = {
            term: len(engine.store.search_fulltext([term], everything, limit=_MOST_HITS))
            for term in _terms(prompt)
        }
        return cls(
            {term: _weight(count, total) for term, count in counts.items()},
            frozenset(t for t, count in counts.items() if count <= most and len(t) >= _RARE_CHARS),
        )

    def said_in(self, text: str) -> float:
        """The share of their weight that a text has."""
        told = set(map(stem, content_words(text)))
        said = sum(weight for term, weight in self.weights.items() if stem(term) in told)
        return said / sum(self.weights.values()) if self.weights else 0.0


def best_match(engine: Engine, where: Filter, words: PromptWords, prompt: str) -> Match | None:
    """The record that shares most with a prompt, by words that are rare in the project."""
    found = {
        term: engine.store.search_fulltext([term], where, limit=_PER_TERM) for term in words.weights
    }
    scores = _summed(found, words.weights)
    if not scores:
        return None
    # Records of one session are one subject: they do not compete.
    groups = {hit.id: hit.candidate.session_id or hit.id for some in found.values() for hit in some}
    first, *others = sorted(scores, key=lambda one: (-scores[one], one))
    mine = [term for term, some in found.items() if any(hit.id == first for hit in some)]
    from wellkept.core.payloads import Decision

    memory = _settled(engine, [one for one in (first, *others) if groups[one] == groups[first]])
    same = {groups[first], *_amended_sessions(engine, memory)}
    second = next((scores[one] for one in others if groups[one] not in same), 0.0)
    return Match(
        memory,
        asked=len(words.weights),
        found=len(mine),
        rare=len(words.rare.intersection(mine)),
        covered=sum(words.weights[term] for term in mine) / sum(words.weights.values()),
        lead=(scores[first] - second) / scores[first],
        names=len(_names(prompt) & _names(memory.content)),
        said=words.said_in(laid_down(memory.content)),
        has_exchange=isinstance(memory.payload, Decision) and bool(memory.payload.subject),
    )


def _has_subject(request: ContextRequest, *, words: int) -> bool:
    """Whether a prompt says enough to be about something."""
    is_bare = request.quiet or _ANSWERS.match(request.query)
    return not is_bare and len(_terms(request.query)) >= words


def laid_down(content: str) -> str:
    """What was decided: of an answer the question and the answer, not what stood before them."""
    parts = _SENTENCE.split(content)
    asked = [number for number, part in enumerate(parts) if part.endswith(("?", "？"))]
    return " ".join(parts[asked[-1] :]) if asked else content


def _settled(engine: Engine, ids: Sequence[str]) -> Memory:
    """Of the records of one subject, best first, what was settled; else the best."""
    from wellkept.core.payloads import Decision

    found = engine.store.get(ids[:_OF_ONE_SUBJECT])
    by_id = {memory.id: memory for memory in found}
    ordered = [by_id[one] for one in ids if one in by_id]
    agreed = (one for one in ordered if isinstance(one.payload, Decision) and one.payload.subject)
    return next(agreed, ordered[0])


def _amended_sessions(engine: Engine, memory: Memory) -> set[str]:
    """The sessions whose decision it amends."""
    older = [one.target_id for one in memory.relations if one.type is RelationType.SUPERSEDES]
    found = engine.store.get([one for one in older if one])
    return {one.session_id for one in found if one.session_id}


def fitting(text: str, *, tokens: int) -> str:
    """A text that fits: of a long one the end, where the rule stands; the story goes first."""
    if estimate_tokens(text) <= tokens:
        return text
    parts = [part for part in _SENTENCE.split(text) if part.strip()]
    while len(parts) > 1 and estimate_tokens(" ".join(parts)) > tokens:
        del parts[0]
    return shorten(" ".join(parts), limit=4 * tokens)


def _terms(prompt: str) -> list[str]:
    # The folders of a path say nothing of the subject.
    said = _FOLDERS.sub("", prompt)
    found = [word for word in dict.fromkeys(content_words(said)) if _is_telling(word)]
    return found[:MAX_TERMS]


def _is_telling(word: str) -> bool:
    base = stem(word)
    return len(word) > 1 and not word.isdigit() and base not in _COMMON | _OF_ANY_BUG


def _summed(
    found: Mapping[str, Sequence[RetrieverHit]], weights: Mapping[str, float]
) -> dict[str, float]:
    """The score of each record: the weights of its words, by how much it speaks of each."""
    scores = defaultdict[str, float](float)
    for term, some in found.items():
        most = max((hit.score for hit in some), default=0.0)
        for hit in some:
            scores[hit.id] += weights[term] * (hit.score / most if most else 1.0)
    return scores


def _weight(count: int, total: int) -> float:
    """How much a word in so many records tells. In a small store all words tell about the same."""
    return math.log(1 + max(total, _SMALL_STORE) / (max(count, 1) + 0.5))


def _names(text: str) -> frozenset[str]:
    found = (name.casefold() for name in identifiers(text))
    return frozenset(
        name for name in found if len(name) >= _NAME_CHARS and "/" not in name and "." not in name
    )
