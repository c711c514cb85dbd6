"""Memory operations: store, forget, context, statistics.

Synchronous; the server decides on which thread they run. Knows no transport.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.api.operations import inputs, outputs
from wellkept.context.packing import render_context

if TYPE_CHECKING:
    from wellkept.api import Wellkept


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
        observation_types=request.observation_types or None,
        concepts=request.concepts,
        format=request.format,
    )
    return outputs.ContextOutput(
        context=render_context(pack),
        sections=[one.name.value for one in pack.sections],
        ids=[one.memory.short for one in pack.items] + [row.short for row in pack.table],
        skills=[extra.name for extra in pack.extras],
        used_tokens=pack.used_tokens,
    )


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
