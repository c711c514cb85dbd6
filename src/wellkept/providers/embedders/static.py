"""The default embedder: pooled static token vectors; no download, no model to run.

The weights are those inside the `wordllama` wheel (MIT), mapped from its file. Pooling is a sum
weighted by smooth inverse frequency; frequencies come from the order of byte-pair ids.
Invariant: the same text gives the same bytes, alone or in a batch, as query or as document. Callers
remove names and question words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wellkept.providers.embedders.bpe import BytePairTokenizer
from wellkept.providers.embedders.bundled_models import STATIC
from wellkept.providers.embedders.model_files import read_safetensors
from wellkept.providers.embedders.vectors import pack_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

MAX_CHARS = 32_768

# Ids 0-2 are markers and 3-258 bytes; merges follow in order of frequency, then characters.
_FIRST_MERGE_ID = 259
_FIRST_CHARACTER_ID = 29_871
_CHARACTER_RANK = 50.0
_RANK_OFFSET = 10.0
_SMOOTHING = 3e-4


class StaticEmbedder:
    """Embeds with the `wordllama` vectors."""

    model_id = STATIC.model_id
    dimension = STATIC.dimension

    def __init__(self) -> None:
        self._tokenizer = BytePairTokenizer.from_file(STATIC.vocabulary.locate())
        self._table = read_safetensors(STATIC.weights.locate())["embedding.weight"]
        self._token_weights = smooth_inverse_frequencies(len(self._table))

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself, so that a batch changes nothing."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Embed one text; text without tokens becomes the zero vector, which matches nothing."""
        ids = self._tokenizer.encode(text[:MAX_CHARS])
        if not ids:
            return bytes(4 * self.dimension)
        # take() on the half-precision table reads only the rows needed from the mapped file.
        rows = self._table.take(ids, axis=0).astype(np.float32)
        return pack_unit(self._token_weights.take(ids) @ rows)


def smooth_inverse_frequencies(size: int) -> npt.NDArray[np.float32]:
    """Weight each vocabulary id by a/(a+p), with p from its rank by Zipf's law."""
    ids = np.arange(size)
    rank = np.where(ids >= _FIRST_MERGE_ID, ids - (_FIRST_MERGE_ID - 1), 1.0)
    rank[_FIRST_CHARACTER_ID:] = _CHARACTER_RANK
    probability = 1.0 / (rank + _RANK_OFFSET)
    probability /= probability.sum()
    return (_SMOOTHING / (_SMOOTHING + probability)).astype(np.float32)
