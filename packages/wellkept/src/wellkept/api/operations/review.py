"""Operations of review: many memories at once with undo, corrections, history, Clear All."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field

from wellkept.api.operations.inputs import Input, MemoryFilterInput, Model, Texts
from wellkept.api.operations.outputs import Output
from wellkept.api.server.record_models import ViewOutput, output_model, view_model
from wellkept.api.views.bulk import MAX_MEMORIES, BulkAction, BulkResult
from wellkept.api.views.history import MemoryHistory
from wellkept.api.views.review import Correction, CorrectionReason, ReviewGroups
from wellkept.context.packing import quoted
from wellkept.core.errors import UsageError
from wellkept.core.ports.undo import UndoStep
from wellkept.core.text import counted, first_line

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.api.views.review import ReviewItem
    from wellkept.core.memory import Memory


class BulkFilter(MemoryFilterInput):
    """All memories that match."""


class SeenVersion(Model):
    """The version of a memory that a person saw."""

    id: str
    updated_at: datetime


class BulkInput(Input):
    """An action on memories: those that are named, or all that match a filter."""

    action: BulkAction
    ids: Texts = Field(default_factory=list, max_length=MAX_MEMORIES)
    where: BulkFilter | None = Field(default=None, description="In place of ids: all that match.")
    reason: str = Field(default="", max_length=2_000)
    importance: float | None = Field(default=None, ge=0, le=1)
    tags: Texts = Field(default_factory=list)
    if_updated_at: list[SeenVersion] = Field(
        default_factory=list[SeenVersion], description="Refuse when one was changed since."
    )
    dry_run: bool = Field(default=False, description="Only say what would be changed.")


class BulkOutput(output_model(BulkResult)):
    """What was done; `undo_id` takes it back."""


def bulk(wk: Wellkept, request: BulkInput) -> BulkOutput:
    """Change many memories at once."""
    if bool(request.ids) == (request.where is not None):
        raise UsageError("Name memories by ids, or give a filter in where.", hint="Not both.")
    seen = {wk.get(one.id).id: one.updated_at for one in request.if_updated_at}
    done = wk.bulk(
        request.action,
        request.ids,
        filters=request.where.filters() if request.where else None,
        reason=request.reason,
        importance=request.importance,
        tags=request.tags,
        expected=seen,
        dry_run=request.dry_run,
    )
    undo = f" Undo with {done.undo_id}." if done.undo_id else ""
    return BulkOutput.of(
        done, text=f"{done.action}: {counted(done.count, 'memory', 'memories')}.{undo}"
    )


class UndoInput(Input):
    """Which action to take back."""

    id: str = Field(min_length=1, description="The undo_id that the action gave.")


class UndoOutput(output_model(UndoStep)):
    """The action that was taken back."""


def undo(wk: Wellkept, request: UndoInput) -> UndoOutput:
    """Take an action back, exactly."""
    done = wk.undo(request.id)
    told = f"Undone: {done.action} of {counted(done.count, 'memory', 'memories')}."
    return UndoOutput.of(done, text=told)


class UndoStepsInput(Input):
    """How many to list."""

    limit: int = Field(default=20, ge=1, le=100)


class UndoStepsOutput(ViewOutput):
    """Actions that can be taken back, latest first."""

    items: list[view_model(UndoStep)]  # type: ignore[valid-type]


def undo_steps(wk: Wellkept, request: UndoStepsInput) -> UndoStepsOutput:
    """What can be taken back."""
    steps = wk.undo_steps(limit=request.limit)
    lines = [f"{one.id} {one.at:%Y-%m-%d %H:%M} {one.action} ({one.count})" for one in steps]
    return UndoStepsOutput.of({"items": steps}, text="\n".join(lines) or "Nothing to undo.")


class HistoryInput(Input):
    """Whose history."""

    id: str = Field(min_length=1, description="A memory's id, short id or key.")


class HistoryOutput(output_model(MemoryHistory)):
    """Versions of a memory and what happened to them."""


def history(wk: Wellkept, request: HistoryInput) -> HistoryOutput:
    """How a memory came to be."""
    found = wk.history(request.id)
    lines = [f"{one.at:%Y-%m-%d} {one.kind.value}: {quoted(one.text)}" for one in found.entries]
    return HistoryOutput.of(found, text="\n".join(lines))


class ReviewInput(Input):
    """Which session to review."""

    session: str = Field(default="", description="Its id or beginning. Empty: all that waits.")


class ReviewOutput(output_model(ReviewGroups)):
    """What to look at, in three groups."""


def review(wk: Wellkept, request: ReviewInput) -> ReviewOutput:
    """What a session left to look at."""
    found = wk.review(session=request.session or None)
    return ReviewOutput.of(found, text="\n".join(review_lines(found)))


def review_lines(found: ReviewGroups) -> list[str]:
    """The groups in words."""

    def told(title: str, items: tuple[ReviewItem, ...]) -> list[str]:
        return [f"{title} ({len(items)})", *(f"  {_title(one.memory)}" for one in items)]

    return [
        *told("applied", found.applied),
        *told("new, to review", found.new),
        *told("confirmed by rule", found.auto_confirmed),
    ]


def _title(memory: Memory) -> str:
    return f"[m:{memory.short}] {memory.type.value}: {quoted(first_line(memory.content))}"


class CorrectInput(Input):
    """What is wrong with a memory, and what is right."""

    id: str = Field(min_length=1, description="A memory's id, short id or key.")
    reason: CorrectionReason
    content: str = Field(default="", description="What is right; for inaccurate and too_specific.")
    original: str = Field(default="", description="The memory that it repeats; for duplicate.")
    if_updated_at: datetime | None = Field(
        default=None, description="Refuse when the memory was changed since that moment."
    )


class CorrectOutput(output_model(Correction)):
    """What stands now; `undo_id` takes it back."""


def correct(wk: Wellkept, request: CorrectInput) -> CorrectOutput:
    """Correct a memory."""
    done = wk.correct(
        request.id,
        request.reason,
        content=request.content,
        original=request.original,
        if_updated_at=request.if_updated_at,
    )
    return CorrectOutput.of(done, text=f"{done.reason.value}: {_title(done.memory)}")


class ClearInput(Input):
    """Everything of a project, behind its typed name."""

    name: str = Field(default="", description="The project's name, typed; without it only counts.")


class ClearOutput(Output):
    """What was deleted for good, or would be."""

    done: bool
    project_name: str
    memories: int
    sessions: int

    def text(self) -> str:
        said = "Deleted" if self.done else f"Type {self.project_name!r} to delete"
        return f"{said}: {self.memories} memories, {self.sessions} sessions."


def clear(wk: Wellkept, request: ClearInput) -> ClearOutput:
    """Delete all memories and sessions of the project; those about the person stay."""
    typed = request.name.strip()
    if typed and typed != wk.project_name:
        raise UsageError(
            f"{typed!r} is not the name of this project.", hint=f"Type {wk.project_name!r}."
        )
    counts = wk.clear_project(dry_run=not typed)
    return ClearOutput(
        done=bool(typed),
        project_name=wk.project_name,
        memories=counts.memories,
        sessions=counts.sessions,
    )
