"""Relevance scores from a cross-encoder of fastembed that `wellkept models get` has downloaded.

Invariant: one score per text, in the order of the texts, within the time limit; nothing is
downloaded. The model is looked for and loaded at the first question, so that a missing one costs
recall only its second pass.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from wellkept.core.time_limit import call_within
from wellkept.models.downloaded_models import usable_model
from wellkept.models.model_runtime import keep_quiet, running

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fastembed.rerank.cross_encoder import TextCrossEncoder

# A cross-encoder reads at most 512 tokens of question and text together.
_MAX_CHARS = 2_000


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
        cleaned = [_readable(text) for text in texts]

        def scored() -> list[float]:
            with running(self._name):
                return [float(score) for score in self._model.rerank(_readable(query), cleaned)]

        return call_within(self._limit_s, scored, what=f"The model {self._name}")

    @cached_property
    def _model(self) -> TextCrossEncoder:
        model = usable_model(self._name, "reranker", self._folder)
        keep_quiet()
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        folder = str(model.folder)
        return TextCrossEncoder(model.name, cache_dir=folder, specific_model_path=folder, threads=1)


def _readable(text: str) -> str:
    return text[:_MAX_CHARS].encode("utf-8", "replace").decode("utf-8") or " "
