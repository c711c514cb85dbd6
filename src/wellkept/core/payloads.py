"""The typed part of a memory that only some types carry.

A payload class is a frozen dataclass whose annotations are the schema that `core.codec` holds it
to.
"""

from __future__ import annotations

from typing import Literal

from wellkept.core.codec import Json, Payload
from wellkept.core.records import field, record


@record
class Decision(Payload):
    """Why a choice was made, and what else was on the table."""

    rationale: str | None = None
    alternatives: tuple[str, ...] = ()


@record
class ErrorPattern(Payload):
    """A recurring error and what mends it."""

    error: str
    fix: str | None = None
    tool: str | None = None
    occurrences: int = 1


@record
class PrefetchPattern(Payload):
    """Files that are read whenever a module is worked on."""

    module_trigger: str
    always_read_files: tuple[str, ...] = ()
    frequently_read_files: tuple[str, ...] = ()
    session_count: int = 0


@record
class WorkState(Payload):
    """Where unfinished work stands; its contents belong to the methodology."""

    methodology_state: dict[str, Json] = field(default_factory=dict[str, Json])


@record
class CausalDependency(Payload):
    """Touching one file means touching others."""

    trigger_file: str
    dependent_files: tuple[str, ...] = ()


@record
class TaskCalibration(Payload):
    """How many steps work in a module really takes, against the plan."""

    module: str
    methodology: str
    average_actual_steps: float
    average_planned_steps: float
    ratio: float
    sample_count: int


@record
class E2EObservation(Payload):
    """A fact about a running user interface, seen through a tool. `app_state` is the page that was
    shown, `action` what was done there."""

    observation_type: Literal[
        "precondition", "timing", "ui_behavior", "test_sequence", "mcp_gotcha"
    ]
    mcp_tool: str | None = None
    app_state: str | None = None
    action: str | None = None


@record
class DeadEnd(Payload):
    """An approach that was tried and given up."""

    approach_tried: str
    why_it_failed: str
    alternative_used: str | None = None
    task_context: str | None = None


@record
class WorkUnitOutcome(Payload):
    """How one unit of work ended."""

    succeeded: bool
    files_modified: tuple[str, ...] = ()
    key_decisions: tuple[str, ...] = ()
    steps_taken: int = 0
    context_tokens_used: int | None = None
    retry_count: int = 0
    failure_reason: str | None = None


@record
class RecipeStep:
    """One step of a workflow recipe."""

    description: str
    canonical_file: str | None = None
    canonical_line: int | None = None


@record
class WorkflowRecipe(Payload):
    """The steps that a class of task takes here."""

    task_pattern: str
    steps: tuple[RecipeStep, ...]
    last_validated_at: str | None = None
    success_count: int = 0
    failure_count: int = 0


@record
class ContextCost(Payload):
    """How many tokens work in a module takes up."""

    module: str
    average_tokens_per_session: float
    p90_tokens_per_session: float
    sample_count: int


@record
class Episode(Payload):
    """What was asked, what was done, how it went."""

    outcome: Literal["success", "failure", "discovery"]
    task: str | None = None
    approach: str | None = None
    result: str | None = None
    tools_used: tuple[str, ...] = ()


@record
class Observation(Payload):
    """Something that happened in a session and is worth knowing later."""

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
    """Something a person said to the agent: the how-manieth of its session."""

    number: int


@record
class SessionSummary(Payload):
    """What a session was about and how far it got. `made_by` names a model, if one wrote it."""

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
