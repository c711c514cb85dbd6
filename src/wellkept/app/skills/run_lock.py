"""No skill runs twice at once, in whichever process: a lock of the operating system for each.

The files hold who has the lock, for the message only.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from wellkept.app.file_locks import lock, lock_within, open_lock
from wellkept.core.errors import ConflictError

WAIT_S = 0.2
_HOLDER_BYTES = 40


class RunLock:
    """Locks below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def held(self, key: str, *, name: str) -> Generator[None]:
        """Hold the lock of a command; ConflictError when somebody else has it and keeps it.

        One who only renders a prompt has it for a moment, and that is waited for.
        """
        with open_lock(self._folder, key) as file:
            if not lock_within(file, WAIT_S):
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
        with open_lock(self._folder, key) as file:
            return not lock(file)
