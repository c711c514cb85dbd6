"""Memory operations: store, forget, context, statistics.

Synchronous; the server decides on which thread they run. Knows no transport.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.api.operations import inputs, outputs
from wellkept.context.packing import render_context
from wellkept.core.records import replace
from wellkept.core.types import MemoryType

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.context.packing import ContextItem, ContextPack


def context(wk: Wellkept, request: inputs.ContextInput) -> outputs.ContextOutput:
    """What is worth saying now, inside a token budget."""
    pack = wk.context(
        request.query,
        moment=request.moment or None,
        files=request.files,
        phase=request.phase or None,
        complexity=request.complexity or None,
        budget_tokens=request.budget_tokens,
        session=request.session or None,
        session_limit=request.session_limit,
        observation_limit=request.observation_limit,
        days=request.days,
    )
    pack = with_observations(pack, request)
    return outputs.ContextOutput(
        context=render_context(pack),
        sections=[one.name.value for one in pack.sections],
        ids=[item.memory.short for item in pack.items],
        skills=[extra.name for extra in pack.extras],
        used_tokens=pack.used_tokens,
    )


def with_observations(pack: ContextPack, request: inputs.ContextInput) -> ContextPack:
    """The pack with no more observations than were asked for, and only of those kinds."""
    if request.observation_limit is None and not request.observation_types:
        return pack
    kinds = frozenset(one.casefold() for one in request.observation_types)
    left = inputs.MAX_ROWS if request.observation_limit is None else request.observation_limit
    items: list[ContextItem] = []
    for item in pack.items:
        if item.memory.type is MemoryType.OBSERVATION:
            if left <= 0 or (kinds and not kinds & set(item.memory.tags)):
                continue
            left -= 1
        items.append(item)
    return replace(pack, items=tuple(items))


def stats(wk: Wellkept, request: inputs.StatsInput) -> outputs.StatsOutput:
    """How much is known."""
    found = wk.stats(**request.filters())
    return outputs.StatsOutput(
        project=wk.project_name,
        total=found.total,
        by_type=found.by_type,
        by_source=found.by_source,
        stale=found.stale,
        needs_review=found.needs_review,
        oldest=f"{found.oldest:%Y-%m-%d}" if found.oldest else "",
        newest=f"{found.newest:%Y-%m-%d}" if found.newest else "",
    )
