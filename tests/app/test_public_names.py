"""The public names of the package: pinned, listed by `dir`, and loaded only when used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import wellkept

PUBLIC = """
    AsyncWellkept ConflictError ContextPack Embedder Evidence Memory MemoryDraft MemoryType NotFoundError Page
    PluginError ProviderError RecallHit RecallResult Relation RelationType RememberOutcome
    RememberResult Reranker Scope Settings Source Stats StoreBusyError StoreCorruptError StoreError
    StoreFullError StoreReadOnlyError StoreVersionError TextModel UsageError Wellkept WellkeptError
    WorkUnitRef __version__ hookimpl open open_async
""".split()


@pytest.mark.feature("A3")
def test_the_public_names_are_pinned() -> None:
    assert wellkept.__all__ == sorted(PUBLIC)


@pytest.mark.feature("A3")
def test_dir_lists_the_public_names() -> None:
    assert dir(wellkept) == sorted(PUBLIC)


@pytest.mark.feature("A3")
@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_imported(name: str) -> None:
    value = getattr(wellkept, name)
    assert name == "__version__" or getattr(value, "__name__", name) == name


@pytest.mark.feature("A3")
def test_type_checkers_see_the_same_names() -> None:
    source = Path(wellkept.__file__).read_text(encoding="utf-8")
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    imported = {
        alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported | {"__version__"} == set(PUBLIC)


@pytest.mark.feature("A3")
def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = getattr(wellkept, "Nothing")  # noqa: B009 - a name that type checkers refuse


@pytest.mark.feature("C4")
def test_importing_the_package_loads_nothing_else() -> None:
    script = "import sys, wellkept; print(*(n for n in sys.modules if n.startswith('wellkept')))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["wellkept"]
