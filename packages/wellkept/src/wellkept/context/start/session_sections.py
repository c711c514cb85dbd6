"""What holds for a whole session, by section: rules people gave, traps, decisions, the module map.

Candidates only; `build` decides what may be injected, `packing` what fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from wellkept.context.candidates import (
    WARNING_TYPES,
    ContextCandidate,
    is_from_repository,
    is_way_out,
    weight,
)
from wellkept.context.sections import Section
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order
from wellkept.core.records import replace
from wellkept.core.text import shorten
from wellkept.core.types import MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.confirmation import may_be_injected

RULE_TYPES = (
    MemoryType.PREFERENCE,
    MemoryType.CONVENTION,
    MemoryType.CORRECTION,
    MemoryType.REQUIREMENT,
)
MIN_TRAP_IMPORTANCE = 0.6
_MAX_RULES, _MAX_TAUGHT, _MAX_OTHERS, _MAX_DECISIONS = 40, 8, 20, 3
_DECISION_CHARS = 160
# Records of work, not statements that hold.
_RECORDS = frozenset(
    {MemoryType.OBSERVATION, MemoryType.PROMPT, MemoryType.TIMELINE, MemoryType.WORK_STATE}
)


def standing_memories(
    engine: Engine, project: str, *, days: int, sessions: frozenset[str] | None
) -> Iterator[ContextCandidate]:
    """Rules, traps and the decisions of the last days; of decisions that were made in a session
    only those of these `sessions`, unless None is given."""
    here = Filter(project=project, stale=False)
    yield from _rules(engine, here)
    traps = replace(here, types=WARNING_TYPES, min_importance=MIN_TRAP_IMPORTANCE)
    for memory in engine.store.list(traps, order=Order.IMPORTANCE, limit=_MAX_OTHERS).items:
        if is_from_repository(memory):
            continue
        if not is_way_out(memory) and not _is_guessed_error(memory):
            reason = f"important {memory.type.value}"
            yield ContextCandidate(memory, weight(memory), reason, section=Section.TRAPS)
    since = engine.clock() - timedelta(days=days)
    decided = replace(here, types=(MemoryType.DECISION,), since=since)
    page = engine.store.list(decided, order=Order.UPDATED, limit=_MAX_OTHERS)
    fitting = [
        one
        for one in page.items
        if may_be_injected(one) and _is_recent(one, sessions) and not is_from_repository(one)
    ]
    for memory in fitting[:_MAX_DECISIONS]:
        yield ContextCandidate(
            memory,
            weight(memory),
            "decided lately",
            text=shorten(memory.content, limit=_DECISION_CHARS),
            section=Section.DECISIONS,
        )


def _is_recent(memory: Memory, sessions: frozenset[str] | None) -> bool:
    """Whether a decision belongs to the work at hand, or to no session."""
    if sessions is None or memory.session_id is None or memory.pinned:
        return True
    return memory.session_id in sessions


def _is_guessed_error(memory: Memory) -> bool:
    """A recurring error that only the observer saw; known traps and ways out say it better."""
    is_guessed = memory.source is Source.OBSERVER_INFERRED and not memory.user_verified
    return memory.type is MemoryType.ERROR_PATTERN and is_guessed


def unfinished_work(engine: Engine, project: str) -> Iterator[ContextCandidate]:
    """The latest unfinished work that a methodology kept."""
    states = Filter(project=project, types=(MemoryType.WORK_STATE,), stale=False)
    for memory in engine.store.list(states, order=Order.UPDATED, limit=1).items:
        yield ContextCandidate(
            memory, 2.0 + weight(memory), "unfinished work", section=Section.LEFT_OFF
        )


def module_map(engine: Engine, project: str, *, limit: int) -> Iterator[ContextCandidate]:
    """The most important module summaries, for a project of which little else is known."""
    where = Filter(project=project, types=(MemoryType.MODULE_INSIGHT,), stale=False)
    for memory in engine.store.list(where, order=Order.IMPORTANCE, limit=limit).items:
        yield ContextCandidate(memory, weight(memory), "module map", section=Section.MODULES)


def _rules(engine: Engine, here: Filter) -> Iterator[ContextCandidate]:
    """Pinned memories, rules, and facts that a person taught."""
    for memory in engine.store.list(replace(here, pinned=True), limit=_MAX_OTHERS).items:
        if memory.type not in _RECORDS:
            yield _rule(memory, 3.0, "pinned")
    rules = replace(here, types=RULE_TYPES)
    for memory in engine.store.list(rules, order=Order.IMPORTANCE, limit=_MAX_RULES).items:
        if is_from_repository(memory):
            continue
        where_from = "about you" if memory.scope is Scope.USER else "stands in this project"
        first = 1.0 if memory.source is Source.USER_TAUGHT or memory.user_verified else 0.5
        yield _rule(memory, first, f"{memory.type.value}, {where_from}")
    taught = replace(here, sources=(Source.USER_TAUGHT,))
    for memory in engine.store.list(taught, order=Order.UPDATED, limit=_MAX_TAUGHT).items:
        if memory.type not in _RECORDS and memory.type is not MemoryType.DECISION:
            yield _rule(memory, 0.6, "taught")


def _rule(memory: Memory, first: float, reason: str) -> ContextCandidate:
    return ContextCandidate(memory, first + weight(memory), reason, section=section_of(memory))


def section_of(memory: Memory) -> Section:
    """Where a standing memory is told at a session start."""
    if memory.type is MemoryType.DECISION:
        return Section.DECISIONS
    if memory.type is MemoryType.MODULE_INSIGHT:
        return Section.MODULES
    if memory.type in WARNING_TYPES and memory.type not in RULE_TYPES:
        return Section.TRAPS
    return Section.RULES
