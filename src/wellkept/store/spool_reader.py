"""Event spool, reading side: entries in order, with damage between them reported.

A reader stores the `end` of the last processed item in one transaction with the result, so each
entry is processed exactly once. Damage (a torn write, foreign bytes) is skipped up to the next
entry with a valid checksum. An unfinished last entry is not read while a writer may still append.

Payloads are opaque here. Not imported by the hook process.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from wellkept.core.clock import from_ms
from wellkept.core.records import record
from wellkept.core.sessions import SpoolDamage, SpoolEntry
from wellkept.store.spool import DROPPED_NAME, SUFFIX, fcntl

_HEADER = re.compile(
    rb"(?P<head>H1 (?P<id>[0-9a-f-]{36}) (?P<ms>-?\d{1,19}) (?P<client>[\w.:-]{1,64})"
    rb" (?P<event>[\w.:-]{1,64}) (?P<length>\d{1,10}) )(?P<check>[0-9a-f]{8})\n"
)
_HEADER_BYTES = 320
_SCAN_BYTES = 1 << 20
_MARK = b"H1 "


@record
class SpoolFile:
    """The file of one session."""

    path: Path
    size_bytes: int
    modified_ms: int


@record
class DroppedEvents:
    """Events dropped for lack of space: number, recorded bytes, and since when."""

    count: int = 0
    noted_bytes: int = 0
    since_ms: int | None = None


def files(directory: Path) -> list[SpoolFile]:
    """Session files of a spool, least recently written first; none when there is no spool."""
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


def read(path: Path, *, offset: int = 0) -> Iterator[SpoolEntry | SpoolDamage]:
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
    """Remove a file that was read up to `offset`, unless it has grown; returns whether it is
    gone."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return True
    with file:
        if not _lock_if_idle(file) or os.fstat(file.fileno()).st_size != offset:
            return False
        path.unlink(missing_ok=True)
        return True


def dropped(directory: Path) -> DroppedEvents:
    """Events dropped since the record was last cleared."""
    try:
        lines = (directory / DROPPED_NAME).read_bytes().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return DroppedEvents()
    noted = [line.split() for line in lines]
    noted = [parts for parts in noted if len(parts) == 4 and parts[0].isdigit()]
    sizes = sum(int(parts[3]) for parts in noted if parts[3].isdigit())
    return DroppedEvents(len(lines), sizes, int(noted[0][0]) if noted else None)


def clear_dropped(directory: Path) -> None:
    """Clear the record of dropped events, once it was reported."""
    (directory / DROPPED_NAME).unlink(missing_ok=True)


# -- One file -------------------------------------------------------------------------------------


def _entry_at(file: BinaryIO, start: int, size: int) -> SpoolEntry | None:
    """The complete, valid entry at this offset, if there is one."""
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
    try:
        at = from_ms(int(header["ms"]))
    except OverflowError:
        return None
    return SpoolEntry(
        event_id=header["id"].decode("ascii"),
        at=at,
        client=header["client"].decode("ascii"),
        event=header["event"].decode("ascii"),
        payload=payload,
        start=start,
        end=end,
    )


def _damage_at(file: BinaryIO, start: int, size: int) -> SpoolDamage | None:
    """The bytes up to the next entry or the end; None while the file may still grow."""
    for offset in _header_offsets(file, start + 1, size):
        if _entry_at(file, offset, size):
            return SpoolDamage(start, offset, torn=False)
    try:
        if _lock_if_idle(file) and os.fstat(file.fileno()).st_size == size:
            return SpoolDamage(start, size, torn=True)
        return None
    finally:
        _unlock(file)


def _header_offsets(file: BinaryIO, start: int, size: int) -> Iterator[int]:
    """Offsets where a header may begin."""
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


def _lock_if_idle(file: BinaryIO) -> bool:
    """Whether no process is appending; if so, none can until the lock is released."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(file: BinaryIO) -> None:
    if fcntl is not None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
