"""What holds for a whole session: rules people gave, what is pinned, facts that a person taught.

Candidates only; `build` decides what may be injected, `packing` what fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from wellkept.context.candidates import (
    RULE_TYPES,
    ContextCandidate,
    is_from_repository,
    is_noticed,
    points_back,
    weight,
)
from wellkept.context.sections import Section
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order
from wellkept.core.records import replace
from wellkept.core.types import MemoryType, Scope, Source
from wellkept.memory.engine import Engine

_MAX_RULES, _MAX_TAUGHT, _MAX_OTHERS = 40, 8, 20
# Records of work, not statements that hold.
_RECORDS = frozenset(
    {MemoryType.OBSERVATION, MemoryType.PROMPT, MemoryType.TIMELINE, MemoryType.WORK_STATE}
)
_UNTOLD = _RECORDS | {MemoryType.DECISION}
FRESH = timedelta(days=2)
SURE = 0.8
"""The probability from which on what was said in passing is told at a start. Of sentences in
published sessions 31 of the 44 above it lay something down, and 40 of the 79 that are kept."""


def standing_memories(engine: Engine, project: str) -> Iterator[ContextCandidate]:
    """Pinned memories, rules, and facts that a person taught."""
    here = Filter(project=project, stale=False)
    since = engine.clock() - FRESH
    for memory in engine.store.list(replace(here, pinned=True), limit=_MAX_OTHERS).items:
        if memory.type not in _RECORDS and not memory.is_agent_note:
            yield _rule(memory, 3.0, "pinned")
    rules = replace(here, types=RULE_TYPES)
    for memory in engine.store.list(rules, order=Order.IMPORTANCE, limit=_MAX_RULES).items:
        if is_from_repository(memory) or memory.is_agent_note:
            continue
        if not _is_standing(memory, since):
            continue
        where_from = "about you" if memory.scope is Scope.USER else "stands in this project"
        first = 1.0 if memory.has_persons_word else 0.5
        yield _rule(memory, first, f"{memory.type.value}, {where_from}")
    taught = replace(here, sources=(Source.USER_TAUGHT,))
    for memory in engine.store.list(taught, order=Order.UPDATED, limit=_MAX_TAUGHT).items:
        if memory.type not in _UNTOLD and _is_standing(memory, since):
            yield _rule(memory, 0.6, "taught")


def _is_standing(memory: Memory, since: datetime) -> bool:
    """Whether a rule is told at every start. What a person said in passing is told for two days
    where it is surely a rule and can be understood by itself, then where it is about the matter at
    hand, unless another session heard it too."""
    return not is_noticed(memory) or (
        memory.valid_from >= since and memory.confidence >= SURE and not points_back(memory)
    )


def unfinished_work(engine: Engine, project: str) -> Iterator[ContextCandidate]:
    """The latest unfinished work that a methodology kept."""
    states = Filter(project=project, types=(MemoryType.WORK_STATE,), stale=False)
    for memory in engine.store.list(states, order=Order.UPDATED, limit=1).items:
        yield ContextCandidate(
            memory, 2.0 + weight(memory), "unfinished work", section=Section.LEFT_OFF
        )


def _rule(memory: Memory, first: float, reason: str) -> ContextCandidate:
    return ContextCandidate(memory, first + weight(memory), reason, section=Section.RULES)
