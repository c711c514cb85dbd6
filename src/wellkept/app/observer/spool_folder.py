"""The spool folder behind the `Spool` port, and the lock that lets one process drain it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import StoreFullError, UsageError
from wellkept.core.ports.sessions import SessionStore
from wellkept.core.records import record
from wellkept.core.sessions import SpoolDamage, SpoolEntry
from wellkept.store import spool, spool_reader

if TYPE_CHECKING:
    from wellkept.app.wiring.services import Services

MAX_ASIDE_BYTES = 256 << 20
_LOCK, _ASIDE = "drain.lock", "aside"
# Tool calls from elsewhere have the form that most clients send.
_TOOL_CLIENT, _TOOL_EVENT = "claude-code", "PostToolUse"
_RETRY = re.compile(r"retry-[0-9a-f]{16}-")


@record
class SpoolFileStatus:
    """Size, undrained bytes and modification time of one spool file."""

    name: str
    size_bytes: int
    waiting_bytes: int
    modified_at: datetime


@record
class SpoolStatus:
    """Status of the spool."""

    folder: Path
    files: tuple[SpoolFileStatus, ...]
    dropped_events: int
    dropped_since: datetime | None
    aside_entries: int
    draining: bool

    @property
    def waiting_bytes(self) -> int:
        """Bytes that are not drained yet."""
        return sum(file.waiting_bytes for file in self.files)


class SpoolFolder:
    """A folder of spool files."""

    def __init__(self, folder: Path, *, max_aside_bytes: int = MAX_ASIDE_BYTES) -> None:
        self.folder = folder
        self._max_aside_bytes = max_aside_bytes

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> SpoolFolder:
        """The spool of this user's hook process."""
        state = spool.state_folder(environment)
        if state is None:
            raise UsageError(
                "There is no home folder.", hint="Set WELLKEPT_HOME to an absolute path."
            )
        return cls(Path(state) / spool.FOLDER_NAME)

    @property
    def state(self) -> Path:
        """The state folder that contains the spool."""
        return self.folder.parent

    def signature(self) -> tuple[tuple[str, int, int], ...]:
        """Changes with every captured event; cheap enough to poll."""
        return tuple(
            (file.path.name, file.size_bytes, file.modified_ms)
            for file in spool_reader.files(self.folder)
        )

    def sources(self) -> list[str]:
        return [file.path.name for file in spool_reader.files(self.folder)]

    def read(self, source: str, *, offset: int) -> Iterator[SpoolEntry | SpoolDamage]:
        return spool_reader.read(self.folder / source, offset=offset)

    def idle_since(self, source: str) -> datetime | None:
        try:
            return from_ms((self.folder / source).stat().st_mtime_ns // 1_000_000)
        except FileNotFoundError:
            return None

    def remove(self, source: str, *, offset: int) -> bool:
        return spool_reader.remove_drained(self.folder / source, offset=offset)

    def set_aside(self, source: str, entry: SpoolEntry) -> None:
        path = self.folder / _ASIDE / _RETRY.sub("", source, count=1)
        spool.make_private_folder(str(path.parent))
        raw = spool.encode(
            entry.event_id,
            client=entry.client,
            event=entry.event,
            payload=entry.payload,
            now_ms=to_ms(entry.at),
        )
        self._make_room_aside(len(raw))
        with path.open("ab") as file:
            path.chmod(0o600)
            file.write(raw)

    def _make_room_aside(self, size_bytes: int) -> None:
        """Delete the oldest files set aside, to limit disk use."""
        found = spool_reader.files(self.folder / _ASIDE)
        total = sum(file.size_bytes for file in found) + size_bytes
        for file in found:
            if total <= self._max_aside_bytes:
                return
            file.path.unlink(missing_ok=True)
            total -= file.size_bytes

    def bring_back(self) -> int:
        """Queue the files set aside for another attempt; returns how many."""
        found = spool_reader.files(self.folder / _ASIDE)
        for file in found:
            # New file: ignore a read offset left by an older file of the same name.
            file.path.rename(self.folder / f"retry-{os.urandom(8).hex()}-{file.path.name}")
        return len(found)

    def clear_dropped(self) -> None:
        """Clear the record of dropped events."""
        spool_reader.clear_dropped(self.folder)

    @contextmanager
    def draining(self) -> Generator[bool, None, None]:
        """Hold the drain lock; False when another process has it."""
        if not self.folder.is_dir() or spool.fcntl is None:
            yield True
            return
        with (self.folder / _LOCK).open("ab") as file:
            try:
                spool.fcntl.flock(file.fileno(), spool.fcntl.LOCK_EX | spool.fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def status(self, sessions: SessionStore) -> SpoolStatus:
        """The status of the spool. Read-only."""
        found = spool_reader.files(self.folder)
        dropped = spool_reader.dropped(self.folder)
        aside = spool_reader.files(self.folder / _ASIDE)
        return SpoolStatus(
            folder=self.folder,
            files=tuple(self._file_status(file, sessions) for file in found),
            dropped_events=dropped.count,
            dropped_since=None if dropped.since_ms is None else from_ms(dropped.since_ms),
            aside_entries=sum(1 for file in aside for _ in spool_reader.read(file.path)),
            draining=self._is_locked(),
        )

    def _file_status(self, file: spool_reader.SpoolFile, sessions: SessionStore) -> SpoolFileStatus:
        mark = sessions.read_position(file.path.name)
        first = next(self.read(file.path.name, offset=0), None) if mark else None
        same = isinstance(first, SpoolEntry) and mark is not None and first.event_id == mark.head
        drained_bytes = mark.offset if mark is not None and same else 0
        return SpoolFileStatus(
            file.path.name,
            file.size_bytes,
            max(0, file.size_bytes - drained_bytes),
            from_ms(file.modified_ms),
        )

    def _is_locked(self) -> bool:
        if not (self.folder / _LOCK).exists():
            return False
        with self.draining() as mine:
            return not mine


def capture_tool_call(
    services: Services, *, session: str, tool: str, given: object, output: object
) -> str:
    """Put a tool call into this user's spool in the form of a hook; returns the event's id."""
    from wellkept.app.wiring.services import store_path

    if services.path != store_path(services.settings, services.environment):
        raise UsageError(
            "Tool calls are captured for the default store only.",
            hint="Store what was found out with memory_store instead.",
        )
    payload = {
        "session_id": session,
        "cwd": str(services.folder),
        "hook_event_name": _TOOL_EVENT,
        "tool_name": tool,
        "tool_input": given,
        "tool_response": output,
    }
    folder = SpoolFolder.of(services.environment).folder
    spool.make_private_folder(str(folder))
    event = spool.append(
        str(folder),
        client=_TOOL_CLIENT,
        session=session,
        event=_TOOL_EVENT,
        payload=json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace"),
        now_ms=to_ms(services.clock()),
    )
    if event is None:
        raise StoreFullError("The spool is full.", hint="Run `wellkept spool drain`.")
    return event
