"""Identifiers: UUIDv7, so that ids sort by creation, with a short form for citations.

The short form is the 40 random low bits in Crockford base 32 (eight characters). People see and
type it; a store resolves it, or a prefix, to the full id.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_HEX = frozenset("0123456789abcdef")
_MISREAD = str.maketrans({"o": "0", "i": "1", "l": "1"})


def short_id(full_id: str) -> str:
    """The eight-character form of a full id."""
    bits = int(full_id.replace("-", ""), 16) & ((1 << 40) - 1)
    return "".join(_ALPHABET[(bits >> shift) & 31] for shift in range(35, -1, -5))


def normalise_short(text: str) -> str:
    """Lower-case a typed short id and replace look-alike letters that Crockford omits."""
    return text.strip().lower().removeprefix("m:").translate(_MISREAD)


def digest(*parts: str) -> str:
    """A short stable hash of some texts, for keys."""
    return blake2b_hex("\n".join(parts).encode("utf-8", "replace"))


def blake2b_hex(raw: bytes, size: int = 8) -> str:
    """A short BLAKE2b hash."""
    return _own_hash("_blake2", "blake2b")(raw, digest_size=size).hexdigest()


def sha256_hex(raw: bytes) -> str:
    """A SHA-256 hash."""
    module = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
    return _own_hash(module, "sha256")(raw).hexdigest()


def _own_hash(module: str, name: str) -> Any:
    """The function of Python itself: `hashlib` loads OpenSSL first, which takes as long as a
    query."""
    try:
        return getattr(import_module(module), name)
    except ImportError:
        return getattr(import_module("hashlib"), name)


def is_full_id(text: str) -> bool:
    """Whether the text has the shape of a full id."""
    raw = text.replace("-", "")
    return len(text) == 36 and len(raw) == 32 and _HEX.issuperset(raw)


def _random_bits(count: int) -> int:
    """Random bits from the system; importing `secrets` would load ten modules."""
    return int.from_bytes(os.urandom((count + 7) // 8), "big") >> (-count % 8)


class IdSource:
    """Makes UUIDv7 ids that never go backwards inside one process, even when the clock does."""

    def __init__(
        self, now_ms: Callable[[], int], *, random_bits: Callable[[int], int] = _random_bits
    ) -> None:
        self._now_ms = now_ms
        self._random_bits = random_bits
        self._last_ms = -1
        self._counter = 0
        self._lock = threading.Lock()

    def __call__(self) -> str:
        ms, counter = self._tick()
        value = (ms & ((1 << 48) - 1)) << 80 | 0x7 << 76 | counter << 64
        value |= 0b10 << 62 | self._random_bits(62)
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def _tick(self) -> tuple[int, int]:
        with self._lock:
            ms = self._now_ms()
            if ms > self._last_ms:
                self._last_ms, self._counter = ms, self._random_bits(9)
            else:
                self._counter += 1
                if self._counter > 0xFFF:
                    self._last_ms, self._counter = self._last_ms + 1, 0
            return self._last_ms, self._counter
