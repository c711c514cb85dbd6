"""Every install hint names our own distribution, with extras that exist.

A hint that names a free or foreign package makes users run a stranger's code.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = ("py", "md", "json", "toml")
THIRD_PARTY: set[str] = set()
# These match install commands in sessions: words of commands, not hints.
PARSERS = (
    "packages/wellkept/src/wellkept/observe/",
    "packages/wellkept/src/wellkept/text/shell/",
    "packages/wellkept/src/wellkept_plugins/browser/",
    "packages/wellkept-agent/src/wellkept_agent/tools/shell/",
)
_HINT = re.compile(
    r"""\b(?:pip3?\ install|pipx\ install|pipx\ run|uv\ tool\ install|uv\ pip\ install|uv\ add
    |uvx|npm\ install|npm\ i|npx)
    (?:\s+-{1,2}[A-Za-z][\w-]*(?:=\S+)?)*   # options
    \s+['"]?(?P<name>[@A-Za-z0-9.][\w./@-]*)
    (?:\[(?P<extras>[\w,\s-]+)\])?""",
    re.VERBOSE,
)


def _files() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"))
    for pattern in (
        "docs/**/*.md",
        "packages/*/*.md",
        *(f"packages/*/src/**/*.{kind}" for kind in KINDS),
    ):
        for path in sorted(ROOT.glob(pattern)):
            if not path.relative_to(ROOT).as_posix().startswith(PARSERS):
                yield path


def _project() -> tuple[str, set[str]]:
    """The name of our distribution and its extras."""
    with (ROOT / "packages/wellkept/pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    return project["name"], set(project["optional-dependencies"])


def _wrong_hints(text: str) -> list[str]:
    ours, known_extras = _project()
    wrong: list[str] = []
    for hint in _HINT.finditer(text):
        name = re.split(r"(?<!^)[=<>@~!]", hint["name"])[0].rstrip(".,:;")
        extras = {extra.strip() for extra in (hint["extras"] or "").split(",")} - {""}
        is_local = not name or name.startswith(".")
        if is_local or (name == ours and extras <= known_extras):
            continue
        if name not in THIRD_PARTY:
            wrong.append(hint[0])
    return wrong


@pytest.mark.feature("A3")
def test_every_install_hint_names_our_own_distribution() -> None:
    wrong = {
        path.relative_to(ROOT).as_posix(): found
        for path in _files()
        if (found := _wrong_hints(path.read_text(encoding="utf-8")))
    }
    assert wrong == {}


@pytest.mark.feature("A3")
def test_there_are_hints_to_check() -> None:
    ours, _ = _project()
    named = [
        path
        for path in _files()
        if any(hint["name"] == ours for hint in _HINT.finditer(path.read_text(encoding="utf-8")))
    ]
    assert len(named) > 5


@pytest.mark.feature("A3")
@pytest.mark.parametrize(
    "text",
    [
        "Run: pip install stranger",
        "pip install 'stranger[graph]'",
        "pip install 'wellkept[nothing]'",
        "`uvx stranger`",
        "pipx install --force stranger",
        "uv tool install stranger==1.0",
        "npm install -g @stranger/cli",
    ],
)
def test_a_strangers_package_is_found(text: str) -> None:
    assert _wrong_hints(text)


@pytest.mark.feature("A3")
@pytest.mark.parametrize(
    "text",
    [
        "pip install wellkept.",
        "pip install 'wellkept[graph,mcp]', then",
        "uvx wellkept mcp",
        "pip install --force-reinstall wellkept",
        "pip install -e .",
        "pip install -e '.[bench]'",
    ],
)
def test_our_own_package_is_accepted(text: str) -> None:
    assert _wrong_hints(text) == []
