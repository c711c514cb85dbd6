"""The rooms of the domain have no import cycle, not even one hidden by lazy or TYPE_CHECKING imports."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import wellkept

_SOURCE = Path(wellkept.__file__).parent
_ROOMS = (
    *("memory", "project", "observe", "skills", "context"),
    *("api/methods", "api/wiring", "api/views", "api/maintenance"),
)


def _modules(*folders: str) -> dict[str, Path]:
    """Dotted name -> file of every module in the folders."""
    found: dict[str, Path] = {}
    for path in (path for folder in folders for path in (_SOURCE / folder).rglob("*.py")):
        parts = path.relative_to(_SOURCE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def _imports(text: str, known: set[str]) -> set[str]:
    """The known modules that a source text imports anywhere, in a function or a block."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found & known


def _cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.feature("A3")
def test_the_modules_of_the_domain_import_each_other_without_a_cycle() -> None:
    modules = _modules(*_ROOMS)
    known = set(modules)
    graph = {
        name: _imports(path.read_text(encoding="utf-8"), known) - {name}
        for name, path in modules.items()
    }
    assert len(graph) > 250
    assert _cycle(graph) == []


@pytest.mark.feature("A3")
def test_helpers_do_not_import_the_wellkept_class() -> None:
    """They take `Services` or parts of it. Only modules that open memories need the class."""
    opening = {
        "wellkept",
        "wellkept.api",
        "wellkept.api.async_wellkept",
        "wellkept.api.background",
        "wellkept.api.hook_context",
        "wellkept.api.learning",
        "wellkept.api.verbs.methods",
    }
    importing = {
        name
        for name, path in _modules(".").items()
        if _imports(path.read_text(encoding="utf-8"), {"wellkept.api.wellkept"})
    }
    assert importing == opening


@pytest.mark.parametrize(
    "text",
    [
        "from a.b import c",
        "from a import b",
        "import a.b",
        "def f():\n    from a.b import c",
        "if TYPE_CHECKING:\n    from a.b import c",
    ],
)
@pytest.mark.feature("A3")
def test_every_kind_of_import_is_seen(text: str) -> None:
    assert _imports(text, {"a.b"}) == {"a.b"}


@pytest.mark.feature("A3")
def test_a_cycle_is_found() -> None:
    assert set(_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
