"""The `Methodology` protocol: translates a way of working into phases and work units.

Memory knows six phases and opaque work units only. Invariant: no package below this one sees a
methodology's own phase names, and units of another methodology rank the same. Knows nothing about
plugins, storage or settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from wellkept.core.codec import Json
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.payloads import WorkUnitOutcome
from wellkept.core.records import field, record
from wellkept.core.types import MemoryType, Phase

DEFAULT_PHASE = Phase.EXPLORE
"""The phase of unnamed work."""


@record(kw_only=True)
class WorkContext:
    """What is known about the current work. `named` are explicit ids by level."""

    branch: str | None = None
    request: str | None = None
    named: Mapping[str, str] = field(default_factory=dict[str, str])


@record(kw_only=True)
class Relay:
    """Which memories one stage hands on to the next. An empty field matches everything."""

    source: str
    target: str
    types: tuple[MemoryType, ...] = ()
    tags: tuple[str, ...] = ()
    min_confidence: float = 0.0

    def matches(self, memory: Memory) -> bool:
        """Whether a memory is handed on."""
        return (
            memory.confidence >= self.min_confidence
            and (not self.types or memory.type in self.types)
            and set(self.tags) <= set(memory.tags)
        )


@record(kw_only=True)
class CustomType:
    """A type added by a methodology, stored as a built-in type with a tag."""

    name: str
    kept_as: MemoryType
    doc: str

    def tag(self, methodology: str) -> str:
        """The tag that marks memories of this type."""
        return f"{methodology}:{self.name}"


class Methodology(Protocol):
    """One way of working. Every method is pure: no storage, no model."""

    @property
    def id(self) -> str:
        """Lower-case letters, digits, `-` and `_`; stored with work units."""
        ...

    @property
    def title(self) -> str:
        """The display name."""
        ...

    @property
    def phases(self) -> Mapping[str, Phase]:
        """Its own phase and stage names, mapped to the six phases."""
        ...

    @property
    def relays(self) -> Sequence[Relay]:
        """What each stage hands on."""
        ...

    @property
    def custom_types(self) -> Sequence[CustomType]:
        """The memory types it adds."""
        ...

    def work_unit(self, at: WorkContext) -> WorkUnitRef | None:
        """The current work unit; None when unknown."""
        ...

    def relay_text(self, memories: Sequence[Memory], *, to: str) -> str:
        """The handed-on memories as text for the next stage."""
        ...

    def work_state(self, text: str) -> Mapping[str, Json]:
        """The work state read from a session's text; may be empty."""
        ...

    def state_text(self, state: Mapping[str, Json]) -> str:
        """A work state as text; unknown fields are shown by name."""
        ...


@runtime_checkable
class CompletesWorkUnits(Protocol):
    """A methodology that adds fields of its own to the outcome of a work unit."""

    def on_work_unit_complete(
        self, unit: WorkUnitRef | None, outcome: WorkUnitOutcome
    ) -> Mapping[str, Json]:
        """Fields to keep with the outcome; may be empty."""
        ...
