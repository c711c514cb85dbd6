"""Secrets known by value: what .env files and credential stores hold, wherever it shows up.

Only salted hashes are kept, in a file beside the store, and in memory. A text is looked through at
the boundaries of its words, and a value counts only when it stands between such boundaries. The
values in use are those of the process: `use_known` replaces them, and `generation` tells caches.
They are looked for at the first text that is looked through (`know_later`): a question needs none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from wellkept.core.records import record

if TYPE_CHECKING:
    from wellkept.text.secrets.shape import SecretSpan, WorkCount

SALT_BYTES = 16
# Short enough that a hash fits many values, long enough that none fits by chance.
_HASH_BYTES = 6
_RUN = re.compile(r"[!-~]{6,}")
_DELIMITER = re.compile(r"[\"'`,;=:()<>\[\]{}|&@/\\.!?#$]")
# A value may hold so many delimiters itself.
_MAX_INNER = 8
_MAX_FILE_BYTES = 4 << 20
_LINE = re.compile(r"(\d{1,4}) ([0-9a-f]{12})")


@record
class KnownValues:
    """Salted hashes of values, each with the length of its value."""

    salt: bytes
    hashes: frozenset[tuple[int, bytes]] = frozenset()
    lengths: frozenset[int] = frozenset()

    @classmethod
    def of(cls, salt: bytes, hashes: Iterable[tuple[int, bytes]]) -> KnownValues:
        """The values with these hashes."""
        kept = frozenset(hashes)
        return cls(salt, kept, frozenset(length for length, _ in kept))

    def hashed(self, value: str) -> tuple[int, bytes]:
        """What is kept of a value."""
        return len(value), _digest(value, self.salt)

    def __contains__(self, value: str) -> bool:
        return len(value) in self.lengths and self.hashed(value) in self.hashes


class _InUse:
    """The values of this process."""

    known: KnownValues | None = None
    generation = 0
    later: ClassVar[list[Callable[[], None]]] = []


def use_known(known: KnownValues | None) -> None:
    """Recognise these values from now on, whatever was to be found later."""
    _InUse.later = []
    if known != _InUse.known:
        _InUse.known = known
        _InUse.generation += 1


def know_later(load: Callable[[], None]) -> None:
    """Call a function that finds values before the next text is looked through."""
    _InUse.later.append(load)


def _load() -> None:
    waiting, _InUse.later = _InUse.later, []
    for load in waiting:
        load()


def generation() -> int:
    """Changes whenever other values are recognised."""
    _load()
    return _InUse.generation


def find_known(text: str, work: WorkCount) -> Iterator[SecretSpan]:
    """Known values in a text."""
    _load()
    known = _InUse.known
    if known is None or not known.hashes:
        return
    from wellkept.text.secrets.shape import SecretSpan

    least, most = min(known.lengths), max(known.lengths)
    for run in _RUN.finditer(text):
        if run.end() - run.start() < least:
            continue
        starts = [run.start(), *(m.end() for m in _DELIMITER.finditer(text, *run.span()))]
        ends = [start - 1 for start in starts[1:]] + [run.end()]
        done = 0
        for index, start in enumerate(starts):
            if start < done:
                continue
            for end in (*ends[index : index + _MAX_INNER], run.end()):
                # A delimiter may also be the last character of the value.
                for stop in (end, end + 1) if end < run.end() else (end,):
                    length = stop - start
                    if least <= length <= most and length in known.lengths:
                        work.places += 1
                        if text[start:stop] in known:
                            yield SecretSpan("known-value", start, stop)
                            done = stop


# -- The file -------------------------------------------------------------------------------------


def read_known(path: str) -> KnownValues | None:
    """The values of a file; None when there is none or it is damaged."""
    try:
        file = Path(path)
        if file.stat().st_size > _MAX_FILE_BYTES:
            return None
        first, *lines = file.read_text(encoding="ascii").splitlines() or [""]
        salt = bytes.fromhex(first)
    except (OSError, ValueError):
        return None
    found = map(_LINE.fullmatch, lines)
    return KnownValues.of(salt, ((int(m[1]), bytes.fromhex(m[2])) for m in found if m))


def write_known(path: str, known: KnownValues) -> None:
    """Write the values for the next process; only the owner may read them."""
    partial = f"{path}.{os.getpid()}"
    lines = [known.salt.hex(), *(f"{size} {digest.hex()}" for size, digest in sorted(known.hashes))]
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    Path(partial).replace(path)


def _digest(value: str, salt: bytes) -> bytes:
    from hashlib import blake2b

    return blake2b(value.encode(), key=salt, digest_size=_HASH_BYTES).digest()
