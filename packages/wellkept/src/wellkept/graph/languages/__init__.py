"""Language support: one module per language; `core.languages` says which files are of it.

Each module defines `LANGUAGES`, records of `graph.parse.language.Language` (open that first).
Loading a language loads no grammar.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from typing import Final

from wellkept.core.languages import BY_EXTENSION, LANGUAGES, extension_of
from wellkept.graph.parse.language import Language

_CONFIGURATION: Final = re.compile(
    r"(?:^|/)(?:[tj]sconfig(?:[.-][\w.-]+)?\.json|package\.json|go\.mod|Cargo\.toml|composer\.json"
    r"|[^/]*(?:tsconfig|ts-config|typescript-config)[^/]*/[\w.-]+\.json)$"
)
"""Files that configure imports. They are stored whole."""

_KNOWN: Final = {one.name: one for one in LANGUAGES if one.graph}
EXTENSIONS: Final = frozenset(extension for one in _KNOWN.values() for extension in one.extensions)


@lru_cache(maxsize=1 << 16)
def language_of(path: str) -> Language | None:
    """The language of a file by its name, or of a package (`language:name/`)."""
    if path.endswith("/"):
        return _by_name(path.partition(":")[0])
    known = BY_EXTENSION.get(extension_of(path))
    return _by_name(known.name) if known is not None else None


@cache
def _by_name(name: str) -> Language | None:
    known = _KNOWN.get(name)
    if known is None:
        return None
    found = import_module(f"wellkept.graph.languages.{known.graph}")
    several: tuple[Language, ...] = found.LANGUAGES
    return next(language for language in several if language.name == name)


def language_name(path: str) -> str:
    """The language of a file in the graph, or "configuration"."""
    language = language_of(path)
    return language.name if language is not None else "configuration"


def is_configuration(path: str) -> bool:
    """Whether a file configures imports."""
    return _CONFIGURATION.search(path) is not None
