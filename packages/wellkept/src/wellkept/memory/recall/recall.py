"""Recall: a query to ranked memories, each with the parts of its score.

plan -> retrievers -> candidates -> ranking -> page. Prompts and other raw records are searched when
they are asked for, or when no statement answers. A past date in the query also searches what was
valid then. Invariants: nothing outside the filter is returned, but for what a past date reopens;
the same store, clock and request give the same result; `notes` says what was left out or assumed
(no vectors, a model that failed, a date read from the query).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import RAW_TYPES, Filter, Order, SessionPosition, Validity
from wellkept.core.records import field, record, replace
from wellkept.memory.engine import Engine
from wellkept.memory.recall.ranking import (
    Ranked,
    RankedCandidates,
    RankingContext,
    rank_by_weights,
    spread_out,
)
from wellkept.memory.recall.requests import (
    ANSWERS_FROM,
    BESIDE_SHARE,
    CLEAR_SCORE,
    DEFAULT_MIN_SCORE,
    DEFAULT_PROFILE,
    LEAST_OF_NOTES,
    NOTHING_SURE,
    RecallHit,
    RecallRequest,
    RecallResult,
    ScorePart,
    SearchMode,
)
from wellkept.memory.recall.retrievers import (
    RETRIEVER_CAP,
    CandidateSet,
    Embed,
    QueryPlan,
    QueryVector,
    gather,
    plan_query,
    vector_of,
)
from wellkept.text.dates import BEGINNING

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder
    from wellkept.core.ports.store import Store
    from wellkept.memory.recall.ranking_profiles import Profile

MAX_LIMIT = 1_000
MAX_OFFSET = 1_000_000
_PATH = re.compile(r"(?<![\w/.:-])(?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z]\w{0,7}(?![\w/])")
_MAX_NAMED_FILES = 5
_BEFORE = ("before", "prior to", "until", "vor ", "bis ", "avant", "jusqu", "antes", "hasta")
_LAST_MOMENT = timedelta(milliseconds=1)


@record
class _Reader:
    """Reads memories and texts, each at most once per query."""

    store: Store
    read: dict[str, Memory] = field(default_factory=dict[str, Memory])
    texts: dict[str, str] = field(default_factory=dict[str, str])

    def __call__(self, ids: Sequence[str]) -> list[Memory]:
        missing = [each for each in ids if each not in self.read]
        if missing:
            self.read.update((memory.id, memory) for memory in self.store.get(missing))
        return [self.read[each] for each in ids if each in self.read]

    def contents(self, ids: Sequence[str]) -> dict[str, str]:
        """Only the texts, without reading whole memories."""
        missing = [each for each in ids if each not in self.texts]
        if missing:
            self.texts.update(self.store.contents(missing))
        return {each: self.texts[each] for each in ids if each in self.texts}


@record
class _Search:
    """One query on its way through the retrievers and the ranking."""

    engine: Engine
    reader: _Reader
    request: RecallRequest
    where: Filter
    plan: QueryPlan
    profile: Profile
    near: float

    def run(self, embed: Embed) -> tuple[CandidateSet, RankedCandidates]:
        plan, pool = self._gather(embed, self.where)
        for where in self.reopened:
            _, then = self._gather(embed, where)
            pool = pool.united(then)
        return pool, self.profile(pool, plan, self._context(pool))

    def _gather(self, embed: Embed, where: Filter) -> tuple[QueryPlan, CandidateSet]:
        request = self.request
        return gather(
            self.engine.store,
            self.plan,
            where=where,
            embed=embed,
            use_words=request.mode is not SearchMode.VECTORS,
            files=request.files
            or tuple(dict.fromkeys(_PATH.findall(request.query)))[:_MAX_NAMED_FILES],
            cap=max(RETRIEVER_CAP, request.offset + request.limit),
        )

    @property
    def reopened(self) -> tuple[Filter, ...]:
        """For a question about the past: what held when that time began, and what came up in it;
        for "before" something, what held until then."""
        window, where = self.plan.window, self.where
        if window is None or where.as_of is not None or where.validity is not Validity.OPEN:
            return ()
        if window.until > self.engine.clock():
            return ()
        if window.since <= BEGINNING:
            return (replace(where, as_of=window.until - _LAST_MOMENT),)
        came_up = replace(
            where,
            validity=Validity.ANY,
            since=max(where.since or window.since, window.since),
            until=min(where.until or window.until, window.until),
        )
        return (replace(where, as_of=window.since), came_up)

    def _context(self, pool: CandidateSet) -> RankingContext:
        only_vectors = self.request.mode is SearchMode.VECTORS
        hybrid = not only_vectors and pool.meaning is not None
        return RankingContext(
            now_ms=to_ms(self.engine.clock()),
            read=self.reader,
            contents=self.reader.contents,
            near=self.near,
            phase=self.request.phase,
            past=self.where.as_of is not None or bool(self.reopened),
            unasked=self.request.unasked,
            weight_set="hybrid" if hybrid else "vectors" if only_vectors else "words",
        )


def recall(engine: Engine, request: RecallRequest) -> RecallResult:
    """Answer one query from memory."""
    with engine.store.one_read():
        return _recall(engine, request)


def _recall(engine: Engine, request: RecallRequest) -> RecallResult:
    profile = _profile(request.profile)
    _check(request)
    where = _where(engine, request)
    if where is None:
        return RecallResult(hits=(), considered=0, notes=("There are no sessions yet.",))
    if not request.query.strip():
        return _browse(engine, request, where)
    notes: list[str] = []
    plan = _plan(engine, request, where)
    embedder = _embedder(engine, request)
    near = engine.thresholds().duplicate if embedder else 1.0
    search = _Search(engine, _Reader(engine.store), request, where, plan, profile, near)
    embed = _once(lambda plan: _embedded(plan, embedder, request, notes))
    pool, ranking = _statements_first(search, embed)
    _note_other_model(engine, embedder, pool, notes)
    if request.second_pass:
        pool, ranking = _hyde_pass(search, embedder, pool, ranking, notes)
        ranking = _reranked(search, ranking, notes)
    return _result(search, pool, ranking, notes)


def _profile(name: str) -> Profile:
    if name == DEFAULT_PROFILE:
        return rank_by_weights
    from wellkept.memory.recall.ranking_profiles import profile_named

    return profile_named(name)


def _where(engine: Engine, request: RecallRequest) -> Filter | None:
    """The filter, narrowed by the time modes if there are any; None when nothing can match."""
    if request.around is None and request.recent_sessions is None:
        return request.where
    from wellkept.memory.recall.time_filters import time_filter

    return time_filter(engine, request)


def _plan(engine: Engine, request: RecallRequest, where: Filter) -> QueryPlan:
    plan = plan_query(request.query, now=engine.clock(), read_dates=request.read_dates)
    folded = plan.query.casefold()
    if plan.window or not request.read_dates or not any(hint in folded for hint in _BEFORE):
        return plan
    from wellkept.memory.recall.time_filters import window_before_change

    window = window_before_change(engine.store, plan.query, where=where)
    if window is None:
        return plan
    # The change only tells when: what came of it is not what is asked for.
    asked = plan.query.replace(window.span_text, " ")
    return replace(plan_query(asked, now=engine.clock(), read_dates=False), window=window)


def _statements_first(search: _Search, embed: Embed) -> tuple[CandidateSet, RankedCandidates]:
    """Search statements; only when none answers, raw records too, in one order by score."""
    if _asks_for_raw(search.request, search.where):
        return search.run(embed)
    pool, ranking = replace(search, where=replace(search.where, raw=False)).run(embed)
    types = search.where.types
    no_raw_types = bool(types) and set(types).isdisjoint(RAW_TYPES)
    if no_raw_types or (ranking.order and ranking.order[0].score >= CLEAR_SCORE):
        return pool, ranking
    raw_types = tuple(kind for kind in RAW_TYPES if not types or kind in types)
    raw = replace(search.where, raw=True, types=raw_types)
    records, found = replace(search, where=raw).run(embed)
    if not found.order:
        return pool, ranking
    of_records = {ranked.candidate.id for ranked in found.order}

    def parts(memory_id: str) -> tuple[ScorePart, ...]:
        return (found if memory_id in of_records else ranking).parts(memory_id)

    every = sorted((*ranking.order, *found.order), key=lambda ranked: -ranked.score)
    return pool.united(records), RankedCandidates(tuple(every), parts)


def _asks_for_raw(request: RecallRequest, where: Filter) -> bool:
    """Whether a request is about raw records, or about sessions, which are made of them."""
    if where.raw is not None or (where.types and set(where.types) <= set(RAW_TYPES)):
        return True
    return bool(where.sessions) or request.around is not None


def _once(embed: Embed) -> Embed:
    """Embeds each text only once: several searches of one query share its vector."""
    known: dict[str, QueryVector | None] = {}

    def embedded(plan: QueryPlan) -> QueryVector | None:
        if plan.sentence not in known:
            known[plan.sentence] = embed(plan)
        return known[plan.sentence]

    return embedded


def _check(request: RecallRequest) -> None:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise UsageError(
            f"A limit of {request.limit} is out of range.", hint=f"Use 1 to {MAX_LIMIT}."
        )
    if not 0 <= request.offset <= MAX_OFFSET:
        raise UsageError(
            f"An offset of {request.offset} is out of range.", hint=f"Use 0 to {MAX_OFFSET}."
        )
    if not 0.0 <= request.min_score <= 1.0:
        raise UsageError(
            f"A least score of {request.min_score} is out of range.", hint="Use 0 to 1."
        )
    if request.neighbours < 0:
        raise UsageError(f"{request.neighbours} neighbours is out of range.", hint="Use 0 or more.")


# -- Vectors --------------------------------------------------------------------------------------


def _embedder(engine: Engine, request: RecallRequest) -> Embedder | None:
    """The embedder, if the request may use one: a search by words never loads a model."""
    if request.mode is SearchMode.WORDS:
        return None
    embedder = engine.embedder()
    if embedder is None and request.mode is SearchMode.VECTORS:
        raise UsageError(
            "No embedding model is configured.", hint="Configure one, or search by words."
        )
    return embedder


def _embedded(
    plan: QueryPlan, embedder: Embedder | None, request: RecallRequest, notes: list[str]
) -> QueryVector | None:
    if embedder is None:
        return None
    try:
        return vector_of(embedder, plan)
    except ProviderError as error:
        if request.mode is SearchMode.VECTORS:
            raise
        notes.append(f"Searched by words only: {error.message}")
        return None


def _note_other_model(
    engine: Engine, embedder: Embedder | None, pool: CandidateSet, notes: list[str]
) -> None:
    """Note when vectors found nothing because they belong to another model."""
    if embedder is None or pool.meaning is not None or notes:
        return
    models = [share.model_id for share in engine.store.vector_models()]
    if models and embedder.model_id not in models:
        notes.append(
            f"The stored vectors are of {models[0]}, not {embedder.model_id}: searched by words."
            " Run `wellkept admin reindex`."
        )


def _hyde_pass(
    search: _Search,
    embedder: Embedder | None,
    pool: CandidateSet,
    ranking: RankedCandidates,
    notes: list[str],
) -> tuple[CandidateSet, RankedCandidates]:
    """Too few clear hits: search again with a hypothetical answer, if there is a text model."""
    model = None if embedder is None else search.engine.query_model()
    if embedder is None or model is None:
        return pool, ranking
    from wellkept.memory.recall.hyde_and_rerank import hypothetical_vector, needs_second_pass

    if not needs_second_pass(ranked.score for ranked in ranking.order):
        return pool, ranking
    try:
        vector = hypothetical_vector(search.plan.query, model=model, embedder=embedder)
    except ProviderError as error:
        notes.append(f"No second search with a hypothetical answer: {error.message}")
        return pool, ranking
    if vector is None:
        return pool, ranking
    notes.append("Few clear matches: searched again with a hypothetical answer.")
    return _statements_first(search, lambda _: QueryVector(vector, embedder.model_id))


def _reranked(search: _Search, ranking: RankedCandidates, notes: list[str]) -> RankedCandidates:
    reranker = search.engine.reranker()
    if reranker is None or not ranking.order:
        return ranking
    from wellkept.memory.recall.hyde_and_rerank import reranked

    try:
        query = search.request.query
        return reranked(ranking, query, reranker=reranker, contents=search.reader.contents)
    except ProviderError as error:
        notes.append(f"Not reranked: {error}")
        return ranking


# -- Result ---------------------------------------------------------------------------------------


def _result(
    search: _Search, pool: CandidateSet, ranking: RankedCandidates, notes: list[str]
) -> RecallResult:
    request, window = search.request, search.plan.window
    end = request.offset + request.limit
    clear = _clear(ranking.order, request.min_score)
    spread = spread_out(
        clear,
        contents=search.reader.contents,
        page_size=request.limit,
        pages=-(-end // request.limit),
        several=search.plan.asks_several,
    )
    page = spread[request.offset : end]
    hits = _hits(search, pool, ranking, page)
    if request.count_access and hits:
        search.engine.store.record_access([hit.memory.id for hit in hits], at=search.engine.clock())
    if window is not None:
        notes.append(
            f"Read a time into the question: {window.in_words}; what lies outside ranks lower."
            + (" What was valid then is searched too." if search.reopened else "")
        )
    if hits and _are_guesses(hits, request):
        notes.append(f"{NOTHING_SURE} These are guesses.")
    return RecallResult(
        hits=hits,
        considered=len(ranking.order),
        notes=tuple(notes),
        since=window.since if window else search.where.since,
        until=window.until if window else search.where.until,
        next_offset=end if end < len(clear) else None,
    )


def _are_guesses(hits: Sequence[RecallHit], request: RecallRequest) -> bool:
    """Whether no hit is surely an answer; only the scores of the default profile tell."""
    best = max(hit.score for hit in hits)
    return request.profile == DEFAULT_PROFILE and not request.offset and best < ANSWERS_FROM


def _clear(order: Sequence[Ranked], least: float) -> list[Ranked]:
    """The hits that reach the least score, a higher one if the best is a note. Beside one that
    does, a part of the usual least score is enough for turns, since evidence in a conversation is
    spread over them; and for notes while no hit is clear, since then the order is a guess."""
    best = max((ranked.score for ranked in order), default=0.0)
    if (
        least >= DEFAULT_MIN_SCORE
        and best < LEAST_OF_NOTES
        and order[:1]
        and order[0].candidate.place is None
    ):
        return []
    lowered = least * (BESIDE_SHARE if least <= DEFAULT_MIN_SCORE and best >= least else 1.0)
    of_notes = lowered if best < CLEAR_SCORE else least
    return [
        ranked
        for ranked in order
        if ranked.score >= (of_notes if ranked.candidate.place is None else lowered)
    ]


def _hits(
    search: _Search, pool: CandidateSet, ranking: RankedCandidates, page: Sequence[Ranked]
) -> tuple[RecallHit, ...]:
    ids = [ranked.candidate.id for ranked in page]
    memories = {memory.id: memory for memory in search.reader(ids)}
    around = _around(search, [memories[i] for i in ids if i in memories])
    return tuple(
        RecallHit(
            memory=memories[ranked.candidate.id],
            score=ranked.score,
            retrievers=pool.retrievers_of(ranked.candidate.id, near=search.near / 2),
            parts=ranking.parts(ranked.candidate.id),
            before=around.get((ranked.candidate.id, True), ()),
            after=around.get((ranked.candidate.id, False), ()),
            stale=ranked.candidate.stale,
        )
        for ranked in page
        if ranked.candidate.id in memories
    )


def _around(
    search: _Search, memories: Sequence[Memory]
) -> dict[tuple[str, bool], tuple[Memory, ...]]:
    """The neighbours of each hit in its session, before (True) and after (False) it, in order."""
    span, store = search.request.neighbours, search.engine.store
    if not span or not memories:
        return {}
    places = [
        SessionPosition(m.session_id, m.seq) for m in memories if m.session_id and m.seq is not None
    ]
    rows = store.session_neighbours(places, search.where, span=span)
    near = sorted(store.get([row.id for row in rows]), key=lambda m: (m.seq or 0, m.id))
    found: dict[tuple[str, bool], tuple[Memory, ...]] = {}
    for memory in memories:
        if memory.session_id is None or memory.seq is None:
            continue
        for other in near:
            gap = (other.seq or 0) - memory.seq
            if other.session_id == memory.session_id and 0 < abs(gap) <= span:
                side = (memory.id, gap < 0)
                found[side] = (*found.get(side, ()), other)
    return found


def _browse(engine: Engine, request: RecallRequest, where: Filter) -> RecallResult:
    """An empty query: the latest memories inside the filter."""
    end = request.offset + request.limit
    listing = engine.store.list(where, order=Order.EVENT_LATEST, limit=end)
    page = listing.items[request.offset :]
    if request.count_access and page:
        engine.store.record_access([memory.id for memory in page], at=engine.clock())
    return RecallResult(
        hits=tuple(
            RecallHit(memory=m, score=0.0, retrievers=("time",), stale=m.stale_at is not None)
            for m in page
        ),
        considered=listing.total,
        notes=("No words to search by: newest first.",),
        since=where.since,
        until=where.until,
        next_offset=end if end < listing.total else None,
    )
