"""Operations for looking through memories: counts for each filter, and search with its reasons."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from wellkept.api.operations.inputs import MAX_ROWS, MemoryFilterInput
from wellkept.api.server.record_models import output_model
from wellkept.api.views.facets import DEFAULT_LABELS, Facets
from wellkept.api.views.page_search import FoundMemories, found_memories
from wellkept.context.packing import quoted
from wellkept.core.text import first_line
from wellkept.memory.recall.requests import NOTHING_KNOWN

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.api.views.facets import FacetValue


class FacetsInput(MemoryFilterInput):
    """Under which filters to count."""

    labels: int = Field(default=DEFAULT_LABELS, ge=0, le=500, description="Tags, files, modules.")


class FacetsOutput(output_model(Facets)):
    """How many memories each further filter would leave."""


def facets(wk: Wellkept, request: FacetsInput) -> FacetsOutput:
    """Counts for each filter."""
    found = wk.facets(labels=request.labels, **request.filters())
    return FacetsOutput.of(found, text="\n".join(facet_lines(found)))


def facet_lines(found: Facets) -> list[str]:
    """The counts in words, one line for each facet."""

    def told(name: str, values: tuple[FacetValue, ...]) -> str:
        counts = ", ".join(f"{quoted(one.value) or 'none'} {one.count}" for one in values[:20])
        return f"{name}: {counts or 'none'}"

    names = ("types", "sources", "confidence", "methodologies", "validity", "review", "state")
    shown = [*names, "tags", "files", "modules"]
    return [f"{found.total} memories", *(told(name, getattr(found, name)) for name in shown)]


class FindInput(MemoryFilterInput):
    """What to look for."""

    query: str = Field(min_length=1, max_length=4_000)
    limit: int = Field(default=20, ge=1, le=MAX_ROWS)
    offset: int = Field(default=0, ge=0, le=10_000)
    mode: Literal["hybrid", "words", "vectors"] | None = None
    min_score: float | None = Field(
        default=None, ge=0, le=1, description="Least probability of an answer; 0 lists all."
    )


class FindOutput(output_model(FoundMemories)):
    """Memories, best first, with the parts of each score."""


def find_memories(wk: Wellkept, request: FindInput) -> FindOutput:
    """Recall with its reasons; looking counts as no use."""
    started_s = perf_counter()
    found = wk.recall(
        request.query,
        limit=request.limit,
        offset=request.offset,
        mode=request.mode,
        min_score=request.min_score,
        count_access=False,
        **request.filters(),
    )
    view = found_memories(found, started_s=started_s)
    lines = [
        f"{hit.score:.2f} [m:{hit.memory.short}] {quoted(first_line(hit.memory.content))}"
        f" ({', '.join(f'{part.name} {part.effect:+.2f}' for part in hit.parts)})"
        for hit in view.hits
    ]
    return FindOutput.of(view, text="\n".join([*(lines or [NOTHING_KNOWN]), *view.notes]))
