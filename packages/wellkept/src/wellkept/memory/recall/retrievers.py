"""The retrievers of recall: independent searches whose hits form one candidate set.

Every retriever is capped and applies the filter. The best hits bring their neighbours in the
session, because the answer is often one turn before or after the words that match. Knows nothing
of ranking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wellkept.core.ports.models import WORD_TABLE
from wellkept.core.records import record, replace
from wellkept.core.text import STOP_WORDS, cjk_runs, fold, identifiers, query_terms, words
from wellkept.core.types import MemoryType
from wellkept.memory.engine import is_zero_vector
from wellkept.text.dates import DateWindow, parse_window

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder, Vector
    from wellkept.core.ports.store import Store
    from wellkept.core.query import Candidate, Filter, RetrieverHit

MAX_QUERY_CHARS = 8_000
MAX_TERMS = 64
MAX_FRAGMENTS = 8
_SHORTEST_FRAGMENT = 3

_WORD = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*")
_MARK = re.compile(r"(?<=\w)(?:/|::|\.)")
_ASKS_WHEN = re.compile(
    r"\b(?:when|(?:what|which) (?:date|day|month|year|time|week)|how (?:long|soon|recently)"
    r"|how many (?:days|weeks|months|years)|since when|wann|quand|cuándo)\b",
    re.IGNORECASE,
)
# "Which places has she seen", "how many", "what kinds of": the answer may be in several sessions.
_ASKS_SEVERAL = re.compile(
    r"\b(?:how many|(?:what|which) (?:kinds?|types?|sorts?) of|in what ways|where (?:has|have)|both"
    r"|(?:what|which)(?: \w+){0,2}? (?!(?:is|was|does|has|as|this|his|its)\b)\w+[^s\W]s"
    r"|what (?:all )?(?:do|did|have|are))\b",
    re.IGNORECASE,
)
_OF_SELF = frozenset({"i", "me", "my", "mine", "myself", "we", "our"})
_YOU_SAID = (
    r"\byou (?:\w+ )?(?:told|said|gave|made|wrote|suggested|recommended|mentioned|provided|listed"
    r"|shared|explained|described|created|named|showed)\b"
)
_OF_WHAT_WAS_SAID = re.compile(_YOU_SAID, re.IGNORECASE)
_FRAME = re.compile(
    r"\bhow (?:many|much|long|often|old|far|soon|recently)\b"
    r"|\b(?:(?:can|could|would) you )?(?:please )?(?:remind|tell) me\b"
    r"|\bdo you (?:remember|recall)\b"
    r"|\bour (?:previous|earlier|last|past) (?:chats?|conversations?|discussions?|talks?)\b"
    rf"|{_YOU_SAID}",
    re.IGNORECASE,
)
_PERSON_ROLES = frozenset({"user", "human"})
ROLES = _PERSON_ROLES | {"assistant", "system", "agent", "model", "tool", "bot", "ai"}


@record
class QueryPlan:
    """What to look up, and what else the query says."""

    query: str
    terms: tuple[str, ...]
    fragments: tuple[str, ...]
    meaning: str
    sentence: str
    speakers: frozenset[str] = frozenset()
    of_self: bool = False
    asks_when: bool = False
    asks_several: bool = False
    window: DateWindow | None = None

    @property
    def date_terms(self) -> frozenset[str]:
        """The words that name the time: they say when, not what."""
        return frozenset(query_terms(self.window.span_text)) if self.window else frozenset()

    @property
    def may_name(self) -> bool:
        """Whether a word is capitalised like a name."""
        return any(w[0].isupper() and _bare(w) not in STOP_WORDS for w in _WORD.findall(self.query))

    def with_authors(self, authors: Iterable[str]) -> QueryPlan:
        """The plan with the authors of possible hits known.

        `speakers` (folded) is set when the query singles one author out: by name or, where the
        person is an author, by "I" and "my". A role ("user") is not a name.
        """
        known = {fold(author) for author in authors}
        asked = {_bare(word) for word in _WORD.findall(self.query)}
        named = {a for a in known - ROLES if not asked.isdisjoint(a.split())}
        speakers = named or (known & _PERSON_ROLES if self.of_self else set[str]())
        names = {part for author in named for part in author.split()}
        return replace(
            self,
            speakers=frozenset(speakers) if len(speakers) == 1 else frozenset[str](),
            meaning=_without(self.query, self.window, STOP_WORDS.union(names)),
            sentence=_without(self.query, self.window, names),
        )


def plan_query(query: str, *, now: datetime, read_dates: bool = True) -> QueryPlan:
    """Analyse a query, or the beginning of a very long one."""
    query = query[:MAX_QUERY_CHARS]
    of_self = not _OF_SELF.isdisjoint(words(query))
    window = parse_window(query, now=now) if read_dates else None
    # The words to look up, without question phrases such as "how many".
    found = query_terms(_FRAME.sub(" ", query))
    return QueryPlan(
        query=query,
        terms=tuple(found if not STOP_WORDS.issuperset(found) else query_terms(query))[:MAX_TERMS],
        fragments=_named_fragments(query),
        meaning=_without(query, window, STOP_WORDS),
        sentence=_without(query, window, ()),
        of_self=of_self and _OF_WHAT_WAS_SAID.search(query) is None,
        asks_when=_ASKS_WHEN.search(query) is not None,
        asks_several=_ASKS_SEVERAL.search(query) is not None,
        window=window,
    )


def _named_fragments(query: str) -> tuple[str, ...]:
    """What may be part of a longer word: code names, and text without spaces."""
    names = [one for name in identifiers(query) for one in (name, *enclosing(name))]
    found = [f for f in (*names, *cjk_runs(query)) if len(f) >= _SHORTEST_FRAGMENT]
    return tuple(dict.fromkeys(found))[:MAX_FRAGMENTS]


def enclosing(name: str) -> list[str]:
    """The folders of a path and the modules of a dotted name, the nearest first: what is said of
    them holds inside. The outermost says too little."""
    return [name[: mark.start()] for mark in _MARK.finditer(name)][:0:-1]


def _without(query: str, window: DateWindow | None, dropped: Collection[str]) -> str:
    """The query without its date and some words. Names pull its vector towards who speaks, and
    function words that of a bag of words towards small talk; other models read whole sentences."""
    said = query.replace(window.span_text, " ") if window else query
    if not dropped:
        return said
    kept = [word for word in _WORD.findall(said) if _bare(word) not in dropped]
    return " ".join(kept) or query


def _bare(word: str) -> str:
    return fold(word).replace("’", "'").removesuffix("'s")


RETRIEVER_CAP = 48
NEIGHBOUR_SPAN = 2
WITH_NEIGHBOURS = 20
_LINKS_CAP = 40
_CAUSAL_CAP = 5
_CAUSAL_WEIGHT = 0.6
_CAUSAL_FILES = 5
_CAUSAL_TYPES = (
    MemoryType.GOTCHA,
    MemoryType.PATTERN,
    MemoryType.ERROR_PATTERN,
    MemoryType.DEAD_END,
)


class QueryVector(NamedTuple):
    """The embedding of a query by one model, and the share of its words that the model knows."""

    vector: Vector
    model_id: str
    known: float = 1.0


Embed: TypeAlias = Callable[[QueryPlan], QueryVector | None]
"""Embeds a query; None when vectors are not used."""


def vector_of(embedder: Embedder, plan: QueryPlan) -> QueryVector | None:
    """The embedding of a query; None for a text without words. The static table adds up words, so
    it is asked without function words; others read sentences."""
    is_table = embedder.model_id.startswith(WORD_TABLE)
    vector = embedder.embed_query(plan.meaning if is_table else plan.sentence)
    if is_zero_vector(vector):
        return None
    known_share = getattr(embedder, "known_share", None)
    return QueryVector(vector, embedder.model_id, known_share(plan.meaning) if known_share else 1.0)


@record
class CandidateSet:
    """Candidates, and the score of each by every retriever that found it.

    `meaning` is None when vectors were not used or none was found; otherwise it holds the cosine of
    every candidate that has a vector. `fragments_guessed`: plain words of the query were searched
    inside identifiers, because no whole word matched. `known` is the share of the query's words
    that the embedder knows: the others are spelled, and near to anything.
    """

    candidates: tuple[Candidate, ...] = ()
    words: Mapping[str, float] | None = None
    meaning: Mapping[str, float] | None = None
    fragments: Mapping[str, float] | None = None
    links: Mapping[str, float] | None = None
    causal: Mapping[str, float] | None = None
    fragments_guessed: bool = False
    known: float = 1.0

    def united(self, other: CandidateSet) -> CandidateSet:
        """The candidates of both; of two scores the better one counts."""
        found = {c.id: c for c in (*self.candidates, *other.candidates)}
        return CandidateSet(
            candidates=tuple(found.values()),
            words=_better(self.words, other.words),
            meaning=_better(self.meaning, other.meaning),
            fragments=_better(self.fragments, other.fragments),
            links=_better(self.links, other.links),
            causal=_better(self.causal, other.causal),
            fragments_guessed=self.fragments_guessed and other.fragments_guessed,
            known=self.known,
        )

    def retrievers_of(self, memory_id: str, *, near: float) -> tuple[str, ...]:
        """The retrievers that found a memory; a vector counts from the cosine `near` on."""
        found = [
            name
            for name, hits in (
                ("words", self.words),
                ("fragments", self.fragments),
                ("links", self.links),
                ("causal", self.causal),
            )
            if hits and memory_id in hits
        ]
        if self.meaning and self.meaning.get(memory_id, -1.0) >= near:
            found.append("vectors")
        return tuple(found) or ("context",)


def gather(
    store: Store,
    plan: QueryPlan,
    *,
    where: Filter,
    embed: Embed,
    use_words: bool = True,
    files: Sequence[str] = (),
    cap: int = RETRIEVER_CAP,
) -> tuple[QueryPlan, CandidateSet]:
    """Run every retriever and unite the hits.

    Words come first: the authors of their hits show which words of the query are names, and the
    returned plan knows them. With `use_words=False` they are used for that only, and only when the
    query may contain a name.
    """
    terms = plan.terms if use_words or plan.may_name else ()
    by_words = store.search_fulltext(terms, where, limit=cap) if terms else []
    found: dict[str, Candidate] = {}
    _add_best(found, by_words, store, where)
    plan = plan.with_authors({c.author for c in found.values() if c.author})
    if not use_words:
        by_words, found = [], {}
    by_fragments = _fragments(store, plan, by_words, where, cap) if use_words else []
    vector = embed(plan)
    near = _near(store, vector, where, cap) if vector else []
    links = _links(store, files, where)
    causal = _causal(store, files, where)
    for hits in (near, by_fragments, links, causal):
        _add_best(found, hits, store, where)
    for candidate, _ in (*by_words, *near, *by_fragments):
        found.setdefault(candidate.id, candidate)
    pool = CandidateSet(
        candidates=tuple(found.values()),
        words=_scores(by_words),
        meaning=_meanings(store, found, near, vector) if vector and near else None,
        fragments=_scores(by_fragments),
        links=_scores(links),
        causal=_scores(causal),
        fragments_guessed=not plan.fragments,
        known=vector.known if vector else 1.0,
    )
    return plan, pool


def _near(store: Store, vector: QueryVector, where: Filter, cap: int) -> list[RetrieverHit]:
    return store.search_vectors(vector.vector, model_id=vector.model_id, where=where, limit=cap)


def _links(store: Store, files: Sequence[str], where: Filter) -> list[RetrieverHit]:
    if not files:
        return []
    return store.search_links(files=files, modules=(), where=where, limit=_LINKS_CAP)


def _fragments(
    store: Store, plan: QueryPlan, by_words: Sequence[RetrieverHit], where: Filter, cap: int
) -> list[RetrieverHit]:
    """Search substrings when the query has code or unspaced text, or when no word matched.

    A word of a sentence counts only inside an identifier: "hooks" is part of `userHooks`, not of
    "webhooks". A query of one word may be a piece of any word.
    """
    if plan.fragments:
        return store.search_substrings(plan.fragments, where, limit=cap)
    if by_words or not plan.terms:
        return []
    hits = store.search_substrings(plan.terms, where, limit=cap)
    if len(plan.terms) == 1:
        return hits
    contents = store.contents([candidate.id for candidate, _ in hits])
    return [hit for hit in hits if _in_identifier(plan.terms, contents.get(hit[0].id, ""))]


def _in_identifier(terms: Sequence[str], text: str) -> bool:
    names = [name.casefold() for name in identifiers(text)]
    return any(term in name for term in terms for name in names)


def _causal(store: Store, files: Sequence[str], where: Filter) -> list[RetrieverHit]:
    """Warnings linked to files that change together with the given ones."""
    if not files or where.project is None:
        return []
    links = store.linked_files(where.project, files, min_weight=_CAUSAL_WEIGHT, limit=_CAUSAL_FILES)
    others = [link.file_b for link in links if link.weight > _CAUSAL_WEIGHT]
    types = tuple(t for t in _CAUSAL_TYPES if not where.types or t in where.types)
    if not others or not types:
        return []
    narrowed = replace(where, types=types)
    return store.search_links(files=others, modules=(), where=narrowed, limit=_CAUSAL_CAP)


def _add_best(
    found: dict[str, Candidate], hits: Sequence[RetrieverHit], store: Store, where: Filter
) -> None:
    """Add the best hits, and the session neighbours of those not found before."""
    best = [c for c, _ in hits[:WITH_NEIGHBOURS] if c.id not in found]
    positions = [position for position in (c.place for c in best) if position is not None]
    around = store.session_neighbours(positions, where, span=NEIGHBOUR_SPAN) if positions else []
    for candidate in (*best, *around):
        found[candidate.id] = candidate


def _meanings(
    store: Store, found: Iterable[str], near: Sequence[RetrieverHit], vector: QueryVector
) -> dict[str, float]:
    """The cosine of every candidate, not only of those that the vector retriever found."""
    known = _scores(near)
    missing = [each for each in found if each not in known]
    if missing:
        known |= store.similarities(vector.vector, model_id=vector.model_id, ids=missing)
    return known


def _better(
    one: Mapping[str, float] | None, other: Mapping[str, float] | None
) -> Mapping[str, float] | None:
    if one is None or other is None:
        return other if one is None else one
    return {each: max(one.get(each, -1.0), other.get(each, -1.0)) for each in {**one, **other}}


def _scores(hits: Iterable[RetrieverHit]) -> dict[str, float]:
    return {candidate.id: score for candidate, score in hits}
