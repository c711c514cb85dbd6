"""Gemini CLI transcripts: one JSON document per session, in newer versions JSONL.

Messages are rewritten under the same id as they grow; each message and tool call is read once. A
file names its project only by a digest of the folder, which is looked up among known folders.
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
from wellkept.clients.payload_fields import Fields, as_fields, items, nested, optional, text
from wellkept.clients.transcripts.jsonl_records import (
    Turn,
    find_files,
    first_records,
    json_lines,
    merge_files,
    parse_time,
)
from wellkept.core.chat.transcripts import (
    ReadStats,
    Transcript,
    TranscriptEvent,
    TranscriptFile,
    UnreadableFile,
)
from wellkept.core.records import field, record, replace
from wellkept.core.session.events import Origin, PromptSubmitted, SessionStarted
from wellkept.core.session.injected_text import without_injected

CLIENT: Final = gemini.CLIENT
MAX_DOCUMENT_BYTES: Final = 256 << 20
_INJECTED: Final = re.compile(
    r"<(?P<tag>hook_context|session_context)>.*?(?:</(?P=tag)>|\Z)", re.DOTALL
)
_DONE: Final = frozenset({"success", "error", "cancelled"})
_OTHER_FILES: Final = ("logs.json", "checkpoint", "settings.json", "projects.json")


def transcript_folders(folders: ClientFolders) -> list[Path]:
    """The folders in which transcripts are kept."""
    return sorted((folders.home / ".gemini" / "tmp").glob("*/chats"))


def transcripts(
    paths: Sequence[Path], *, folders: ClientFolders
) -> Iterator[Transcript | UnreadableFile]:
    """The sessions at or below some paths, oldest first; a session's files are one transcript."""
    known_folders = _known_folders(folders)
    found: dict[str, list[tuple[TranscriptFile, str | None]]] = {}
    for path in find_files(paths, suffixes=(".jsonl", ".json")):
        if isinstance(path, UnreadableFile):
            yield path
            continue
        if path.name.startswith(_OTHER_FILES):
            continue
        try:
            opened = _opened(path, known_folders)
        except OSError as error:
            yield UnreadableFile(path, error.strerror or str(error))
            continue
        if opened is None:
            yield UnreadableFile(path, "is not a Gemini CLI transcript")
        else:
            found.setdefault(opened[0], []).append(opened[1:])
    yield from sorted(
        (merge_files(CLIENT, session_id, files) for session_id, files in found.items()),
        key=lambda transcript: transcript.last_at,
    )


def _opened(
    path: Path, known_folders: dict[str, str]
) -> tuple[str, TranscriptFile, str | None] | None:
    head = next(first_records(path), None) if path.suffix == ".jsonl" else _document(path)
    session_id = text(head, "sessionId") if head is not None else ""
    if head is None or not session_id:
        return None
    # A sub-agent's file is in a folder named after its parent session.
    parent = path.parent.name if text(head, "kind") == "subagent" else None
    cwd = _folder_of(path, text(head, "projectHash"), known_folders)
    reader = _Reader(path, parent or session_id, agent=session_id if parent else None, cwd=cwd)
    part = TranscriptFile(
        path=path, head=f"{CLIENT}:{session_id}", size_bytes=path.stat().st_size, read=reader.events
    )
    return parent or session_id, part, cwd


# -- Project folders ------------------------------------------------------------------------------


def _known_folders(folders: ClientFolders) -> dict[str, str]:
    """Folders by digest and by short name: those the client knows, this project and its parents."""
    known: dict[str, str] = {}
    for folder in (folders.project, *folders.project.parents):
        known[_digest(str(folder))] = str(folder)
    home = folders.home / ".gemini"
    projects = nested(_document(home / "projects.json") or {}, "projects")
    for folder, name in projects.items():
        known[_digest(folder)] = folder
        if isinstance(name, str):
            known.setdefault(name, folder)
    for folder in _document(home / "trustedFolders.json") or {}:
        known[_digest(folder)] = folder
    return known


def _folder_of(path: Path, digest: str, known_folders: dict[str, str]) -> str | None:
    above = path.parents[1] if len(path.parents) > 1 else path.parent
    try:
        written = (above / ".project_root").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        written = ""
    return written or known_folders.get(digest) or known_folders.get(above.name)


def _digest(folder: str) -> str:
    return hashlib.sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()


def _document(path: Path) -> Fields | None:
    """A file that holds one JSON object; None when it does not, or is too large."""
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            return None
        read: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return cast("Fields", read) if isinstance(read, dict) else None


# -- Events ---------------------------------------------------------------------------------------


@record(frozen=False)
class _Reader:
    """Reads one file from its beginning. `agent` is set for a sub-agent's file."""

    path: Path
    session_id: str
    agent: str | None
    cwd: str | None
    _read_ids: set[str] = field(default_factory=set[str])
    _turn: Turn = field(default_factory=Turn)

    def events(self, reading: ReadStats) -> Iterator[TranscriptEvent]:
        """All events of the file."""
        self._read_ids, self._turn = set(), Turn()
        for message, end in self._messages(reading):
            at = parse_time(message.get("timestamp"))
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
            handle = self._prompt if kind == "user" else self._agent_message
            yield from handle(message, origin, end)
        yield from self._turn.close(final=True)

    def _messages(self, reading: ReadStats) -> Iterator[tuple[Fields, int]]:
        """Messages with their positions; in a JSON document positions are counted."""
        if self.path.suffix != ".jsonl":
            position = 0
            for message in map(as_fields, items(_document(self.path) or {}, "messages")):
                reading.records += 1
                position += 1 + len(items(message, "toolCalls"))
                yield message, position
            return
        for fields, end in json_lines(self.path, reading):
            several = items(nested(fields, "$set"), "messages")
            if several:
                yield from ((as_fields(message), end) for message in several)
            elif "id" in fields:
                yield fields, end
            else:
                reading.pass_over("metadata")

    def _begin(self, origin: Origin, message: Fields, end: int) -> Iterator[TranscriptEvent]:
        if self.agent is None and not self._read_ids:
            started = replace(origin, event_id=f"{self.session_id}:start")
            model = optional(message, "model")
            yield TranscriptEvent(
                SessionStarted(origin=started, source="transcript", model=model), end
            )
        self._read_ids.add("")

    def _prompt(self, message: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        if origin.event_id in self._read_ids or self.agent is not None:
            return
        self._read_ids.add(origin.event_id)
        prompt = without_injected(_INJECTED.sub("", _content(message))).strip()
        if prompt:
            yield from self._turn.close()
            yield TranscriptEvent(PromptSubmitted(origin=origin, text=prompt), end)

    def _agent_message(
        self, message: Fields, origin: Origin, end: int
    ) -> Iterator[TranscriptEvent]:
        for call in map(as_fields, items(message, "toolCalls")):
            call_id = text(call, "id")
            if call_id in self._read_ids or text(call, "status") not in _DONE:
                continue
            self._read_ids.add(call_id)
            at = parse_time(call.get("timestamp")) or origin.at
            known = replace(origin, event_id=f"{origin.event_id}:{call_id}", at=at)
            event = gemini.READERS["AfterTool"](_as_hook(call, call_id), known)
            if event is not None:
                yield TranscriptEvent(event, end)
        if self.agent is None:
            self._turn.add(origin, end=end, message=_content(message).strip() or None)


def _content(message: Fields) -> str:
    """The text of a message, without tool results."""
    content = message.get("content")
    if isinstance(content, str):
        return text(message, "content")
    return "\n".join(
        t for part in items(message, "content") if (t := text(as_fields(part), "text"))
    )


def _as_hook(call: Fields, call_id: str) -> dict[str, object]:
    """The call as a hook payload."""
    response: dict[str, object] = {"returnDisplay": call.get("resultDisplay")}
    for part in map(as_fields, items(call, "result")):
        result = nested(nested(part, "functionResponse"), "response")
        if "error" in result:
            response["error"] = {"message": result["error"]}
        else:
            response["llmContent"] = result.get("output")
    if text(call, "status") == "cancelled":
        response["error"] = {"message": "was rejected"}
    return {
        "tool_name": text(call, "name"),
        "tool_input": nested(call, "args"),
        "tool_response": response,
        "tool_use_id": call_id,
    }
