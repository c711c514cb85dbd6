"""The teacher: all-MiniLM-L6-v2 (Apache-2.0) in int8, from the files of the extra `models`.

Invariant: texts are cut to 48 word pieces, or as many as asked for; vectors have length one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from wellkept.models.embedders.bundled_models import MINILM

_MAX_TOKENS = 48
_DIMENSION = 384


class Teacher:
    """Embeds batches of texts of like length."""

    def __init__(self, max_tokens: int = _MAX_TOKENS) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(MINILM.weights.locate()), options)
        self._inputs = [found.name for found in self._session.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(MINILM.vocabulary.locate()))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()

    @property
    def word_pieces(self) -> list[str]:
        """The entries of the teacher's vocabulary."""
        found = self._tokenizer.get_vocab()
        return sorted(found, key=found.__getitem__)

    def embed(self, texts: Sequence[str], batch: int = 64) -> np.ndarray:
        """Vectors in the order of the texts."""
        encoded = [item.ids for item in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
        out = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
        for begin in range(0, len(order), batch):
            chosen = order[begin : begin + batch]
            width = max(len(encoded[i]) for i in chosen)
            ids = np.zeros((len(chosen), width), dtype=np.int64)
            for row, i in enumerate(chosen):
                ids[row, : len(encoded[i])] = encoded[i]
            mask = (np.arange(width) < np.array([[len(encoded[i])] for i in chosen])).astype(
                np.int64
            )
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = self._session.run(None, {n: given[n] for n in self._inputs})[0]
            pooled = (hidden * mask[:, :, None]).sum(axis=1)
            out[chosen] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return out
