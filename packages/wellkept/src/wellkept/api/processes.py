"""Lists the long-lived Wellkept processes on this machine.

Each writes a small file to the state folder and holds a lock on it while it lives. A file without a
lock belongs to a dead process, even when its process id was reused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time
from typing import BinaryIO, cast

from wellkept.core.records import record
from wellkept.store import spool

FOLDER_NAME = "running"
_DRAFT_S = 3_600


@record(kw_only=True)
class RunningProcess:
    """One process: its kind, address and start time."""

    kind: str
    pid: int
    started_at: str
    version: str
    address: str | None = None


@contextmanager
def announced(state: Path, process: RunningProcess) -> Generator[None]:
    """Register this process until the end of the block."""
    folder = state / FOLDER_NAME
    spool.make_private_folder(str(folder))
    _remove_stale(folder)
    path = folder / f"{process.pid}.json"
    draft = folder / f".{process.pid}"
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        # Locked before it is visible, so that no reader takes it for a dead process's file.
        _lock(file)
        file.write(json.dumps(_as_json(process)).encode())
        file.flush()
        draft.replace(path)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def running_processes(state: Path) -> list[RunningProcess]:
    """Live processes, oldest first. Files of dead processes are removed."""
    _remove_stale(state / FOLDER_NAME)
    found = [_read(path) for path in (state / FOLDER_NAME).glob("*.json")]
    return sorted(filter(None, found), key=lambda process: process.started_at)


def _remove_stale(folder: Path) -> None:
    """Remove files of dead processes, and old temporary files."""
    for path in folder.glob("*.json"):
        _read(path)
    for draft in folder.glob(".[0-9]*"):
        with suppress(OSError):
            if time() - draft.stat().st_mtime >= _DRAFT_S:
                draft.unlink(missing_ok=True)


def _read(path: Path) -> RunningProcess | None:
    with suppress(OSError, ValueError, TypeError), path.open("rb") as file:
        if _lock(file):
            path.unlink(missing_ok=True)
            return None
        return RunningProcess(**cast("dict[str, str]", json.loads(file.read())))  # type: ignore[arg-type]
    return None


def _lock(file: BinaryIO) -> bool:
    """Try to lock; False when it is held, or when the platform has no locks."""
    if spool.fcntl is None:
        return False
    try:
        spool.fcntl.flock(file.fileno(), spool.fcntl.LOCK_EX | spool.fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _as_json(process: RunningProcess) -> dict[str, str | int | None]:
    return {
        "kind": process.kind,
        "pid": process.pid,
        "started_at": process.started_at,
        "version": process.version,
        "address": process.address,
    }
