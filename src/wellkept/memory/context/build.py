"""What is worth saying now: memories ranked and packed into a token budget, each with its reason.

One operation serves every moment: a session starts, a prompt comes in, a file is opened, a command
is run, a plan is made. Invariants: the rendered pack never exceeds its budget; the same store and
request give the same pack; nothing is offered that is stale, closed, waiting for review, that only
an automated source has seen once, or that is of another session alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.text import content_words, jaccard
from wellkept.core.types import MemoryType, Phase, Scope
from wellkept.memory.context.candidates import (
    INJECTED_TYPES,
    NEVER_INJECTED,
    TYPES_THAT_WARN,
    ContextCandidate,
    changing_together,
    for_qa,
    is_about_qa,
    is_way_out,
    known_to_fail,
    may_be_pushed,
    own_notes,
    tied_to_files,
    weight,
)
from wellkept.memory.context.packing import ContextItem, ContextPack, ExtraLine, pack_items
from wellkept.memory.engine import Engine
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import RecallRequest, SearchMode

DEFAULT_BUDGET_TOKENS = 500
MAX_OFFERS = 60
MIN_RELEVANCE = 0.35
_SAME_WORDS = 0.8
MAX_AT_FILE = 4

_STANDING = (MemoryType.PREFERENCE, MemoryType.CONVENTION, MemoryType.CORRECTION)
_PLANNING = (
    MemoryType.WORKFLOW_RECIPE,
    MemoryType.DECISION,
    MemoryType.REQUIREMENT,
    MemoryType.DEAD_END,
)


class Moment(StrEnum):
    """When the context is for."""

    SESSION = "session"
    PROMPT = "prompt"
    FILE = "file"
    COMMAND = "command"
    FAILURE = "failure"
    PLAN = "plan"


_MAX_SAID = {Moment.FILE: MAX_AT_FILE, Moment.COMMAND: 2, Moment.FAILURE: 2}


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
    mode: SearchMode = SearchMode.HYBRID
    count_access: bool = False


def build_context(
    engine: Engine,
    request: ContextRequest,
    *,
    exists: Callable[[str], bool] | None = None,
    extras: Sequence[ExtraLine] = (),
    vouched: Sequence[ContextCandidate] = (),
) -> ContextPack:
    """The pack for a moment. `exists` tells whether a project file is still there; `extras` are
    lines that other sources offer, best first. `vouched` are memories that fit for certain: they
    come first, also when only one session has shown them."""
    _check(request)
    offers = sorted(_gather(engine, request), key=lambda o: (-o.weight, o.memory.id))
    # What may not be said must not stand in for what may; what was said already does.
    sayable = [o for o in offers if _may_be_said(o.memory, request, exists)]
    first = {one.memory.id: one for one in vouched}
    others = [o for o in _distinct(sayable) if o.memory.id not in first]
    chosen = [o for o in (*first.values(), *others) if o.memory.id not in request.shown]
    if request.moment in _MAX_SAID:
        chosen = _few(chosen, _MAX_SAID[request.moment])
    items = [_item(engine, offer) for offer in chosen[:MAX_OFFERS]]
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
        engine.store.record_access([item.memory.id for item in pack.items], at=engine.clock())
    return pack


def _item(engine: Engine, offer: ContextCandidate) -> ContextItem:
    item = ContextItem.of(engine, offer.memory, reason=offer.reason, text=offer.text)
    return replace(item, citation="noted in this session") if offer.own else item


def _few(offers: Sequence[ContextCandidate], most: int) -> list[ContextCandidate]:
    """Opening a file is no question: only the strongest are said, and what the session noted."""
    few = [offer.memory.id for offer in offers if not offer.own][:most]
    return [offer for offer in offers if offer.own or offer.memory.id in few]


def _check(request: ContextRequest) -> None:
    if request.budget_tokens < 0:
        raise UsageError(
            f"A budget of {request.budget_tokens} tokens makes no sense.", hint="Give 0 or more."
        )
    if (
        request.moment in (Moment.PROMPT, Moment.COMMAND, Moment.FAILURE)
        and not request.query.strip()
    ):
        raise UsageError(
            f"Context for a {request.moment.value} needs its words.", hint="Give a query."
        )
    if request.moment is Moment.FILE and not request.files:
        raise UsageError("Context for a file needs its path.", hint="Give at least one file.")


def _may_be_said(
    memory: Memory, request: ContextRequest, exists: Callable[[str], bool] | None
) -> bool:
    if memory.type in NEVER_INJECTED or not may_be_pushed(memory):
        return False
    if memory.scope is Scope.SESSION and memory.session_id != request.session:
        return False
    return exists is None or all(exists(path) for path in memory.files)


def _distinct(offers: Sequence[ContextCandidate]) -> Iterator[ContextCandidate]:
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


def _gather(engine: Engine, request: ContextRequest) -> Iterator[ContextCandidate]:
    if request.moment in (Moment.COMMAND, Moment.FAILURE):
        yield from known_to_fail(engine, request.project, request.query, mode=request.mode)
        if request.moment is Moment.FAILURE:
            yield from _relevant(engine, request)
        return
    if request.moment is Moment.SESSION:
        yield from _standing(engine, request)
        yield from _unfinished(engine, request)
    if request.moment is Moment.PLAN:
        yield from _standing(engine, request)
    yield from _at_hand(engine, request)
    if request.query.strip():
        yield from _relevant(engine, request)
    if request.phase is Phase.VALIDATE or is_about_qa(request.query):
        yield from for_qa(engine, request.project, request.query, mode=request.mode)


def _at_hand(engine: Engine, request: ContextRequest) -> Iterator[ContextCandidate]:
    """What the files at hand, or the session so far, call for."""
    project, files = request.project, request.files
    at_start = request.moment is Moment.SESSION
    if files:
        at_file = request.moment is Moment.FILE
        yield from tied_to_files(engine, project, files, warnings_only=at_file)
        yield from changing_together(engine, project, files)
    if request.session and (files or at_start):
        yield from own_notes(engine, project, request.session, files)


def _standing(engine: Engine, request: ContextRequest) -> Iterator[ContextCandidate]:
    """Pinned memories, and rules that hold all the time, by weight."""
    here = Filter(project=request.project, stale=False)
    for memory in engine.store.list(replace(here, pinned=True), limit=20).items:
        yield ContextCandidate(memory, 3.0 + weight(memory), "pinned")
    rules = replace(here, types=_STANDING)
    for memory in engine.store.list(rules, order=Order.IMPORTANCE, limit=40).items:
        where_from = "about you" if memory.scope is Scope.USER else "stands in this project"
        yield ContextCandidate(memory, 1.0 + weight(memory), f"{memory.type.value}, {where_from}")
    lessons = replace(here, types=(*TYPES_THAT_WARN, MemoryType.DECISION), min_importance=0.6)
    for memory in engine.store.list(lessons, order=Order.IMPORTANCE, limit=20).items:
        yield ContextCandidate(memory, weight(memory), f"important {memory.type.value}")


def _unfinished(engine: Engine, request: ContextRequest) -> Iterator[ContextCandidate]:
    """Where work was left off last."""
    states = Filter(project=request.project, types=(MemoryType.WORK_STATE,), stale=False)
    for memory in engine.store.list(states, order=Order.UPDATED, limit=1).items:
        yield ContextCandidate(memory, 2.0 + weight(memory), "unfinished work")


def _relevant(engine: Engine, request: ContextRequest) -> Iterator[ContextCandidate]:
    """What the query recalls, above a floor: better nothing than noise. Raw records of sessions are
    never said, and there are so many that they would leave no room."""
    planning = request.moment is Moment.PLAN
    found = recall(
        engine,
        RecallRequest(
            query=request.query,
            where=Filter(project=request.project, types=INJECTED_TYPES, stale=False, raw=False),
            limit=20,
            phase=request.phase or (Phase.DEFINE if planning else None),
            mode=request.mode,
            files=request.files,
            count_access=False,
        ),
    )
    for hit in found:
        if hit.score >= MIN_RELEVANCE and not is_way_out(hit.memory):
            bonus = 0.5 if planning and hit.memory.type in _PLANNING else 0.0
            yield ContextCandidate(
                hit.memory, 1.2 + hit.score + bonus, f"matches by {', '.join(hit.arms)}"
            )
