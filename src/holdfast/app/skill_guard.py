"""No skill runs twice at once, in whichever process: a lock of the operating system for each.

The system itself lets go of a lock when its holder ends, however it ends, so nobody who died stands
in the way. The files hold who has the lock, for the message only, and stay where they are: removing
one while another waits for it would make two locks of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

from holdfast.app.places import make_private_folder
from holdfast.core.errors import ConflictError, UsageError

WAIT_S = 0.2
_HOLDER_BYTES = 40
_LOOK_EVERY_S = 0.01


class RunGuard:
    """Locks below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def held(self, key: str, *, name: str) -> Generator[None]:
        """Hold the lock of a command; ConflictError when somebody else has it and keeps it.

        One who only renders a prompt has it for a moment, and that is waited for.
        """
        with self._opened(key) as file:
            if not _lock_within(file, WAIT_S):
                holder = file.read(_HOLDER_BYTES).decode("ascii", "replace").strip()
                by = f" in process {holder}" if holder.isdigit() else ""
                raise ConflictError(
                    f"/{name} is already running{by}.", hint="Wait until it has ended."
                )
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            file.flush()
            yield

    def is_held(self, key: str) -> bool:
        """Whether somebody runs that command now."""
        with self._opened(key) as file:
            return not _lock(file)

    def _opened(self, key: str) -> BinaryIO:
        path = self._folder / f"{sha256(key.encode('utf-8', 'replace')).hexdigest()[:32]}.lock"
        try:
            make_private_folder(self._folder)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise UsageError(
                f"{path} cannot be opened: {error.strerror}.", hint="Mend its permissions."
            ) from None
        return os.fdopen(handle, "r+b")


def _lock_within(file: BinaryIO, seconds: float) -> bool:
    end = monotonic() + seconds
    while not _lock(file):
        if monotonic() >= end:
            return False
        sleep(_LOOK_EVERY_S)
    return True


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 20  # locked bytes cannot be read by others, so none of the first ones is

    def _lock(file: BinaryIO) -> bool:
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

    def _lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
