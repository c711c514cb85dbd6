"""A methodology of a stranger's package, held to its word while it is used.

It may fail in any way, or give back what nobody can keep. Asked by a person, the failure is told as
one of the plugin; while sessions are learned from, the usual way stands in, so that a bad plugin
costs its own words and nothing else. Invariant: what comes out has the promised type and size.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from wellkept.core.codec import Json
from wellkept.core.errors import PluginError
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept.core.types import Phase
from wellkept.observe.methodology.builtin import NATIVE
from wellkept.observe.methodology.protocol import CustomType, Methodology, Relay, WorkContext

MAX_TEXT_CHARS = 4_000
MAX_STATE_CHARS = 20_000
_Answer = TypeVar("_Answer")


@record
class GuardedMethodology:
    """A `Methodology` around another; a `forgiving` one answers in place of what fails."""

    inner: Methodology
    forgiving: bool = False

    @property
    def id(self) -> str:
        """Its name."""
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
        """What its stages hand on."""
        return self.inner.relays

    @property
    def custom_types(self) -> Sequence[CustomType]:
        """Its own types."""
        return self.inner.custom_types

    def work_unit(self, at: WorkContext) -> WorkUnitRef | None:
        """The unit of work at hand."""
        return self._asked("work_unit", lambda: _unit(self.inner.work_unit(at)), lambda: None)

    def relay_text(self, memories: Sequence[Memory], *, to: str) -> str:
        """What came before, in words."""
        return self._asked(
            "relay_text",
            lambda: _text(self.inner.relay_text(memories, to=to)),
            lambda: NATIVE.relay_text(memories, to=to),
        )

    def work_state(self, said: str) -> Mapping[str, Json]:
        """Where the work stands."""
        return self._asked("work_state", lambda: _state(self.inner.work_state(said)), dict)

    def state_text(self, state: Mapping[str, Json]) -> str:
        """A work state in words."""
        return self._asked(
            "state_text",
            lambda: _text(self.inner.state_text(state)),
            lambda: NATIVE.state_text(state),
        )

    def _asked(
        self, what: str, ask: Callable[[], _Answer], instead: Callable[[], _Answer]
    ) -> _Answer:
        try:
            return ask()
        except Exception as error:
            if self.forgiving:
                return instead()
            raise PluginError(
                f"The methodology {self.id!r} failed at {what}: {type(error).__name__}: {error}",
                hint="Mend or update its package, or choose another: `wellkept methodology`.",
            ) from error


def forgiving(methodology: Methodology) -> Methodology:
    """The methodology as it is used where nobody asked."""
    if isinstance(methodology, GuardedMethodology):
        return GuardedMethodology(methodology.inner, forgiving=True)
    return methodology


def _unit(answer: object) -> WorkUnitRef | None:
    if answer is None or (isinstance(answer, WorkUnitRef) and answer.hierarchy):
        return answer
    raise TypeError(f"it gave {type(answer).__name__} in place of a unit of work")


def _text(answer: object) -> str:
    if not isinstance(answer, str):
        raise TypeError(f"it gave {type(answer).__name__} in place of a text")
    return shorten(answer, limit=MAX_TEXT_CHARS)


def _state(answer: Mapping[str, Json]) -> Mapping[str, Json]:
    written = json.dumps(dict(answer), allow_nan=False)
    if len(written) > MAX_STATE_CHARS:
        raise ValueError(f"its state takes {len(written)} characters, at most {MAX_STATE_CHARS}")
    return json.loads(written)
