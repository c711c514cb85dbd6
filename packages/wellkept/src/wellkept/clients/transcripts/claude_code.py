"""Claude Code transcripts: one JSONL file per session and per sub-agent.

The format is internal to the client and changes between versions, so no field is taken for granted.
A tool call and its result are two records; joined, they go through the reader of hook payloads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from wellkept.clients import claude_code
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
from wellkept.clients.transcripts.usage import ClaudeCodeUsage
from wellkept.core.chat.transcripts import (
    ReadStats,
    Transcript,
    TranscriptEvent,
    TranscriptFile,
    UnreadableFile,
)
from wellkept.core.records import field, record
from wellkept.core.session.events import (
    Compacted,
    Event,
    Origin,
    PromptSubmitted,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
)
from wellkept.core.session.injected_text import without_injected

CLIENT: Final = claude_code.CLIENT
_SIDE: Final = "sidechain"
_AGENT_FILE: Final = "agent-"
_TASKS: Final = ("Agent", "Task")
# Records that begin with another type are about the client, not the conversation.
_SKIPPED: Final = re.compile(rb'\{"type":"(?!user"|assistant"|system"|summary")([a-z-]{1,40})"')


def transcript_folders(folders: ClientFolders) -> list[Path]:
    """The folders in which transcripts are kept."""
    folder = folders.from_variable("CLAUDE_CONFIG_DIR", ".claude") / "projects"
    return [folder] if folder.exists() else []


def transcripts(
    paths: Sequence[Path],
    *,
    folders: ClientFolders,  # noqa: ARG001
) -> Iterator[Transcript | UnreadableFile]:
    """The sessions at or below some paths, oldest first; a session's files are one transcript."""
    found: dict[str, list[tuple[TranscriptFile, str | None]]] = {}
    for path in find_files(paths, suffixes=(".jsonl",)):
        if isinstance(path, UnreadableFile):
            yield path
            continue
        try:
            session_id, part, cwd = _opened(path)
        except OSError as error:
            yield UnreadableFile(path, error.strerror or str(error))
            continue
        if session_id:
            found.setdefault(session_id, []).append((part, cwd))
        else:
            yield UnreadableFile(path, "is not a Claude Code transcript")
    yield from sorted(
        (_joined(session_id, files) for session_id, files in found.items()), key=lambda t: t.last_at
    )


def _opened(path: Path) -> tuple[str | None, TranscriptFile, str | None]:
    """The session id, the file and the working folder of a transcript file."""
    stat = path.stat()
    session_id = cwd = None
    for fields in first_records(path):
        session_id = session_id or optional(fields, "sessionId")
        cwd = cwd or optional(fields, "cwd")
        if session_id and cwd:
            break
    is_agent = path.stem.startswith(_AGENT_FILE)
    # A resumed session starts with records copied from the old one, under the old id.
    named = session_id and not is_agent and _is_session_name(path.stem)
    known = path.stem if named else session_id
    part = TranscriptFile(
        path=path,
        head=f"{CLIENT}:{known}",
        size_bytes=stat.st_size,
        read=_Reader(path, known or "", agent=path.stem if is_agent else None).events,
    )
    return known, part, cwd


def _joined(session_id: str, files: Iterable[tuple[TranscriptFile, str | None]]) -> Transcript:
    """The session's own file first, then those of its sub-agents."""
    ordered = sorted(files, key=lambda f: (f[0].path.stem.startswith(_AGENT_FILE), f[0].path))
    return merge_files(CLIENT, session_id, ordered)


def _is_session_name(stem: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{8}-[0-9a-f-]{27}", stem) is not None


def _skip_kind(line: bytes) -> str | None:
    found = _SKIPPED.match(line)
    return found[1].decode() if found else None


@record
class _Call:
    """A tool call without its result yet."""

    name: str
    tool_input: Fields


@record(frozen=False)
class _Reader:
    """Reads one file from its beginning."""

    path: Path
    session_id: str
    agent: str | None
    _calls: dict[str, _Call] = field(default_factory=dict[str, _Call])
    _turn: Turn = field(default_factory=Turn)
    _has_begun: bool = False

    def events(self, reading: ReadStats) -> Iterator[TranscriptEvent]:
        """All events of the file."""
        self._calls, self._turn, self._has_begun = {}, Turn(), self.agent is not None
        usage, status = ClaudeCodeUsage(), self.path.stat()
        for fields, end in json_lines(self.path, reading, skip_kind=_skip_kind):
            usage.add(fields)
            kind = fields.get("type")
            if kind not in ("user", "assistant") or fields.get("isMeta") is True:
                reading.pass_over(text(fields, "type") or "unknown")
                continue
            origin = self._origin(fields)
            if origin is None:
                reading.pass_over("without time")
                continue
            yield from self._begin(origin, fields, end)
            if kind == "assistant":
                yield from self._assistant(fields, origin, end)
            else:
                yield from self._user(fields, origin, end)
        usage.keep(self.path, status)
        yield from self._turn.close(final=True)

    def _origin(self, fields: Fields) -> Origin | None:
        at = parse_time(fields.get("timestamp"))
        if at is None:
            return None
        side = _SIDE if fields.get("isSidechain") is True else None
        return Origin(
            event_id=text(fields, "uuid") or f"{self.session_id}:{at.isoformat()}",
            client=CLIENT,
            session_id=self.session_id,
            at=at,
            cwd=optional(fields, "cwd"),
            agent=optional(fields, "agentId") or self.agent or side,
            branch=optional(fields, "gitBranch"),
            imported=True,
        )

    def _begin(self, origin: Origin, fields: Fields, end: int) -> Iterator[TranscriptEvent]:
        if self._has_begun:
            return
        self._has_begun = True
        started = _at(origin, f"{self.session_id}:start")
        model = optional(nested(fields, "message"), "model")
        yield TranscriptEvent(SessionStarted(origin=started, source="transcript", model=model), end)

    # -- Agent ------------------------------------------------------------------------------------

    def _assistant(self, fields: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        messages: list[str] = []
        for block in map(as_fields, items(nested(fields, "message"), "content")):
            kind = block.get("type")
            if kind == "text":
                messages.append(text(block, "text"))
            elif kind == "tool_use":
                yield from self._tool_use(block, origin, end)
        if origin.agent is None:
            self._turn.add(origin, end=end, message="\n".join(messages).strip() or None)

    def _tool_use(self, block: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        call_id, name = text(block, "id"), text(block, "name")
        if not call_id or not name:
            return
        call = self._calls[call_id] = _Call(name, nested(block, "input"))
        if name in _TASKS:
            started = _at(origin, f"{call_id}:start")
            yield TranscriptEvent(
                SubagentStarted(origin=started, agent_type=_agent_type(call)), end
            )

    # -- Tool results and prompts -----------------------------------------------------------------

    def _user(self, fields: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        content = nested(fields, "message").get("content")
        blocks = [as_fields(block) for block in items({"it": content}, "it")]
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            # The record holds the full result only when there is one; else use the blocks.
            whole = fields.get("toolUseResult") if len(results) == 1 else None
            yield from self._tool_result(block, whole, origin, end)
        if results:
            return
        prompt = content if isinstance(content, str) else "\n".join(text(b, "text") for b in blocks)
        yield from self._prompt(without_injected(prompt).strip(), fields, origin, end)

    def _prompt(
        self, prompt: str, fields: Fields, origin: Origin, end: int
    ) -> Iterator[TranscriptEvent]:
        if not prompt or origin.agent is not None:
            return
        if fields.get("isCompactSummary") is True:
            yield TranscriptEvent(Compacted(origin=origin, trigger="auto", summary=prompt), end)
            return
        yield from self._turn.close()
        yield TranscriptEvent(PromptSubmitted(origin=origin, text=prompt), end)

    def _tool_result(
        self, block: Fields, whole: object, origin: Origin, end: int
    ) -> Iterator[TranscriptEvent]:
        call_id = text(block, "tool_use_id")
        call = self._calls.pop(call_id, None)
        if call is None:
            return
        event = _tool_event(
            call, call_id, block, whole, _at(origin, f"{origin.event_id}:{call_id}")
        )
        if event is not None:
            yield TranscriptEvent(event, end)
        if call.name in _TASKS and (agent := optional(as_fields(whole), "agentId")):
            ended = _at(origin, f"{call_id}:end", agent=f"{_AGENT_FILE}{agent}")
            last = without_injected(_result_text(block.get("content")))
            yield TranscriptEvent(
                SubagentEnded(
                    origin=ended, agent_type=_agent_type(call), last_message=last or None
                ),
                end,
            )
        if origin.agent is None:
            self._turn.add(origin, end=end, message=None)


def _tool_event(
    call: _Call, call_id: str, block: Fields, whole: object, origin: Origin
) -> Event | None:
    """The event, through the reader of hook payloads."""
    payload: dict[str, object] = {
        "tool_name": call.name,
        "tool_input": call.tool_input,
        "tool_use_id": call_id,
    }
    if block.get("is_error") is True:
        payload["error"] = _result_text(block.get("content"))
        return claude_code.READERS["PostToolUseFailure"](payload, origin)
    payload["tool_response"] = whole if isinstance(whole, dict) else block.get("content")
    return claude_code.READERS["PostToolUse"](payload, origin)


def _result_text(content: object) -> str:
    if isinstance(content, str):
        return text({"it": content}, "it")
    return "\n".join(text(as_fields(part), "text") for part in items({"it": content}, "it"))


def _agent_type(call: _Call) -> str:
    return text(call.tool_input, "subagent_type") or "general-purpose"


def _at(origin: Origin, event_id: str, *, agent: str | None = None) -> Origin:
    return Origin(
        event_id=event_id,
        client=origin.client,
        session_id=origin.session_id,
        at=origin.at,
        cwd=origin.cwd,
        agent=agent or origin.agent,
        branch=origin.branch,
        imported=True,
    )
