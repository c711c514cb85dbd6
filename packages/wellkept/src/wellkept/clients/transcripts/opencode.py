"""OpenCode's sessions: in its database, in the JSON files of older versions, or exported.

All three hold the same: a session with messages, each with its parts. Parts change in place, so a
session that has changed is read again from its beginning; events that were taken before have the
same ids. A sub-agent has a session of its own that names its parent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, cast

from wellkept.clients import opencode
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.payload_fields import Fields, as_fields, integer, items, nested, text
from wellkept.clients.transcripts.jsonl_records import Turn, find_files, parse_time
from wellkept.clients.transcripts.usage import opencode_usage
from wellkept.core.chat.transcripts import (
    ReadStats,
    Transcript,
    TranscriptEvent,
    TranscriptFile,
    UnreadableFile,
)
from wellkept.core.errors import UsageError
from wellkept.core.records import field, record, replace
from wellkept.core.session.events import Compacted, Origin, PromptSubmitted, SessionStarted
from wellkept.core.session.injected_text import without_injected

CLIENT: Final = opencode.CLIENT
MAX_DOCUMENT_BYTES: Final = 256 << 20
_MAX_DEPTH: Final = 10


@record(kw_only=True)
class _Stored:
    """One session where it was found. A message has the fields `info` and `parts`."""

    path: Path
    info: Fields
    size_bytes: int
    messages: Callable[[], Iterable[Fields]]

    @property
    def id(self) -> str:
        return text(self.info, "id")

    @property
    def changed(self) -> int:
        """When it last changed, in milliseconds."""
        return integer(nested(self.info, "time"), "updated", "created") or 0


def transcript_folders(folders: ClientFolders) -> list[Path]:
    """The folder in which OpenCode keeps its data."""
    data = folders.from_variable("XDG_DATA_HOME", ".local/share") / "opencode"
    return [data] if data.is_dir() else []


def transcripts(
    paths: Sequence[Path],
    *,
    folders: ClientFolders,  # noqa: ARG001 - every session names its folder
) -> Iterator[Transcript | UnreadableFile]:
    """The sessions at or below some paths, oldest first, with their sub-agents."""
    found: dict[str, _Stored] = {}
    for one in _stored(paths):
        if isinstance(one, UnreadableFile):
            yield one
        elif one.id not in found or one.changed > found[one.id].changed:
            found[one.id] = one
    families: dict[str, list[_Stored]] = {}
    for one in found.values():
        families.setdefault(_root(one, found), []).append(one)
    made = (_transcript(root, family) for root, family in families.items())
    yield from sorted(made, key=lambda transcript: transcript.last_at)


def _root(session: _Stored, found: dict[str, _Stored]) -> str:
    name = session.id
    for _ in range(_MAX_DEPTH):
        parent = text(found[name].info, "parentID") if name in found else ""
        if not parent:
            return name
        name = parent
    return name


def _transcript(root: str, family: list[_Stored]) -> Transcript:
    family.sort(key=lambda one: one.id != root)
    moments = [at for one in family if (at := parse_time(one.changed))]
    return Transcript(
        client=CLIENT,
        session_id=root,
        cwd=next((cwd for one in family if (cwd := text(one.info, "directory"))), None),
        last_at=max(moments),
        parts=tuple(_part(one, root) for one in family),
        usage=lambda: opencode_usage(
            nested(one, "info") for session in family for one in session.messages()
        ),
    )


def _part(session: _Stored, root: str) -> TranscriptFile:
    reader = _Reader(session, root, agent=None if session.id == root else session.id)
    return TranscriptFile(
        path=session.path.with_name(session.id),
        head=f"{CLIENT}:{session.id}:{session.changed}",
        size_bytes=session.size_bytes,
        read=reader.events,
    )


# -- Where sessions are ---------------------------------------------------------------------------


def _stored(paths: Sequence[Path]) -> Iterator[_Stored | UnreadableFile]:
    for path in paths:
        folders = [one for one in (path, path / "storage") if (one / "session").is_dir()]
        databases = sorted(path.glob("opencode*.db")) if path.is_dir() else []
        for one in folders:
            yield from _in_files(one)
        for one in databases:
            yield from _in_database(one)
        if not folders and not databases:
            for one in find_files([path], suffixes=(".json", ".jsonl", ".db")):
                yield from [one] if isinstance(one, UnreadableFile) else _in_file(one)


def _in_file(path: Path) -> Iterator[_Stored | UnreadableFile]:
    if path.suffix == ".db":
        yield from _in_database(path)
        return
    whole = _document(path)
    info = nested(whole, "info")
    if not text(info, "id").startswith("ses_") or not isinstance(whole.get("messages"), list):
        yield UnreadableFile(path, "is not an OpenCode session")
        return
    size = path.stat().st_size
    yield _Stored(
        path=path,
        info=info,
        size_bytes=size,
        messages=lambda: map(as_fields, items(_document(path), "messages")),
    )


def _in_files(folder: Path) -> Iterator[_Stored | UnreadableFile]:
    for path in find_files([folder / "session"], suffixes=(".json",)):
        if isinstance(path, UnreadableFile):
            yield path
            continue
        info = _document(path)
        if not text(info, "id"):
            yield UnreadableFile(path, "is not an OpenCode session")
            continue
        yield _Stored(
            path=path,
            info=info,
            size_bytes=path.stat().st_size,
            messages=partial(_message_files, folder, text(info, "id")),
        )


def _message_files(folder: Path, session: str) -> Iterator[Fields]:
    for path in sorted((folder / "message" / session).glob("*.json")):
        parts = sorted((folder / "part" / path.stem).glob("*.json"))
        yield {"info": _document(path), "parts": list(map(_document, parts))}


def _in_database(path: Path) -> Iterator[_Stored | UnreadableFile]:
    from wellkept.store.other_tools import SessionDatabase

    try:
        database = SessionDatabase(path)
        for info, size in database.sessions():
            yield _Stored(
                path=path,
                info=info,
                size_bytes=size,
                messages=partial(database.messages, text(info, "id")),
            )
    except UsageError as error:
        yield UnreadableFile(path, error.message)


def _document(path: Path) -> Fields:
    """The JSON object in a file; empty when there is none."""
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            return {}
        read: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("Fields", read) if isinstance(read, dict) else {}


# -- Events ---------------------------------------------------------------------------------------


@record(frozen=False)
class _Reader:
    """Reads one session from its beginning. `agent` is set for a sub-agent's."""

    session: _Stored
    root: str
    agent: str | None
    _turn: Turn = field(default_factory=Turn)
    _ids: set[str] = field(default_factory=set[str])

    def events(self, reading: ReadStats) -> Iterator[TranscriptEvent]:
        """All events of the session; each ends where the session does."""
        self._turn, self._ids = Turn(), set()
        end, began = self.session.size_bytes, False
        for message in self.session.messages():
            reading.records += 1
            info = nested(message, "info")
            at = parse_time(nested(info, "time").get("created"))
            role = text(info, "role")
            if at is None or role not in ("user", "assistant"):
                reading.pass_over(role or "unknown")
                continue
            origin = Origin(
                event_id=self._id(text(info, "id")),
                client=CLIENT,
                session_id=self.root,
                at=at,
                cwd=text(nested(info, "path"), "cwd") or text(self.session.info, "directory"),
                agent=self.agent,
                imported=True,
            )
            if not began and self.agent is None:
                yield _started(self.root, origin, info, end)
            began = True
            parts = [as_fields(one) for one in items(message, "parts")]
            handle = self._prompt if role == "user" else self._answer
            yield from handle(info, parts, origin, end)
        yield from self._turn.close(final=True)

    def _prompt(
        self,
        info: Fields,  # noqa: ARG002 - the shape of `_answer`
        parts: Sequence[Fields],
        origin: Origin,
        end: int,
    ) -> Iterator[TranscriptEvent]:
        prompt = (
            opencode.typed(without_injected(_words(parts)).strip()) if self.agent is None else ""
        )
        if prompt:
            yield from self._turn.close()
            yield TranscriptEvent(PromptSubmitted(origin=origin, text=prompt), end)

    def _answer(
        self, info: Fields, parts: Sequence[Fields], origin: Origin, end: int
    ) -> Iterator[TranscriptEvent]:
        words = _words(parts).strip()
        if info.get("summary") is True:
            if self.agent is None and words:
                yield TranscriptEvent(Compacted(origin=origin, trigger="auto", summary=words), end)
            return
        for part in parts:
            state = nested(part, "state")
            status = text(state, "status")
            if text(part, "type") != "tool" or status not in ("completed", "error"):
                continue
            times = nested(state, "time")
            at = parse_time(times.get("start")) or origin.at
            known = replace(origin, event_id=self._id(text(part, "id")), at=at)
            name = "PostToolUse" if status == "completed" else "PostToolUseFailure"
            event = opencode.READERS[name](_as_hook(part, state, times), known)
            if event is not None:
                yield TranscriptEvent(event, end)
        if self.agent is None:
            done = parse_time(nested(info, "time").get("completed")) or origin.at
            self._turn.add(replace(origin, at=done), end=end, message=words or None)

    def _id(self, name: str) -> str:
        """An id that is the same whenever the session is read."""
        if not name or name in self._ids:
            name = f"{self.session.id}:{len(self._ids)}"
        self._ids.add(name)
        return name


def _started(session: str, origin: Origin, info: Fields, end: int) -> TranscriptEvent:
    model = text(nested(info, "model"), "modelID") or text(info, "modelID") or None
    start = replace(origin, event_id=f"{session}:start")
    return TranscriptEvent(SessionStarted(origin=start, source="transcript", model=model), end)


def _words(parts: Sequence[Fields]) -> str:
    """What was written; synthetic parts are files and reminders that OpenCode adds."""
    said = (one for one in parts if text(one, "type") == "text" and not one.get("synthetic"))
    return "\n".join(filter(None, (text(one, "text") for one in said)))


def _as_hook(part: Fields, state: Fields, times: Fields) -> dict[str, object]:
    """A call as the plugin's shim tells it."""
    start, end = integer(times, "start"), integer(times, "end")
    return {
        "tool_name": text(part, "tool"),
        "tool_input": nested(state, "input"),
        "tool_use_id": text(part, "callID"),
        "tool_response": state.get("output"),
        "exit_code": nested(state, "metadata").get("exit"),
        "error": state.get("error"),
        "duration_ms": end - start if start and end else None,
    }
