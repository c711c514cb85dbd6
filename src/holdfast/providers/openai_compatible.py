"""Embeddings from any server that speaks OpenAI's `/v1/embeddings`.

Invariant: `dimensions` is always sent, and an answer of another dimension is refused, so vectors
of two sizes can never meet in one index. Answers are put in order by their own index. Knows
nothing of which embedder ought to be used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.providers import answers
from holdfast.providers.batches import RequestLimits, embed_in_batches
from holdfast.providers.choice import DEFAULT_DIMENSION, DEFAULT_MODELS, ModelName
from holdfast.providers.http import Endpoint, post_json

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_URL = "https://api.openai.com/v1"

# The service allows 8,192 tokens a text; a Chinese character can be more than one token.
_LIMITS = RequestLimits(texts=64, chars=100_000, chars_per_text=8_000)


class OpenAICompatibleEmbedder:
    """Embeds over `/embeddings` under the endpoint's address."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str = DEFAULT_MODELS["openai"],
        dimension: int = DEFAULT_DIMENSION,
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._dimension = dimension

    @property
    def model_id(self) -> str:
        return ModelName("openai", self._dimension, self._model).model_id

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed texts that are to be found."""
        return embed_in_batches(
            texts, request=self._request, limits=_LIMITS, dimension=self._dimension
        )

    def embed_query(self, text: str) -> bytes:
        """Embed a question to find texts with."""
        return self.embed_documents([text])[0]

    def _request(self, texts: list[str]) -> list[list[float]]:
        body = {
            "model": self._model,
            "input": texts,
            "dimensions": self._dimension,
            "encoding_format": "float",
        }
        answer = answers.table(post_json(self._endpoint, "/embeddings", body), what="the answer")
        found = [
            _indexed(answers.table(row, what="an embedding"))
            for row in answers.rows(answer.get("data"), what="data")
        ]
        return answers.in_order_of_index(found, count=len(texts), what="embeddings")


def _indexed(row: dict[str, object]) -> tuple[float, list[float]]:
    index = answers.number(row.get("index"), what="an index")
    return index, answers.numbers(row.get("embedding"), what="an embedding")
