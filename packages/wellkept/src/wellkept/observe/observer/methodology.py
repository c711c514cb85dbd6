"""`wk.methodology`: the methodology in use, and the others that are installed.

Switching changes phase names and work unit detection from then on. Stored memories do not change,
and those of another methodology rank the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.query import Filter, Order
from wellkept.core.settings.sources import SettingSources, inspect_settings, parse_value
from wellkept.core.types import Phase
from wellkept.observe.methodology.protocol import Methodology, WorkContext

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.core.memory import Memory, WorkUnitRef
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.core.settings.model import Scalar, SettingRule
    from wellkept.memory.workspace import Workspace
    from wellkept.observe.methodology.plugins import Plugins

DEFAULT = "native"
MAX_RELAYED = 20
_PAGES = 25


class Methodologies:
    """The methodologies available to this project."""

    def __init__(self, services: Workspace, *, plugins: Plugins | None = None) -> None:
        self._services = services
        self._plugins = plugins

    @property
    def plugins(self) -> Plugins:
        """The installed plugins."""
        from wellkept.observe.methodology.plugins import installed_plugins

        return self._plugins or installed_plugins()

    @property
    def active(self) -> Methodology:
        """The methodology in the settings; NotFoundError when it is not installed."""
        return self.plugins.methodology(self._services.settings.methodology)

    @property
    def usable(self) -> Methodology:
        """The active methodology, or the default one when it is not installed."""
        try:
            return self.active
        except NotFoundError:
            return self.plugins.methodology(DEFAULT)

    def all(self) -> list[Methodology]:
        """All installed methodologies."""
        return list(self.plugins.methodologies.values())

    def phase(self, name: str) -> Phase:
        """The phase of a name: one of the six, or one of the methodology's own."""
        normalised = name.strip().lower().replace("-", "_").replace(" ", "_")
        if normalised in set(Phase):
            return Phase(normalised)
        own = self.active.phases
        if normalised not in own:
            raise UsageError(
                f"Unknown phase {name!r}.",
                hint=f"Choose one of: {', '.join([*Phase, *own])}.",
            )
        return own[normalised]

    def work_unit(
        self,
        *,
        branch: str | None = None,
        request: str | None = None,
        named: Mapping[str, str] | None = None,
    ) -> WorkUnitRef | None:
        """The work unit found in ids, a branch or a request; None when there is none."""
        return self.usable.work_unit(WorkContext(branch=branch, request=request, named=named or {}))

    def work_state(self, text: str) -> tuple[dict[str, Json], str]:
        """The work state read from a text, as data and as text."""
        state = dict(self.usable.work_state(text))
        return state, self.usable.state_text(state) if state else ""

    def relay(
        self, stage: str, *, unit: WorkUnitRef | None = None, limit: int = MAX_RELAYED
    ) -> tuple[list[Memory], str]:
        """What earlier stages hand on to a stage, as memories and as text.

        With a unit, only memories of it or of units below it.
        """
        relays = [relay for relay in self.active.relays if relay.target == stage]
        if not relays:
            stages = ", ".join(dict.fromkeys(relay.target for relay in self.active.relays))
            raise UsageError(
                f"Stage {stage!r} of {self.active.id} receives nothing.",
                hint=f"Stages that receive memories: {stages or 'none'}.",
            )
        matching = (
            memory for memory in self._work(unit) if any(relay.matches(memory) for relay in relays)
        )
        passed = list(islice(matching, limit))
        return passed, self.active.relay_text(passed, to=stage)

    def _work(self, unit: WorkUnitRef | None) -> Iterator[Memory]:
        """Memories of work units, latest first."""
        where = Filter(project=self._services.project, include_user=False, stale=False)
        cursor: str | None = None
        for _ in range(_PAGES):
            page = self._services.store.list(where, order=Order.UPDATED, limit=200, cursor=cursor)
            yield from (m for m in page.items if m.work_unit and _within(m.work_unit, unit))
            cursor = page.next_cursor
            if cursor is None:
                return


def parse_setting(rule: SettingRule, text: str) -> Scalar | Path:
    """Parse a new value of a setting; a methodology must be installed. One that is in a file
    already is not checked: its package may be installed again."""
    from wellkept.observe.methodology.plugins import installed_plugins

    value = parse_value(rule, text)
    if rule.key == "methodology" and value not in (known := installed_plugins().methodologies):
        raise UsageError(
            f"methodology must be one of {', '.join(known)}, not {value!r}.",
            hint="Others come with the packages that bring them.",
        )
    return value


def methodology_of(services: Workspace, session: SessionRecord) -> Methodology:
    """The methodology of a session, which may belong to another project."""
    from wellkept.observe.methodology.plugins import forgiving, installed_plugins

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
