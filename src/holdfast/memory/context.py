"""What is worth saying now: memories ranked and packed into a token budget, each with its reason.

One operation serves every moment: a session starts, a prompt comes in, a file is opened, a plan
is made. Invariants: the rendered pack never exceeds its budget; the same store and request give
the same pack; nothing is offered that is stale, closed, waiting for review, that only an
automated source has seen once, or that is of another session alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from holdfast.core.errors import UsageError
from holdfast.core.memory import Memory
from holdfast.core.query import Filter, Order
from holdfast.core.records import record, replace
from holdfast.core.text import content_words, jaccard
from holdfast.core.types import TYPE_RULES, MemoryType, Phase, Scope, Source
from holdfast.memory.engine import Engine
from holdfast.memory.packing import ContextItem, ContextPack, Extra, pack_items
from holdfast.memory.recall import recall
from holdfast.memory.requests import Mode, RecallRequest

DEFAULT_BUDGET_TOKENS = 500
MAX_OFFERS = 60
MIN_RELEVANCE = 0.35
_SAME_WORDS = 0.8
_TOGETHER = 0.6  # above this weight two files count as changing together
_TOGETHER_CAP = 5

_TRUSTED = frozenset({Source.USER_TAUGHT, Source.AGENT_EXPLICIT, Source.IMPORTED})
_STANDING = (MemoryType.PREFERENCE, MemoryType.CONVENTION, MemoryType.CORRECTION)
_WARNING = tuple(t for t, rule in TYPE_RULES.items() if rule.warns)
_PLANNING = (
    MemoryType.WORKFLOW_RECIPE,
    MemoryType.DECISION,
    MemoryType.REQUIREMENT,
    MemoryType.DEAD_END,
    MemoryType.TASK_CALIBRATION,
    MemoryType.CONTEXT_COST,
)


class Moment(StrEnum):
    """When the context is for."""

    SESSION = "session"
    PROMPT = "prompt"
    FILE = "file"
    PLAN = "plan"


@record(kw_only=True)
class ContextRequest:
    """What is going on, and how much may be said about it."""

    project: str
    moment: Moment = Moment.SESSION
    query: str = ""
    files: tuple[str, ...] = ()
    phase: Phase | None = None
    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    max_chars: int | None = None
    shown: frozenset[str] = frozenset()
    session: str | None = None
    mode: Mode = Mode.HYBRID
    count_access: bool = False


@record
class Offer:
    """A memory that a source puts forward, how strongly, and why."""

    memory: Memory
    weight: float
    reason: str


def build_context(
    engine: Engine,
    request: ContextRequest,
    *,
    exists: Callable[[str], bool] | None = None,
    extras: Sequence[Extra] = (),
) -> ContextPack:
    """The pack for a moment. `exists` tells whether a project file is still there; `extras` are
    lines that other sources offer, best first."""
    _check(request)
    offers = sorted(_gather(engine, request), key=lambda o: (-o.weight, o.memory.id))
    chosen = [o for o in _distinct(offers) if _worth_saying(o.memory, request, exists)]
    items = [
        ContextItem.of(engine, offer.memory, reason=offer.reason) for offer in chosen[:MAX_OFFERS]
    ]
    pack = pack_items(
        items,
        moment=request.moment.value,
        project=request.project,
        budget_tokens=request.budget_tokens,
        max_chars=request.max_chars,
        count_tokens=engine.count_tokens,
        extras=extras,
    )
    if request.count_access and pack.items:
        engine.store.touch([item.memory.id for item in pack.items], at=engine.clock())
    return pack


def may_be_pushed(memory: Memory) -> bool:
    """Whether a memory may be offered unasked."""
    if not memory.is_open or memory.stale_at or memory.archived_at or memory.needs_review:
        return False
    vouched = memory.user_verified or memory.pinned or memory.source in _TRUSTED
    return vouched or len(memory.provenance_sessions) > 1


def _check(request: ContextRequest) -> None:
    if request.budget_tokens < 0:
        raise UsageError(
            f"A budget of {request.budget_tokens} tokens makes no sense.", hint="Give 0 or more."
        )
    if request.moment is Moment.PROMPT and not request.query.strip():
        raise UsageError("Context for a prompt needs the prompt.", hint="Give a query.")
    if request.moment is Moment.FILE and not request.files:
        raise UsageError("Context for a file needs its path.", hint="Give at least one file.")


def _worth_saying(
    memory: Memory, request: ContextRequest, exists: Callable[[str], bool] | None
) -> bool:
    if memory.id in request.shown or not may_be_pushed(memory):
        return False
    if memory.scope is Scope.SESSION and memory.session_id != request.session:
        return False
    return exists is None or not memory.files or any(exists(path) for path in memory.files)


def _distinct(offers: Sequence[Offer]) -> Iterator[Offer]:
    """Each memory once, and of nearly equal texts only the strongest."""
    seen: list[frozenset[str]] = []
    ids: set[str] = set()
    for offer in offers:
        if offer.memory.id in ids:
            continue
        its_words = frozenset(content_words(offer.memory.content))
        if any(_alike(its_words, others) for others in seen):
            continue
        ids.add(offer.memory.id)
        seen.append(its_words)
        yield offer


def _alike(left: frozenset[str], right: frozenset[str]) -> bool:
    # Sets of very different sizes cannot share most of their words.
    few, many = sorted((len(left), len(right)))
    return few >= _SAME_WORDS * many and jaccard(left, right) >= _SAME_WORDS


# -- Sources of offers ----------------------------------------------------------------------------


def _gather(engine: Engine, request: ContextRequest) -> Iterator[Offer]:
    if request.moment is Moment.SESSION:
        yield from _standing(engine, request)
        yield from _unfinished(engine, request)
    if request.moment is Moment.PLAN:
        yield from _standing(engine, request)
    if request.files:
        yield from _tied_to_files(engine, request)
        yield from _changing_together(engine, request)
    if request.query.strip():
        yield from _relevant(engine, request)


def _standing(engine: Engine, request: ContextRequest) -> Iterator[Offer]:
    """Pinned memories, and rules that hold all the time, by weight."""
    here = Filter(project=request.project, stale=False)
    for memory in engine.store.list(replace(here, pinned=True), limit=20).items:
        yield Offer(memory, 3.0 + _weight(memory), "pinned")
    rules = replace(here, types=_STANDING)
    for memory in engine.store.list(rules, order=Order.IMPORTANCE, limit=40).items:
        where_from = "about you" if memory.scope is Scope.USER else "stands in this project"
        yield Offer(memory, 1.0 + _weight(memory), f"{memory.type.value}, {where_from}")
    lessons = replace(here, types=(*_WARNING, MemoryType.DECISION), min_importance=0.6)
    for memory in engine.store.list(lessons, order=Order.IMPORTANCE, limit=20).items:
        yield Offer(memory, _weight(memory), f"important {memory.type.value}")


def _unfinished(engine: Engine, request: ContextRequest) -> Iterator[Offer]:
    """Where work was left off last."""
    states = Filter(project=request.project, types=(MemoryType.WORK_STATE,), stale=False)
    for memory in engine.store.list(states, order=Order.UPDATED, limit=1).items:
        yield Offer(memory, 2.0 + _weight(memory), "unfinished work")


def _tied_to_files(engine: Engine, request: ContextRequest) -> Iterator[Offer]:
    """Warnings first, then anything else that is tied to the files at hand."""
    where = Filter(project=request.project, stale=False)
    hits = engine.store.search_links(files=request.files, modules=(), where=where, limit=40)
    for memory in engine.store.get([hit.id for hit in hits]):
        warns = TYPE_RULES[memory.type].warns
        named = next((f for f in memory.files if f in request.files), request.files[0])
        kind = f"{memory.type.value} for {named}" if warns else f"about {named}"
        yield Offer(memory, (2.5 if warns else 1.5) + _weight(memory), kind)


def _changing_together(engine: Engine, request: ContextRequest) -> Iterator[Offer]:
    """Warnings about files that change together with those at hand."""
    links = engine.store.linked_files(
        request.project, request.files, min_weight=_TOGETHER, limit=_TOGETHER_CAP
    )
    others = {link.file_b: link.file_a for link in links if link.weight > _TOGETHER}
    if not others:
        return
    where = Filter(project=request.project, types=_WARNING, stale=False)
    hits = engine.store.search_links(
        files=tuple(others), modules=(), where=where, limit=_TOGETHER_CAP
    )
    for memory in engine.store.get([hit.id for hit in hits]):
        named = next((f for f in memory.files if f in others), next(iter(others)))
        reason = f"{named} changes together with {others[named]}"
        yield Offer(memory, 2.0 + _weight(memory), reason)


def _relevant(engine: Engine, request: ContextRequest) -> Iterator[Offer]:
    """What the query recalls, above a floor: better nothing than noise."""
    planning = request.moment is Moment.PLAN
    found = recall(
        engine,
        RecallRequest(
            query=request.query,
            where=Filter(project=request.project, stale=False),
            limit=20,
            phase=request.phase or (Phase.DEFINE if planning else None),
            mode=request.mode,
            files=request.files,
            count_access=False,
        ),
    )
    for hit in found:
        if hit.score >= MIN_RELEVANCE:
            bonus = 0.5 if planning and hit.memory.type in _PLANNING else 0.0
            yield Offer(hit.memory, 1.2 + hit.score + bonus, f"matches by {', '.join(hit.arms)}")


def _weight(memory: Memory) -> float:
    return memory.importance * memory.confidence
