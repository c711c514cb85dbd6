"""The mark that a file is kept with: of its content, and of how this release reads it.

A graph that another release read is read again, but only if that release reads or links otherwise:
the modules below are what that depends on, and nothing else in this package is.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

READERS = (
    "index/builder", "index/file_filter", "index/parse_file",
    "parse/extract", "parse/file_facts", "parse/grammars", "parse/language", "parse/names",
    "parse/resolver_context", "parse/tree_index", "resolve/edges", "resolve/scopes",
)  # fmt: skip
_FOLDERS = (("languages", ".py"), ("parse/queries", ".scm"))


@cache
def reading() -> str:
    """A mark of how files are read and linked."""
    package = files("wellkept.codegraph")
    parts = [package.joinpath(f"{name}.py") for name in READERS]
    for folder, ending in _FOLDERS:
        inside = (part for part in package.joinpath(folder).iterdir() if part.name.endswith(ending))
        parts += sorted(inside, key=lambda part: part.name)
    digest = hashlib.blake2b(digest_size=4)
    for part in parts:
        digest.update(part.read_bytes())
    return digest.hexdigest()


def hash_of(source: bytes) -> str:
    """The hash that tells whether a file changed."""
    return hashlib.blake2b(source, digest_size=16).hexdigest()


def marked(content_hash: str) -> str:
    """A hash as it is kept: with the mark of how the file was read. Left to the process that
    keeps it, because a worker may already run another release."""
    return f"{reading()}-{content_hash}" if content_hash else ""


def is_read_otherwise(kept_hash: str) -> bool:
    """Whether a file was read by a release that reads otherwise."""
    return bool(kept_hash) and not kept_hash.startswith(f"{reading()}-")
