"""Relevance scores from a server with the common `/rerank` protocol (Jina, Cohere, ...).

Invariant: one score per text, in the order of the texts, whatever order the server uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.models.http import json_fields
from wellkept.models.http.client import Endpoint, post_json

if TYPE_CHECKING:
    from collections.abc import Sequence

_TEXTS_PER_REQUEST = 100
_MAX_CHARS = 8_000


class HttpReranker:
    """Scores over `/rerank` under the endpoint's address."""

    def __init__(self, endpoint: Endpoint, *, model: str) -> None:
        self._endpoint = endpoint
        self._model = model

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers `query`; higher is better."""
        found: list[float] = []
        for begin in range(0, len(texts), _TEXTS_PER_REQUEST):
            found += self._request(query, texts[begin : begin + _TEXTS_PER_REQUEST])
        return found

    def _request(self, query: str, texts: Sequence[str]) -> list[float]:
        body: dict[str, object] = {
            "model": self._model,
            "query": _sendable(query),
            "documents": [_sendable(text) for text in texts],
            "top_n": len(texts),
        }
        answer = json_fields.json_object(
            post_json(self._endpoint, "/rerank", body), what="the answer"
        )
        found = [
            _indexed(json_fields.json_object(row, what="a result"))
            for row in json_fields.json_array(answer.get("results"), what="results")
        ]
        return json_fields.sort_by_index(found, count=len(texts), what="results")


def _indexed(row: dict[str, object]) -> tuple[float, float]:
    return (
        json_fields.number(row.get("index"), what="an index"),
        json_fields.number(row.get("relevance_score"), what="a relevance score"),
    )


def _sendable(text: str) -> str:
    # Servers refuse blank documents and lone surrogates.
    return text[:_MAX_CHARS].encode("utf-8", "replace").decode("utf-8") or " "
