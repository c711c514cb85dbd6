"""What happens in a run, as typed events for a user interface.

Data only. Every event is emitted in order; a listener that is slow or fails does not hold the run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from wellkept.core.chat.messages import ModelUsage
from wellkept.core.records import record
from wellkept_agent.control import RunEnd


@record
class TurnStarted:
    """A prompt was taken in."""

    turn_id: str
    prompt: str


@record
class StepStarted:
    """A model is about to be called; `context_tokens` is about what the call takes."""

    turn_id: str
    step: int
    context_tokens: int


@record
class TextDelta:
    """A piece of the answer."""

    turn_id: str
    delta: str


@record
class ThinkingDelta:
    """A piece of what the model thinks."""

    turn_id: str
    delta: str


@record
class ThinkingComplete:
    """The model has stopped thinking."""

    turn_id: str
    total_tokens: int


@record
class ToolStarted:
    """A tool is about to run."""

    call_id: str
    name: str
    arguments: str
    agent: str | None = None


@record
class ToolProgress:
    """New output of a tool that is still running."""

    call_id: str
    text: str


@record
class ToolFinished:
    """A tool has run, was refused or failed. `display` is for people, e.g. a diff."""

    call_id: str
    name: str
    content: str
    is_error: bool
    duration_ms: int
    display: str = ""
    agent: str | None = None


@record
class MemoryInjected:
    """Something that is known was told to the model; `citations` are short ids of memories."""

    moment: str
    text: str
    citations: tuple[str, ...] = ()


@record
class UsageChanged:
    """Tokens so far; `context_tokens` of `context_limit` are in use."""

    usage: ModelUsage
    context_tokens: int
    context_limit: int


@record
class ContextWarning:
    """The conversation comes near the model's limit; `level` is warning, error or blocking."""

    level: str
    context_tokens: int
    context_limit: int


@record
class CompactionStarted:
    """The conversation is about to be compacted."""

    trigger: str = "auto"


@record
class CompactionCompleted:
    """Old messages were replaced by a summary."""

    removed_messages: int
    summary_tokens: int


@record
class MicroCompactionApplied:
    """Old tool results were cleared."""

    removed_results: int


@record
class SessionMemoryCompactApplied:
    """Old messages were replaced by the session's running summary."""

    saved_tokens: int
    summary_tokens: int


@record
class PlanModeEntered:
    """Only reading is allowed now, and writing the plan."""

    plan_file: Path


@record
class PlanModeExited:
    """The plan was approved, or the person wants it changed."""

    approved: bool


@record
class TodosChanged:
    """The agent's list of what to do, as (text, status)."""

    todos: tuple[tuple[str, str], ...]


@record
class SubagentStarted:
    """A sub-agent works on a part."""

    agent: str
    agent_type: str
    description: str


@record
class SubagentFinished:
    """A sub-agent has reported."""

    agent: str
    agent_type: str
    ok: bool


@record
class ProblemReported:
    """Something failed and the run goes on: a hook, a server, a retry. `source` names it."""

    source: str
    message: str


@record
class RunFinished:
    """The turn is over."""

    turn_id: str
    end: RunEnd
    text: str
    steps: int
    usage: ModelUsage
    detail: str = ""


AgentEvent: TypeAlias = (
    TurnStarted
    | StepStarted
    | TextDelta
    | ThinkingDelta
    | ThinkingComplete
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | MemoryInjected
    | UsageChanged
    | ContextWarning
    | CompactionStarted
    | CompactionCompleted
    | MicroCompactionApplied
    | SessionMemoryCompactApplied
    | PlanModeEntered
    | PlanModeExited
    | TodosChanged
    | SubagentStarted
    | SubagentFinished
    | ProblemReported
    | RunFinished
)
