"""Models on this machine: those to download, and the vectors that slow ones have made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wellkept.core.errors import ProviderError
from wellkept.core.file_locks import lock, open_lock
from wellkept.core.settings import paths
from wellkept.core.types import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.core.ports.models import Embedder, Reranker
    from wellkept.models.downloaded_models import DownloadedModel
    from wellkept.models.model_hub import KnownModel

_KEPT_VECTORS = "vectors"


def known_models() -> list[KnownModel]:
    """Every model that can be downloaded, by kind and size."""
    from wellkept.models import model_hub

    return model_hub.known_models()


def downloaded_models(environment: Mapping[str, str]) -> list[DownloadedModel]:
    """The models on this machine."""
    from wellkept.models import downloaded_models as models

    return models.downloaded_models(paths.models_folder(environment))


def get_model(
    name: str,
    environment: Mapping[str, str],
    *,
    again: bool = False,
    progress: Progress | None = None,
) -> DownloadedModel:
    """Download a model, check it, and write its manifest."""
    from wellkept.models import downloaded_models as models

    folder = paths.models_folder(environment)
    with open_lock(paths.data_folder(environment) / "locks", f"model {name.lower()}") as held:
        if not lock(held):
            raise ProviderError(
                f"Another process is downloading {name}.", hint="Wait until it has ended."
            )
        return models.download(name, folder, again=again, progress=progress)


def remove_model(name: str, environment: Mapping[str, str]) -> DownloadedModel | None:
    """Delete a model from this machine; None when its download had not ended."""
    from wellkept.models import downloaded_models as models

    return models.remove(name, paths.models_folder(environment))


def local_reranker(
    name: str, environment: Mapping[str, str], database: Path, *, limit_s: float
) -> Reranker:
    """A model on this machine that orders the best: MiniLM, or a cross-encoder that was downloaded.

    It is looked for at its first use.
    """
    if name == "minilm":
        from wellkept.models.rerankers import VectorReranker

        return VectorReranker(name, lambda: _minilm(database), limit_s=limit_s)
    from wellkept.models.rerankers import CrossEncoderReranker

    return CrossEncoderReranker(name, paths.models_folder(environment), limit_s=limit_s)


def reranker_problem(name: str, environment: Mapping[str, str], *, deep: bool) -> str | None:
    """Why a reranker on this machine cannot be used, or None; `deep` hashes its files."""
    from wellkept.models.downloaded_models import usable_model
    from wellkept.models.embedders.bundled_models import MINILM

    try:
        if name == "minilm":
            if deep and MINILM.problem() is None:
                MINILM.verify()
            return MINILM.problem()
        model = usable_model(name, "reranker", paths.models_folder(environment))
        if deep:
            model.verify()
    except ProviderError as error:
        return str(error)
    return None


def _minilm(database: Path) -> Embedder:
    from wellkept.models.embedders.minilm import MiniLmEmbedder

    return with_kept_vectors(MiniLmEmbedder(), database, documents=True)


def with_kept_vectors(embedder: Embedder, database: Path, *, documents: bool) -> Embedder:
    """The embedder, which looks texts up beside the database first if it is a slow one."""
    from wellkept.models.embedders.bundled_models import STATIC

    if embedder.model_id == STATIC.model_id:
        return embedder
    from wellkept.models.embedders.cache import CachedEmbedder

    return CachedEmbedder(embedder, database.parent / _KEPT_VECTORS, documents=documents)
