"""Recall: a query to ranked memories, each with the parts of its score.

plan -> retrievers -> candidates -> ranking -> page. Invariants: nothing outside the filter is
returned; the same store, clock and request give the same result; `notes` says what was left out or
assumed (no vectors, a model that failed, a date read from the query).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import NotFoundError, ProviderError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order, SessionPosition
from wellkept.core.records import field, record, replace
from wellkept.memory.engine import Engine, is_zero_vector
from wellkept.memory.recall.query_plan import QueryPlan, plan_query
from wellkept.memory.recall.ranking import Ranked, RankedCandidates, RankingContext
from wellkept.memory.recall.ranking_profiles import Profile, profile_named
from wellkept.memory.recall.requests import RecallHit, RecallRequest, RecallResult, SearchMode
from wellkept.memory.recall.retrievers import (
    RETRIEVER_CAP,
    CandidateSet,
    Embed,
    QueryVector,
    gather,
)
from wellkept.memory.recall.second_pass import hypothetical_vector, needs_second_pass, reranked

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder
    from wellkept.core.ports.store import Store

MAX_LIMIT = 1_000
MAX_OFFSET = 1_000_000
_AROUND = timedelta(days=1)
_INCLUSIVE = timedelta(milliseconds=1)  # the upper bound of a filter is exclusive
_PAGE = 200


@record
class _Reader:
    """Reads memories, each at most once per query."""

    store: Store
    read: dict[str, Memory] = field(default_factory=dict[str, Memory])

    def __call__(self, ids: Sequence[str]) -> list[Memory]:
        missing = [each for each in ids if each not in self.read]
        if missing:
            self.read.update((memory.id, memory) for memory in self.store.get(missing))
        return [self.read[each] for each in ids if each in self.read]

    def contents(self, ids: Sequence[str]) -> dict[str, str]:
        """Only the texts, without reading whole memories."""
        return self.store.contents(ids)


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
        request = self.request
        plan, pool = gather(
            self.engine.store,
            self.plan,
            where=self.where,
            embed=embed,
            use_words=request.mode is not SearchMode.VECTORS,
            files=request.files,
            cap=max(RETRIEVER_CAP, request.offset + request.limit),
        )
        return pool, self.profile(pool, plan, self._context(pool))

    def _context(self, pool: CandidateSet) -> RankingContext:
        only_vectors = self.request.mode is SearchMode.VECTORS
        return RankingContext(
            now_ms=to_ms(self.engine.clock()),
            read=self.reader,
            contents=self.reader.contents,
            near=self.near,
            phase=self.request.phase,
            past=self.where.as_of is not None,
            weight_set="vectors" if only_vectors else "words" if pool.meaning is None else "hybrid",
        )


def recall(engine: Engine, request: RecallRequest) -> RecallResult:
    """Answer one query from memory."""
    profile = profile_named(request.profile)
    _check(request)
    where = _time_filter(engine, request)
    if where is None:
        return RecallResult(hits=(), considered=0, notes=("There are no sessions yet.",))
    if not request.query.strip():
        return _browse(engine, request, where)
    notes: list[str] = []
    plan = plan_query(request.query, now=engine.clock(), read_dates=request.read_dates)
    embedder = _embedder(engine, request)
    near = engine.thresholds().duplicate if embedder else 1.0
    search = _Search(engine, _Reader(engine.store), request, where, plan, profile, near)
    pool, ranking = search.run(lambda text: _embedded(text, embedder, request, notes))
    _note_other_model(engine, embedder, pool, notes)
    pool, ranking = _hyde_pass(search, embedder, pool, ranking, notes)
    ranking = _reranked(search, ranking, notes)
    return _result(search, pool, ranking, notes)


def _check(request: RecallRequest) -> None:
    if not 1 <= request.limit <= MAX_LIMIT:
        raise UsageError(
            f"A limit of {request.limit} is out of range.", hint=f"Use 1 to {MAX_LIMIT}."
        )
    if not 0 <= request.offset <= MAX_OFFSET:
        raise UsageError(
            f"An offset of {request.offset} is out of range.", hint=f"Use 0 to {MAX_OFFSET}."
        )
    if request.neighbours < 0:
        raise UsageError(f"{request.neighbours} neighbours is out of range.", hint="Use 0 or more.")


# -- Time filters ---------------------------------------------------------------------------------


def _time_filter(engine: Engine, request: RecallRequest) -> Filter | None:
    """The filter narrowed by the time modes of the request; None when nothing can match.

    A time window of the caller stays part of the filter.
    """
    where = request.where
    if request.around is not None:
        where = _around_event(engine, request.around, where)
    if request.recent_sessions is not None:
        return _recent_sessions(engine, request.recent_sessions, where)
    return where


def _recent_sessions(engine: Engine, count: int, where: Filter) -> Filter | None:
    """Only the most recently active sessions."""
    if count < 1:
        raise UsageError(f"{count} recent sessions is out of range.", hint="Use 1 or more.")
    sessions: dict[str, None] = {}
    cursor: str | None = None
    while len(sessions) < count:
        page = engine.store.list(where, order=Order.EVENT_LATEST, limit=_PAGE, cursor=cursor)
        sessions.update((m.session_id, None) for m in page.items if m.session_id is not None)
        cursor = page.next_cursor
        if cursor is None:
            break
    return replace(where, sessions=tuple(sessions)[:count]) if sessions else None


def _around_event(engine: Engine, memory_id: str, where: Filter) -> Filter:
    """From a day before the session of the event began to a day after it ended."""
    found = engine.store.get([memory_id])
    if not found:
        raise NotFoundError(
            f"No memory has the id {memory_id!r}.", hint="Look it up with `wellkept list`."
        )
    first, last = _extent(engine, found[0].session_id, found[0].valid_from, where)
    since, until = first - _AROUND, last + _AROUND + _INCLUSIVE
    return replace(
        where,
        since=max(since, where.since) if where.since else since,
        until=min(until, where.until) if where.until else until,
    )


def _extent(
    engine: Engine, session_id: str | None, at: datetime, where: Filter
) -> tuple[datetime, datetime]:
    if session_id is None:
        return at, at
    inside = replace(where, sessions=(session_id,))
    first = engine.store.list(inside, order=Order.EVENT, limit=1).items
    last = engine.store.list(inside, order=Order.EVENT_LATEST, limit=1).items
    moments = [at, *(m.valid_from for m in (*first, *last))]
    return min(moments), max(moments)


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
    text: str, embedder: Embedder | None, request: RecallRequest, notes: list[str]
) -> QueryVector | None:
    if embedder is None:
        return None
    try:
        vector = embedder.embed_query(text)
    except ProviderError as error:
        if request.mode is SearchMode.VECTORS:
            raise
        notes.append(f"Searched by words only: {error.message}")
        return None
    return None if is_zero_vector(vector) else QueryVector(vector, embedder.model_id)


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
            " Run `wellkept reindex`."
        )


def _hyde_pass(
    search: _Search,
    embedder: Embedder | None,
    pool: CandidateSet,
    ranking: RankedCandidates,
    notes: list[str],
) -> tuple[CandidateSet, RankedCandidates]:
    """Too few clear hits: search again with a hypothetical answer, if there is a text model."""
    if embedder is None or not needs_second_pass(ranked.score for ranked in ranking.order):
        return pool, ranking
    model = search.engine.query_model()
    if model is None:
        return pool, ranking
    try:
        vector = hypothetical_vector(search.plan.query, model=model, embedder=embedder)
    except ProviderError as error:
        notes.append(f"No second search with a hypothetical answer: {error.message}")
        return pool, ranking
    if vector is None:
        return pool, ranking
    notes.append("Few clear matches: searched again with a hypothetical answer.")
    return search.run(lambda _: QueryVector(vector, embedder.model_id))


def _reranked(search: _Search, ranking: RankedCandidates, notes: list[str]) -> RankedCandidates:
    reranker = search.engine.reranker()
    if reranker is None or not ranking.order:
        return ranking
    try:
        query = search.request.query
        return reranked(ranking, query, reranker=reranker, contents=search.reader.contents)
    except ProviderError as error:
        notes.append(f"Not reranked: {error.message}")
        return ranking


# -- Result ---------------------------------------------------------------------------------------


def _result(
    search: _Search, pool: CandidateSet, ranking: RankedCandidates, notes: list[str]
) -> RecallResult:
    request, window = search.request, search.plan.window
    end = request.offset + request.limit
    page = ranking.order[request.offset : end]
    hits = _hits(search, pool, ranking, page)
    if request.count_access and hits:
        search.engine.store.record_access([hit.memory.id for hit in hits], at=search.engine.clock())
    if window is not None:
        notes.append(
            f"Read a time into the question: {window.since:%Y-%m-%d %H:%M} to"
            f" {window.until:%Y-%m-%d %H:%M}; what lies outside ranks lower."
        )
    return RecallResult(
        hits=hits,
        considered=len(ranking.order),
        notes=tuple(notes),
        since=window.since if window else search.where.since,
        until=window.until if window else search.where.until,
        next_offset=end if end < len(ranking.order) else None,
    )


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
