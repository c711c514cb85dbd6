"""When a file or a folder was looked at: a stamp that changes whenever its contents may have.

A stamp is device, inode, size and both times. Something written in the last moments before it was
looked at may change again without its times changing, since file systems count time coarsely: such
a stamp is not settled, and equals nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, TypeAlias

Fingerprint: TypeAlias = tuple[int, int, int, int, int]
UNSTABLE: Final[Fingerprint] = (-1, -1, -1, -1, -1)
MISSING: Final[Fingerprint] = (0, 0, 0, 0, 0)
CLOCK_STEP_NS: Final = 2_000_000_000
"""FAT keeps times to two seconds; nothing in use is coarser."""


def fingerprint_of(status: os.stat_result) -> Fingerprint:
    """The stamp that goes with what the system said."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def stable_fingerprint(fingerprint: Fingerprint, *, seen_ns: int) -> Fingerprint:
    """The stamp, or one that equals nothing when it was seen too soon after the last write."""
    return UNSTABLE if fingerprint[3] > seen_ns - CLOCK_STEP_NS else fingerprint


def current_fingerprint(path: str) -> Fingerprint:
    """The stamp of a path as it is now, links followed."""
    try:
        return fingerprint_of(os.stat(path))  # noqa: PTH116 - a thousand of these in a few milliseconds
    except (OSError, ValueError):
        return MISSING


def unchanged(fingerprints: Iterable[tuple[str, Fingerprint]]) -> bool:
    """Whether everything that was looked at is as it was."""
    return all(current_fingerprint(path) == fingerprint for path, fingerprint in fingerprints)
