"""A mark that tells a folder from another one made later at the same path.

The inode number alone does not: file systems give the number of a deleted folder to the next one.
Its generation does, or the time of its birth. Moving a folder on its file system keeps the mark;
copying it makes a new one. Empty when the system cannot tell.
"""

from __future__ import annotations

import os
from pathlib import Path

# FS_IOC_GETVERSION: the inode's generation on ext4, xfs, btrfs and f2fs.
_GET_GENERATION = 0x80087601
_STATX_BTIME = 0x800
_AT_FDCWD = -100


def folder_mark(folder: Path) -> str:
    """The mark of a folder; empty when it is missing or the system cannot tell."""
    try:
        found = folder.stat()
    except (OSError, ValueError):
        return ""
    born = getattr(found, "st_birthtime_ns", None) or getattr(found, "st_birthtime", None)
    if born is None and os.name == "nt":
        born = found.st_ctime_ns
    if born is None:
        generation = _generation(folder)
        return f"{found.st_ino}.{generation}" if generation else _birth(folder)
    return f"born {born}"


def _generation(folder: Path) -> int:
    try:
        # Loaded already by the spool.
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (OSError, ImportError):
        return 0
    answer = bytearray(8)
    try:
        fcntl.ioctl(descriptor, _GET_GENERATION, answer)
    except OSError:
        return 0
    finally:
        os.close(descriptor)
    return int.from_bytes(answer[:4], "little")


def _birth(folder: Path) -> str:
    """The time of birth from Linux itself: Python does not ask for it. Used where there is no
    generation (tmpfs, overlay)."""
    try:
        import ctypes

        statx = ctypes.CDLL(None).statx
    except (ImportError, OSError, AttributeError):
        return ""
    answer = ctypes.create_string_buffer(256)
    asked = (_AT_FDCWD, os.fsencode(folder), 0, _STATX_BTIME, answer)
    if statx(*asked) or not int.from_bytes(answer.raw[0:4], "little") & _STATX_BTIME:
        return ""
    seconds = int.from_bytes(answer.raw[80:88], "little", signed=True)
    nanoseconds = int.from_bytes(answer.raw[88:92], "little")
    return f"born {seconds}.{nanoseconds:09}"
