"""Enums and aliases shared by everything: memory types, scopes, sources, phases, severities.

`TYPE_RULES` is the only place that defines how a memory type behaves: badge, half-life, embedded or
not, warning or not, payload class. Nothing else switches on type names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from wellkept.core.errors import UsageError
from wellkept.core.records import record

if TYPE_CHECKING:
    from wellkept.core.codec import Payload

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) during long work."""


class MemoryType(StrEnum):
    """Every kind of memory."""

    PREFERENCE = "preference"
    CONVENTION = "convention"
    PATTERN = "pattern"
    CORRECTION = "correction"
    FACT = "fact"
    GOTCHA = "gotcha"
    DECISION = "decision"
    REQUIREMENT = "requirement"
    ERROR_PATTERN = "error_pattern"
    MODULE_INSIGHT = "module_insight"
    WORKFLOW = "workflow"
    PREFETCH_PATTERN = "prefetch_pattern"
    WORK_STATE = "work_state"
    CAUSAL_DEPENDENCY = "causal_dependency"
    TASK_CALIBRATION = "task_calibration"
    E2E_OBSERVATION = "e2e_observation"
    DEAD_END = "dead_end"
    WORK_UNIT_OUTCOME = "work_unit_outcome"
    WORKFLOW_RECIPE = "workflow_recipe"
    CONTEXT_COST = "context_cost"
    TIMELINE = "timeline"
    EPISODE = "episode"
    OBSERVATION = "observation"
    PROMPT = "prompt"


class Scope(StrEnum):
    """How far a memory reaches. Only `user` crosses projects: it is about the person."""

    USER = "user"
    GLOBAL = "global"
    MODULE = "module"
    WORK_UNIT = "work_unit"
    SESSION = "session"


class Source(StrEnum):
    """Where a memory came from."""

    USER_TAUGHT = "user_taught"
    AGENT_EXPLICIT = "agent_explicit"
    OBSERVER_INFERRED = "observer_inferred"
    QA_AUTO = "qa_auto"
    MCP_AUTO = "mcp_auto"
    COMMIT_AUTO = "commit_auto"
    IMPORTED = "imported"


class Provenance(StrEnum):
    """Whose words a memory holds."""

    PERSON = "person"
    AGENT = "agent"
    DOCUMENT = "document"
    TOOL = "tool"


PROVENANCE: Mapping[Source, Provenance] = MappingProxyType(
    {
        Source.USER_TAUGHT: Provenance.PERSON,
        Source.AGENT_EXPLICIT: Provenance.AGENT,
        Source.OBSERVER_INFERRED: Provenance.TOOL,
        Source.QA_AUTO: Provenance.TOOL,
        Source.MCP_AUTO: Provenance.TOOL,
        Source.COMMIT_AUTO: Provenance.DOCUMENT,
        Source.IMPORTED: Provenance.DOCUMENT,
    }
)
"""The words that a source brings. What Wellkept's own rules conclude counts as a tool's."""


class RelationType(StrEnum):
    """How one memory stands to another memory or to a file."""

    REQUIRED_WITH = "required_with"
    CONFLICTS_WITH = "conflicts_with"
    VALIDATES = "validates"
    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"


class EvidenceKind(StrEnum):
    """What a memory can cite in its support."""

    OBSERVATION = "observation"
    SESSION = "session"
    COMMIT = "commit"
    PERSON = "person"
    DOCUMENT = "document"
    MERGED = "merged"


class Phase(StrEnum):
    """The six phases of work that every methodology maps onto."""

    DEFINE = "define"
    IMPLEMENT = "implement"
    VALIDATE = "validate"
    REFINE = "refine"
    EXPLORE = "explore"
    REFLECT = "reflect"


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"


@record
class TypeRule:
    """How memories of one type behave.

    The payload class is named, not held: most commands never meet one and need not load them.
    """

    badge: str
    half_life_days: float | None = None
    embedded: bool = True
    warns: bool = False
    payload_name: str | None = None
    payload_required: bool = False

    @property
    def payload(self) -> type[Payload] | None:
        """The class of the payload that this type carries."""
        if self.payload_name is None:
            return None
        from wellkept.core import payloads

        return getattr(payloads, self.payload_name)


_PREF, _CONV, _PATN, _WARN, _FACT = "PREF", "CONV", "PATN", "WARN", "FACT"

TYPE_RULES: Mapping[MemoryType, TypeRule] = MappingProxyType(
    {
        MemoryType.PREFERENCE: TypeRule(_PREF),
        MemoryType.CONVENTION: TypeRule(_CONV),
        MemoryType.PATTERN: TypeRule(_PATN),
        MemoryType.CORRECTION: TypeRule(_WARN),
        MemoryType.FACT: TypeRule(_FACT, payload_name="KeptItem"),
        MemoryType.GOTCHA: TypeRule(_WARN, warns=True),
        MemoryType.DECISION: TypeRule(_FACT, payload_name="Decision"),
        MemoryType.REQUIREMENT: TypeRule(_CONV),
        MemoryType.ERROR_PATTERN: TypeRule(_WARN, warns=True, payload_name="ErrorPattern"),
        MemoryType.MODULE_INSIGHT: TypeRule(_FACT),
        MemoryType.WORKFLOW: TypeRule(_PATN),
        MemoryType.PREFETCH_PATTERN: TypeRule(
            _PATN, payload_name="PrefetchPattern", payload_required=True
        ),
        MemoryType.WORK_STATE: TypeRule(_FACT, half_life_days=7, payload_name="WorkState"),
        MemoryType.CAUSAL_DEPENDENCY: TypeRule(_PATN, payload_name="CausalDependency"),
        MemoryType.TASK_CALIBRATION: TypeRule(
            _FACT, payload_name="TaskCalibration", payload_required=True
        ),
        MemoryType.E2E_OBSERVATION: TypeRule(_WARN, warns=True, payload_name="E2EObservation"),
        MemoryType.DEAD_END: TypeRule(_WARN, half_life_days=90, warns=True, payload_name="DeadEnd"),
        MemoryType.WORK_UNIT_OUTCOME: TypeRule(
            _FACT, embedded=False, payload_name="WorkUnitOutcome", payload_required=True
        ),
        MemoryType.WORKFLOW_RECIPE: TypeRule(
            _PATN, payload_name="WorkflowRecipe", payload_required=True
        ),
        MemoryType.CONTEXT_COST: TypeRule(
            _FACT, embedded=False, payload_name="ContextCost", payload_required=True
        ),
        MemoryType.TIMELINE: TypeRule(_FACT, payload_name="SessionSummary"),
        MemoryType.EPISODE: TypeRule(_FACT, payload_name="Episode"),
        MemoryType.OBSERVATION: TypeRule(_FACT, payload_name="Observation", payload_required=True),
        MemoryType.PROMPT: TypeRule(_FACT, payload_name="Prompt"),
    }
)


SHOWN_TYPES: Mapping[str, tuple[MemoryType, ...]] = MappingProxyType(
    {
        "rule": (
            MemoryType.CONVENTION,
            MemoryType.PREFERENCE,
            MemoryType.REQUIREMENT,
            MemoryType.CORRECTION,
            MemoryType.PATTERN,
        ),
        "fact": (MemoryType.FACT,),
        "decision": (MemoryType.DECISION,),
        "trap": (
            MemoryType.GOTCHA,
            MemoryType.ERROR_PATTERN,
            MemoryType.DEAD_END,
            MemoryType.E2E_OBSERVATION,
        ),
        "recipe": (MemoryType.WORKFLOW, MemoryType.WORKFLOW_RECIPE),
        "event": (
            MemoryType.TIMELINE,
            MemoryType.EPISODE,
            MemoryType.OBSERVATION,
            MemoryType.PROMPT,
            MemoryType.WORK_STATE,
            MemoryType.WORK_UNIT_OUTCOME,
        ),
    }
)
"""The six types that people see, each with the stored types that it stands for: the first is what
is stored under its name. The exact names are taken too."""


def parse_types(name: str) -> tuple[MemoryType, ...]:
    """The memory types that a name stands for; `knowledge` is kept as an alias of `fact`."""
    wanted = str(name).strip().lower().replace("-", "_")
    if wanted in SHOWN_TYPES:
        return SHOWN_TYPES[wanted]
    try:
        return (MemoryType("fact" if wanted == "knowledge" else wanted),)
    except ValueError:
        raise UsageError(
            f"Unknown memory type {name!r}.", hint=f"Choose one of: {', '.join(SHOWN_TYPES)}."
        ) from None


def parse_type(name: str) -> MemoryType:
    """The memory type that is stored under a name."""
    return parse_types(name)[0]


_Choice = TypeVar("_Choice", bound=StrEnum)


def parse_choice(kind: type[_Choice], name: str, *, what: str) -> _Choice:
    """A member of a closed vocabulary by name, or an error that lists the choices."""
    try:
        return kind(str(name).strip().lower())
    except ValueError:
        raise UsageError(
            f"Unknown {what} {name!r}.", hint=f"Choose one of: {', '.join(kind)}."
        ) from None
