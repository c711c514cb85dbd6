"""Reference engines made of dicts: `ModelStore` and `ModelGraph`.

Slow and obviously correct; property tests compare real engines with them. Open `store.py` first.
Imports `core` only. Nothing is imported until a name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.model_store.graph import ModelGraph
    from tests.support.model_store.store import ModelStore

__all__ = ["ModelGraph", "ModelStore"]

_MODULES = {"ModelGraph": "graph", "ModelStore": "store"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
