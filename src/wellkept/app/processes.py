"""Which long-lived Wellkept processes run on this machine, for people who want to know.

Each keeps a small file in the state folder and holds a lock on it for as long as it lives, so a
process that died is never taken for one that runs, whatever number the system gives the next one.
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
    """One process: what it does, where it is reached, and since when."""

    kind: str
    pid: int
    started_at: str
    version: str
    address: str | None = None


@contextmanager
def announced(state: Path, process: RunningProcess) -> Generator[None]:
    """Let others know of this process until the end of the block."""
    folder = state / FOLDER_NAME
    spool.make_private_folder(str(folder))
    _clear_the_dead(folder)
    path = folder / f"{process.pid}.json"
    draft = folder / f".{process.pid}"
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        # It is locked before it can be seen, so nobody takes it for a dead one's.
        _lock(file)
        file.write(json.dumps(_as_json(process)).encode())
        file.flush()
        draft.replace(path)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def running_processes(state: Path) -> list[RunningProcess]:
    """Those that are alive, the oldest first; what the dead left behind is removed."""
    _clear_the_dead(state / FOLDER_NAME)
    found = [_read(path) for path in (state / FOLDER_NAME).glob("*.json")]
    return sorted(filter(None, found), key=lambda process: process.started_at)


def _clear_the_dead(folder: Path) -> None:
    """Files of processes that were killed, and drafts that one was killed over long ago."""
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
    """Whether nobody else holds the file; without locks it is taken for held."""
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
