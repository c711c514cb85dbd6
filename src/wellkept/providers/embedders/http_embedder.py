"""What embedders over HTTP share: an endpoint, a model on it, and texts sent in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from wellkept.providers.embedders.batches import RequestLimits, embed_in_batches
from wellkept.providers.embedders.settings import DEFAULT_DIMENSION, DEFAULT_MODELS, ModelName
from wellkept.providers.http.client import Endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence


class RemoteEmbedder(ABC):
    """Embeds with a model that a server holds."""

    provider: ClassVar[str]
    limits: ClassVar[RequestLimits]

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str | None = None,
        dimension: int = DEFAULT_DIMENSION,
    ) -> None:
        self._endpoint = endpoint
        self._model = model or DEFAULT_MODELS[self.provider]
        self._dimension = dimension

    @property
    def model_id(self) -> str:
        return ModelName(self.provider, self._dimension, self._model).model_id

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed texts that are to be found."""
        return embed_in_batches(
            texts, request=self._request, limits=self.limits, dimension=self._dimension
        )

    def embed_query(self, text: str) -> bytes:
        """Embed a question to find texts with."""
        return self.embed_documents([text])[0]

    @abstractmethod
    def _request(self, texts: list[str]) -> list[list[float]]:
        """One request's worth of vectors, in the order of the texts."""
