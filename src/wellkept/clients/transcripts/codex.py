"""Codex's transcripts ("rollouts"): one file a session, by date, one record a line.

Three generations are read: bare items after a head without a type, items inside `response_item`,
and the latest with origins for every piece of text. Unlike its hooks, a rollout tells how a command
ended, so failures are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wellkept.clients import codex
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.injected_text import without_own
from wellkept.clients.payload_fields import (
    Fields,
    as_fields,
    inner,
    items,
    optional,
    text,
    texts,
    whole,
)
from wellkept.clients.tool_calls import ToolResult, answer_text, kind_of, tool_called
from wellkept.clients.transcripts.jsonl_records import (
    found_files,
    json_lines,
    last_moment,
    moment,
    peek,
)
from wellkept.clients.transcripts.turns import Turn
from wellkept.core.events import Compacted, Origin, PromptSubmitted, SessionStarted, ToolKind
from wellkept.core.records import field, record, replace
from wellkept.core.transcripts import (
    ReadStats,
    Transcript,
    TranscriptEvent,
    TranscriptFile,
    UnreadableFile,
)

CLIENT: Final = codex.CLIENT
_SHELLS: Final = frozenset({"shell", "shell_command", "exec_command", "container.exec"})
_PATCH: Final = "apply_patch"
# What the client itself puts into a message of the user: set in a tag of its own, or under a title.
_BY_CLIENT: Final = re.compile(
    r"\s*(?:<(?P<tag>[a-z_]+)(?:\s[a-z_ ]*)?>.*</(?P=tag)[a-z_ ]*>\s*\Z|# AGENTS\.md instructions"
    r"|<user_instructions>|<environment_context>|<turn_aborted>)",
    re.DOTALL,
)
_EXITED: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)\s*$", re.MULTILINE)
_OUTPUT: Final = re.compile(r"^Output:\n", re.MULTILINE)
_REPORT_HEAD_CHARS: Final = 400


def places(where: ClientFolders) -> list[Path]:
    """The folders in which transcripts are kept."""
    home = where.from_variable("CODEX_HOME", ".codex")
    return [place for name in ("sessions", "archived_sessions") if (place := home / name).exists()]


def transcripts(
    paths: Sequence[Path],
    *,
    where: ClientFolders,  # noqa: ARG001
) -> Iterator[Transcript | UnreadableFile]:
    """The sessions at or below some paths, oldest first; sub-agents belong to their session."""
    found: dict[str, list[Transcript]] = {}
    for path in found_files(paths, suffixes=(".jsonl",)):
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
    head = next(peek(path), None)
    meta = inner(head, "payload") or head if head is not None else None
    session_id = text(meta, "id", "session_id") if meta is not None else ""
    if meta is None or not session_id:
        return UnreadableFile(path, "is no transcript of Codex")
    parent = _parent(meta)
    reader = _Reader(
        path,
        parent or session_id,
        agent=session_id if parent else None,
        cwd=optional(meta, "cwd"),
        branch=optional(inner(meta, "git"), "branch"),
    )
    part = TranscriptFile(
        path=path,
        head=f"{CLIENT}:{session_id}",
        size_bytes=stat.st_size,
        read=reader.steps,
    )
    return Transcript(
        client=CLIENT,
        session_id=parent or session_id,
        cwd=optional(meta, "cwd"),
        last_at=last_moment(path, stat),
        parts=(part,),
    )


def _parent(meta: Fields) -> str | None:
    """The session that started this one as its sub-agent, if one did."""
    spawned = inner(inner(inner(meta, "source"), "subagent"), "thread_spawn")
    return optional(spawned, "parent_thread_id")


@record(frozen=False)
class _Reader:
    """One file, read from its beginning. `agent` is set when it is a sub-agent's."""

    path: Path
    session_id: str
    agent: str | None
    cwd: str | None
    branch: str | None
    _calls: dict[str, tuple[str, Fields]] = field(default_factory=dict[str, tuple[str, Fields]])
    _turn: Turn = field(default_factory=Turn)
    _model: str | None = None
    _has_begun: bool = False

    def steps(self, reading: ReadStats) -> Iterator[TranscriptEvent]:
        """Everything that the file tells."""
        self._calls, self._turn, self._has_begun = {}, Turn(), self.agent is not None
        at = None
        for fields, end in json_lines(self.path, reading):
            kind, item = self._unwrapped(fields)
            at = moment(fields.get("timestamp")) or at
            take = _ITEMS.get(kind)
            if take is None or at is None:
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
            yield from take(self, item, origin, end)
        yield from self._turn.close(final=True)

    def _unwrapped(self, fields: Fields) -> tuple[str, Fields]:
        """What a record is, and the item in it."""
        kind = text(fields, "type")
        if kind in ("response_item", "event_msg"):
            item = inner(fields, "payload")
            return text(item, "type") or kind, item
        if kind in ("turn_context", "compacted", "session_meta"):
            return kind, inner(fields, "payload")
        return kind or "unknown", fields

    def context(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """Folder and model of the turn that begins."""
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
        """What the person or the agent says."""
        role = text(item, "role")
        pieces = [text(as_fields(part), "text") for part in items(item, "content")]
        if role == "assistant":
            if self.agent is None:
                self._turn.say(origin, end=end, message="\n".join(pieces).strip() or None)
        elif role == "user" and self.agent is None:
            own = [piece for piece in pieces if piece and not _BY_CLIENT.match(piece)]
            said = without_own("\n".join(own)).strip()
            if said:
                yield from self._begin(origin, end)
                yield from self._turn.close()
                named = optional(item, "id")
                known = replace(origin, event_id=named) if named else origin
                yield TranscriptEvent(PromptSubmitted(origin=known, text=said), end)

    def asked(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """A tool is to be used."""
        name = text(item, "name")
        given: Fields = inner(item, "arguments", "action")
        if not given and (raw := text(item, "input", "arguments")):
            given = {"input": raw}
        if text(item, "type") == "local_shell_call":
            name = "shell"
        call_id = text(item, "call_id", "id")
        if call_id and name:
            self._calls[call_id] = (name, given)
        yield from self._begin(origin, end)

    def answered(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """What came back from a tool."""
        call_id = text(item, "call_id")
        call = self._calls.pop(call_id, None)
        if call is None:
            return
        name, given = _as_hooks_name_it(*call)
        answer = _answer(item.get("output"), name)
        known = replace(origin, event_id=f"{CLIENT}:{call_id}")
        yield TranscriptEvent(tool_called(known, name, given, answer, call_id=call_id), end)
        if self.agent is None:
            self._turn.say(origin, end=end, message=None)

    def searched(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """A search of the web, which brings no answer of its own."""
        call_id = optional(item, "id", "call_id")
        yield TranscriptEvent(
            tool_called(origin, "web_search", inner(item, "action"), ToolResult(), call_id=call_id),
            end,
        )

    def turn_over(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """The client says that the turn is over."""
        if self.agent is None:
            self._turn.say(origin, end=end, message=optional(item, "last_agent_message"))
            yield from self._turn.close()

    def compacted(self, item: Fields, origin: Origin, end: int) -> Iterator[TranscriptEvent]:
        """The conversation was shortened."""
        summary = without_own(text(item, "message")) or None
        yield TranscriptEvent(Compacted(origin=origin, trigger="auto", summary=summary), end)


_Take = Callable[[_Reader, Fields, Origin, int], Iterator[TranscriptEvent]]
_ITEMS: Final[Mapping[str, _Take]] = MappingProxyType(
    {
        "turn_context": _Reader.context,
        "message": _Reader.message,
        "function_call": _Reader.asked,
        "custom_tool_call": _Reader.asked,
        "local_shell_call": _Reader.asked,
        "function_call_output": _Reader.answered,
        "custom_tool_call_output": _Reader.answered,
        "web_search_call": _Reader.searched,
        "task_complete": _Reader.turn_over,
        "turn_complete": _Reader.turn_over,
        "compacted": _Reader.compacted,
    }
)


def _as_hooks_name_it(name: str, given: Fields) -> tuple[str, Fields]:
    """A shell by the name that hooks give it, without the shell around the command."""
    if name not in _SHELLS:
        return name, given
    words = texts(given, "command", "cmd")
    if len(words) == 3 and words[1] in ("-lc", "-c"):
        words = words[2:]
    command = text(given, "command", "cmd") or " ".join(words)
    if command.lstrip().startswith((_PATCH, "applypatch")):
        return _PATCH, {"input": command}
    return "Bash", {"command": command}


def _answer(output: object, name: str) -> ToolResult:
    """What came back, and whether that was a failure, in any of the forms it is told in."""
    fields = as_fields(output)
    told = answer_text(fields if fields else output)
    code = whole(inner(fields, "metadata"), "exit_code")
    if code is None and (report := _EXITED.search(told[:_REPORT_HEAD_CHARS])):
        code = int(report[1])
    body = (
        _OUTPUT.split(told, maxsplit=1)[-1] if _OUTPUT.search(told[:_REPORT_HEAD_CHARS]) else told
    )
    if code or fields.get("success") is False:
        return ToolResult(body, f"Exit code {code}" if code else body[:2_000] or "failed")
    # A patch that went in says no more than the patch itself.
    return ToolResult("" if kind_of(name) is ToolKind.EDIT else body)
