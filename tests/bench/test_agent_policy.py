"""The policy of `bench.agent` knows neither the product's wording nor the repositories."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from bench import agent, agent_policy
from bench.agent_repositories import repositories
from wellkept.core.chat.messages import ModelInfo
from wellkept.testing.scripted_model import ScriptedModel

pytestmark = pytest.mark.repository

POLICY = Path(agent_policy.__file__).read_text("utf-8")


def _texts(tree: ast.AST) -> Iterator[str]:
    """The string constants of a program, without its documentation."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {ast.get_docstring(n, clean=False) for n in ast.walk(tree) if isinstance(n, documented)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and text not in docs:
            yield text


def _phrases(text: str, size: int = 3) -> set[str]:
    words = re.findall(r"[a-z]{2,}", text.lower())
    return {" ".join(words[at : at + size]) for at in range(len(words) - size + 1)}


def test_the_policy_has_no_words_of_the_product() -> None:
    own = {phrase for one in _texts(ast.parse(POLICY)) for phrase in _phrases(one)}
    root = Path(wellkept.__file__).parent
    told: set[str] = set()
    for room in ("context", "observe", "memory"):
        for path in (root / room).rglob("*.py"):
            for text in _texts(ast.parse(path.read_text("utf-8"))):
                told |= _phrases(text)
    # What shells, make and Python themselves print is known to everybody.
    everyday = {"no such file", "such file or", "file or directory", "no tests ran"}
    assert own & told <= everyday


def test_the_policy_names_no_repository_and_no_file_of_one() -> None:
    names = {one.name for one in repositories()}
    usual = {"README.md", "Makefile", "tests/__init__.py"}
    paths = {path for one in repositories() for path in one.files} - usual
    conventional = set(re.findall(r"python3 (\w+\.py)", str(agent_policy._USUAL)))  # pyright: ignore[reportPrivateUsage]
    for name in names | (paths - conventional):
        assert not re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])", POLICY), name
    for one in repositories():
        for word in re.findall(r"\b[A-Z][A-Z_]{4,}\b", "".join(one.files.values())):
            assert word not in POLICY or word in {"README", "ROOT"}, word


def test_a_smoke_run_with_a_scripted_model() -> None:
    """The bench runs with any model; one that only says so has not done the work."""
    lazy = ScriptedModel(
        lambda _request: "It is done.", info=ModelInfo(name="lazy", provider="scripted")
    )
    repository = next(iter(repositories()))
    assert not agent.measure(repository, agent.CONDITIONS[0], lazy).done
    assert agent.measure(repository, agent.CONDITIONS[-1], None).done
