"""The default embedder: pooled static word vectors; no download, no model to run.

The table is our own (`scripts/train_embedder`), mapped from its file: int8 rows with a scale each.
A text's vector is the sum of its words' rows; how much a word counts is its row's length, times the
root of how often the text has it.
Invariant: the same text gives the same bytes, alone or in a batch, as query or as document. Callers
remove names and question words.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

from wellkept.models.embedders.bundled_models import STATIC, as_array, map_safetensors
from wellkept.models.embedders.words import Vocabulary, WordTokenizer, pack_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

MAX_CHARS = 32_768
_FEW_WORDS = 250
"""A text of so many words is added up faster than numpy is imported."""


@cache
def bundled_tokenizer() -> WordTokenizer:
    """The words that come with Wellkept."""
    return WordTokenizer(Vocabulary(STATIC.vocabulary.locate().read_bytes()))


class StaticEmbedder:
    """Embeds with the table that comes with Wellkept."""

    model_id = STATIC.model_id
    dimension = STATIC.dimension

    def __init__(self) -> None:
        self._tokenizer = bundled_tokenizer()
        self._tensors = map_safetensors(STATIC.weights.locate())
        self._codes = self._tensors["rows"].data.cast("b")
        self._lengths = self._tensors["scales"].data.cast("f")

    @cached_property
    def _rows(self) -> npt.NDArray[np.int8]:
        return cast("npt.NDArray[np.int8]", as_array(self._tensors["rows"]))

    @cached_property
    def _scales(self) -> npt.NDArray[np.float32]:
        return cast("npt.NDArray[np.float32]", as_array(self._tensors["scales"]))

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself, so that a batch changes nothing."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Embed one text; text without words becomes the zero vector, which matches nothing."""
        ids = self._tokenizer.encode(text[:MAX_CHARS])
        if not ids:
            return bytes(4 * self.dimension)
        counts = Counter(ids)
        has_numpy = "numpy" in sys.modules or len(counts) > _FEW_WORDS
        return pack_unit(self._fast_sum(counts) if has_numpy else self._plain_sum(counts))

    def _plain_sum(self, counts: Mapping[int, int]) -> list[float]:
        """The same numbers as `_fast_sum`, without numpy."""
        sums = [0.0] * self.dimension
        for row, count in counts.items():
            weight = self._lengths[row] * math.sqrt(count)
            codes = self._codes[row * self.dimension : (row + 1) * self.dimension]
            sums = [old + weight * code for old, code in zip(sums, codes, strict=True)]
        return sums

    def _fast_sum(self, counts: Mapping[int, int]) -> npt.NDArray[np.float64]:
        import numpy as np

        once = list(counts)
        often = np.sqrt(np.fromiter(counts.values(), dtype=np.float64, count=len(once)))
        # take() on the int8 table reads only the rows needed from the mapped file. Not a product of
        # matrices: rows are added one after the other, as in `_plain_sum`.
        rows = self._rows.take(once, axis=0) * (self._scales.take(once) * often)[:, np.newaxis]
        return np.add.reduce(rows, axis=0)
