"""A model that an agent talks to: streamed, with tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from wellkept.core.chat.messages import ModelChunk, ModelInfo, ModelRequest


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
