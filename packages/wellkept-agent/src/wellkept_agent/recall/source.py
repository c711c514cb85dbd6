"""What the loop needs of memory, given from above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from wellkept.core.session.hook_context import HookContext, HookContextRequest


class ContextSource(Protocol):
    """The one operation behind everything that is told unasked. Synchronous; runs in a thread."""

    def __call__(self, request: HookContextRequest, shown: frozenset[str], /) -> HookContext:
        """Context for a moment, without the ids that were shown before."""
        ...


class TaskSource(Protocol):
    """What is known for a task as a whole. Synchronous; runs in a thread."""

    def at_start(self) -> HookContext:
        """What earlier stages of the work hand on."""
        ...

    def for_task(self, task: str, shown: frozenset[str], /) -> HookContext:
        """Recipes, files and end-to-end facts for a task."""
        ...
