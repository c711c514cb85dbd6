"""Embedders, chat models and rerankers behind the ports of `core`.

Open `registry.py` first: it chooses the embedder. Knows nothing of storage. Names below are
imported on first use; an embedder loads at its first text.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wellkept.models.embedders.calibration import Calibration, calibrate, shipped_calibration
    from wellkept.models.embedders.settings import EmbeddingChoice, TierStatus
    from wellkept.models.registry import (
        EmbeddingPlan,
        LazyEmbedder,
        detect,
        open_embedder,
        plan_embedding,
        verify_weights,
    )

__all__ = [
    "Calibration",
    "EmbeddingChoice",
    "EmbeddingPlan",
    "LazyEmbedder",
    "TierStatus",
    "calibrate",
    "detect",
    "open_embedder",
    "plan_embedding",
    "shipped_calibration",
    "verify_weights",
]

_HOMES = {
    "Calibration": "embedders.calibration",
    "calibrate": "embedders.calibration",
    "shipped_calibration": "embedders.calibration",
    "EmbeddingChoice": "embedders.settings",
    "TierStatus": "embedders.settings",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'registry')}"), name)
