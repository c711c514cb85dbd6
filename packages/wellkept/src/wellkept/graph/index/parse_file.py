"""Parses one file into the facts that are stored. Runs in a worker process.

Needs no other file. The result consists of plain values, because it is sent between processes.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from wellkept.core.graph import FileState
from wellkept.graph.index.file_filter import content_skip_reason
from wellkept.graph.languages import is_configuration, language_of
from wellkept.graph.parse.extract import extract
from wellkept.graph.parse.file_facts import FileFacts, names_to_bytes, uses_to_bytes
from wellkept.graph.parse.grammars import grammar

NOT_INSTALLED = "is not installed"


class ParsedFile(NamedTuple):
    """Parse result of a file. `symbols` are rows of (qualname, kind, detail, line, end line,
    exported, test, signature)."""

    path: str
    content_hash: str
    state: str
    reason: str = ""
    line_count: int = 0
    package: str = ""
    facts: bytes = b""
    names: bytes = b""
    symbols: tuple[tuple[object, ...], ...] = ()


def parse_file(root: str, path: str) -> ParsedFile:
    """Read and parse one file of a tree."""
    try:
        source = Path(root, path).read_bytes()
    except OSError as error:
        return ParsedFile(path, "", FileState.FAILED.value, f"cannot be read: {error.strerror}")
    return parse_source(path, source)


def parse_source(path: str, source: bytes) -> ParsedFile:
    """Parse the content of one file."""
    content_hash = hash_of(source)
    lines = source.count(b"\n") + (bool(source) and not source.endswith(b"\n"))
    if is_configuration(path):
        return ParsedFile(
            path, content_hash, FileState.ANALYSED.value, line_count=lines, names=source
        )
    language = language_of(path)
    reason = content_skip_reason(source) if language is not None else "no grammar"
    if language is None or reason:
        return ParsedFile(path, content_hash, FileState.SKIPPED.value, reason, lines)
    if language.dialect is not None:
        language = language.dialect(source) or language
    try:
        grammar(language)
    except (ImportError, AttributeError):  # package missing, or without this function
        missing = f"the grammar {language.grammar[0]} {NOT_INSTALLED}"
        return ParsedFile(path, content_hash, FileState.SKIPPED.value, missing, lines)
    return _parsed(path, content_hash, lines, extract(source, language))


def _parsed(path: str, content_hash: str, lines: int, facts: FileFacts) -> ParsedFile:
    state = FileState.PARTLY if facts.has_errors else FileState.ANALYSED
    return ParsedFile(
        path=path,
        content_hash=content_hash,
        state=state.value,
        reason="syntax errors" if facts.has_errors else "",
        line_count=lines,
        package=facts.names.package,
        facts=uses_to_bytes(facts),
        names=names_to_bytes(facts.names),
        symbols=tuple((s[0], s[1].value, *s[2:]) for s in facts.symbols),
    )


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
