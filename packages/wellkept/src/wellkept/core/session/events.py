"""Events of coding clients, in one form for all of them.

A client's payload is translated into one of these before anything else reads it. Knows nothing of
clients. An event's id is made where it was captured and never changes, so that a repeated event is
recognised.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from wellkept.core.records import record
from wellkept.core.session.hook_context import ContextLine


class ToolKind(StrEnum):
    """What a tool call does, independent of the client's tool names."""

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

    `imported` when it was read from a transcript; `branch` when that names the git branch.
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


@record
class Answer:
    """A person's answer to a question of the agent.

    `is_choice` when it is one of the options offered; `meaning` is the description of that option;
    `topic` is the heading of the question.
    """

    question: str
    answer: str
    is_choice: bool = False
    meaning: str = ""
    topic: str = ""


@record(kw_only=True)
class TokenUsage:
    """Tokens of a session so far, as its client reports them. `input` is without what came from
    the provider's cache."""

    input: int = 0
    cached: int = 0
    output: int = 0


@record(kw_only=True)
class SessionStarted:
    """A session starts, resumes, or restarts after compaction."""

    origin: Origin
    source: str = "startup"
    model: str | None = None


@record(kw_only=True)
class PromptSubmitted:
    """A person submitted a prompt. `plans` when the client only plans."""

    origin: Origin
    text: str
    plans: bool = False


@record(kw_only=True)
class ToolCalled:
    """A tool call returned. `error` is set when it failed; `answers` are what a person answered to
    a tool that asks."""

    origin: Origin
    call_id: str | None
    name: str
    kind: ToolKind
    files: tuple[str, ...] = ()
    command: str | None = None
    query: str | None = None
    edits: tuple[Edit, ...] = ()
    answers: tuple[Answer, ...] = ()
    input: str = ""
    output: str = ""
    error: str | None = None
    duration_ms: int | None = None


@record(kw_only=True)
class ToolStarting:
    """A tool is about to be called. Only asks for context; the result is a `ToolCalled`."""

    origin: Origin
    name: str
    kind: ToolKind
    files: tuple[str, ...] = ()
    command: str | None = None


@record(kw_only=True)
class Compacted:
    """The client compacted its conversation; `summary` when it sends one."""

    origin: Origin
    trigger: str
    summary: str | None = None


@record(kw_only=True)
class TurnEnded:
    """The agent finished a turn; with its last message when the client sends it."""

    origin: Origin
    last_message: str | None = None
    usage: TokenUsage | None = None


@record(kw_only=True)
class SubagentStarted:
    """A sub-agent started."""

    origin: Origin
    agent_type: str


@record(kw_only=True)
class SubagentEnded:
    """A sub-agent finished."""

    origin: Origin
    agent_type: str
    last_message: str | None = None


@record(kw_only=True)
class SessionEnded:
    """The session ended."""

    origin: Origin
    reason: str
    usage: TokenUsage | None = None


@record(kw_only=True)
class ContextInjected:
    """Wellkept injected context at a moment of the session; `trigger` is what asked for it."""

    origin: Origin
    project: str
    moment: str
    trigger: str = ""
    tokens: int = 0
    lines: tuple[ContextLine, ...] = ()


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
    | ContextInjected
)
