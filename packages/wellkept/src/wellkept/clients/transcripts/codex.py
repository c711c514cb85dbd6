"""Codex transcripts ("rollouts"): one JSONL file per session, by date.

Three formats are read: bare items after an untyped header, items inside `response_item`, and the
latest with origins for each text. Unlike hooks, rollouts have exit codes, so failures are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import codex
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.payload_fields import (
    Fields,
    as_fields,
    integer,
    items,
    nested,
    optional,
    text,
    texts,
)
from wellkept.clients.tool_calls import ToolResult, result_text, tool_called, tool_kind
from wellkept.clients.transcripts.jsonl_records import (
    Turn,
    find_files,
    first_records,
    json_lines,
    last_record_time,
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
from wellkept.core.session.events import (
    Compacted,
    Origin,
    PromptSubmitted,
    SessionStarted,
    ToolKind,
)
from wellkept.core.session.injected_text import without_injected

CLIENT: Final = codex.CLIENT
_SHELLS: Final = frozenset({"shell", "shell_command", "exec_command", "container.exec"})
_PATCH: Final = "apply_patch"
# Text that the client adds to user messages: in its own tag, or under a title.
_BY_CLIENT: Final = re.compile(
    r"\s*(?:<(?P<tag>[a-z_]+)(?:\s[a-z_ ]*)?>.*</(?P=tag)[a-z_ ]*>\s*\Z|# AGENTS\.md instructions"
    r"|<user_instructions>|<environment_context>|<turn_aborted>)",
    re.DOTALL,
)
_EXITED: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)\s*$", re.MULTILINE)
_OUTPUT: Final = re.compile(r"^Output:\n", re.MULTILINE)
_REPORT_HEAD_CHARS: Final = 400


def transcript_folders(folders: ClientFolders) -> list[Path]:
    """The folders in which transcripts are kept."""
    home = folders.from_variable("CODEX_HOME", ".codex")
    return [path for name in ("sessions", "archived_sessions") if (path := home / name).exists()]


def transcripts(
    paths: Sequence[Path],
    *,
    folders: ClientFolders,  # noqa: ARG001
) -> Iterator[Transcript | UnreadableFile]:
    """The sessions at or below some paths, oldest first; sub-agents belong to their session."""
    found: dict[str, list[Transcript]] = {}
    for path in find_files(paths, suffixes=(".jsonl",)):
        if isinstance(path, UnreadableFile):
            yield path
            continue
        try:
            one = _opened(path)
        except OSError as error:
            one = UnreadableFile(path, error.strerror or str(error))
        if isinstance(one, UnreadableFile):
            yield one
        else:
            found.setdefault(one.session_id, []).append(one)
    yield from sorted(map(_joined, found.values()), key=lambda transcript: transcript.last_at)


def _joined(files: Sequence[Transcript]) -> Transcript:
    return replace(
        files[0],
        last_at=max(file.last_at for file in files),
        parts=tuple(part for file in files for part in file.parts),
    )


def _opened(path: Path) -> Transcript | UnreadableFile:
    stat = path.stat()
    head = next(first_records(path), None)
    meta = nested(head, "payload") or head if head is not None else None
    session_id = text(meta, "id", "session_id") if meta is not None else ""
    if meta is None or not session_id:
        return UnreadableFile(path, "is not a Codex transcript")
    parent = _parent(meta)
    reader = _Reader(
        path,
        parent or session_id,
        agent=session_id if parent else None,
        cwd=optional(meta, "cwd"),
        branch=optional(nested(meta, "git"), "branch"),
    )
    part = TranscriptFile(
        path=path, head=f"{CLIENT}:{session_id}", size_bytes=stat.st_size, read=reader.events
    )
    return Transcript(
        client=CLIENT,
        session_id=parent or session_id,
        cwd=optional(meta, "cwd"),
        last_at=last_record_time(path, stat),
        parts=(part,),
    )


def _parent(meta: Fields) -> str | None:
    """The parent session of a sub-agent."""
    spawned = nested(nested(nested(meta, "source"), "subagent"), "thread_spawn")
    return optional(spawned, "parent_thread_id")


@record(frozen=False)
class _Reader:
    """Reads one file from its beginning. `agent` is set for a sub-agent's file."""

    path: Path
    session_id: str
    agent: str | None
    cwd: str | None
    branch: str | None
    _calls: dict[str, tuple[str, Fields]] = field(default_factory=dict[str, tuple[str, Fields]])
    _turn: Turn = field(default_factory=Turn)
    _model: str | None = None
    _has_begun: bool = False

    def events(self, reading: ReadStats) -> Iterator[TranscriptEvent]:
        """All events of the file."""
        self._calls, self._turn, self._has_begun = {}, Turn(), self.agent is not None
        at = None
        for fields, end in json_lines(self.path, reading):
            kind, item = self._unwrapped(fields)
            at = parse_time(fields.get("timestamp")) or at
            handle = _ITEMS.get(kind)
            if handle is None or at is None:
                reading.pass_over(kind)
                continue
            origin = Origin(
                event_id=f"{self.session_id}:{self.agent or ''}:{end}",
                client=CLIENT,
                session_id=self.session_id,
                at=at,
                cwd=self.cwd,
                agent=self.agent,
                branch=self.branch,
                imported=True,
            )
            yield from handle(self, item, origin, end)
        yield from self._turn.close(final=True)

    def _unwrapped(self, fields: Fields) -> tuple[str, Fields]:
        """The kind of a record, and its item."""
        kind = text(fields, "type")
        if kind in ("response_item", "event_msg"):
            item = nested(fields, "payload")
            return text(item, "type") or kind, item
        if kind in ("turn_context", "compacted", "session_meta"):
            return kind, nested(fields, "payload")
        return kind or "unknown", fields

    def context(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """Folder and model of the next turn."""
        self._model = optional(item, "model") or self._model
        self.cwd = optional(item, "cwd") or self.cwd
        yield from self._begin(origin, end)

    def _begin(self, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        if not self._has_begun:
            self._has_begun = True
            started = replace(origin, event_id=f"{self.session_id}:start")
            yield TranscriptEvent(
                SessionStarted(origin=started, source="transcript", model=self._model), end
            )

    def message(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """A message of the person or the agent."""
        role = text(item, "role")
        pieces = [text(as_fields(part), "text") for part in items(item, "content")]
        if role == "assistant":
            if self.agent is None:
                self._turn.add(origin, end=end, message="\n".join(pieces).strip() or None)
        elif role == "user" and self.agent is None:
            typed = [piece for piece in pieces if piece and not _BY_CLIENT.match(piece)]
            prompt = without_injected("\n".join(typed)).strip()
            if prompt:
                yield from self._begin(origin, end)
                yield from self._turn.close()
                named = optional(item, "id")
                known = replace(origin, event_id=named) if named else origin
                yield TranscriptEvent(PromptSubmitted(origin=known, text=prompt), end)

    def tool_call(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """A tool call; its result comes in a later record."""
        name = text(item, "name")
        tool_input: Fields = nested(item, "arguments", "action")
        if not tool_input and (raw := text(item, "input", "arguments")):
            tool_input = {"input": raw}
        if text(item, "type") == "local_shell_call":
            name = "shell"
        call_id = text(item, "call_id", "id")
        if call_id and name:
            self._calls[call_id] = (name, tool_input)
        yield from self._begin(origin, end)

    def tool_result(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """The result of a tool call."""
        call_id = text(item, "call_id")
        call = self._calls.pop(call_id, None)
        if call is None:
            return
        folder = optional(call[1], "workdir")
        name, tool_input = _as_hook_call(*call)
        result = _result(item.get("output"), name)
        known = replace(origin, event_id=f"{CLIENT}:{call_id}", cwd=folder or origin.cwd)
        yield TranscriptEvent(tool_called(known, name, tool_input, result, call_id=call_id), end)
        if self.agent is None:
            self._turn.add(origin, end=end, message=None)

    def web_search(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """A web search, which has no result record."""
        call_id = optional(item, "id", "call_id")
        yield TranscriptEvent(
            tool_called(
                origin, "web_search", nested(item, "action"), ToolResult(), call_id=call_id
            ),
            end,
        )

    def turn_ended(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """The client reports the end of a turn."""
        if self.agent is None:
            self._turn.add(origin, end=end, message=optional(item, "last_agent_message"))
            yield from self._turn.close()

    def compacted(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """The conversation was compacted."""
        summary = without_injected(text(item, "message")) or None
        yield TranscriptEvent(Compacted(origin=origin, trigger="auto", summary=summary), end)


_Handler = Callable[[_Reader, Fields, Origin, int], Iterator[TranscriptEvent]]
_ITEMS: Final[Mapping[str, _Handler]] = MappingProxyType(
    {
        "turn_context": _Reader.context,
        "message": _Reader.message,
        "function_call": _Reader.tool_call,
        "custom_tool_call": _Reader.tool_call,
        "local_shell_call": _Reader.tool_call,
        "function_call_output": _Reader.tool_result,
        "custom_tool_call_output": _Reader.tool_result,
        "web_search_call": _Reader.web_search,
        "task_complete": _Reader.turn_ended,
        "turn_complete": _Reader.turn_ended,
        "compacted": _Reader.compacted,
    }
)


def _as_hook_call(name: str, tool_input: Fields) -> tuple[str, Fields]:
    """Name and input as hooks report them; a shell call without its `sh -c` wrapper."""
    if name not in _SHELLS:
        return name, tool_input
    words = texts(tool_input, "command", "cmd")
    if len(words) == 3 and words[1] in ("-lc", "-c"):
        words = words[2:]
    command = text(tool_input, "command", "cmd") or " ".join(words)
    if command.lstrip().startswith((_PATCH, "applypatch")):
        return _PATCH, {"input": command}
    return "Bash", {"command": command}


def _result(output: object, name: str) -> ToolResult:
    """Output and error of a tool call, in any of the known formats."""
    fields = as_fields(output)
    report = result_text(fields if fields else output)
    code = integer(nested(fields, "metadata"), "exit_code")
    if code is None and (exited := _EXITED.search(report[:_REPORT_HEAD_CHARS])):
        code = int(exited[1])
    body = (
        _OUTPUT.split(report, maxsplit=1)[-1]
        if _OUTPUT.search(report[:_REPORT_HEAD_CHARS])
        else report
    )
    if code or fields.get("success") is False:
        return ToolResult(body, f"Exit code {code}" if code else body[:2_000] or "failed")
    # The output of an applied patch only repeats the patch.
    return ToolResult("" if tool_kind(name) is ToolKind.EDIT else body)
