"""The spool folder behind the `Spool` port, and the lock that lets one process drain it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from shutil import disk_usage
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import StoreFullError, UsageError
from wellkept.core.ports.sessions import SessionStore
from wellkept.core.records import record
from wellkept.core.session.sessions import SpoolDamage, SpoolEntry
from wellkept.store import spool, spool_reader
from wellkept.text.secrets.redaction import redact_payload

if TYPE_CHECKING:
    from wellkept.memory.workspace import Workspace

MAX_ASIDE_BYTES = 256 << 20
_LOCK, _ASIDE, _BAD, _DAMAGED = "drain.lock", "aside", "unreadable", "damaged"
_MAX_DAMAGE_LINES_BYTES = 64 << 10
_HEAD_ROOM, _HELD_BYTES, _FILLING_BYTES = "head-room", 8 << 20, 2 << 30
_LITTLE_BYTES = 1 << 20
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
class BadSource:
    """Something in the spool that cannot be read, and why."""

    name: str
    reason: str


@record
class SpoolStatus:
    """Status of the spool."""

    folder: Path
    files: tuple[SpoolFileStatus, ...]
    dropped_events: int
    dropped_since: datetime | None
    aside_entries: int
    draining: bool
    bad_sources: tuple[BadSource, ...] = ()
    damaged_places: int = 0
    damaged_bytes: int = 0
    damaged_source: str | None = None

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

    def add(self, *, client: str, session: str, event: str, payload: bytes, at: datetime) -> None:
        """Put an event of a client into the file of its session, as the hook process does."""
        spool.make_private_folder(str(self.folder))
        spool.append(
            str(self.folder),
            client=client,
            session=session,
            event=event,
            payload=payload,
            now_ms=to_ms(at),
        )

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
            modified_ns = (self.folder / source).lstat().st_mtime_ns
        except FileNotFoundError:
            return None
        return spool_reader.moment_of(modified_ns // 1_000_000)

    def remove(self, source: str, *, offset: int) -> bool:
        return spool_reader.remove_drained(self.folder / source, offset=offset)

    def clear(self, source: str, *, start: int, end: int) -> None:
        spool_reader.blank(self.folder / source, start=start, end=end)

    def set_source_aside(self, source: str) -> str | None:
        path = self.folder / source
        reason = spool_reader.unfit_reason(path)
        if reason is None:
            return None
        target = self.folder / _BAD / _RETRY.sub("", source, count=1)
        spool.make_private_folder(str(target.parent))
        if os.path.lexists(target):
            target = target.with_name(f"{target.name}.{os.urandom(4).hex()}{spool.SUFFIX}")
        path.rename(target)
        return reason

    def note_damage(self, source: str, *, size_bytes: int) -> None:
        path = self.folder / _DAMAGED
        if path.exists() and path.stat().st_size > _MAX_DAMAGE_LINES_BYTES:
            return
        with path.open("a", encoding="utf-8", errors="replace") as file:
            path.chmod(0o600)
            file.write(f"{size_bytes} {source}\n")

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
            file.flush()
            os.fsync(file.fileno())
        spool.sync_folder(str(path.parent))

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
        for bad in spool_reader.files(self.folder / _BAD):
            if spool_reader.unfit_reason(bad.path) is None:
                bad.path.rename(self.folder / f"retry-{os.urandom(8).hex()}-{bad.path.name}")
        return len(found)

    def clear_dropped(self) -> None:
        """Clear the records of dropped events and of damage."""
        spool_reader.clear_dropped(self.folder)
        (self.folder / _DAMAGED).unlink(missing_ok=True)

    def redact_first(self, *, on: bool, known_values: str = "") -> None:
        """Tell the hook process whether to redact before it writes, and where the file with the
        hashes of known values is."""
        mark = self.state / spool.REDACT_NAME
        if not on:
            mark.unlink(missing_ok=True)
        elif not mark.exists() or mark.read_text(encoding="utf-8") != known_values:
            spool.make_private_folder(str(self.state))
            mark.write_text(known_values, encoding="utf-8")
            mark.chmod(0o600)

    def keep_room(self, free_bytes: int) -> None:
        """Hold some room on a disk that fills up, so that what was captured can still be drained
        when nothing else fits."""
        held = self.state / _HEAD_ROOM
        if _HELD_BYTES * 4 < free_bytes < _FILLING_BYTES and not held.exists():
            with held.open("xb") as file:
                held.chmod(0o600)
                # Written, not only sized: a hole takes no room.
                file.write(bytes(_HELD_BYTES))

    def make_room(self) -> None:
        """Give the held room back where hardly anything is left."""
        if disk_usage(self.state).free < _LITTLE_BYTES:
            self.give_room()

    def give_room(self) -> bool:
        """Give the held room back; False when there is none."""
        held = self.state / _HEAD_ROOM
        is_held = held.exists()
        held.unlink(missing_ok=True)
        return is_held

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
        reasons = {file.path: spool_reader.unfit_reason(file.path) for file in found}
        damage = self._damage()
        return SpoolStatus(
            folder=self.folder,
            files=tuple(self._file_status(f, sessions) for f in found if not reasons[f.path]),
            dropped_events=dropped.count,
            dropped_since=None if dropped.since_ms is None else from_ms(dropped.since_ms),
            aside_entries=sum(
                1
                for file in aside
                if spool_reader.unfit_reason(file.path) is None
                for _ in spool_reader.read(file.path)
            ),
            draining=self._is_locked(),
            bad_sources=(
                *(BadSource(path.name, reason) for path, reason in reasons.items() if reason),
                *self._bad_sources(),
            ),
            damaged_places=len(damage),
            damaged_bytes=sum(size for size, _ in damage),
            damaged_source=damage[-1][1] if damage else None,
        )

    def _bad_sources(self) -> list[BadSource]:
        found = spool_reader.files(self.folder / _BAD)
        return [
            BadSource(f.path.name, spool_reader.unfit_reason(f.path) or "it can be read again")
            for f in found
        ]

    def _damage(self) -> list[tuple[int, str]]:
        """Size and file of the damage that was skipped."""
        try:
            lines = (self.folder / _DAMAGED).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        parts = [line.partition(" ") for line in lines.splitlines()]
        return [(int(size), name) for size, _, name in parts if size.isdecimal()]

    def _file_status(self, file: spool_reader.SpoolFile, sessions: SessionStore) -> SpoolFileStatus:
        mark = sessions.read_position(file.path.name)
        first = next(self.read(file.path.name, offset=0), None) if mark else None
        same = isinstance(first, SpoolEntry) and mark is not None and first.event_id == mark.head
        drained_bytes = mark.offset if mark is not None and same else 0
        return SpoolFileStatus(
            file.path.name,
            file.size_bytes,
            max(0, file.size_bytes - drained_bytes),
            spool_reader.moment_of(file.modified_ms),
        )

    def _is_locked(self) -> bool:
        if not (self.folder / _LOCK).exists():
            return False
        with self.draining() as mine:
            return not mine


def capture_tool_call(
    services: Workspace, *, session: str, tool: str, given: object, output: object
) -> str:
    """Put a tool call into this user's spool in the form of a hook; returns the event's id."""
    if not services.is_usual:
        raise UsageError(
            "Tool calls are captured for the default store only.",
            hint="Store what was found out with memory_remember instead.",
        )
    payload = {
        "session_id": session,
        "cwd": str(services.folder),
        "hook_event_name": _TOOL_EVENT,
        "tool_name": tool,
        "tool_input": given,
        "tool_response": output,
    }
    raw = json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
    folder = SpoolFolder.of(services.environment).folder
    spool.make_private_folder(str(folder))
    event = spool.append(
        str(folder),
        client=_TOOL_CLIENT,
        session=session,
        event=_TOOL_EVENT,
        # Here there is time to redact before the first write.
        payload=redact_payload(raw),
        now_ms=to_ms(services.clock()),
    )
    if event is None:
        raise StoreFullError("The spool is full.", hint="Run `wellkept admin drain`.")
    return event
