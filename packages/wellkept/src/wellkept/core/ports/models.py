"""Models: embedders, text models, rerankers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from wellkept.core.chat.messages import ModelChunk, ModelInfo, ModelRequest

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


WORD_TABLE = "wellkept-256-"
"""Models with an id that begins so add up vectors of words; others read sentences."""


class TextModel(Protocol):
    """Completes a prompt."""

    def complete(self, prompt: str, *, max_tokens: int) -> str: ...


@record
class ChatAnswer:
    """What a chat model answered, and the tokens that the call took if it said so."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None


class ChatModel(Protocol):
    """A model behind an endpoint or a program.

    `model_id` names it to people. `login` changes when the user logs in again or changes a key; it
    holds no secret. `ask` ends within a time limit of its own and raises ProviderError on failure.
    """

    @property
    def model_id(self) -> str: ...

    @property
    def login(self) -> str: ...

    def ask(self, prompt: str, *, max_tokens: int) -> ChatAnswer: ...


class Reranker(Protocol):
    """Scores texts against a query; larger is better."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]: ...


class AgentModel(Protocol):
    """A chat model behind a provider.

    `stream` yields chunks and ends with exactly one `ModelResponse`; it may be closed before its
    end. It retries what can be retried, before the first word of the answer: thinking and pieces of
    calls may come twice then, and only the `ModelResponse` counts. It ends within a time limit of
    its own. Failures are `ProviderError`; `ContextTooLongError` when the conversation does not fit.
    """

    @property
    def info(self) -> ModelInfo: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]: ...
