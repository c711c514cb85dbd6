"""What can go wrong, as one tree.

    WellkeptError
    ├── UsageError        the caller asked for something that makes no sense
    ├── NotFoundError     a named thing is not there
    ├── ConflictError     a write met another write, or an ambiguous name
    ├── StoreError        the storage engine cannot do its work
    │   ├── StoreBusyError       another process holds the write lock for too long
    │   ├── StoreReadOnlyError   the database cannot be written
    │   ├── StoreFullError       the disk is full
    │   ├── StoreCorruptError    the database is damaged
    │   └── StoreVersionError    the database was made by a newer Wellkept
    ├── ProviderError     a model or an embedder failed
    └── PluginError       a plugin broke its promise

Every message names what went wrong, with which input, and what to do. Edges (CLI, HTTP, MCP)
map these classes in one table each; nothing above `core` raises bare exceptions on purpose.
"""

from __future__ import annotations


class WellkeptError(Exception):
    """Root of everything Wellkept raises on purpose."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class UsageError(WellkeptError):
    """Bad input: the caller can mend it."""


class NotFoundError(WellkeptError):
    """A named thing does not exist."""


class ConflictError(WellkeptError):
    """A write met another write, or a name fits more than one thing."""


class StoreError(WellkeptError):
    """The storage engine cannot do its work."""


class StoreBusyError(StoreError):
    """Another process held the write lock for longer than the busy time-out."""


class StoreReadOnlyError(StoreError):
    """The database or its folder cannot be written."""


class StoreFullError(StoreError):
    """No room is left on the device."""


class StoreCorruptError(StoreError):
    """The database file is damaged or is not a Wellkept database."""


class StoreVersionError(StoreError):
    """The database was written by a newer Wellkept than this one."""


class ProviderError(WellkeptError):
    """A model, an embedder or a reranker failed."""


class PluginError(WellkeptError):
    """A plugin could not be loaded or broke its promise."""
