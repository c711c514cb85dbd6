"""Recall: from a question to ranked memories, each with the reason why it stands where it does.

plan -> arms -> pool -> ranking -> page. Invariants: nothing outside the filter is returned; the
same store, clock and request give the same answer; whatever had to be left out (no vectors, a
model that failed, a date that was read into the question) is said in `notes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.clock import to_ms
from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order, SessionPosition
from wellkept.core.records import field, record
from wellkept.memory.engine import Engine, is_blank
from wellkept.memory.recall import hyde
from wellkept.memory.recall.query_plan import QueryPlan, plan_query
from wellkept.memory.recall.ranking import Ranked, RankedCandidates, RankingContext
from wellkept.memory.recall.ranking_profiles import Profile, profile_named
from wellkept.memory.recall.requests import RecallHit, RecallRequest, RecallResult, SearchMode
from wellkept.memory.recall.rerank import reranked
from wellkept.memory.recall.retrievers import ARM_CAP, CandidateSet, Embed, QueryVector, gather
from wellkept.memory.recall.time_modes import narrowed

if TYPE_CHECKING:
    from wellkept.core.ports.models import Embedder
    from wellkept.core.ports.store import Store

MAX_LIMIT = 1_000
MAX_OFFSET = 1_000_000


@record
class _Reader:
    """Reads memories, each at most once for one question."""

    store: Store
    read: dict[str, Memory] = field(default_factory=dict[str, Memory])

    def __call__(self, ids: Sequence[str]) -> list[Memory]:
        missing = [each for each in ids if each not in self.read]
        if missing:
            self.read.update((memory.id, memory) for memory in self.store.get(missing))
        return [self.read[each] for each in ids if each in self.read]

    def contents(self, ids: Sequence[str]) -> dict[str, str]:
        """The texts alone, for which nothing else of a memory is read."""
        return self.store.contents(ids)


@record
class _Search:
    """One question on its way through the arms and the ranking."""

    engine: Engine
    reader: _Reader
    request: RecallRequest
    where: Filter
    plan: QueryPlan
    profile: Profile
    near: float

    def look(self, embed: Embed) -> tuple[CandidateSet, RankedCandidates]:
        request = self.request
        plan, pool = gather(
            self.engine.store,
            self.plan,
            where=self.where,
            embed=embed,
            use_words=request.mode is not SearchMode.VECTORS,
            files=request.files,
            cap=max(ARM_CAP, request.offset + request.limit),
        )
        return pool, self.profile(pool, plan, self._setting(pool))

    def _setting(self, pool: CandidateSet) -> RankingContext:
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
    """Answer one question from memory."""
    profile = profile_named(request.profile)
    _check(request)
    where = narrowed(engine, request)
    if where is None:
        return RecallResult(hits=(), considered=0, notes=("There are no sessions yet.",))
    if not request.query.strip():
        return _browse(engine, request, where)
    notes: list[str] = []
    plan = plan_query(request.query, now=engine.clock(), read_dates=request.read_dates)
    embedder = _embedder(engine, request)
    near = engine.thresholds().duplicate if embedder else 1.0
    search = _Search(engine, _Reader(engine.store), request, where, plan, profile, near)
    pool, ranking = search.look(lambda text: _embedded(text, embedder, request, notes))
    _say_if_unembedded(engine, embedder, pool, notes)
    pool, ranking = _look_again(search, embedder, pool, ranking, notes)
    ranking = _reranked(search, ranking, notes)
    return _answer(search, pool, ranking, notes)


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
        raise UsageError(f"{request.neighbours} neighbours make no sense.", hint="Use 0 or more.")


# -- Vectors --------------------------------------------------------------------------------------


def _embedder(engine: Engine, request: RecallRequest) -> Embedder | None:
    """The embedder, if this question may use one: a search by words never loads a model."""
    if request.mode is SearchMode.WORDS:
        return None
    embedder = engine.embedder()
    if embedder is None and request.mode is SearchMode.VECTORS:
        raise UsageError(
            "There is no embedding model to search by.", hint="Configure one, or search by words."
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
    return None if is_blank(vector) else QueryVector(vector, embedder.model_id)


def _say_if_unembedded(
    engine: Engine, embedder: Embedder | None, pool: CandidateSet, notes: list[str]
) -> None:
    """Vectors found nothing at all: say so if that is because they are of another model."""
    if embedder is None or pool.meaning is not None or notes:
        return
    models = [share.model_id for share in engine.store.vector_models()]
    if models and embedder.model_id not in models:
        notes.append(
            f"The stored vectors are of {models[0]}, not {embedder.model_id}: searched by words."
            " Run `wellkept reindex`."
        )


def _look_again(
    search: _Search,
    embedder: Embedder | None,
    pool: CandidateSet,
    ranking: RankedCandidates,
    notes: list[str],
) -> tuple[CandidateSet, RankedCandidates]:
    """Too few clear hits: search by a made-up answer too, when a text model is there."""
    if embedder is None or not hyde.is_thin(ranked.score for ranked in ranking.order):
        return pool, ranking
    model = search.engine.text_model()
    if model is None:
        return pool, ranking
    try:
        vector = hyde.hypothetical_vector(search.plan.query, model=model, embedder=embedder)
    except ProviderError as error:
        notes.append(f"No second look with a hypothetical answer: {error.message}")
        return pool, ranking
    if vector is None:
        return pool, ranking
    notes.append("Few clear matches: looked again with a hypothetical answer.")
    return search.look(lambda _: QueryVector(vector, embedder.model_id))


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


# -- The answer -----------------------------------------------------------------------------------


def _answer(
    search: _Search, pool: CandidateSet, ranking: RankedCandidates, notes: list[str]
) -> RecallResult:
    request, window = search.request, search.plan.window
    end = request.offset + request.limit
    page = ranking.order[request.offset : end]
    hits = _hydrated(search, pool, ranking, page)
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


def _hydrated(
    search: _Search, pool: CandidateSet, ranking: RankedCandidates, page: Sequence[Ranked]
) -> tuple[RecallHit, ...]:
    ids = [ranked.candidate.id for ranked in page]
    memories = {memory.id: memory for memory in search.reader(ids)}
    around = _around(search, [memories[i] for i in ids if i in memories])
    return tuple(
        RecallHit(
            memory=memories[ranked.candidate.id],
            score=ranked.score,
            arms=pool.arms_of(ranked.candidate.id, near=search.near / 2),
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
    """No words to go by: what happened last inside the filter, newest first."""
    wanted = request.offset + request.limit
    listing = engine.store.list(where, order=Order.EVENT_LATEST, limit=wanted)
    page = listing.items[request.offset :]
    if request.count_access and page:
        engine.store.record_access([memory.id for memory in page], at=engine.clock())
    return RecallResult(
        hits=tuple(
            RecallHit(memory=m, score=0.0, arms=("time",), stale=m.stale_at is not None)
            for m in page
        ),
        considered=listing.total,
        notes=("No words to search by: newest first.",),
        since=where.since,
        until=where.until,
        next_offset=wanted if wanted < listing.total else None,
    )
