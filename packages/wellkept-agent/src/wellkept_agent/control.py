"""When a run stops: limits, cancellation and interruption are one mechanism.

Whoever wants a run to stop calls `stop`; a limit that is reached does the same. Everything the loop
awaits goes through `guard`, which ends the wait and raises `RunStopped`. A sub-agent's control is a
child: it stops with its parent, and its steps and tokens count for the parent too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from wellkept.core.chat.messages import ModelUsage
from wellkept.core.errors import WellkeptError

if TYPE_CHECKING:
    from wellkept_agent.session import RunResult

_T = TypeVar("_T")


class RunEnd(StrEnum):
    """How a run ended."""

    DONE = "done"
    QUESTION = "question"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    MAX_STEPS = "max_steps"
    MAX_TOKENS = "max_tokens"
    REPEATED_CALLS = "repeated_calls"
    CONTEXT_FULL = "context_full"
    MODEL_FAILED = "model_failed"
    NO_OUTPUT = "no_output"


class RunFailedError(WellkeptError):
    """A run came to no end by itself; `result` says how it went."""

    def __init__(self, result: RunResult[Any]) -> None:
        super().__init__(f"The run ended without an answer ({result.end}): {result.detail}")
        self.result = result


class RunStopped(Exception):  # noqa: N818 - a way out of the loop, not an error
    """The run ends here, for the reason given."""

    def __init__(self, end: RunEnd, detail: str = "") -> None:
        super().__init__(detail or end.value)
        self.end = end
        self.detail = detail


class RunControl:
    """Limits and stop signal of one run. `stop` may be called from any thread of the loop."""

    def __init__(
        self,
        *,
        max_steps: int,
        max_tokens: int | None = None,
        parent: RunControl | None = None,
    ) -> None:
        self.max_steps = max_steps
        self.max_tokens = max_tokens
        self.steps = 0
        self.usage = ModelUsage()
        self._parent = parent
        self._children: list[RunControl] = []
        self._stopped: RunStopped | None = None
        self._signal = asyncio.Event()
        if parent is not None:
            parent.add_child(self)

    def add_child(self, child: RunControl) -> None:
        """Stop a sub-agent together with this run."""
        self._children.append(child)
        if self._stopped is not None:
            child.stop(self._stopped.end, self._stopped.detail)

    def child(self, *, max_steps: int) -> RunControl:
        """The control of a sub-agent."""
        return RunControl(max_steps=max_steps, parent=self)

    def restart(self) -> None:
        """Begin another turn of the same session: steps count anew, tokens go on."""
        self.steps = 0
        self._stopped = None
        self._signal = asyncio.Event()
        self._children = []
        if self._parent is not None and self._parent._stopped is not None:
            self.stop(self._parent._stopped.end, self._parent._stopped.detail)

    def stop(self, end: RunEnd = RunEnd.CANCELLED, detail: str = "") -> None:
        """End the run at its next await. The first reason counts."""
        if self._stopped is None:
            self._stopped = RunStopped(end, detail)
            self._signal.set()
            for child in self._children:
                child.stop(end, detail)

    def raise_if_stopped(self) -> None:
        """Raise when the run was told to stop."""
        if self._stopped is not None:
            raise self._stopped

    def count_step(self) -> None:
        """Count one call of the model; raise when it would be one too many."""
        self.raise_if_stopped()
        if self.steps >= self.max_steps:
            self.stop(RunEnd.MAX_STEPS, f"{self.max_steps} steps without an end")
        elif self.max_tokens is not None and self.usage.total >= self.max_tokens:
            self.stop(RunEnd.MAX_TOKENS, f"{self.usage.total:,} of {self.max_tokens:,} tokens used")
        self.raise_if_stopped()
        self.steps += 1

    def count_usage(self, usage: ModelUsage) -> None:
        """Add the tokens of one call."""
        self.usage += usage
        if self._parent is not None:
            self._parent.count_usage(usage)

    async def guard(self, awaited: Awaitable[_T]) -> _T:
        """Await something; when the run is stopped meanwhile, cancel it and raise."""
        task = asyncio.ensure_future(awaited)
        signal = asyncio.ensure_future(self._signal.wait())
        try:
            await asyncio.wait({task, signal}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                self.raise_if_stopped()
            return await task
        finally:
            signal.cancel()
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
