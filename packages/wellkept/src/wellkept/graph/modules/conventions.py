"""Detects coding conventions of a tree, from configuration files and from the files themselves.

A convention is stated only if a configuration file says it or nearly all files agree. Each names
its evidence. Needs no parser.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from posixpath import basename, dirname, splitext
from typing import Final, NamedTuple

from wellkept.core.code_modules import Convention
from wellkept.core.graph import FileState, SourceFile
from wellkept.graph.history.commits import is_test
from wellkept.graph.index.source_files import stat_file
from wellkept.graph.modules.conventions_config import configured_conventions

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
