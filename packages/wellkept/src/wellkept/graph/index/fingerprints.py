"""Content hashes of files, prefixed with a version of the code that reads them.

A file parsed by another release is parsed again only if that release reads or links differently.
`READERS` are exactly the modules that decide this; a test keeps the list complete.
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
def reader_version() -> str:
    """Hash of the code that reads and links files."""
    package = files("wellkept.graph")
    parts = [package.joinpath(f"{name}.py") for name in READERS]
    for folder, ending in _FOLDERS:
        inside = (part for part in package.joinpath(folder).iterdir() if part.name.endswith(ending))
        parts += sorted(inside, key=lambda part: part.name)
    digest = hashlib.blake2b(digest_size=4)
    for part in parts:
        digest.update(part.read_bytes())
    return digest.hexdigest()


def hash_of(source: bytes) -> str:
    """Content hash of a file."""
    return hashlib.blake2b(source, digest_size=16).hexdigest()


def versioned_hash(content_hash: str) -> str:
    """A content hash with the reader version. Called by the process that stores it, because a
    worker may run another release."""
    return f"{reader_version()}-{content_hash}" if content_hash else ""


def is_outdated(stored_hash: str) -> bool:
    """Whether a file was read by code that reads differently."""
    return bool(stored_hash) and not stored_hash.startswith(f"{reader_version()}-")
