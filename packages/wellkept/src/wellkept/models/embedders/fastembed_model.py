"""An embedding model of fastembed that `wellkept models get` has downloaded.

Invariant: the same text gives the same bytes, alone or in a batch; nothing is downloaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.models.embedders.words import pack_unit
from wellkept.models.model_runtime import keep_quiet, running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.models.downloaded_models import DownloadedModel

MAX_CHARS = 8_192
# The E5 family was trained with these words before every text.
_PREFIXES = {"e5": ("query: ", "passage: ")}


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
        text = text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")
        if not text.strip():
            return bytes(4 * self.dimension)
        embed = self._model.query_embed if as_query else self._model.passage_embed
        with running(self.model_id):
            return pack_unit(next(iter(embed([prefix + text]))))
