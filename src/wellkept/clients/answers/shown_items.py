"""What a session has been told already, so that it is not told again.

A small file for each session with one id on a line, appended to by whichever process answers: the
hook itself or a live one. Losing it costs a repetition, never an error, so a line that is torn or
a folder that cannot be written is passed over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from wellkept.store.spool import SUFFIX, file_name, make_private_folder

FOLDER_NAME = "shown"
_MAX_BYTES = 1 << 20
_KEPT_S = 30 * 24 * 3_600


class ShownItems:
    """The ids that were said in each session, below a state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER_NAME

    def ids(self, client: str, session: str) -> frozenset[str]:
        """What was said in a session so far."""
        try:
            with self._path(client, session).open("rb") as file:
                raw = file.read(_MAX_BYTES)
        except OSError:
            return frozenset()
        return frozenset(raw.decode("ascii", "replace").split())

    def add(self, client: str, session: str, ids: Iterable[str]) -> None:
        """Note what is about to be said."""
        lines = "".join(f"{one}\n" for one in ids).encode("ascii", "replace")
        if not lines:
            return
        try:
            make_private_folder(str(self._folder))
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            descriptor = os.open(self._path(client, session), flags, 0o600)
            try:
                os.write(descriptor, lines)
            finally:
                os.close(descriptor)
        except OSError:
            return

    def forget(self, client: str, session: str) -> None:
        """The session starts over: everything may be said again."""
        try:
            self._path(client, session).unlink(missing_ok=True)
        except OSError:
            return

    def forget_old(self) -> None:
        """Forget sessions in which nothing was said for a month; else they would pile up."""
        try:
            found = list(self._folder.iterdir())
        except OSError:
            return
        for path in found:
            try:
                if time.time() - path.stat().st_mtime >= _KEPT_S:
                    path.unlink(missing_ok=True)
            except OSError:
                continue

    def _path(self, client: str, session: str) -> Path:
        return self._folder / file_name(client, session).removesuffix(SUFFIX)
