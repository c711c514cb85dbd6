"""Rerankers: relevance scores of texts to a question, from a server or a model on this machine.

Invariant: one score per text, in the order of the texts, within the time limit. A local model is
looked for and loaded at the first question, so that a missing one costs recall only its second
pass; nothing is downloaded.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

from wellkept.core.time_limit import call_within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fastembed.rerank.cross_encoder import TextCrossEncoder

    from wellkept.core.ports.models import Embedder, Vector
    from wellkept.models.http import Endpoint

_TEXTS_PER_REQUEST = 100
_MAX_CHARS = 8_000
# A cross-encoder reads at most 512 tokens of question and text together.
_CROSS_ENCODER_CHARS = 2_000


class HttpReranker:
    """Scores over `/rerank` under the endpoint's address (Jina, Cohere, …)."""

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
        from wellkept.models.http import json_array, json_object, number, post_json, sort_by_index

        body: dict[str, object] = {
            "model": self._model,
            "query": _readable(query),
            "documents": [_readable(text) for text in texts],
            "top_n": len(texts),
        }
        answer = json_object(post_json(self._endpoint, "/rerank", body), what="the answer")
        rows = json_array(answer.get("results"), what="results")
        found = [
            (
                number(row.get("index"), what="an index"),
                number(row.get("relevance_score"), what="a relevance score"),
            )
            for row in (json_object(one, what="a result") for one in rows)
        ]
        return sort_by_index(found, count=len(texts), what="results")


class VectorReranker:
    """Scores by the cosine of an embedder that is too slow to search with. It sees question and
    text one by one, so a text's vector can be kept; a cross-encoder reads them together."""

    def __init__(self, name: str, opened: Callable[[], Embedder], *, limit_s: float) -> None:
        self._name = name
        self._opened = opened
        self._embedder: Embedder | None = None
        self._limit_s = limit_s

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers `query`; higher is better."""
        if not texts:
            return []
        return call_within(
            self._limit_s, lambda: self._cosines(query, texts), what=f"The model {self._name}"
        )

    def _cosines(self, query: str, texts: Sequence[str]) -> list[float]:
        if self._embedder is None:
            self._embedder = self._opened()
        asked = _numbers(self._embedder.embed_query(query))
        found = self._embedder.embed_documents(texts)
        return [
            sum(a * b for a, b in zip(asked, _numbers(vector), strict=True)) for vector in found
        ]


class CrossEncoderReranker:
    """Scores with a downloaded model, on one thread."""

    def __init__(self, name: str, folder: Path, *, limit_s: float = 60.0) -> None:
        self._name = name
        self._folder = folder
        self._limit_s = limit_s

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers `query`; higher is better."""
        if not texts:
            return []
        from wellkept.models.model_hub import running

        asked, *cleaned = (_readable(text, _CROSS_ENCODER_CHARS) for text in (query, *texts))

        def scored() -> list[float]:
            with running(self._name):
                return [float(score) for score in self._model.rerank(asked, cleaned)]

        return call_within(self._limit_s, scored, what=f"The model {self._name}")

    @cached_property
    def _model(self) -> TextCrossEncoder:
        from wellkept.models.downloaded_models import usable_model
        from wellkept.models.model_hub import keep_quiet

        model = usable_model(self._name, "reranker", self._folder)
        keep_quiet()
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        folder = str(model.folder)
        return TextCrossEncoder(model.name, cache_dir=folder, specific_model_path=folder, threads=1)


def _readable(text: str, most: int = _MAX_CHARS) -> str:
    # Servers refuse blank documents and lone surrogates.
    return text[:most].encode("utf-8", "replace").decode("utf-8") or " "


def _numbers(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)
