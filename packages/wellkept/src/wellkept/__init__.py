"""Wellkept: a memory for coding agents that outlives the session.

    import wellkept

    with wellkept.open() as wk:
        wk.remember("Deploys go through the staging cluster first")
        for hit in wk.recall("how do we deploy?"):
            print(hit.memory.content)

Importing this package is cheap and has no side effects: each public name is loaded on first use.
"""

# Not from typing: its import would double the start of the hook process.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from wellkept.api.async_wellkept import AsyncWellkept, open_async
    from wellkept.api.wellkept import Wellkept, open  # noqa: A004 - reads `wellkept.open()`
    from wellkept.context.packing import ContextPack
    from wellkept.core.errors import (
        ConflictError,
        NotFoundError,
        PluginError,
        ProviderError,
        StoreBusyError,
        StoreCorruptError,
        StoreError,
        StoreFullError,
        StoreReadOnlyError,
        StoreVersionError,
        UsageError,
        WellkeptError,
    )
    from wellkept.core.memory import Evidence, Memory, MemoryDraft, Relation, WorkUnitRef
    from wellkept.core.ports.models import Embedder, Reranker, TextModel
    from wellkept.core.query import Page, Stats
    from wellkept.core.settings.model import Settings
    from wellkept.core.types import MemoryType, RelationType, Scope, Source
    from wellkept.memory.recall.requests import RecallHit, RecallResult
    from wellkept.memory.remember import RememberOutcome, RememberResult
    from wellkept.observe.methodology.hookspecs import hookimpl

__all__ = [
    "AsyncWellkept",
    "ConflictError",
    "ContextPack",
    "Embedder",
    "Evidence",
    "Memory",
    "MemoryDraft",
    "MemoryType",
    "NotFoundError",
    "Page",
    "PluginError",
    "ProviderError",
    "RecallHit",
    "RecallResult",
    "Relation",
    "RelationType",
    "RememberOutcome",
    "RememberResult",
    "Reranker",
    "Scope",
    "Settings",
    "Source",
    "Stats",
    "StoreBusyError",
    "StoreCorruptError",
    "StoreError",
    "StoreFullError",
    "StoreReadOnlyError",
    "StoreVersionError",
    "TextModel",
    "UsageError",
    "Wellkept",
    "WellkeptError",
    "WorkUnitRef",
    "__version__",
    "hookimpl",
    "open",
    "open_async",
]

__version__ = "0.1.0"

_MODULES = {
    "api.async_wellkept": "AsyncWellkept open_async",
    "core.settings.model": "Settings",
    "api.wellkept": "Wellkept open",
    "observe.methodology.hookspecs": "hookimpl",
    "core.errors": "ConflictError NotFoundError PluginError ProviderError StoreBusyError"
    " StoreCorruptError StoreError StoreFullError StoreReadOnlyError StoreVersionError UsageError"
    " WellkeptError",
    "core.memory": "Evidence Memory MemoryDraft Relation WorkUnitRef",
    "core.ports.models": "Embedder Reranker TextModel",
    "core.query": "Page Stats",
    "core.types": "MemoryType RelationType Scope Source",
    "context.packing": "ContextPack",
    "memory.recall.requests": "RecallHit RecallResult",
    "memory.remember": "RememberOutcome RememberResult",
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names.split():
            from importlib import import_module

            return getattr(import_module(f"wellkept.{module}"), name)
    raise AttributeError(f"module 'wellkept' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
