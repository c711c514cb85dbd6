"""Steps that can be taken back: memories as they were before an action, kept for a while.

A step is written before its action and finished after it, so a crash in between loses nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence


KEPT_DAYS: Final = 7
"""How long a step can be taken back; after that its copies of memories are deleted."""


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

    def undo_steps(self, *, project: str, limit: int) -> list[UndoStep]:
        """Steps of a project, latest first."""
        ...

    def undo(self, step_id: str, *, project: str) -> UndoStep:
        """Bring everything back as it was before the step, in one transaction.

        NotFoundError for an unknown step; ConflictError when it was undone already, or when a
        memory was changed since.
        """
        ...

    def prune_undo(self, *, before: datetime) -> int:
        """Delete steps before a moment; returns how many."""
        ...
