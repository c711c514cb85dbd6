"""The error tree.

    WellkeptError
    ├── UsageError        invalid input
    ├── ForbiddenError    the role of who asks does not suffice
    ├── NotFoundError     a named thing does not exist
    ├── ConflictError     a concurrent write, or an ambiguous name
    │   └── MemoryChangedError   a memory was changed since the caller saw it
    ├── StoreError        the storage engine failed
    │   ├── StoreAwayError       the database server cannot be reached
    │   ├── StoreBusyError       another process held the write lock too long
    │   ├── StoreReadOnlyError   the database cannot be written
    │   ├── StoreFullError       the disk is full
    │   ├── StoreCorruptError    the database is damaged
    │   └── StoreVersionError    the database was made by a newer Wellkept
    ├── ProviderError     a model or an embedder failed
    │   └── ContextTooLongError  a conversation does not fit into the model's window
    └── PluginError       a plugin failed or broke its contract

Every message names the problem and the input; the hint says what to do. CLI, HTTP and MCP map these
classes in one table each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from wellkept.core.memory import Memory

ProviderCause: TypeAlias = Literal["login", "busy", "answer", "wait", "other"]
"""Why a model failed: no valid login; limited, failing or silent server; unusable answer; not asked
because it should wait; anything else."""


class WellkeptError(Exception):
    """Root of everything Wellkept raises on purpose."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class UsageError(WellkeptError):
    """Invalid input: the caller can correct it."""


class ForbiddenError(WellkeptError):
    """The role of who asks does not suffice."""


class NotFoundError(WellkeptError):
    """A named thing does not exist."""


class ConflictError(WellkeptError):
    """A concurrent write, or a name that matches more than one thing."""


class MemoryChangedError(ConflictError):
    """A memory was changed since the caller saw it; `current` is how it stands."""

    def __init__(self, current: Memory) -> None:
        super().__init__(
            f"Memory {current.short} was changed meanwhile.", hint="Read it again and repeat."
        )
        self.current = current


class StoreError(WellkeptError):
    """The storage engine failed."""


class StoreAwayError(StoreError):
    """The database server cannot be reached; it may be back in a moment."""


class StoreBusyError(StoreError):
    """Another process held the write lock for longer than the busy time-out."""


class StoreReadOnlyError(StoreError):
    """The database or its folder cannot be written."""


class StoreFullError(StoreError):
    """The disk is full."""


class StoreCorruptError(StoreError):
    """The database file is damaged or is not a Wellkept database."""


class StoreVersionError(StoreError):
    """The database was written by a newer Wellkept than this one."""


class ProviderError(WellkeptError):
    """A model, an embedder or a reranker failed; `cause` says how a caller should go on."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        cause: ProviderCause = "other",
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.cause: ProviderCause = cause
        self.status = status
        self.retry_after_s = retry_after_s


class ContextTooLongError(ProviderError):
    """A conversation does not fit into the model's context window."""


class PluginError(WellkeptError):
    """A plugin could not be loaded or broke its contract."""
