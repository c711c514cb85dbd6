"""Reads coding conventions from the configuration files in the root of a tree.

One reader per file. Malformed files are ignored: their own tool reports them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, cast

from wellkept.core.code_modules import Convention
from wellkept.core.text import clean
from wellkept.graph.index.source_files import stat_file

_MAX_BYTES: Final = 1_000_000
_MAX_CHARS: Final = 80
_SCRIPTS: Final = ("test", "build", "lint", "format", "typecheck", "dev", "start")
_RUNNERS: Final = ("vitest", "jest", "mocha", "ava", "jasmine", "@playwright/test", "cypress")
_LOCKS: Final = {
    "uv.lock": "uv", "poetry.lock": "Poetry", "pdm.lock": "PDM", "Pipfile.lock": "Pipenv",
    "pnpm-lock.yaml": "pnpm", "yarn.lock": "Yarn", "package-lock.json": "npm", "bun.lock": "Bun",
    "Cargo.lock": "Cargo", "Gemfile.lock": "Bundler", "composer.lock": "Composer",
}  # fmt: skip
_TARGET: Final = re.compile(r"^([A-Za-z][\w-]*):(?!=)", re.MULTILINE)
_TARGETS: Final = frozenset({"test", "check", "lint", "format", "fmt", "build", "docs", "bench"})

_Findings = Iterator[tuple[str, str]]
"""Key and text of conventions."""


def configured_conventions(root: Path) -> tuple[Convention, ...]:
    """All conventions in the configuration files of a root."""
    found: dict[str, Convention] = {}
    for name, read in _READERS.items():
        text = _text(root, name)
        for key, statement in read(text) if text else ():
            if key not in found:
                found[key] = Convention(key=key, text=statement, evidence=(name,))
    managers = [(name, tool) for name, tool in _LOCKS.items() if stat_file(root, name) is not None]
    if managers:
        tools = " and ".join(dict.fromkeys(tool for _, tool in managers))
        statement = f"Dependencies are locked with {tools}."
        names = tuple(name for name, _ in managers)
        found["dependencies"] = Convention(key="dependencies", text=statement, evidence=names)
    return tuple(found.values())


# -- Readers --------------------------------------------------------------------------------------


def _pyproject(text: str) -> _Findings:
    document = _toml(text)
    needs = _at(document, "project", "requires-python")
    if isinstance(needs, str):
        yield "python version", f"Python {_short(needs)} is required."
    for tool, option in (
        ("ruff", "line-length"),
        ("black", "line-length"),
        ("flake8", "max-line-length"),
    ):
        width = _at(document, "tool", tool, option)
        if isinstance(width, int):
            yield "line length python", f"Python lines have at most {width} characters ({tool})."
    tools = [
        t
        for t in ("ruff", "black", "isort", "flake8", "pylint")
        if _at(document, "tool", t) is not None
    ]
    if tools:
        yield "checks python", f"Python code is checked and formatted with {', '.join(tools)}."
    for tool, option in (("pyright", "typeCheckingMode"), ("mypy", "strict")):
        mode = _at(document, "tool", tool, option)
        if mode in ("strict", True):
            yield "types python", f"Python types are checked by {tool} in strict mode."
        elif _at(document, "tool", tool) is not None:
            yield "types python", f"Python types are checked by {tool}."
    if _at(document, "tool", "pytest") is not None:
        yield "test runner python", "Python tests run with pytest."


def _python_ini(text: str) -> _Findings:
    if re.search(r"^\[(?:tool:)?pytest\]", text, re.MULTILINE):
        yield "test runner python", "Python tests run with pytest."
    if width := re.search(r"^max[-_]line[-_]length\s*=\s*(\d+)", text, re.MULTILINE):
        yield "line length python", f"Python lines have at most {width[1]} characters."


def _package(text: str) -> _Findings:
    document = _json(text)
    scripts = _at(document, "scripts")
    named = [s for s in _SCRIPTS if isinstance(scripts, Mapping) and s in scripts]
    if named:
        yield "commands javascript", f"`npm run` knows: {', '.join(named)}."
    uses = [
        r
        for r in _RUNNERS
        if _at(document, "devDependencies", r) or _at(document, "dependencies", r)
    ]
    if uses:
        yield "test runner javascript", f"JavaScript tests run with {', '.join(uses)}."
    tools = [
        t
        for t in ("eslint", "prettier", "@biomejs/biome", "typescript")
        if _at(document, "devDependencies", t)
    ]
    if tools:
        yield "checks javascript", f"JavaScript code is checked with {', '.join(tools)}."
    if _at(document, "type") == "module":
        yield "modules javascript", "JavaScript files are ES modules."
    node = _at(document, "engines", "node")
    if isinstance(node, str):
        yield "node version", f"Node {_short(node)} is required."


def _tsconfig(text: str) -> _Findings:
    if re.search(r'"strict"\s*:\s*true', text):
        yield "types typescript", "TypeScript is compiled in strict mode."


def _prettier(text: str) -> _Findings:
    document = _json(text)
    parts = [
        f"{label} {_short(str(value))}"
        for name, label in (
            ("printWidth", "width"),
            ("tabWidth", "indent"),
            ("semi", "semicolons"),
            ("singleQuote", "single quotes"),
        )
        if (value := _at(document, name)) is not None
    ]
    if parts:
        yield "format javascript", f"Prettier formats with {', '.join(parts)}."


def _go_mod(text: str) -> _Findings:
    if version := re.search(r"^go (\S+)", text, re.MULTILINE):
        yield "go version", f"Go {_short(version[1])} is the language version."


def _cargo(text: str) -> _Findings:
    document = _toml(text)
    edition = _at(document, "package", "edition") or _at(
        document, "workspace", "package", "edition"
    )
    if isinstance(edition, str):
        yield "rust edition", f"Rust edition {_short(edition)} is used."


def _makefile(text: str) -> _Findings:
    named = [name for name in dict.fromkeys(_TARGET.findall(text)) if name in _TARGETS]
    if named:
        yield "commands make", f"`make` knows: {', '.join(named)}."


def _pre_commit(text: str) -> _Findings:
    hooks = re.findall(r"^\s*-\s*id:\s*([\w-]+)", text, re.MULTILINE)
    if hooks:
        yield (
            "commit checks",
            f"Before a commit pre-commit runs {', '.join(dict.fromkeys(hooks[:8]))}.",
        )


_READERS: Final[Mapping[str, Callable[[str], _Findings]]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _python_ini,
    "tox.ini": _python_ini,
    "pytest.ini": _python_ini,
    "package.json": _package,
    "tsconfig.json": _tsconfig,
    ".prettierrc": _prettier,
    ".prettierrc.json": _prettier,
    "go.mod": _go_mod,
    "Cargo.toml": _cargo,
    "Makefile": _makefile,
    ".pre-commit-config.yaml": _pre_commit,
}


# -- Inside ---------------------------------------------------------------------------------------


def _text(root: Path, name: str) -> str:
    found = stat_file(root, name)
    if found is None or found.size_bytes > _MAX_BYTES:
        return ""
    try:
        return clean((root / name).read_text("utf-8", errors="replace"))
    except OSError:
        return ""


def _toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _at(document: object, *path: str) -> object:
    """The value at a path of a document, or None."""
    for name in path:
        if not isinstance(document, dict):
            return None
        document = cast("dict[str, object]", document).get(name)
    return document


def _short(text: str) -> str:
    """A configured value, shortened for use in a sentence."""
    return " ".join(text.split())[:_MAX_CHARS]
