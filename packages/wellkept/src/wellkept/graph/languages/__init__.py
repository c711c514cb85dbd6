"""Language support: one module per language, found by file extension.

Each module defines `LANGUAGES`, records of `graph.parse.language.Language` (open that first).
Loading a language loads no grammar.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Final

from wellkept.graph.parse.language import Language

_FILES: Final = {
    "python": ".py .pyi .pyw",
    "typescript": ".js .jsx .mjs .cjs .ts .mts .cts .tsx .vue .svelte",
    "go": ".go",
    "rust": ".rs",
    "java": ".java",
    "c_family": ".c .h .cc .cpp .cxx .hh .hpp .hxx .inl",
    "csharp": ".cs",
    "ruby": ".rb .rake",
    "php": ".php",
    "others": ".sh .bash .dart .ex .exs .groovy .gradle .hs .jl .kt .kts .lua .m .mm .pl .pm .r"
    " .scala .sc .sol .sql .swift .zig",
}
_MODULES: Final = MappingProxyType(
    {ext: module for module, extensions in _FILES.items() for ext in extensions.split()}
)
"""Extension -> module here, whose `LANGUAGES` has a record for it."""

_CONFIGURATION: Final = re.compile(
    r"(?:^|/)(?:[tj]sconfig(?:[.-][\w.-]+)?\.json|package\.json|go\.mod|Cargo\.toml|composer\.json"
    r"|[^/]*(?:tsconfig|ts-config|typescript-config)[^/]*/[\w.-]+\.json)$"
)
"""Files that configure imports. They are stored whole."""

EXTENSIONS: Final = frozenset(_MODULES)


@cache
def by_extension(extension: str) -> Language | None:
    """The language of files with an extension (with its dot, lower case)."""
    module = _MODULES.get(extension)
    if module is None:
        return None
    found = import_module(f"wellkept.graph.languages.{module}")
    several: tuple[Language, ...] = found.LANGUAGES
    return next(language for language in several if extension in language.extensions)


@lru_cache(maxsize=1 << 16)
def language_of(path: str) -> Language | None:
    """The language of a file by its name, or of a package (`language:name/`)."""
    if path.endswith("/"):
        return _by_name(path.partition(":")[0])
    return by_extension(extension_of(path))


@cache
def _by_name(name: str) -> Language | None:
    languages = map(by_extension, _MODULES)
    return next((lang for lang in languages if lang is not None and lang.name == name), None)


def language_name(path: str) -> str:
    """The language of a file in the graph, or "configuration"."""
    language = language_of(path)
    return language.name if language is not None else "configuration"


def extension_of(path: str) -> str:
    """A path's extension with its dot, in lower case."""
    dot = path.rfind(".")
    return path[dot:].lower() if dot > path.rfind("/") else ""


def is_configuration(path: str) -> bool:
    """Whether a file configures imports."""
    return _CONFIGURATION.search(path) is not None
