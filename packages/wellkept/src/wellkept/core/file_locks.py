"""Operating-system file locks between processes.

The system releases a lock when its process ends, even after a crash. Lock files are never removed:
removing one while another process waits for it would make two locks.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

from wellkept.core.errors import UsageError
from wellkept.core.settings.paths import make_private_folder

_LOOK_EVERY_S = 0.01


def open_lock(folder: Path, key: str) -> BinaryIO:
    """Open the lock file of a key, not yet locked; closing it releases the lock."""
    path = folder / f"{sha256(key.encode('utf-8', 'replace')).hexdigest()[:32]}.lock"
    try:
        make_private_folder(folder)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be opened: {error.strerror}.", hint="Fix its permissions."
        ) from None
    return os.fdopen(handle, "r+b")


def lock_within(file: BinaryIO, seconds: float) -> bool:
    """Wait for the lock; False after the timeout."""
    end = monotonic() + seconds
    while not lock(file):
        if monotonic() >= end:
            return False
        sleep(_LOOK_EVERY_S)
    return True


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 20  # locked bytes cannot be read, so lock one far beyond the content

    def lock(file: BinaryIO) -> bool:
        """Try to lock without waiting; False when it is held elsewhere."""
        file.seek(_FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            file.seek(0)
        return True

else:
    import fcntl

    def lock(file: BinaryIO) -> bool:
        """Try to lock without waiting; False when it is held elsewhere."""
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
