"""Event spool, reading side: entries in order, with damage between them reported.

A reader stores the `end` of the last processed item in one transaction with the result, so each
entry is processed exactly once. Damage (a torn write, foreign bytes) is skipped up to the next
entry with a valid checksum. An unfinished last entry is not read while a writer may still append.
What was processed is removed with its file, or blanked in place while the file is in use.

Only plain files of this user are read: a folder, a link, a pipe or a stranger's file under the name
of a spool file raises an error. Payloads are opaque here. Not imported by the hook process.
"""

from __future__ import annotations

import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from wellkept.core.clock import from_ms
from wellkept.core.records import record
from wellkept.core.session.sessions import SpoolDamage, SpoolEntry
from wellkept.store.spool import DROPPED_NAME, MAX_ENTRY_BYTES, SUFFIX, encode, fcntl

_HEADER = re.compile(
    rb"(?P<head>H1 (?P<id>[0-9a-f-]{36}) (?P<ms>-?\d{1,19}) (?P<client>[\w.:-]{1,64})"
    rb" (?P<event>[\w.:-]{1,64}) (?P<length>\d{1,10}) )(?P<check>[0-9a-f]{8})\n"
)
_HEADER_BYTES = 320
_SCAN_BYTES = 1 << 20
_MARK = b"H1 "
# The time of an entry whose own cannot be represented: such an entry is set aside.
NO_TIME = datetime(9999, 12, 31, tzinfo=UTC)
# Without file locks a file counts as in use for so long after its last entry.
_UNLOCKED_IDLE_S = 600.0
# A pipe must not block, and a link must not lead elsewhere.
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class _UnfitFileError(OSError):
    """Something under the name of a spool file that is none; the message says what it is."""


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
            status = path.lstat()
        except OSError:
            continue
        found.append(SpoolFile(path, status.st_size, status.st_mtime_ns // 1_000_000))
    return sorted(found, key=lambda file: (file.modified_ms, file.path.name))


def read(path: Path, *, offset: int = 0) -> Iterator[SpoolEntry | SpoolDamage]:
    """The items of a file from an offset on; nothing when the file is gone."""
    try:
        file = _open(path, os.O_RDONLY)
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
        file = _open(path, os.O_RDONLY)
    except FileNotFoundError:
        return True
    with file:
        if not _lock_if_idle(file) or os.fstat(file.fileno()).st_size != offset:
            return False
        if fcntl is None and time.time() - os.fstat(file.fileno()).st_mtime < _UNLOCKED_IDLE_S:
            return False
        path.unlink(missing_ok=True)
        return True


def blank(path: Path, *, start: int, end: int) -> None:
    """Overwrite what was processed between two offsets: payloads and damage become spaces.

    An entry stays a valid one without a payload, so a reader that begins anew finds no event in it.
    Writers only append, so they are not in the way.
    """
    try:
        file = _open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    with file:
        while start < end:
            size = min(end, os.fstat(file.fileno()).st_size)
            if start >= size:
                return
            item = _entry_at(file, start, size)
            stop = item.end if item else _next_entry(file, start, size)
            raw = _blanked(file, item) if item else b" " * (stop - start)
            file.seek(start)
            file.write(raw)
            file.flush()
            start = stop


def unfit_reason(path: Path) -> str | None:
    """Why something is no spool file to read; None when it can be read or is gone."""
    try:
        with _open(path, os.O_RDONLY):
            return None
    except FileNotFoundError:
        return None
    except _UnfitFileError as error:
        return str(error)
    except OSError as error:
        return (error.strerror or type(error).__name__).lower()


def moment_of(milliseconds: int) -> datetime:
    """A moment from the header or the file system; one out of range becomes `NO_TIME`."""
    try:
        return from_ms(milliseconds)
    except (OverflowError, ValueError):
        return NO_TIME


def dropped(directory: Path) -> DroppedEvents:
    """Events dropped since the record was last cleared."""
    try:
        # A hole is an event for which there was no room for a line.
        lines = (directory / DROPPED_NAME).read_bytes().replace(b"\0", b"\n").splitlines()
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


def _open(path: Path, mode: int) -> BinaryIO:
    """The file, if it is a plain one of this user. _UnfitFileError or OSError otherwise."""
    status = path.lstat()
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a pipe"}
    if not stat.S_ISREG(status.st_mode):
        raise _UnfitFileError(f"it is {kinds.get(stat.S_IFMT(status.st_mode), 'not a plain file')}")
    descriptor = os.open(path, mode | _SAFE)
    file = os.fdopen(descriptor, "r+b" if mode == os.O_RDWR else "rb")
    now = os.fstat(descriptor)
    if not stat.S_ISREG(now.st_mode):
        file.close()
        raise _UnfitFileError("it is not a plain file")
    if hasattr(os, "geteuid") and now.st_uid != os.geteuid():
        file.close()
        raise _UnfitFileError("it belongs to another user")
    return file


def _blanked(file: BinaryIO, entry: SpoolEntry) -> bytes:
    """An entry of the same length, id and time whose payload is spaces."""
    head = _bytes_at(file, entry.start, _HEADER_BYTES)
    header = _HEADER.match(head)
    assert header is not None
    return encode(
        entry.event_id,
        client=entry.client,
        event=entry.event,
        payload=b" " * len(entry.payload),
        now_ms=int(header["ms"]),
    )


def _entry_at(file: BinaryIO, start: int, size: int) -> SpoolEntry | None:
    """The complete, valid entry at this offset, if there is one."""
    header = _HEADER.match(_bytes_at(file, start, _HEADER_BYTES))
    if header is None:
        return None
    length = int(header["length"])
    begin = start + header.end()
    end = begin + length + 1
    # The last byte first: a long entry that is none need not be read.
    if end > size or length > MAX_ENTRY_BYTES or _bytes_at(file, end - 1, 1) != b"\n":
        return None
    body = _bytes_at(file, begin, length + 1)
    payload = body[:-1]
    if body[-1:] != b"\n" or zlib.crc32(payload, zlib.crc32(header["head"])) != int(
        header["check"], 16
    ):
        return None
    return SpoolEntry(
        event_id=header["id"].decode("ascii"),
        at=moment_of(int(header["ms"])),
        client=header["client"].decode("ascii"),
        event=header["event"].decode("ascii"),
        payload=payload,
        start=start,
        end=end,
    )


def _damage_at(file: BinaryIO, start: int, size: int) -> SpoolDamage | None:
    """The bytes up to the next entry or the end; None while the file may still grow."""
    if (end := _next_entry(file, start, size)) < size:
        return SpoolDamage(start, end, torn=False)
    try:
        if _lock_if_idle(file) and os.fstat(file.fileno()).st_size == size:
            return SpoolDamage(start, size, torn=True)
        return None
    finally:
        if fcntl is not None:
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def _next_entry(file: BinaryIO, start: int, size: int) -> int:
    """The offset of the next valid entry; the size when there is none."""
    offsets = _header_offsets(file, start + 1, size)
    return next((offset for offset in offsets if _entry_at(file, offset, size)), size)


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
