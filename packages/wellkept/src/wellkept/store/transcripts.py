"""Conversations of the agent in files: one folder for each session, one JSON object on each line.

Append-only: also a compacted conversation is written as a new line, after which the earlier
messages no longer count. Only the owner can read a file. Texts are redacted before the first write;
images lie in files of their own (`transcript_images`).
A torn last line, as a killed process or a full disk leaves it, costs that line only.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from wellkept.core.chat.messages import (
    ImagePart,
    LoadImage,
    Message,
    Role,
    message_from_json,
    message_to_json,
)
from wellkept.core.clock import Clock, format_moment, from_ms, parse_moment, system_clock
from wellkept.core.errors import NotFoundError, StoreError, UsageError
from wellkept.core.ports.transcripts import AgentSessionInfo, StoredConversation
from wellkept.core.text import shorten
from wellkept.store.spool import make_private_folder

if TYPE_CHECKING:
    from wellkept.core.codec import Json

FILE_NAME: Final = "transcript.jsonl"
MAX_BYTES: Final = 256 << 20
_TITLE_CHARS: Final = 80
_MESSAGE: Final = b'{"type": "message"'
_MIN_PREFIX: Final = 4


class TranscriptFiles:
    """The sessions of one project, below a folder."""

    def __init__(
        self, folder: Path, *, redact: Callable[[Json], Json], clock: Clock = system_clock
    ) -> None:
        self.folder = folder
        self._redact = redact
        self._clock = clock

    def writer(self, session_id: str, *, cwd: str = "", model: str = "") -> TranscriptFile:
        """Write on at a session."""
        start: dict[str, Json] = {"session": session_id, "cwd": cwd, "model": model}
        return TranscriptFile(
            self.folder / _safe(session_id) / FILE_NAME,
            start=start,
            redact=self._redact,
            clock=self._clock,
        )

    def load(self, session_id: str) -> StoredConversation:
        """A session by its id or the beginning of it."""
        path = self.folder / self._resolved(session_id) / FILE_NAME
        load = _TranscriptImages(path.parent).load
        messages: list[Message] = []
        state: dict[str, Json] = {}
        for entry in _entries(path):
            match entry.get("type"):
                case "message":
                    messages += _messages([entry.get("message")], load)
                case "rewrite":
                    given = entry.get("messages")
                    messages = _messages(given if isinstance(given, list) else [], load)
                case "state":
                    values = entry.get("values")
                    state = values if isinstance(values, dict) else state
                case _:
                    pass
        info = _info(path)
        if info is None:
            raise NotFoundError(f"The transcript of session {session_id!r} cannot be read.")
        return StoredConversation(info=info, messages=tuple(messages), state=tuple(state.items()))

    def list(self, *, limit: int = 50) -> list[AgentSessionInfo]:
        """Sessions, latest changed first."""
        paths = sorted(self._paths(), key=_changed_ms, reverse=True)
        found: list[AgentSessionInfo] = []
        for path in paths:
            if len(found) == limit:
                break
            info = _info(path)
            if info is not None:
                found.append(info)
        return found

    def _paths(self) -> Iterator[Path]:
        try:
            folders = sorted(self.folder.iterdir())
        except OSError:
            return
        for folder in folders:
            path = folder / FILE_NAME
            if path.is_file():
                yield path

    def _resolved(self, name: str) -> str:
        names = [path.parent.name for path in self._paths()]
        safe = _safe(name)
        if safe in names:
            return safe
        near = [one for one in names if len(safe) >= _MIN_PREFIX and one.startswith(safe)]
        if len(near) != 1:
            raise NotFoundError(
                f"There is no agent session {name!r}."
                if not near
                else f"{name!r} is the beginning of {len(near)} agent sessions.",
                hint="`wellkept agent --list` shows those of this project.",
            )
        return near[0]


class TranscriptFile:
    """The file of one session. Writing begins with the first message."""

    def __init__(
        self, path: Path, *, start: dict[str, Json], redact: Callable[[Json], Json], clock: Clock
    ) -> None:
        self.path = path
        self._start = start
        self._redact = redact
        self._clock = clock
        self._images = _TranscriptImages(path.parent)
        self._is_begun = False
        self._state: dict[str, Json] = {}

    def append(self, message: Message) -> None:
        """Add a message; it is on disk when this returns."""
        self._write({"type": "message", "message": self._json(message)})

    def rewrite(self, messages: Iterable[Message]) -> None:
        """The conversation is from now on these messages."""
        self._write({"type": "rewrite", "messages": [self._json(one) for one in messages]})

    def save_state(self, state: dict[str, Json]) -> None:
        """Keep the state, when it has changed."""
        if state != self._state:
            self._write({"type": "state", "values": self._redact(cast("Json", state))})
            self._state = dict(state)

    def _json(self, message: Message) -> Json:
        return cast("Json", message_to_json(message, safe=self._redact, image=self._images.keep))

    def _write(self, entry: dict[str, Json]) -> None:
        try:
            if not self._is_begun:
                self._begin()
                self._is_begun = True
            self._append(entry)
        except OSError as error:
            raise StoreError(
                f"The transcript {self.path} cannot be written: {error.strerror or error}.",
                hint="The session goes on, but cannot be resumed whole.",
            ) from error

    def _begin(self) -> None:
        make_private_folder(str(self.path.parent))
        size = self.path.stat().st_size if self.path.exists() else 0
        if size == 0:
            self._append({"type": "start", **self._start, "cwd": self._redact(self._start["cwd"])})
            return
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            is_torn = file.read(1) != b"\n"
        if is_torn:
            self._append_bytes(b"\n")

    def _append(self, entry: dict[str, Json]) -> None:
        dated = {"type": entry["type"], "at": format_moment(self._clock()), **entry}
        text = json.dumps(dated, ensure_ascii=False)
        self._append_bytes(f"{text}\n".encode("utf-8", "replace"))

    def _append_bytes(self, raw: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o600)
        try:
            while raw:
                raw = raw[os.write(descriptor, raw) :]
        finally:
            os.close(descriptor)


# -- Reading --------------------------------------------------------------------------------------


def _entries(path: Path) -> Iterator[dict[str, Json]]:
    """The entries of a file; lines that are no JSON object are left out."""
    for line in _lines(path):
        try:
            read: object = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(read, dict):
            yield cast("dict[str, Json]", read)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            left = MAX_BYTES
            for line in file:
                left -= len(line)
                if left < 0:
                    return
                yield line
    except OSError:
        return


def _messages(
    given: Iterable[object], load: LoadImage = lambda _name, _type: None
) -> list[Message]:
    found: list[Message] = []
    for one in given:
        try:
            found.append(message_from_json(one, image=load))
        except UsageError:
            continue
    return found


def _info(path: Path) -> AgentSessionInfo | None:
    """What a list shows of a session; None for a file without a beginning."""
    entries = _entries(path)
    start = next(entries, None)
    if start is None or start.get("type") != "start":
        return None
    return AgentSessionInfo(
        id=str(start.get("session") or path.parent.name),
        title=_title(entries),
        started_at=_moment(start.get("at")) or from_ms(_changed_ms(path)),
        changed_at=from_ms(_changed_ms(path)),
        messages=sum(1 for line in _lines(path) if line.startswith(_MESSAGE)),
        cwd=str(start.get("cwd") or ""),
        model=str(start.get("model") or ""),
    )


def _title(entries: Iterable[dict[str, Json]]) -> str:
    """The beginning of the first prompt, without what was added to it."""
    from wellkept.core.session.injected_text import without_injected

    for entry in entries:
        found = _messages([entry.get("message")]) if entry.get("type") == "message" else []
        if found and found[0].role is Role.USER:
            words = " ".join(without_injected(found[0].text).split())
            return shorten(words, limit=_TITLE_CHARS)
    return ""


def _moment(text: object) -> datetime | None:
    try:
        return parse_moment(text) if isinstance(text, str) else None
    except (UsageError, ValueError):
        return None


def _changed_ms(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _safe(session_id: str) -> str:
    """A session's id as the name of a folder."""
    from wellkept.store.spool import plain_name

    name = plain_name(session_id).replace(":", "_")
    return name if name.strip(".") else f"_{name}"


# -- Images of a session, as files beside its transcript ------------------------------------------


FOLDER_NAME: Final = "images"
MAX_IMAGE_BYTES: Final = 8 << 20
MAX_SESSION_BYTES: Final = 128 << 20
_NAME: Final = re.compile(r"[0-9a-f]{40}")
_BEGINNINGS: Final = MappingProxyType(
    {
        "image/png": (b"\x89PNG\r\n\x1a\n",),
        "image/jpeg": (b"\xff\xd8\xff",),
        "image/gif": (b"GIF87a", b"GIF89a"),
        "image/webp": (b"RIFF",),
    }
)


class _TranscriptImages:
    """The images of one session."""

    def __init__(self, folder: Path) -> None:
        """`folder` is that of the session."""
        self._folder = folder / FOLDER_NAME

    def keep(self, image: ImagePart) -> str | None:
        """Write an image; its name, or None when it is not one or there is no room for it."""
        raw = _bytes(image)
        if raw is None:
            return None
        name = hashlib.sha256(raw).hexdigest()[:40]
        path = self._folder / name
        if path.exists():
            return name
        if len(raw) + self._size() > MAX_SESSION_BYTES:
            return None
        try:
            make_private_folder(str(self._folder))
            temporary = path.with_suffix(f".{os.getpid()}")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                out.write(raw)
            temporary.replace(path)
        except OSError:
            return None
        return name

    def load(self, name: str, media_type: str) -> ImagePart | None:
        """An image by its name; None when it is gone or is not what was written."""
        if not _NAME.fullmatch(name) or media_type not in _BEGINNINGS:
            return None
        path = self._folder / name
        try:
            if path.stat().st_size > MAX_IMAGE_BYTES:
                return None
            raw = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(raw).hexdigest()[:40] != name:
            return None
        return ImagePart(base64.b64encode(raw).decode("ascii"), media_type)

    def _size(self) -> int:
        try:
            return sum(entry.stat().st_size for entry in os.scandir(self._folder))
        except OSError:
            return 0


def _bytes(image: ImagePart) -> bytes | None:
    if len(image.data) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        return None
    try:
        raw = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return None
    if base64.b64encode(raw).decode("ascii") != image.data:
        return None
    return raw if raw.startswith(_BEGINNINGS.get(image.media_type, ())) else None
