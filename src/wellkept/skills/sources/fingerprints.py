"""When a file or a folder was looked at: a stamp that changes whenever its contents may have.

A stamp is device, inode, size and both times. Something written in the last moments before it was
looked at may change again without its times changing, since file systems count time coarsely: such
a stamp is not settled, and equals nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, TypeAlias

Stamp: TypeAlias = tuple[int, int, int, int, int]
UNSETTLED: Final[Stamp] = (-1, -1, -1, -1, -1)
GONE: Final[Stamp] = (0, 0, 0, 0, 0)
SETTLING_NS: Final = 2_000_000_000
"""FAT keeps times to two seconds; nothing in use is coarser."""


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp that goes with what the system said."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def settled(stamp: Stamp, *, seen_ns: int) -> Stamp:
    """The stamp, or one that equals nothing when it was seen too soon after the last write."""
    return UNSETTLED if stamp[3] > seen_ns - SETTLING_NS else stamp


def look(path: str) -> Stamp:
    """The stamp of a path as it is now, links followed."""
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 - a thousand of these in a few milliseconds
    except (OSError, ValueError):
        return GONE


def unchanged(marks: Iterable[tuple[str, Stamp]]) -> bool:
    """Whether everything that was looked at is as it was."""
    return all(look(path) == stamp for path, stamp in marks)
