"""Plugins that do not keep to what they promise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from wellkept import hookimpl
from wellkept.core.codec import Json
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.types import Phase
from wellkept.observe.methodology.builtin import NATIVE
from wellkept.observe.methodology.protocol import CustomType, Relay, WorkContext


class Twice:
    """Brings a methodology that is there already."""

    @hookimpl
    def wellkept_methodologies(self) -> Iterable[object]:
        return [NATIVE]


class Odd:
    """Brings something else."""

    @hookimpl
    def wellkept_methodologies(self) -> Iterable[object]:
        return ["waterfall"]


class Failing:
    """Fails when it is asked."""

    @hookimpl
    def wellkept_methodologies(self) -> Iterable[object]:
        return [1 / 0]


class Deaf:
    """Fails when it is told of events."""

    @hookimpl
    def wellkept_session_events(self) -> list[object]:
        raise RuntimeError("too late")


class Moody:
    """A methodology that looks fine and fails whenever it is asked something."""

    id = "moody"
    title = "Moody"
    phases: Mapping[str, Phase] = {"mood": Phase.IMPLEMENT}
    relays: Sequence[Relay] = ()
    custom_types: Sequence[CustomType] = ()

    def work_unit(self, at: WorkContext) -> WorkUnitRef | None:
        raise RuntimeError("not today")

    def relay_text(self, memories: Sequence[Memory], *, to: str) -> Any:
        return None

    def work_state(self, text: str) -> Any:
        return {"when": datetime.now(tz=UTC)}

    def state_text(self, state: Mapping[str, Json]) -> str:
        raise KeyError("mood")

    def on_work_unit_complete(self, unit: WorkUnitRef | None, outcome: object) -> Any:
        return {"when": datetime.now(tz=UTC)}

    @hookimpl
    def wellkept_methodologies(self) -> Iterable[object]:
        return [self]


twice, odd, failing, moody = Twice(), Odd(), Failing(), Moody()
deaf = Deaf()
