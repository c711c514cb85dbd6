"""What a way of working tells Wellkept about itself.

Memory knows six phases and opaque units of work; everything else that a methodology calls by its
own name is translated here. Invariant: nothing below this package ever sees a methodology's own
phase names, and a unit of another methodology is kept and ranked like any other.
Knows nothing of plugins, storage or settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from wellkept.core.codec import Json
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.records import field, record
from wellkept.core.types import MemoryType, Phase

DEFAULT_PHASE = Phase.EXPLORE
"""The phase of work that a methodology has no name for."""


@record(kw_only=True)
class WorkContext:
    """What is known about the work at hand. `named` are ids that somebody gave, by level."""

    branch: str | None = None
    request: str | None = None
    named: Mapping[str, str] = field(default_factory=dict[str, str])


@record(kw_only=True)
class Relay:
    """What one stage hands on to the next; an empty field lets everything through."""

    source: str
    target: str
    types: tuple[MemoryType, ...] = ()
    tags: tuple[str, ...] = ()
    min_confidence: float = 0.0

    def lets_through(self, memory: Memory) -> bool:
        """Whether a memory is handed on."""
        return (
            memory.confidence >= self.min_confidence
            and (not self.types or memory.type in self.types)
            and set(self.tags) <= set(memory.tags)
        )


@record(kw_only=True)
class CustomType:
    """A methodology's own type: kept as a known one under a tag, so that it outlives a switch."""

    name: str
    kept_as: MemoryType
    doc: str

    def tag(self, methodology: str) -> str:
        """The tag that tells it from others of the type it is kept as."""
        return f"{methodology}:{self.name}"


class Methodology(Protocol):
    """One way of working. Every method is pure; none may reach for storage or a model."""

    @property
    def id(self) -> str:
        """A short name of small letters, digits, `-` and `_`; it is kept with units of work."""
        ...

    @property
    def title(self) -> str:
        """The name for people."""
        ...

    @property
    def phases(self) -> Mapping[str, Phase]:
        """Its own phase and stage names, each with the phase of work that it is."""
        ...

    @property
    def relays(self) -> Sequence[Relay]:
        """Which stage hands what on to which."""
        ...

    @property
    def custom_types(self) -> Sequence[CustomType]:
        """Types of memory that it adds."""
        ...

    def work_unit(self, at: WorkContext) -> WorkUnitRef | None:
        """The unit of work at hand; None when nothing tells."""
        ...

    def relay_text(self, memories: Sequence[Memory], *, to: str) -> str:
        """What came before, in words for the next stage."""
        ...

    def work_state(self, said: str) -> Mapping[str, Json]:
        """Where the work stands, read from what was said in a session; empty when nothing tells."""
        ...

    def state_text(self, state: Mapping[str, Json]) -> str:
        """A work state in words; one of another methodology is shown as it is."""
        ...
