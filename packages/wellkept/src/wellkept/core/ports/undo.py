"""Steps that can be taken back: memories as they were before an action, kept for a while.

A step is written before its action and finished after it, so a crash in between loses nothing. A
step of maintenance names what it archived; it copies no text and is kept.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence


KEPT_DAYS: Final = 7
"""How long a step can be taken back; after that its copies of memories are deleted."""

MAINTENANCE: Final = "maintenance"
"""The action of a step that archived memories by rule. A rule archives a memory once: what a person
brought back stays."""


@record(kw_only=True)
class UndoStep:
    """An action on memories that can be taken back."""

    id: str
    project: str
    action: str
    at: datetime
    count: int
    undone_at: datetime | None = None


class UndoLog(Protocol):
    """What an action changed, to bring it back exactly."""

    def begin_undo(self, step: UndoStep, ids: Sequence[str]) -> None:
        """Keep these memories, and those that they replaced, with their vectors, explanations and
        the lines given of them."""
        ...

    def finish_undo(self, step_id: str, *, made: Sequence[str]) -> None:
        """Note what the action made, and how it left the memories."""
        ...

    def archive(self, step: UndoStep, ids: Sequence[str]) -> list[str]:
        """Archive memories at the moment of the step, and log it as one activity.

        Skips memories that are gone, pinned or archived already; returns the others. Nothing is
        written when none is left.
        """
        ...

    def archived_by_rule(self, *, project: str) -> set[str]:
        """What steps of maintenance archived, undone or not."""
        ...

    def undo_steps(self, *, project: str, limit: int) -> list[UndoStep]:
        """Steps of a project, latest first."""
        ...

    def undo(self, step_id: str, *, project: str) -> UndoStep:
        """Bring everything back as it was before the step, in one transaction. Of what a step of
        maintenance archived, what was restored since stays as it is.

        NotFoundError for an unknown step; ConflictError when it was undone already, or when a
        memory was changed since.
        """
        ...

    def prune_undo(self, *, before: datetime) -> int:
        """Delete steps before a moment, except those of maintenance; returns how many."""
        ...
