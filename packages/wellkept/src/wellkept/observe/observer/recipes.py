"""`wk.observer.recipes`: finds the workflow recipes that fit a task, with staleness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.payloads import WorkflowRecipe
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.types import MemoryType, Phase
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import DEFAULT_MIN_SCORE, RecallRequest
from wellkept.observe.upkeep.staleness import stale_reasons

if TYPE_CHECKING:
    from wellkept.memory.workspace import Workspace

DEFAULT_LIMIT = 2


@record
class FoundRecipe:
    """A recipe that fits a task. `stale_reason` says why it may be out of date."""

    memory: Memory
    recipe: WorkflowRecipe
    score: float
    stale_reason: str | None = None


def find_recipes(
    services: Workspace, task: str, *, limit: int = DEFAULT_LIMIT
) -> list[FoundRecipe]:
    """The recipes that fit a task, best first. A lookup counts as a use and slows their decay."""
    if not task.strip():
        raise UsageError("The task is empty.", hint="Describe the task to find a recipe for.")
    request = RecallRequest(
        query=task,
        where=Filter(project=services.project, types=(MemoryType.WORKFLOW_RECIPE,)),
        limit=limit,
        phase=Phase.DEFINE,
        read_dates=False,
        min_score=DEFAULT_MIN_SCORE,
    )
    found = recall(services.engine, request)
    with stale_reasons(services) as why:
        return [
            FoundRecipe(
                hit.memory, hit.memory.payload, hit.score, _stale(hit.memory, why(hit.memory))
            )
            for hit in found
            if isinstance(hit.memory.payload, WorkflowRecipe)
        ]


def _stale(memory: Memory, reason: str | None) -> str | None:
    return reason or ("a file of it is gone" if memory.stale_at else None)
