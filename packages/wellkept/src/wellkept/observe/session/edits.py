"""Name what an edit changed: definitions, headings and keys instead of lines.

An edit is often a fragment inside a function; the current file, if readable, tells which one.
Invariant: it never fails; at worst it names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from wellkept.core.records import record
from wellkept.core.session.events import Edit
from wellkept.observe.session.definitions import definitions, enclosing, own_text

FileKind: TypeAlias = Literal["code", "test", "config", "document", "other"]
ReadFile: TypeAlias = Callable[[str], "str | None"]

_TEST_PATH = re.compile(
    r"(^|/)(tests?|__tests__|spec|specs)/|(^|/)test_[^/]+$|[._-](test|spec|tests)\.[^/.]+$"
    r"|(^|/)conftest\.py$|Tests?\.(java|kt|cs|swift)$"
)
_CONFIG_NAMES = frozenset(
    "makefile dockerfile containerfile procfile gemfile pipfile justfile .gitignore .dockerignore"
    " .editorconfig .npmrc .eslintrc .prettierrc .babelrc requirements.txt constraints.txt go.mod"
    " cmakelists.txt".split()
)
_CONFIG_SUFFIXES = frozenset(
    ".toml .yaml .yml .json .jsonc .ini .cfg .conf .env .properties .lock".split()
)
_DOCUMENT_SUFFIXES = frozenset(".md .mdx .rst .txt .adoc".split())
_CODE_SUFFIXES = frozenset(
    ".py .pyi .pyx .js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte .go .rs .java .kt .kts .cs"
    " .scala .swift .php .dart .c .h .cc .cpp .cxx .hpp .hh .m .mm .rb .rake .sh .bash .zsh .sql"
    " .css .scss .less .html .lua .ex .exs .erl .hs .ml .clj .r .jl .pl .zig .nix .tf".split()
)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$")
_KEY = re.compile(r"""^\s*(?:-\s+)?["']?([A-Za-z_@][\w./@-]{0,60})["']?\s*(?:[:=]|[<>~!]=)""")
_TABLE = re.compile(r"^\s*\[+([\w.\-\"]+)\]+")
_NOT_TELLING = re.compile(
    r"^\s*(?:(?:from\s+\S+\s+)?import\b|use\s|#include|require\b|//|#|/?\*|$|[\]})\[({,;]*$)"
)
_MAX_NAMES = 12
_SIGNS = (("+", "added"), ("~", "changed"), ("-", "removed"))


@record
class _Named:
    """Names and the text that each stands for; lines that belong to none are `loose`."""

    texts: dict[str, str]
    loose: str


@lru_cache(maxsize=1024)
def file_kind(path: str) -> FileKind:
    """The kind of file that a path names."""
    pure = PurePosixPath(path)
    name, suffix = pure.name.lower(), pure.suffix.lower()
    if suffix in _CODE_SUFFIXES:
        return "test" if _TEST_PATH.search(path) else "code"
    if name in _CONFIG_NAMES or suffix in _CONFIG_SUFFIXES or name.startswith(".env"):
        return "config"
    return "document" if suffix in _DOCUMENT_SUFFIXES else "other"


def changed_names(edit: Edit, *, path: str, is_known: bool, read_file: ReadFile) -> tuple[str, ...]:
    """The names that an edit added (+), changed (~) or removed (-); `path` is relative to the
    project. Of a file that was seen before clients do not always send the old text."""
    kind = file_kind(path)
    before, after = _named(edit.before, path, kind), _named(edit.after, path, kind)
    added = [n for n in after.texts if n not in before.texts]
    removed = [n for n in before.texts if n not in after.texts]
    changed = [n for n in after.texts if n in before.texts and after.texts[n] != before.texts[n]]
    if not edit.before.strip():
        added = [name for name in added if "." not in name] or added
        added, changed = ([], added) if is_known else (added, changed)
    elif after.loose != before.loose:
        changed += [n for n in _around(edit, path, kind, read_file) if n not in (*changed, *added)]
    marked = (("+", added), ("~", changed), ("-", removed))
    return tuple(f"{sign}{name}" for sign, names in marked for name in names)[:_MAX_NAMES]


def change_fact(path: str, names: Sequence[str], *, is_new: bool) -> str:
    """A change as a record: the file, and every name."""
    parts = [
        f"{verb} {', '.join(found)}"
        for sign, verb in _SIGNS
        if (found := [name[1:] for name in names if name[0] == sign])
    ]
    return ": ".join(filter(None, (path, "; ".join((*(("new file",) if is_new else ()), *parts)))))


# -- Names in a piece of text ---------------------------------------------------------------------


def _named(text: str, path: str, kind: FileKind) -> _Named:
    if kind == "document":
        return _headings(text)
    if kind == "config":
        return _keys(text, path)
    return _definitions(text, path)


def _definitions(text: str, path: str) -> _Named:
    lines = text.splitlines()
    found = definitions(text, path=path)
    texts: dict[str, str] = {}
    for d in found:
        texts[d.name] = texts.get(d.name, "") + own_text(d, found, lines)
    inside = {n for d in found for n in range(d.first, d.end)}
    loose = [line.strip() for n, line in enumerate(lines) if n not in inside]
    return _Named(texts, "\n".join(line for line in loose if not _NOT_TELLING.match(line)))


def _headings(text: str) -> _Named:
    texts: dict[str, str] = {}
    loose: list[str] = []
    heading = ""
    for line in text.splitlines():
        if match := _HEADING.match(line):
            heading = str(match.group(1))
            texts.setdefault(heading, "")
        elif not heading:
            loose.append(line.strip())
        else:
            texts[heading] += line.strip()
    return _Named(texts, "\n".join(loose))


def _keys(text: str, path: str) -> _Named:
    texts: dict[str, str] = {}
    tables = PurePosixPath(path).suffix.lower() in (".toml", ".ini", ".cfg")
    for line in text.splitlines():
        found = (_TABLE.match(line) if tables else None) or _KEY.match(line)
        if found and not line.lstrip().startswith("#"):
            texts[found.group(1)] = texts.get(found.group(1), "") + line.strip().rstrip(",")
    return _Named(texts, "")


def _around(edit: Edit, path: str, kind: FileKind, read_file: ReadFile) -> list[str]:
    """The definition or heading that a fragment lies in, looked up in the file as it is now."""
    text = read_file(edit.path)
    at = text.find(edit.after) if text and edit.after.strip() else -1
    if text is None or at < 0:
        return []
    line = text.count("\n", 0, at) + _first_difference(edit)
    if kind == "document":
        heads = [m for row in text.splitlines()[: line + 1] if (m := _HEADING.match(row))]
        return [heads[-1].group(1)] if heads else []
    found = enclosing(definitions(text, path=path), line)
    return [found.name] if found else []


def _first_difference(edit: Edit) -> int:
    pairs = zip(edit.before.splitlines(), edit.after.splitlines(), strict=False)
    return next((n for n, (old, new) in enumerate(pairs) if old != new), 0)
