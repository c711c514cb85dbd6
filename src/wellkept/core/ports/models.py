"""Models: embedders, text models, rerankers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Vector: TypeAlias = bytes
"""A unit-length embedding as packed little-endian float32."""


class Embedder(Protocol):
    """Turns text into unit vectors. `model_id` changes whenever the vectors would."""

    @property
    def model_id(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]: ...

    def embed_query(self, text: str) -> Vector: ...


class TextModel(Protocol):
    """Completes a prompt."""

    def complete(self, prompt: str, *, max_tokens: int) -> str: ...


class Reranker(Protocol):
    """Scores texts against a query; larger is better."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]: ...
