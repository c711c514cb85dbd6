"""What happens in a coding client, in one vocabulary for all of them.

A client's own payload becomes one of these before anything else sees it; nothing above this
module knows payload shapes, and nothing here knows clients. An event's id is made where the event
was caught and never changes, so that taking an event twice can be told from two events.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from wellkept.core.records import record


class ToolKind(StrEnum):
    """What a tool call does, whatever the client calls its tool."""

    READ = "read"
    EDIT = "edit"
    WRITE = "write"
    SHELL = "shell"
    SEARCH = "search"
    WEB = "web"
    TASK = "task"
    MCP = "mcp"
    OTHER = "other"


@record(kw_only=True)
class Origin:
    """Where an event comes from. `agent` is set inside a sub-agent.

    `imported` is set when it was read from a transcript afterwards rather than caught, and
    `branch` when that transcript tells the git branch of the moment.
    """

    event_id: str
    client: str
    session_id: str
    at: datetime
    cwd: str | None = None
    agent: str | None = None
    branch: str | None = None
    imported: bool = False


@record
class Edit:
    """One change to a file: the text before and after; a new file has no text before."""

    path: str
    before: str
    after: str


@record(kw_only=True)
class SessionStarted:
    """A session begins, goes on after a pause, or starts over after compaction."""

    origin: Origin
    source: str = "startup"
    model: str | None = None


@record(kw_only=True)
class PromptSubmitted:
    """The person said something."""

    origin: Origin
    text: str


@record(kw_only=True)
class ToolCalled:
    """A tool was used and came back. `error` is set when it failed."""

    origin: Origin
    call_id: str | None
    name: str
    kind: ToolKind
    files: tuple[str, ...] = ()
    command: str | None = None
    query: str | None = None
    edits: tuple[Edit, ...] = ()
    input: str = ""
    output: str = ""
    error: str | None = None
    duration_ms: int | None = None


@record(kw_only=True)
class ToolStarting:
    """A tool is about to be called. A question to memory; what came of it is told by the call."""

    origin: Origin
    name: str
    kind: ToolKind
    files: tuple[str, ...] = ()
    command: str | None = None


@record(kw_only=True)
class Compacted:
    """The client shortened its conversation; the summary is what it kept, when it tells."""

    origin: Origin
    trigger: str
    summary: str | None = None


@record(kw_only=True)
class TurnEnded:
    """The agent stopped and waits; its last words are here when the client tells them."""

    origin: Origin
    last_message: str | None = None


@record(kw_only=True)
class SubagentStarted:
    """A sub-agent begins."""

    origin: Origin
    agent_type: str


@record(kw_only=True)
class SubagentEnded:
    """A sub-agent is done."""

    origin: Origin
    agent_type: str
    last_message: str | None = None


@record(kw_only=True)
class SessionEnded:
    """The session is over."""

    origin: Origin
    reason: str


Event: TypeAlias = (
    SessionStarted
    | PromptSubmitted
    | ToolStarting
    | ToolCalled
    | Compacted
    | TurnEnded
    | SubagentStarted
    | SubagentEnded
    | SessionEnded
)
