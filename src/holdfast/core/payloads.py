"""The typed part of a memory that only some types carry, and its one JSON codec.

A payload class is a frozen dataclass whose annotations are the schema: `payload_from_json`
accepts exactly those fields with exactly those types and says by name what does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from types import UnionType
from typing import Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from holdfast.core.errors import UsageError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Payload:
    """Marker for the typed part of a memory."""


@dataclass(frozen=True, slots=True)
class Decision(Payload):
    """Why a choice was made, and what else was on the table."""

    rationale: str | None = None
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrorPattern(Payload):
    """A recurring error and what mends it."""

    error: str
    fix: str | None = None
    tool: str | None = None
    occurrences: int = 1


@dataclass(frozen=True, slots=True)
class PrefetchPattern(Payload):
    """Files that are read whenever a module is worked on."""

    module_trigger: str
    always_read_files: tuple[str, ...] = ()
    frequently_read_files: tuple[str, ...] = ()
    session_count: int = 0


@dataclass(frozen=True, slots=True)
class WorkState(Payload):
    """Where unfinished work stands; its contents belong to the methodology."""

    methodology_state: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class CausalDependency(Payload):
    """Touching one file means touching others."""

    trigger_file: str
    dependent_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskCalibration(Payload):
    """How many steps work in a module really takes, against the plan."""

    module: str
    methodology: str
    average_actual_steps: float
    average_planned_steps: float
    ratio: float
    sample_count: int


@dataclass(frozen=True, slots=True)
class E2EObservation(Payload):
    """A fact about a running user interface, seen through a tool."""

    observation_type: Literal[
        "precondition", "timing", "ui_behavior", "test_sequence", "mcp_gotcha"
    ]
    mcp_tool: str | None = None
    app_state: str | None = None


@dataclass(frozen=True, slots=True)
class DeadEnd(Payload):
    """An approach that was tried and given up."""

    approach_tried: str
    why_it_failed: str
    alternative_used: str | None = None
    task_context: str | None = None


@dataclass(frozen=True, slots=True)
class WorkUnitOutcome(Payload):
    """How one unit of work ended."""

    succeeded: bool
    files_modified: tuple[str, ...] = ()
    key_decisions: tuple[str, ...] = ()
    steps_taken: int = 0
    context_tokens_used: int | None = None
    retry_count: int = 0
    failure_reason: str | None = None


@dataclass(frozen=True, slots=True)
class RecipeStep:
    """One step of a workflow recipe."""

    description: str
    canonical_file: str | None = None
    canonical_line: int | None = None


@dataclass(frozen=True, slots=True)
class WorkflowRecipe(Payload):
    """The steps that a class of task takes here."""

    task_pattern: str
    steps: tuple[RecipeStep, ...]
    last_validated_at: str | None = None
    success_count: int = 0
    failure_count: int = 0


@dataclass(frozen=True, slots=True)
class ContextCost(Payload):
    """How many tokens work in a module takes up."""

    module: str
    average_tokens_per_session: float
    p90_tokens_per_session: float
    sample_count: int


@dataclass(frozen=True, slots=True)
class Episode(Payload):
    """What was asked, what was done, how it went."""

    outcome: Literal["success", "failure", "discovery"]
    task: str | None = None
    approach: str | None = None
    result: str | None = None
    tools_used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Prompt(Payload):
    """Something a person said to the agent: the how-manieth of its session."""

    number: int


@dataclass(frozen=True, slots=True)
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


_Record = TypeVar("_Record")


def payload_to_json(payload: object) -> dict[str, Json]:
    """A payload (or a part of one) as plain JSON, defaults included."""
    return {f.name: _encode(getattr(payload, f.name)) for f in fields(payload)}  # type: ignore[arg-type]


def payload_from_json(kind: type[_Record], data: Mapping[str, Json]) -> _Record:
    """Build a payload from JSON; a UsageError names the field that does not fit."""
    return _decode_record(kind, data, where=kind.__name__)


def _encode(value: object) -> Json:
    if isinstance(value, tuple):
        return [_encode(item) for item in cast("tuple[object, ...]", value)]
    if hasattr(value, "__dataclass_fields__"):
        return payload_to_json(value)
    return cast("Json", value)


@cache
def _hints(kind: type[object]) -> dict[str, object]:
    return cast("dict[str, object]", get_type_hints(kind))


def _decode_record(kind: type[_Record], data: object, *, where: str) -> _Record:
    if not isinstance(data, Mapping):
        raise UsageError(f"{where} must be an object, not {type(data).__name__}.")
    given = cast("Mapping[str, object]", data)
    hints = _hints(kind)
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(given) - set(known)):
        raise UsageError(
            f"{where} has no field {unknown[0]!r}.", hint=f"It has: {', '.join(known)}."
        )
    required = [
        n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING
    ]
    if missing := [name for name in required if name not in given]:
        raise UsageError(f"{where} needs the field {missing[0]!r}.")
    return kind(**{n: _decode(hints[n], v, where=f"{where}.{n}") for n, v in given.items()})


def _decode(hint: object, value: object, *, where: str) -> object:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and type(None) in args:
            return None
        return _decode(next(a for a in args if a is not type(None)), value, where=where)
    if origin is Literal:
        if value not in args:
            raise UsageError(f"{where} must be one of: {', '.join(map(str, args))}.")
        return value
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise UsageError(f"{where} must be a list.")
        items = cast("list[object]", value)
        return tuple(_decode(args[0], item, where=f"{where}[{i}]") for i, item in enumerate(items))
    if origin is dict:
        if not isinstance(value, dict):
            raise UsageError(f"{where} must be an object.")
        return cast("dict[str, object]", value)
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return _decode_record(cast("type[object]", hint), value, where=where)
    return _decode_scalar(hint, value, where=where)


def _decode_scalar(hint: object, value: object, *, where: str) -> object:
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise UsageError(f"{where} must be a finite number.")
        return float(value)
    if (
        isinstance(hint, type)
        and isinstance(value, hint)
        and (hint is bool or not isinstance(value, bool))
    ):
        return value
    name = hint.__name__ if isinstance(hint, type) else str(hint)
    raise UsageError(f"{where} must be {name}, not {type(value).__name__}.")
