"""Ids of the items already injected into a session, so that nothing is repeated.

One small file per session with one id per line, appended to by the hook or the server. Losing it
costs a repetition, never an error: torn lines and unwritable folders are ignored.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from wellkept.store.spool import SUFFIX, file_name, make_private_folder

FOLDER_NAME = "shown"
_MAX_BYTES = 1 << 20
_RETENTION_S = 30 * 24 * 3_600


class ShownItems:
    """Shown ids by session, in a state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER_NAME

    def ids(self, client: str, session: str) -> frozenset[str]:
        """The ids shown in a session so far."""
        try:
            with self._path(client, session).open("rb") as file:
                raw = file.read(_MAX_BYTES)
        except OSError:
            return frozenset()
        return frozenset(raw.decode("ascii", "replace").split())

    def add(self, client: str, session: str, ids: Iterable[str]) -> None:
        """Add ids that are about to be shown."""
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
        """Clear a session that starts over."""
        try:
            self._path(client, session).unlink(missing_ok=True)
        except OSError:
            return

    def forget_old(self) -> None:
        """Delete files of sessions without a change for a month."""
        try:
            paths = list(self._folder.iterdir())
        except OSError:
            return
        for path in paths:
            try:
                if time.time() - path.stat().st_mtime >= _RETENTION_S:
                    path.unlink(missing_ok=True)
            except OSError:
                continue

    def _path(self, client: str, session: str) -> Path:
        return self._folder / file_name(client, session).removesuffix(SUFFIX)
