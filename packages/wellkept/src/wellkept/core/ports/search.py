"""Derived indexes of an engine: full text, substrings, vectors, file links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wellkept.core.changes import IndexEntry
    from wellkept.core.memory import Memory
    from wellkept.core.ports.models import Vector
    from wellkept.core.query import (
        Candidate,
        Filter,
        RetrieverHit,
        SessionPosition,
        VectorModelCount,
    )


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
