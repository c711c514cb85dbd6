"""Locks of the operating system on files, in whichever process their holders are.

The system itself lets go of a lock when its holder ends, however it ends, so nobody who died stands
in the way. A file that is locked stays where it is: removing one while another waits for it would
make two locks of it.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

from wellkept.app.settings.paths import make_private_folder
from wellkept.core.errors import UsageError

_LOOK_EVERY_S = 0.01


def open_lock(folder: Path, key: str) -> BinaryIO:
    """The file that stands for a key, not yet locked; closing it lets go."""
    path = folder / f"{sha256(key.encode('utf-8', 'replace')).hexdigest()[:32]}.lock"
    try:
        make_private_folder(folder)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be opened: {error.strerror}.", hint="Mend its permissions."
        ) from None
    return os.fdopen(handle, "r+b")


def lock_within(file: BinaryIO, seconds: float) -> bool:
    """Whether the lock could be had in that time."""
    end = monotonic() + seconds
    while not lock(file):
        if monotonic() >= end:
            return False
        sleep(_LOOK_EVERY_S)
    return True


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 20  # locked bytes cannot be read by others, so none of the first ones is

    def lock(file: BinaryIO) -> bool:
        """Whether the lock could be had at once."""
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
        """Whether the lock could be had at once."""
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
