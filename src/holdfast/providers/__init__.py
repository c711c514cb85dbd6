"""Embedders, small text models and rerankers behind the ports of `core`.

Importing this package loads no numpy and no model: `open_embedder` gives an embedder that loads
on first use. Knows nothing of storage.
"""

from __future__ import annotations

from holdfast.providers.calibration import Calibration, calibrate, shipped_calibration
from holdfast.providers.choice import EmbeddingChoice, TierStatus
from holdfast.providers.registry import (
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
