"""Embedders, small text models and rerankers behind the ports of `core`.

Importing this package loads nothing else: each name below is fetched from its module when first
asked for, and `open_embedder` gives an embedder that loads on first use. Knows nothing of storage.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wellkept.providers.embedders.calibration import Calibration, calibrate, shipped_calibration
    from wellkept.providers.embedders.settings import EmbeddingChoice, TierStatus
    from wellkept.providers.registry import (
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
