"""Fingerprints of files and folders, to detect changes without reading.

A fingerprint is device, inode, size and both times. File systems store times coarsely: a path that
was written just before it was read may change again without a new time. Such a fingerprint is
unstable and equals nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, TypeAlias

Fingerprint: TypeAlias = tuple[int, int, int, int, int]
UNSTABLE: Final[Fingerprint] = (-1, -1, -1, -1, -1)
MISSING: Final[Fingerprint] = (0, 0, 0, 0, 0)
CLOCK_STEP_NS: Final = 2_000_000_000
"""FAT stores times in steps of two seconds; nothing in use is coarser."""


def fingerprint_of(status: os.stat_result) -> Fingerprint:
    """The fingerprint of a stat result."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def stable_fingerprint(fingerprint: Fingerprint, *, seen_ns: int) -> Fingerprint:
    """The fingerprint, or `UNSTABLE` when it was taken too soon after the last write."""
    return UNSTABLE if fingerprint[3] > seen_ns - CLOCK_STEP_NS else fingerprint


def current_fingerprint(path: str) -> Fingerprint:
    """The fingerprint of a path as it is now, links followed."""
    try:
        return fingerprint_of(os.stat(path))  # noqa: PTH116 - a thousand of these in a few milliseconds
    except (OSError, ValueError):
        return MISSING


def unchanged(fingerprints: Iterable[tuple[str, Fingerprint]]) -> bool:
    """Whether all paths have the same fingerprints as before."""
    return all(current_fingerprint(path) == fingerprint for path, fingerprint in fingerprints)
