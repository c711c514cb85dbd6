"""Canonical rows of an engine: memories, and the projects they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wellkept.core.query import Order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from wellkept.core.changes import Change
    from wellkept.core.memory import Memory
    from wellkept.core.query import Filter, Page, Stats


class MemoryStore(Protocol):
    """The canonical rows."""

    def apply(self, changes: Sequence[Change]) -> None:
        """Make all the changes in one transaction, or none of them.

        NotFoundError for an unknown id; ConflictError for an id or an open key already in use.
        Text that `core.text.clean` leaves unchanged is stored exactly; an engine may raise
        UsageError for any other text.
        """
        ...

    def one_read(self) -> AbstractContextManager[None]:
        """Inside the block what this thread reads is of one state; what it writes is seen after."""
        ...

    def get(self, ids: Sequence[str]) -> list[Memory]:
        """Memories in the order of `ids`; unknown ids are left out."""
        ...

    def contents(self, ids: Sequence[str]) -> dict[str, str]:
        """Only the contents, by id; unknown ids are left out."""
        ...

    def resolve(self, text: str, *, project: str | None) -> list[str]:
        """Full ids matching a full id, a short id or a prefix (>= 4 characters); at most 10."""
        ...

    def find_key(self, key: str, *, project: str, user_scope: bool) -> Memory | None:
        """The open memory with that key in the project (or among the `user` memories)."""
        ...

    def list(
        self,
        where: Filter,
        *,
        order: Order = Order.NEWEST,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Memory]:
        """One page; paging has no gaps or repeats while rows are added."""
        ...

    def iterate(self, where: Filter) -> Iterator[Memory]:
        """Every matching memory, oldest first, streamed."""
        ...

    def stats(self, where: Filter) -> Stats:
        """Counts by type, scope and source."""
        ...

    def record_access(self, ids: Sequence[str], *, at: datetime) -> None:
        """Count an access. May be buffered; never blocks a read and never fails one."""
        ...

    def flush(self) -> None:
        """Write buffered access counts."""
        ...


class ProjectStore(Protocol):
    """Projects are named by an identity string; an alias resolves to a canonical identity."""

    def canonical_project(self, identity: str) -> str:
        """Follow aliases; an unknown identity is returned as it is."""
        ...

    def projects(self) -> list[tuple[str, int]]:
        """Every project with memories and their number, largest first."""
        ...

    def merge_projects(self, alias: str, *, into: str) -> int:
        """Make one identity an alias of another and move its memories; returns how many moved."""
        ...
