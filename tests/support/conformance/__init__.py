"""Tests that every storage engine must pass. Needs pytest.

A test file of an engine subclasses the suite and provides one fixture:

    from tests.support.conformance.suite import StoreConformance

    class TestMyEngine(StoreConformance):
        @pytest.fixture
        def open_at(self):
            return my_engine.open

`open_at(path)` opens the database at a path and creates it if needed; two calls with one path give
two handles on one database. A file written by `backup` can be opened like any other.
`GraphConformance` and `CodeSearchConformance` work the same way. Open `suite.py` first; there is
one file per engine part. Nothing is imported until a name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.conformance.code_search import CodeSearchConformance
    from tests.support.conformance.graph import GraphConformance
    from tests.support.conformance.suite import StoreConformance

__all__ = ["CodeSearchConformance", "GraphConformance", "StoreConformance"]

_MODULES = {
    "CodeSearchConformance": "code_search",
    "GraphConformance": "graph",
    "StoreConformance": "suite",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
