"""The hooks that a plugin can implement, and the `hookimpl` marker to do so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pluggy

from wellkept.observe.methodology.protocol import Methodology

if TYPE_CHECKING:
    from wellkept.core.changes import Change
    from wellkept.core.ports.store import Store
    from wellkept.core.session.events import Event
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.memory.engine import Engine

GROUP = "wellkept"
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


class Hooks:
    """All plugin hooks."""

    @hookspec
    def wellkept_methodologies(self) -> Iterable[Methodology]:  # type: ignore[empty-body]
        """The methodologies that this plugin adds."""

    @hookspec
    def wellkept_session_events(
        self, store: Store, session: SessionRecord, events: Sequence[Event]
    ) -> list[Change]:  # type: ignore[empty-body]
        """Changes to store together with new events of a session."""

    @hookspec
    def wellkept_session_learned(self, engine: Engine, session: SessionRecord) -> None:
        """A session is over: learn from it."""
