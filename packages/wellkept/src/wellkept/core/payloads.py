"""Typed payloads of memory types.

Each is a frozen record; `core.codec` validates it against its annotations.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from wellkept.core.codec import Json, Payload
from wellkept.core.records import field, record


@record
class KeptItem(Payload):
    """What a framework keeps here under a name of its own. Only its adapter reads `value`.

    It belongs to the framework's user: no rule of upkeep merges or deletes it.
    """

    framework: str
    name: str
    place: tuple[str, ...] = ()
    value: dict[str, Json] = field(default_factory=dict[str, Json])
    first_kept: datetime | None = None


@record
class Decision(Payload):
    """Why a choice was made, and its alternatives. `subject` are the words of the whole exchange
    that led to it: it is found by them."""

    rationale: str | None = None
    alternatives: tuple[str, ...] = ()
    subject: str = ""


@record
class ErrorPattern(Payload):
    """A recurring error and its fix.

    A way out of a failed command also has the command, the one that worked instead, what made the
    difference (`change`), and the words that were removed and added.
    """

    error: str
    fix: str | None = None
    tool: str | None = None
    occurrences: int = 1
    command: str | None = None
    worked: str | None = None
    change: str | None = None
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


@record
class PrefetchPattern(Payload):
    """Files that sessions in a module nearly always or often read."""

    module_trigger: str
    always_read_files: tuple[str, ...] = ()
    frequently_read_files: tuple[str, ...] = ()
    session_count: int = 0


@record
class WorkState(Payload):
    """State of unfinished work; its fields belong to the methodology."""

    methodology_state: dict[str, Json] = field(default_factory=dict[str, Json])


@record
class CausalDependency(Payload):
    """Files that have to change together with one."""

    trigger_file: str
    dependent_files: tuple[str, ...] = ()


@record
class TaskCalibration(Payload):
    """Planned against actual steps of work in a module."""

    module: str
    methodology: str
    average_actual_steps: float
    average_planned_steps: float
    ratio: float
    sample_count: int


@record
class E2EObservation(Payload):
    """A fact about a running user interface. `app_state` is the page, `action` what was done."""

    observation_type: Literal[
        "precondition", "timing", "ui_behavior", "test_sequence", "mcp_gotcha"
    ]
    mcp_tool: str | None = None
    app_state: str | None = None
    action: str | None = None


@record
class DeadEnd(Payload):
    """An approach that was tried and abandoned."""

    approach_tried: str
    why_it_failed: str
    alternative_used: str | None = None
    task_context: str | None = None


@record
class WorkUnitOutcome(Payload):
    """Outcome of one work unit; `methodology_fields` belong to the methodology."""

    succeeded: bool
    files_modified: tuple[str, ...] = ()
    key_decisions: tuple[str, ...] = ()
    steps_taken: int = 0
    context_tokens_used: int | None = None
    retry_count: int = 0
    failure_reason: str | None = None
    methodology_fields: dict[str, Json] = field(default_factory=dict[str, Json])


@record
class RecipeStep:
    """One step of a workflow recipe."""

    description: str
    canonical_file: str | None = None
    canonical_line: int | None = None


@record
class WorkflowRecipe(Payload):
    """The steps of a kind of task in this project."""

    task_pattern: str
    steps: tuple[RecipeStep, ...]
    last_validated_at: str | None = None
    success_count: int = 0
    failure_count: int = 0


@record
class ContextCost(Payload):
    """Token cost of work in a module."""

    module: str
    average_tokens_per_session: float
    p90_tokens_per_session: float
    sample_count: int


@record
class Episode(Payload):
    """A task, the approach and its result."""

    outcome: Literal["success", "failure", "discovery"]
    task: str | None = None
    approach: str | None = None
    result: str | None = None
    tools_used: tuple[str, ...] = ()


@record
class Observation(Payload):
    """An event of a session worth remembering."""

    kind: Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]
    title: str
    subtitle: str | None = None
    facts: tuple[str, ...] = ()
    narrative: str | None = None
    concepts: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    prompt_number: int | None = None
    branch: str | None = None
    commit: str | None = None
    agent: str | None = None


@record
class Prompt(Payload):
    """A user prompt; `number` counts from 1 in its session."""

    number: int


@record
class SessionSummary(Payload):
    """Summary of a session. `made_by`: written by rules or by a model."""

    request: str | None = None
    investigated: str | None = None
    learned: str | None = None
    completed: str | None = None
    next_steps: str | None = None
    notes: str | None = None
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    branch: str | None = None
    commit: str | None = None
    made_by: Literal["rules", "model"] = "rules"
