"""Functions of source files, for questions whose answer is a function.

`changed_functions` reads from a unified diff which functions it changes, and `FunctionBm25` is the
plain peer: BM25 over the names and bodies of the functions of some files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set

from bench.plain_bm25 import PlainBm25
from wellkept.core.graph import SYMBOL_MARK, NodeKind
from wellkept.graph.languages import language_of
from wellkept.graph.parse.extract import extract
from wellkept.graph.parse.file_facts import Symbol
from wellkept.graph.search.term_index import words

_FILE = re.compile(r"^diff --git a/(\S+)", re.M)
_HUNK = re.compile(r"@@ -(\d+)")

ReadText = Callable[[str], str | None]


def functions_of(path: str, text: str) -> list[Symbol]:
    """The functions of a file; none if no grammar reads it."""
    language = language_of(path)
    if language is None:
        return []
    found = extract(text.encode("utf-8", "replace"), language).symbols
    return [symbol for symbol in found if symbol.kind is NodeKind.FUNCTION]


def changed_functions(patch: str, read: ReadText) -> frozenset[str]:
    """Ids of the functions whose lines a diff removes or adds to, as they were before it."""
    ids: set[str] = set()
    parts = _FILE.split(patch)
    for path, diff in zip(parts[1::2], parts[2::2], strict=True):
        text = read(path)
        functions = functions_of(path, text) if text else []
        for line in _changed_lines(diff):
            around = [f for f in functions if f.line <= line <= f.end_line]
            if around:
                inner = max(around, key=lambda f: f.line)
                ids.add(f"{path}{SYMBOL_MARK}{inner.qualname}")
    return frozenset(ids)


def _changed_lines(diff: str) -> Iterator[int]:
    """Lines of the old file that a diff removes, or after which it adds."""
    line = 0
    for row in diff.split("\n"):
        hunk = _HUNK.match(row)
        if hunk is not None:
            line = int(hunk[1])
        elif line and row.startswith("-"):
            yield line
            line += 1
        elif line and row.startswith("+"):
            yield line - 1
        elif line and not row.startswith("\\"):
            line += 1


class FunctionBm25:
    """BM25 over the functions of some files."""

    def __init__(self, paths: Iterable[str], read: ReadText) -> None:
        self._peer = PlainBm25()
        for path in paths:
            text = read(path) or ""
            lines = text.split("\n")
            for one in functions_of(path, text):
                body = "\n".join(lines[one.line - 1 : one.end_line])
                self._peer.put(f"{path}{SYMBOL_MARK}{one.qualname}", words(body))

    def search(self, request: str, *, limit: int) -> list[str]:
        """Ids of the best functions."""
        return self._peer.search(words(request), limit=limit)


def is_named(ids: Iterable[str], wanted: Set[str], *, top: int) -> bool:
    """Whether one of the wanted functions is among the first."""
    return bool(set(list(ids)[:top]) & wanted)
