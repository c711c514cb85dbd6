"""Tokens that a session's model calls took, as its client wrote them into the transcript.

Totals of the whole file, so reading it again gives the same or more. Only numbers are taken. A file
that cannot be read, or tells nothing, gives None: unmeasured is not zero.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, cast

from wellkept.clients.payload_fields import Fields, as_fields, items, nested, optional
from wellkept.core.session.events import TokenUsage

MAX_BYTES: Final = 256 << 20
_MAX_LINE_BYTES: Final = 16 << 20
_MAX_FOUND: Final = 256


def usage_of(
    client: str, paths: Iterable[Path], *, max_bytes: int = MAX_BYTES
) -> TokenUsage | None:
    """The tokens of a session, summed over its files."""
    read = _READERS.get(client)
    if read is None:
        return None
    found = [_of_file(client, path, max_bytes) for path in paths]
    known = [one for one in found if one is not None]
    return _sum(known) if known else None


def _of_file(client: str, path: Path, max_bytes: int) -> TokenUsage | None:
    try:
        status = path.stat()
        if status.st_size > max_bytes or not path.is_file():
            return None
        # A drain meets the same file at every turn; it is read again only when it has changed.
        key = _key(path, status)
        if (known := _FOUND.get(key)) is not None:
            return known[0]
        return _remember(key, _READERS[client](path))
    except (OSError, ValueError):
        return None


# By path, size and time of change; bounded.
_FOUND: Final[dict[tuple[str, int, int], tuple[TokenUsage | None]]] = {}


def _key(path: Path, status: os.stat_result) -> tuple[str, int, int]:
    return str(path), status.st_size, status.st_mtime_ns


def _remember(key: tuple[str, int, int], usage: TokenUsage | None) -> TokenUsage | None:
    for old in list(_FOUND)[: len(_FOUND) - _MAX_FOUND]:
        _FOUND.pop(old, None)
    _FOUND[key] = (usage,)
    return usage


class ClaudeCodeUsage:
    """Sums up the records of one file.

    One message stands in several records, each with the usage so far; the last one counts.
    """

    def __init__(self) -> None:
        self._by_message: dict[str, TokenUsage] = {}
        self._records = 0

    def add(self, fields: Fields) -> None:
        """Count one record."""
        self._records += 1
        message = nested(fields, "message")
        if not (usage := nested(message, "usage")):
            return
        name = optional(message, "id") or f"record {self._records}"
        self._by_message[name] = TokenUsage(
            input=_count(usage, "input_tokens") + _count(usage, "cache_creation_input_tokens"),
            cached=_count(usage, "cache_read_input_tokens"),
            output=_count(usage, "output_tokens"),
        )

    def total(self) -> TokenUsage | None:
        """The sum; None when no record told any."""
        return _sum(self._by_message.values()) if self._by_message else None

    def keep(self, path: Path, status: os.stat_result) -> None:
        """Remember the sum for the file that was read, so that it is not read again for it."""
        _remember(_key(path, status), self.total())


def _claude_code(path: Path) -> TokenUsage | None:
    found = ClaudeCodeUsage()
    for fields in _lines(path, b'"usage"'):
        found.add(fields)
    return found.total()


def _codex(path: Path) -> TokenUsage | None:
    """Each record tells the total so far."""
    last: TokenUsage | None = None
    for fields in _lines(path, b'"total_token_usage"'):
        usage = nested(nested(nested(fields, "payload"), "info"), "total_token_usage")
        if usage:
            cached = _count(usage, "cached_input_tokens")
            last = TokenUsage(
                input=max(0, _count(usage, "input_tokens") - cached),
                cached=cached,
                output=_count(usage, "output_tokens"),
            )
    return last


def _gemini(path: Path) -> TokenUsage | None:
    """Messages are written again under the same id as they grow; the last one counts."""
    by_message: dict[str, TokenUsage] = {}
    for number, message in enumerate(_gemini_messages(path)):
        tokens = nested(message, "tokens")
        if tokens:
            cached = _count(tokens, "cached")
            by_message[optional(message, "id") or f"message {number}"] = TokenUsage(
                input=max(0, _count(tokens, "input") - cached),
                cached=cached,
                output=_count(tokens, "output") + _count(tokens, "thoughts"),
            )
    return _sum(by_message.values()) if by_message else None


def _gemini_messages(path: Path) -> Iterator[Fields]:
    if path.suffix == ".jsonl":
        yield from _lines(path, b'"tokens"')
        return
    whole = as_fields(json.loads(path.read_bytes()))
    yield from map(as_fields, items(whole, "messages"))


def opencode_usage(messages: Iterable[Fields]) -> TokenUsage | None:
    """The tokens of an OpenCode session, by its messages."""
    told = [tokens for one in messages if (tokens := nested(one, "tokens"))]
    counted = [
        TokenUsage(
            input=_count(one, "input") + _count(nested(one, "cache"), "write"),
            cached=_count(nested(one, "cache"), "read"),
            output=_count(one, "output") + _count(one, "reasoning"),
        )
        for one in told
    ]
    return _sum(counted) if counted else None


_READERS: Final[dict[str, Callable[[Path], TokenUsage | None]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
}


def _lines(path: Path, mark: bytes) -> Iterator[Fields]:
    """The JSON objects of the lines that hold a mark; a torn line is left out."""
    with path.open("rb") as file:
        while line := file.readline(_MAX_LINE_BYTES):
            if mark in line:
                try:
                    yield as_fields(cast("object", json.loads(line)))
                except (ValueError, RecursionError):
                    continue


def _count(fields: Fields, name: str) -> int:
    value = fields.get(name)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 50
    return value if is_count else 0  # pyright: ignore[reportReturnType]


def _sum(some: Iterable[TokenUsage]) -> TokenUsage:
    every = list(some)
    return TokenUsage(
        input=sum(one.input for one in every),
        cached=sum(one.cached for one in every),
        output=sum(one.output for one in every),
    )
