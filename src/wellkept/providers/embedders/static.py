"""The default embedder: pooled static word vectors; no download, no model to run.

The table is our own (`scripts/train_embedder`), mapped from its file: int8 rows with a scale each.
A text's vector is the sum of its words' rows; how much a word counts is its row's length.
Invariant: the same text gives the same bytes, alone or in a batch, as query or as document. Callers
remove names and question words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wellkept.providers.embedders.bundled_models import STATIC
from wellkept.providers.embedders.model_files import read_safetensors
from wellkept.providers.embedders.vectors import pack_unit
from wellkept.providers.embedders.words import WordTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CHARS = 32_768


class StaticEmbedder:
    """Embeds with the table that comes with Wellkept."""

    model_id = STATIC.model_id
    dimension = STATIC.dimension

    def __init__(self) -> None:
        entries = STATIC.vocabulary.locate().read_text(encoding="utf-8").split("\n")
        self._tokenizer = WordTokenizer(entries)
        tensors = read_safetensors(STATIC.weights.locate())
        self._rows, self._scales = tensors["rows"], tensors["scales"]

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself, so that a batch changes nothing."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Embed one text; text without words becomes the zero vector, which matches nothing."""
        ids = self._tokenizer.encode(text[:MAX_CHARS])
        if not ids:
            return bytes(4 * self.dimension)
        # take() on the int8 table reads only the rows needed from the mapped file.
        rows = self._rows.take(ids, axis=0).astype(np.float32)
        return pack_unit(self._scales.take(ids) @ rows)
