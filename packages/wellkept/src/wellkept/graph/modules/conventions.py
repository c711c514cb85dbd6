"""Detects coding conventions of a tree, from configuration files and from the files themselves.

A convention is stated only if a configuration file says it or nearly all files agree. Each names
its evidence. Needs no parser.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import basename, dirname, splitext
from typing import Final, NamedTuple, cast

from wellkept.core.code_modules import Convention
from wellkept.core.graph import FileState, SourceFile
from wellkept.core.text import clean
from wellkept.graph.history.commits import is_test
from wellkept.graph.index.source_files import stat_file

SAMPLE_FILES: Final = 200
_HEAD_BYTES: Final = 32_768
_MIN_FILES: Final = 5
"""Fewer files show no convention."""
_MIN_TESTS: Final = 3
_MIN_AGREEMENT: Final = 0.9
_MAX_EVIDENCE: Final = 3

_RELATIVE: Final = re.compile(r"^\s*from\s+\.", re.MULTILINE)
_ABSOLUTE: Final = re.compile(r"^\s*from\s+(\w+)", re.MULTILINE)
_DOCSTRING: Final = re.compile(r'\A(?:\s*(?:#[^\n]*)?\n)*\s*[rRuU]?("""|\'\'\')')
_FUTURE: Final = "from __future__ import annotations"
_INDENT: Final = re.compile(r"^(\t+| +)\S", re.MULTILINE)
_STYLES: Final = (
    ("snake_case", re.compile(r"_*[a-z0-9]+(?:_[a-z0-9]+)+_*")),
    ("kebab-case", re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")),
    ("camelCase", re.compile(r"[a-z][a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+")),
    ("PascalCase", re.compile(r"(?:[A-Z][a-z0-9]+){2,}")),
)
_LANGUAGES: Final = {
    "typescript": "TypeScript", "javascript": "JavaScript", "tsx": "TSX", "php": "PHP",
    "csharp": "C#", "cpp": "C++",
}  # fmt: skip


class _Sample(NamedTuple):
    """The beginning of one file."""

    path: str
    text: str


def conventions_of(root: Path, files: Sequence[SourceFile]) -> tuple[Convention, ...]:
    """The conventions of a tree, by key. Configuration overrides what files show."""
    known = [f for f in files if f.state is not FileState.SKIPPED and f.line_count]
    found = {c.key: c for c in (*_observed(root, known), *configured_conventions(root))}
    return tuple(found[key] for key in sorted(found))


def _observed(root: Path, files: Sequence[SourceFile]) -> Iterator[Convention]:
    """What the files have in common, per language."""
    yield from _test_locations(files)
    languages = Counter(f.language for f in files if f.language != "configuration")
    for language, count in languages.most_common(3):
        if count < _MIN_FILES:
            continue
        own = sorted((f for f in files if f.language == language), key=lambda f: f.path)
        yield from _file_names(language, [f.path for f in own])
        samples = list(_read(root, own))
        yield from _indentation(language, samples)
        if language == "python":
            yield from _python(samples)


def _test_locations(files: Sequence[SourceFile]) -> Iterator[Convention]:
    """Where tests are, judged by files named like tests."""
    shaped = [(shape, f.path) for f in files if f.is_test and (shape := _shape(f.path))]
    if len(shaped) < _MIN_TESTS:
        return
    tops = Counter(_test_folder(path) for _, path in shaped)
    folder, count = tops.most_common(1)[0]
    if count < _MIN_AGREEMENT * len(shaped):
        return
    text = (
        f"Tests are in {folder}/, apart from the code they test."
        if folder
        else "Tests lie beside the code they test."
    )
    if shape := _agreed([shape for shape, _ in shaped]):
        text += f" A test file is called {shape}."
    shown = tuple(path for _, path in shaped)[:_MAX_EVIDENCE]
    yield Convention(key="tests", text=text, evidence=shown)


def _test_folder(path: str) -> str:
    """The topmost test folder of a path; empty if the test is next to other code."""
    parts = dirname(path).split("/")
    for end, part in enumerate(parts, 1):
        if part and is_test(part):
            return "/".join(parts[:end])
    return ""


def _shape(path: str) -> str:
    stem, extension = splitext(basename(path))
    for pattern, shape in (
        (r"test_\w+", "test_*"),
        (r"\w+_test", "*_test"),
        (r"[\w-]+\.test", "*.test"),
        (r"[\w-]+\.spec", "*.spec"),
        (r"\w+Tests?", "*Test"),
        (r"\w+_spec", "*_spec"),
    ):
        if re.fullmatch(pattern, stem):
            return f"{shape}{extension}"
    return ""


def _file_names(language: str, paths: Sequence[str]) -> Iterator[Convention]:
    """How files are named, judged by names of several words."""
    stems = [(splitext(basename(path))[0].split(".")[0], path) for path in paths]
    styled = [(style, path) for stem, path in stems if (style := _style(stem))]
    if len(styled) < _MIN_FILES:
        return
    if style := _agreed([style for style, _ in styled]):
        shown = tuple(path for found, path in styled if found == style)[:_MAX_EVIDENCE]
        text = f"Names of {_language_name(language)} files are in {style}."
        yield Convention(key=f"file names {language}", text=text, evidence=shown)


def _style(stem: str) -> str:
    return next((name for name, shape in _STYLES if shape.fullmatch(stem)), "")


def _indentation(language: str, samples: Sequence[_Sample]) -> Iterator[Convention]:
    widths = [(width, s.path) for s in samples if (width := _indent(s.text))]
    if len(widths) >= _MIN_FILES and (width := _agreed([w for w, _ in widths])):
        yield Convention(
            key=f"indentation {language}",
            text=f"{_language_name(language)} files are indented with {width}.",
            evidence=tuple(path for found, path in widths if found == width)[:_MAX_EVIDENCE],
        )


def _indent(text: str) -> str:
    """The likely indentation step of a file."""
    found = [m[1] for m in _INDENT.finditer(text)]
    if not found:
        return ""
    if sum(1 for indent in found if indent[0] == "\t") > len(found) / 2:
        return "tabs"
    widths = Counter(len(indent) for indent in found if len(indent) in (2, 4, 8))
    two, four = widths[2], widths[4]
    return f"{2 if two * 3 > four else 4} spaces" if two or four else ""


def _python(samples: Sequence[_Sample]) -> Iterator[Convention]:
    long = [s for s in samples if len(s.text) > 200]
    if len(long) < _MIN_FILES:
        return
    checks: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
        ("docstrings python", "Python modules begin with a docstring.", _begins_with_docstring),
        ("annotations python", f"Python modules say `{_FUTURE}`.", lambda text: _FUTURE in text),
    )
    for key, text, holds in checks:
        agreeing = [s.path for s in long if holds(s.text)]
        if len(agreeing) >= _MIN_AGREEMENT * len(long):
            yield Convention(key=key, text=text, evidence=tuple(agreeing[:_MAX_EVIDENCE]))
    yield from _python_imports(long)


def _begins_with_docstring(text: str) -> bool:
    return _DOCSTRING.match(text) is not None


def _python_imports(samples: Sequence[_Sample]) -> Iterator[Convention]:
    """Whether own packages are imported by absolute or relative name."""
    tops = {part for s in samples for part in dirname(s.path).split("/")}
    relative = {s.path: len(_RELATIVE.findall(s.text)) for s in samples}
    absolute = {s.path: sum(m in tops for m in _ABSOLUTE.findall(s.text)) for s in samples}
    near, far = sum(relative.values()), sum(absolute.values())
    if near + far < 4 * _MIN_FILES:
        return
    for count, counts, word in ((far, absolute, "absolute"), (near, relative, "relative")):
        if count >= _MIN_AGREEMENT * (near + far):
            most = sorted(counts, key=lambda path: (-counts[path], path))[:_MAX_EVIDENCE]
            text = f"Python imports of the project's own modules are {word}."
            yield Convention(key="imports python", text=text, evidence=tuple(most))


# -- Inside ---------------------------------------------------------------------------------------


def _language_name(language: str) -> str:
    return _LANGUAGES.get(language, language.capitalize())


def _agreed(values: Sequence[str]) -> str:
    """The value that nearly all share; empty if there is none."""
    if not values:
        return ""
    value, count = Counter(values).most_common(1)[0]
    return value if count >= _MIN_AGREEMENT * len(values) else ""


def _read(root: Path, files: Sequence[SourceFile]) -> Iterator[_Sample]:
    """The beginnings of a sample of files, evenly spread over the tree."""
    step = max(1, -(-len(files) // SAMPLE_FILES))
    for file in files[::step]:
        if stat_file(root, file.path) is None:
            continue
        try:
            with (root / file.path).open("rb") as source:
                yield _Sample(file.path, source.read(_HEAD_BYTES).decode("utf-8", "replace"))
        except OSError:
            continue


# -- From configuration files ---------------------------------------------------------------------


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
