"""Which files a session has seen, and as what: an edit of anything else is refused.

One log per conversation. A stamp is what the file system says of a file, and a hash where that may
lie: a file that was written within the clock's step looks unchanged.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeAlias

from wellkept.core.records import record

ReadKey: TypeAlias = tuple[Path, int | None, int | None]
"""Path, offset and limit."""


@record
class FileStamp:
    """A file's content at a moment."""

    mtime_ns: int
    size_bytes: int
    digest: str

    @classmethod
    def of(cls, path: Path, data: bytes) -> FileStamp:
        """The stamp of a file that was read or written as `data`."""
        found = path.stat()
        return cls(found.st_mtime_ns, found.st_size, _digest(data))


@record
class PastRead:
    """A result that the conversation holds: whose call it was, and how it begins."""

    call_id: str
    stamp: FileStamp
    beginning: str


class ReadLog:
    """Stamps of files, and results of reads by path, offset and limit."""

    def __init__(self) -> None:
        self._stamps: dict[Path, FileStamp] = {}
        self._results: dict[ReadKey, PastRead] = {}

    def saw(self, path: Path, stamp: FileStamp) -> None:
        """The conversation knows a file as it is now."""
        self._stamps[path] = stamp

    def forget(self, path: Path) -> None:
        """A file is gone."""
        self._stamps.pop(path, None)

    def stamp(self, path: Path) -> FileStamp | None:
        """How a file was when it was last seen; None when it never was."""
        return self._stamps.get(path)

    def keep_result(self, key: ReadKey, past: PastRead) -> None:
        """Remember which call a part of a file was read by."""
        self._results[key] = past

    def result(self, key: ReadKey) -> PastRead | None:
        """The last read of the same part."""
        return self._results.get(key)


def is_unchanged(path: Path, stamp: FileStamp) -> bool:
    """Whether a file still is what it was. A touched file with the same content is unchanged."""
    try:
        found = path.stat()
        if found.st_size != stamp.size_bytes:
            return False
        return _digest(path.read_bytes()) == stamp.digest
    except OSError:
        return False


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
