"""Embeddings from any server with OpenAI's `/v1/embeddings`.

Invariant: `dimensions` is always sent, and vectors of another dimension are refused, so an index
never mixes sizes. Vectors are sorted by their index.
"""

from __future__ import annotations

from wellkept.models.embedders.http_embedder import RemoteEmbedder, RequestLimits
from wellkept.models.http import json_fields
from wellkept.models.http.client import Endpoint, post_json

DEFAULT_URL = "https://api.openai.com/v1"


class OpenAICompatibleEmbedder(RemoteEmbedder):
    """Embeds over `/embeddings` under the endpoint's address."""

    provider = "openai"
    # The service allows 8,192 tokens a text; a Chinese character can be more than one token.
    limits = RequestLimits(texts=64, chars=100_000, chars_per_text=8_000)

    def _request(self, texts: list[str], endpoint: Endpoint) -> list[list[float]]:
        body = {
            "model": self._model,
            "input": texts,
            "dimensions": self._dimension,
            "encoding_format": "float",
        }
        answer = json_fields.json_object(
            post_json(endpoint, "/embeddings", body), what="the answer"
        )
        found = [
            _indexed(json_fields.json_object(row, what="an embedding"))
            for row in json_fields.json_array(answer.get("data"), what="data")
        ]
        return json_fields.sort_by_index(found, count=len(texts), what="embeddings")


def _indexed(row: dict[str, object]) -> tuple[float, list[float]]:
    index = json_fields.number(row.get("index"), what="an index")
    return index, json_fields.numbers(row.get("embedding"), what="an embedding")
