"""Canonical rows of an engine: memories, and the projects they belong to.

And the indexes derived from them: full text, substrings, vectors, file links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wellkept.core.query import Order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from wellkept.core.changes import Change, IndexEntry
    from wellkept.core.memory import Memory
    from wellkept.core.ports.models import Vector
    from wellkept.core.query import (
        Candidate,
        Filter,
        Page,
        RetrieverHit,
        SessionPosition,
        Stats,
        VectorModelCount,
    )


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


class SearchIndex(Protocol):
    """Retrievers. Larger scores are better; scales differ between retrievers.

    A hit carries the `Candidate` that ranking needs, so the row is not read again. Caches are
    allowed, but every result reflects all rows committed before the call by any process.
    """

    def search_fulltext(
        self, terms: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        """Memories that contain any of the terms, best first (BM25-like). A term with a space is
        a phrase. Terms are data: there is no query syntax."""
        ...

    def search_substrings(
        self, substrings: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        """Memories whose content contains any of the substrings, ignoring case. The score is the
        number of matched characters; ties put the latest written first."""
        ...

    def search_vectors(
        self, vector: Vector, *, model_id: str, where: Filter, limit: int
    ) -> list[RetrieverHit]:
        """Nearest memories by cosine, among vectors of that model only."""
        ...

    def similarities(
        self, vector: Vector, *, model_id: str, ids: Sequence[str]
    ) -> dict[str, float]:
        """Exact cosine for those of the memories that have a vector of that model."""
        ...

    def search_links(
        self, *, files: Sequence[str], modules: Sequence[str], where: Filter, limit: int
    ) -> list[RetrieverHit]:
        """Memories linked to the files or modules; the score is the number of links."""
        ...

    def session_neighbours(
        self, positions: Sequence[SessionPosition], where: Filter, *, span: int
    ) -> list[Candidate]:
        """Memories within `span` positions of one of these in the same session; each once."""
        ...


class VectorStore(Protocol):
    """Stored vectors, each with its model id and dimension."""

    def vector_models(self) -> list[VectorModelCount]:
        """Models of the stored vectors, most used first."""
        ...

    def memories_without_vector(
        self, *, model_id: str, skip_types: Sequence[str], after: str | None, limit: int
    ) -> list[Memory]:
        """Open memories without a vector of that model, by id, after the given id."""
        ...

    def put_index_entries(self, entries: Sequence[tuple[str, IndexEntry]]) -> None:
        """Set extra text and vector of existing memories; unknown ids are skipped."""
        ...

    def vectors(self, *, model_id: str, where: Filter) -> Iterator[tuple[str, Vector]]:
        """The stored vectors of one model inside the filter."""
        ...

    def drop_vectors(self, *, model_id: str) -> int:
        """Delete a model's vectors; returns how many there were."""
        ...
