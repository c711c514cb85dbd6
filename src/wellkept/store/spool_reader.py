"""The event spool, the side that reads: entries in order, with whatever damage lies between them.

A reader keeps the `end` of the last item it has dealt with, in the same transaction as what it made
of it, and goes on from there: so each entry is taken exactly once. Damage (a torn write, foreign
bytes) is skipped to the next entry whose checksum is right, and reported with its place. An
unfinished last entry is left alone while anybody might still be writing it.

Knows nothing of what payloads mean.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from wellkept.core.records import record
from wellkept.store.spool import DROPPED_NAME, SUFFIX, fcntl

_HEADER = re.compile(
    rb"(?P<head>H1 (?P<id>[0-9a-f-]{36}) (?P<ms>-?\d{1,19}) (?P<client>[\w.:-]{1,64})"
    rb" (?P<event>[\w.:-]{1,64}) (?P<length>\d{1,10}) )(?P<check>[0-9a-f]{8})\n"
)
_HEADER_BYTES = 320
_SCAN_BYTES = 1 << 20
_MARK = b"H1 "


@record(kw_only=True)
class RawEntry:
    """One event as it was caught. `end` is where the next item begins."""

    event_id: str
    at_ms: int
    client: str
    event: str
    payload: bytes
    start: int
    end: int


@record
class RawDamage:
    """Bytes that are no entry, from `start` up to `end`; `torn` when nothing follows them."""

    start: int
    end: int
    torn: bool


@record
class SpoolFile:
    """The file of one session."""

    path: Path
    size_bytes: int
    modified_ms: int


@record
class DroppedEvents:
    """Events that did not fit: how many, their bytes as far as noted, and when it began."""

    count: int = 0
    noted_bytes: int = 0
    since_ms: int | None = None


def files(directory: Path) -> list[SpoolFile]:
    """The session files of a spool, the longest untouched first; none when there is no spool."""
    found: list[SpoolFile] = []
    try:
        paths = [path for path in directory.iterdir() if path.name.endswith(SUFFIX)]
    except (FileNotFoundError, NotADirectoryError):
        return found
    for path in paths:
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        found.append(SpoolFile(path, status.st_size, status.st_mtime_ns // 1_000_000))
    return sorted(found, key=lambda file: (file.modified_ms, file.path.name))


def read(path: Path, *, offset: int = 0) -> Iterator[RawEntry | RawDamage]:
    """The items of a file from an offset on; nothing when the file is gone."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        while True:
            size = os.fstat(file.fileno()).st_size
            if offset >= size:
                return
            item = _entry_at(file, offset, size) or _damage_at(file, offset, size)
            if item is None:
                return
            yield item
            offset = item.end


def remove_drained(path: Path, *, offset: int) -> bool:
    """Remove a file that was read up to `offset`, unless more has come in; tells if it is gone."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return True
    with file:
        if not _is_left_alone(file) or os.fstat(file.fileno()).st_size != offset:
            return False
        path.unlink(missing_ok=True)
        return True


def dropped(directory: Path) -> DroppedEvents:
    """What had to be left out since the record was last cleared."""
    try:
        lines = (directory / DROPPED_NAME).read_bytes().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return DroppedEvents()
    noted = [line.split() for line in lines]
    noted = [parts for parts in noted if len(parts) == 4 and parts[0].isdigit()]
    sizes = sum(int(parts[3]) for parts in noted if parts[3].isdigit())
    return DroppedEvents(len(lines), sizes, int(noted[0][0]) if noted else None)


def clear_dropped(directory: Path) -> None:
    """Forget the record of dropped events, once it has been reported."""
    (directory / DROPPED_NAME).unlink(missing_ok=True)


# -- One file -------------------------------------------------------------------------------------


def _entry_at(file: BinaryIO, start: int, size: int) -> RawEntry | None:
    """The entry that begins exactly here, if a whole and sound one does."""
    header = _HEADER.match(_bytes_at(file, start, _HEADER_BYTES))
    if header is None:
        return None
    length = int(header["length"])
    begin = start + header.end()
    end = begin + length + 1
    if end > size:
        return None
    body = _bytes_at(file, begin, length + 1)
    payload = body[:-1]
    if body[-1:] != b"\n" or zlib.crc32(payload, zlib.crc32(header["head"])) != int(
        header["check"], 16
    ):
        return None
    return RawEntry(
        event_id=header["id"].decode("ascii"),
        at_ms=int(header["ms"]),
        client=header["client"].decode("ascii"),
        event=header["event"].decode("ascii"),
        payload=payload,
        start=start,
        end=end,
    )


def _damage_at(file: BinaryIO, start: int, size: int) -> RawDamage | None:
    """The bytes up to the next entry, or to the end; None while the end may still be growing."""
    for place in _marks(file, start + 1, size):
        if _entry_at(file, place, size):
            return RawDamage(start, place, torn=False)
    try:
        if _is_left_alone(file) and os.fstat(file.fileno()).st_size == size:
            return RawDamage(start, size, torn=True)
        return None
    finally:
        _let_go(file)


def _marks(file: BinaryIO, start: int, size: int) -> Iterator[int]:
    """Places where a header may begin."""
    while start < size:
        block = _bytes_at(file, start, _SCAN_BYTES)
        at = block.find(_MARK)
        while at >= 0:
            yield start + at
            at = block.find(_MARK, at + 1)
        start += max(1, len(block) - len(_MARK) + 1)


def _bytes_at(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)


def _is_left_alone(file: BinaryIO) -> bool:
    """Whether nobody is appending; if so, nobody can until the lock is let go."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _let_go(file: BinaryIO) -> None:
    if fcntl is not None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
