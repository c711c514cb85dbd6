"""A graph is read again when a release reads otherwise, and only then."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept.graph
from wellkept.graph.index.parse_file import READERS

pytestmark = pytest.mark.feature("E2")

PACKAGE = "wellkept.graph"
FOLDER = Path(wellkept.graph.__file__).parent


def _imported(path: Path) -> Iterator[str]:
    """Modules of the package that a module imports, also those only named in types."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            yield str(node.module).removeprefix(f"{PACKAGE}.").replace(".", "/")


def test_readers_lists_everything_that_reading_and_linking_depend_on() -> None:
    found, waiting = set[str](), ["resolve/edges", "index/parse_file"]
    for language in (FOLDER / "languages").glob("*.py"):
        waiting += _imported(language)
    while waiting:
        name = waiting.pop()
        if name not in found and not name.startswith("languages"):
            found.add(name)
            waiting += _imported(FOLDER / f"{name}.py")
    assert found | {"index/builder"} == set(READERS)  # which makes nodes of what was parsed
