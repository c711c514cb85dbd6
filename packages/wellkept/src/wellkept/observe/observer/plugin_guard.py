"""Guards Wellkept against faulty methodology plugins.

A failure or an invalid result raises PluginError when a person asked. While learning from sessions
the native methodology answers instead. Invariant: results have the declared type and a limited
size.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from wellkept.core.codec import Json
from wellkept.core.errors import PluginError
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.payloads import WorkUnitOutcome
from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept.core.types import Phase
from wellkept.observe.methodology.builtin import NATIVE
from wellkept.observe.methodology.protocol import (
    CompletesWorkUnits,
    CustomType,
    Methodology,
    Relay,
    WorkContext,
)

MAX_TEXT_CHARS = 4_000
MAX_STATE_CHARS = 20_000
_Result = TypeVar("_Result")


@record
class GuardedMethodology:
    """Wraps a `Methodology`. With `forgiving`, the native one answers when it fails."""

    inner: Methodology
    forgiving: bool = False

    @property
    def id(self) -> str:
        """The id of the wrapped methodology."""
        return self.inner.id

    @property
    def title(self) -> str:
        """The name for people."""
        return self.inner.title

    @property
    def phases(self) -> Mapping[str, Phase]:
        """Its phases."""
        return self.inner.phases

    @property
    def relays(self) -> Sequence[Relay]:
        """Its relays."""
        return self.inner.relays

    @property
    def custom_types(self) -> Sequence[CustomType]:
        """Its own types."""
        return self.inner.custom_types

    def work_unit(self, at: WorkContext) -> WorkUnitRef | None:
        """The current work unit."""
        return self._call("work_unit", lambda: _unit(self.inner.work_unit(at)), lambda: None)

    def relay_text(self, memories: Sequence[Memory], *, to: str) -> str:
        """The handed-on memories as text."""
        return self._call(
            "relay_text",
            lambda: _text(self.inner.relay_text(memories, to=to)),
            lambda: NATIVE.relay_text(memories, to=to),
        )

    def work_state(self, text: str) -> Mapping[str, Json]:
        """The work state."""
        return self._call("work_state", lambda: _state(self.inner.work_state(text)), dict)

    def state_text(self, state: Mapping[str, Json]) -> str:
        """A work state as text."""
        return self._call(
            "state_text",
            lambda: _text(self.inner.state_text(state)),
            lambda: NATIVE.state_text(state),
        )

    def on_work_unit_complete(
        self, unit: WorkUnitRef | None, outcome: WorkUnitOutcome
    ) -> Mapping[str, Json]:
        """Fields that the methodology adds to an outcome."""
        inner = self.inner
        if not isinstance(inner, CompletesWorkUnits):
            return {}
        return self._call(
            "on_work_unit_complete",
            lambda: _state(inner.on_work_unit_complete(unit, outcome)),
            dict,
        )

    def _call(
        self, what: str, call: Callable[[], _Result], fallback: Callable[[], _Result]
    ) -> _Result:
        try:
            return call()
        except Exception as error:
            if self.forgiving:
                return fallback()
            raise PluginError(
                f"The methodology {self.id!r} failed at {what}: {type(error).__name__}: {error}",
                hint="Update its package, or choose another: `wellkept methodology`.",
            ) from error


def forgiving(methodology: Methodology) -> Methodology:
    """The methodology with failures replaced by the native one."""
    if isinstance(methodology, GuardedMethodology):
        return GuardedMethodology(methodology.inner, forgiving=True)
    return methodology


def _unit(answer: object) -> WorkUnitRef | None:
    if answer is None or (isinstance(answer, WorkUnitRef) and answer.hierarchy):
        return answer
    raise TypeError(f"it returned {type(answer).__name__} instead of a work unit")


def _text(answer: object) -> str:
    if not isinstance(answer, str):
        raise TypeError(f"it returned {type(answer).__name__} instead of text")
    return shorten(answer, limit=MAX_TEXT_CHARS)


def _state(answer: Mapping[str, Json]) -> Mapping[str, Json]:
    written = json.dumps(dict(answer), allow_nan=False)
    if len(written) > MAX_STATE_CHARS:
        raise ValueError(f"its state takes {len(written)} characters, at most {MAX_STATE_CHARS}")
    return json.loads(written)
