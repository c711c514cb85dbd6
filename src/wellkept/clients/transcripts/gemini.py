"""Gemini CLI's transcripts: a JSON document a session, or of late one record a line.

Messages are written again as they grow, under the same id, so each message and each of its tool
calls is told once. A file names its project only by a digest of the folder; which folder that is
has to be found among those that are known.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, cast

from wellkept.clients import gemini
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.injected_text import without_own
from wellkept.clients.payload_fields import Fields, as_fields, inner, items, optional, text
from wellkept.clients.transcripts.jsonl_records import found_files, joined, json_lines, moment, peek
from wellkept.clients.transcripts.turns import Turn
from wellkept.core.events import Origin, PromptSubmitted, SessionStarted
from wellkept.core.records import field, record, replace
from wellkept.core.transcripts import (
    ReadStats,
    Transcript,
    TranscriptEvent,
    TranscriptFile,
    UnreadableFile,
)

CLIENT: Final = gemini.CLIENT
MAX_DOCUMENT_BYTES: Final = 256 << 20
_INJECTED: Final = re.compile(
    r"<(?P<tag>hook_context|session_context)>.*?(?:</(?P=tag)>|\Z)", re.DOTALL
)
_DONE: Final = frozenset({"success", "error", "cancelled"})
_NO_CHATS: Final = ("logs.json", "checkpoint", "settings.json", "projects.json")


def places(where: ClientFolders) -> list[Path]:
    """The folders in which transcripts are kept."""
    return sorted((where.home / ".gemini" / "tmp").glob("*/chats"))


def transcripts(
    paths: Sequence[Path], *, where: ClientFolders
) -> Iterator[Transcript | UnreadableFile]:
    """The sessions at or below some paths, oldest first; a session's files are one transcript."""
    folders = _known_folders(where)
    found: dict[str, list[tuple[TranscriptFile, str | None]]] = {}
    for path in found_files(paths, suffixes=(".jsonl", ".json")):
        if isinstance(path, UnreadableFile):
            yield path
            continue
        if path.name.startswith(_NO_CHATS):
            continue
        try:
            opened = _opened(path, folders)
        except OSError as error:
            yield UnreadableFile(path, error.strerror or str(error))
            continue
        if opened is None:
            yield UnreadableFile(path, "is no transcript of Gemini CLI")
        else:
            found.setdefault(opened[0], []).append(opened[1:])
    yield from sorted(
        (joined(CLIENT, session_id, files) for session_id, files in found.items()),
        key=lambda transcript: transcript.last_at,
    )


def _opened(path: Path, folders: dict[str, str]) -> tuple[str, TranscriptFile, str | None] | None:
    head = next(peek(path), None) if path.suffix == ".jsonl" else _document(path)
    session_id = text(head, "sessionId") if head is not None else ""
    if head is None or not session_id:
        return None
    # A sub-agent's file lies in a folder that is named after its session.
    parent = path.parent.name if text(head, "kind") == "subagent" else None
    cwd = _folder_of(path, text(head, "projectHash"), folders)
    reader = _Reader(path, parent or session_id, agent=session_id if parent else None, cwd=cwd)
    part = TranscriptFile(
        path=path,
        head=f"{CLIENT}:{session_id}",
        size_bytes=path.stat().st_size,
        read=reader.steps,
    )
    return parent or session_id, part, cwd


# -- Which folder ---------------------------------------------------------------------------------


def _known_folders(where: ClientFolders) -> dict[str, str]:
    """Folders by their digest and by their short name: those of the client, and those around us."""
    known: dict[str, str] = {}
    for folder in (where.project, *where.project.parents):
        known[_digest(str(folder))] = str(folder)
    home = where.home / ".gemini"
    projects = inner(_document(home / "projects.json") or {}, "projects")
    for folder, name in projects.items():
        known[_digest(folder)] = folder
        if isinstance(name, str):
            known.setdefault(name, folder)
    for folder in _document(home / "trustedFolders.json") or {}:
        known[_digest(folder)] = folder
    return known


def _folder_of(path: Path, digest: str, folders: dict[str, str]) -> str | None:
    above = path.parents[1] if len(path.parents) > 1 else path.parent
    try:
        written = (above / ".project_root").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        written = ""
    return written or folders.get(digest) or folders.get(above.name)


def _digest(folder: str) -> str:
    return hashlib.sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()


def _document(path: Path) -> Fields | None:
    """A file that is one JSON object; None when it is none, or too large to be read at once."""
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            return None
        read: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return cast("Fields", read) if isinstance(read, dict) else None


# -- What is told ---------------------------------------------------------------------------------


@record(frozen=False)
class _Reader:
    """One file, read from its beginning. `agent` is set when it is a sub-agent's."""

    path: Path
    session_id: str
    agent: str | None
    cwd: str | None
    _told: set[str] = field(default_factory=set[str])
    _turn: Turn = field(default_factory=Turn)

    def steps(self, reading: ReadStats) -> Iterator[TranscriptEvent]:
        """Everything that the file tells."""
        self._told, self._turn = set(), Turn()
        for message, end in self._messages(reading):
            at = moment(message.get("timestamp"))
            name = text(message, "id")
            kind = text(message, "type")
            if at is None or not name or kind not in ("user", "gemini"):
                reading.pass_over(kind or "unknown")
                continue
            origin = Origin(
                event_id=name,
                client=CLIENT,
                session_id=self.session_id,
                at=at,
                cwd=self.cwd,
                agent=self.agent,
                imported=True,
            )
            yield from self._begin(origin, message, end)
            tell = self._said if kind == "user" else self._done
            yield from tell(message, origin, end)
        yield from self._turn.close(final=True)

    def _messages(self, reading: ReadStats) -> Iterator[tuple[Fields, int]]:
        """Message records with their places; of a whole document the places are counted."""
        if self.path.suffix != ".jsonl":
            place = 0
            for message in map(as_fields, items(_document(self.path) or {}, "messages")):
                reading.records += 1
                place += 1 + len(items(message, "toolCalls"))
                yield message, place
            return
        for fields, end in json_lines(self.path, reading):
            several = items(inner(fields, "$set"), "messages")
            if several:
                yield from ((as_fields(message), end) for message in several)
            elif "id" in fields:
                yield fields, end
            else:
                reading.pass_over("metadata")

    def _begin(self, origin: Origin, message: Fields, end: int) -> Iterator[TranscriptEvent]:
        if self.agent is None and not self._told:
            started = replace(origin, event_id=f"{self.session_id}:start")
            model = optional(message, "model")
            yield TranscriptEvent(
                SessionStarted(origin=started, source="transcript", model=model), end
            )
        self._told.add("")

    def _said(self, message: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        if origin.event_id in self._told or self.agent is not None:
            return
        self._told.add(origin.event_id)
        said = without_own(_INJECTED.sub("", _content(message))).strip()
        if said:
            yield from self._turn.close()
            yield TranscriptEvent(PromptSubmitted(origin=origin, text=said), end)

    def _done(self, message: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        for call in map(as_fields, items(message, "toolCalls")):
            call_id = text(call, "id")
            if call_id in self._told or text(call, "status") not in _DONE:
                continue
            self._told.add(call_id)
            at = moment(call.get("timestamp")) or origin.at
            known = replace(origin, event_id=f"{origin.event_id}:{call_id}", at=at)
            event = gemini.READERS["AfterTool"](_as_hook(call, call_id), known)
            if event is not None:
                yield TranscriptEvent(event, end)
        if self.agent is None:
            self._turn.say(origin, end=end, message=_content(message).strip() or None)


def _content(message: Fields) -> str:
    """The text of a message; answers of tools inside it are told with their calls."""
    content = message.get("content")
    if isinstance(content, str):
        return text(message, "content")
    return "\n".join(
        t for part in items(message, "content") if (t := text(as_fields(part), "text"))
    )


def _as_hook(call: Fields, call_id: str) -> dict[str, object]:
    """The call as a hook would have told it."""
    response: dict[str, object] = {"returnDisplay": call.get("resultDisplay")}
    for part in map(as_fields, items(call, "result")):
        told = inner(inner(part, "functionResponse"), "response")
        if "error" in told:
            response["error"] = {"message": told["error"]}
        else:
            response["llmContent"] = told.get("output")
    if text(call, "status") == "cancelled":
        response["error"] = {"message": "was rejected"}
    return {
        "tool_name": text(call, "name"),
        "tool_input": inner(call, "args"),
        "tool_response": response,
        "tool_use_id": call_id,
    }
