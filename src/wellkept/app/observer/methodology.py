"""`wk.methodology`: the way of working in use, and the others that are installed.

Switching changes how phases are named and units of work are recognised from then on, and nothing
that is kept: memories of another methodology stay, are found, and rank the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.app.observer.plugin_guard import forgiving
from wellkept.app.settings.sources import SettingSources, inspect_settings
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.query import Filter, Order
from wellkept.core.types import Phase
from wellkept.observe.methodology.protocol import DEFAULT_PHASE, Methodology, WorkContext

if TYPE_CHECKING:
    from wellkept.app.wiring.plugins import Plugins
    from wellkept.app.wiring.services import Services
    from wellkept.core.codec import Json
    from wellkept.core.memory import Memory, WorkUnitRef
    from wellkept.core.sessions import SessionRecord

DEFAULT = "native"
MAX_RELAYED = 20
_PAGES = 25


class Methodologies:
    """The ways of working that this project can choose from."""

    def __init__(self, services: Services, *, plugins: Plugins | None = None) -> None:
        self._services = services
        self._given = plugins

    @property
    def plugins(self) -> Plugins:
        """What is installed."""
        from wellkept.app.wiring.plugins import installed_plugins

        return self._given or installed_plugins()

    @property
    def active(self) -> Methodology:
        """The one that the settings name; NotFoundError when it is not installed."""
        return self.plugins.methodology(self._services.settings.methodology)

    @property
    def usable(self) -> Methodology:
        """The one in use, or the usual one where that is not installed: for what nobody asked."""
        try:
            return self.active
        except NotFoundError:
            return self.plugins.methodology(DEFAULT)

    def all(self) -> list[Methodology]:
        """Every one that is installed."""
        return list(self.plugins.methodologies.values())

    def phase(self, name: str) -> Phase:
        """The phase of work that a name stands for, one of the six or one of the methodology's."""
        wanted = name.strip().lower().replace("-", "_").replace(" ", "_")
        if wanted in set(Phase):
            return Phase(wanted)
        own = self.active.phases
        if wanted not in own:
            raise UsageError(
                f"Unknown phase {name!r}.",
                hint=f"Choose one of: {', '.join([*Phase, *own])}.",
            )
        return own[wanted]

    def phase_or_usual(self, name: str) -> Phase:
        """As `phase`, but a name that says nothing means open-ended work."""
        try:
            return self.phase(name)
        except (UsageError, NotFoundError):
            return DEFAULT_PHASE

    def work_unit(
        self,
        *,
        branch: str | None = None,
        request: str | None = None,
        named: Mapping[str, str] | None = None,
    ) -> WorkUnitRef | None:
        """The unit of work that ids, a branch or a request tell of; None when nothing tells."""
        return self.usable.work_unit(WorkContext(branch=branch, request=request, named=named or {}))

    def work_state(self, said: str) -> tuple[dict[str, Json], str]:
        """Where the work stands by what was said, as data and in words."""
        state = dict(self.usable.work_state(said))
        return state, self.usable.state_text(state) if state else ""

    def relay(
        self, stage: str, *, unit: WorkUnitRef | None = None, limit: int = MAX_RELAYED
    ) -> tuple[list[Memory], str]:
        """What the stages before hand on to a stage, as memories and in its words.

        With a unit, only what belongs to it or to the units below it.
        """
        relays = [relay for relay in self.active.relays if relay.target == stage]
        if not relays:
            stages = ", ".join(dict.fromkeys(relay.target for relay in self.active.relays))
            raise UsageError(
                f"Nothing is handed on to {stage!r} in {self.active.id}.",
                hint=f"Stages that are handed something: {stages or 'none'}.",
            )
        handed_on = (
            memory
            for memory in self._work(unit)
            if any(relay.lets_through(memory) for relay in relays)
        )
        passed = list(islice(handed_on, limit))
        return passed, self.active.relay_text(passed, to=stage)

    def _work(self, unit: WorkUnitRef | None) -> Iterator[Memory]:
        """Memories of units of work, the latest first."""
        where = Filter(project=self._services.project, include_user=False, stale=False)
        cursor: str | None = None
        for _ in range(_PAGES):
            page = self._services.store.list(where, order=Order.UPDATED, limit=200, cursor=cursor)
            yield from (m for m in page.items if m.work_unit and _within(m.work_unit, unit))
            cursor = page.next_cursor
            if cursor is None:
                return


def methodology_of(services: Services, session: SessionRecord) -> Methodology:
    """The way of working that a session followed; it may be of another project than this one."""
    from wellkept.app.wiring.plugins import installed_plugins

    settings = services.settings
    if session.project != services.project and session.cwd and "\0" not in session.cwd:
        settings, _ = inspect_settings(
            SettingSources.of(services.environment, cwd=Path(session.cwd))
        )
    plugins = installed_plugins()
    return forgiving(
        plugins.methodologies.get(settings.methodology) or plugins.methodology(DEFAULT)
    )


def _within(one: WorkUnitRef, unit: WorkUnitRef | None) -> bool:
    if unit is None:
        return True
    depth = len(unit.hierarchy)
    return one.methodology == unit.methodology and one.hierarchy[:depth] == unit.hierarchy
