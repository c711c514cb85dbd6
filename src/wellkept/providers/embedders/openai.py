"""Embeddings from any server that speaks OpenAI's `/v1/embeddings`.

Invariant: `dimensions` is always sent, and an answer of another dimension is refused, so vectors
of two sizes can never meet in one index. Answers are put in order by their own index. Knows
nothing of which embedder ought to be used.
"""

from __future__ import annotations

from wellkept.providers.embedders.batches import RequestLimits
from wellkept.providers.embedders.http_embedder import RemoteEmbedder
from wellkept.providers.http import json_fields as answers
from wellkept.providers.http.client import post_json

DEFAULT_URL = "https://api.openai.com/v1"


class OpenAICompatibleEmbedder(RemoteEmbedder):
    """Embeds over `/embeddings` under the endpoint's address."""

    provider = "openai"
    # The service allows 8,192 tokens a text; a Chinese character can be more than one token.
    limits = RequestLimits(texts=64, chars=100_000, chars_per_text=8_000)

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
