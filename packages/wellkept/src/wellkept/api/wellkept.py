"""`Wellkept`, the class behind `wellkept.open()`: remember, find, and the parts beside memory.

Methods turn plain arguments into requests and hand them to `wellkept.memory`. The rest of the class
is in `context_methods`, `maintenance_methods`, `data_methods` and `view_methods`. Nothing below
this module imports it: helpers take `Services` or the parts they need.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack, cast

from wellkept.api.methods.agent import AgentMethods
from wellkept.api.methods.context import ContextMethods
from wellkept.api.methods.data import DataMethods
from wellkept.api.methods.maintenance import MaintenanceMethods
from wellkept.api.methods.views import ViewMethods
from wellkept.api.verbs.library import Verbs
from wellkept.api.wiring.services import Services, require_embedder, store_location, store_path
from wellkept.core.clock import Clock, system_clock
from wellkept.core.settings import paths
from wellkept.core.settings.sources import SettingSources, load_settings
from wellkept.memory.request_builder import FILTER_KEYS, require_known
from wellkept.store import is_address

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.api.plugins import TeamPlugin
    from wellkept.context.injection_log import InjectedLines
    from wellkept.core.memory import Memory, MemoryDraft
    from wellkept.core.ports.models import Embedder
    from wellkept.core.settings.model import Settings
    from wellkept.core.types import Progress
    from wellkept.graph.api import GraphApi
    from wellkept.graph.code_index import CodeSearch
    from wellkept.memory.arguments import FilterArgs
    from wellkept.memory.remember import RememberResult
    from wellkept.memory.request_builder import RequestBuilder
    from wellkept.memory.state import State
    from wellkept.observe.observer.api import Observer
    from wellkept.observe.observer.methodology import Methodologies
    from wellkept.skills.commands.table import Command
    from wellkept.skills.library.api import Skills


def open(  # noqa: A001 - the package reads `wellkept.open()`
    path: str | Path | None = None,
    *,
    project: str | None = None,
    cwd: str | Path | None = None,
    embedder: Embedder | str | None = None,
    settings: Settings | None = None,
    clock: Clock = system_clock,
    environment: Mapping[str, str] | None = None,
    read_only: bool = False,
) -> Wellkept:
    """Open a memory. No file is touched before the first operation.

    `path` is the database file, or the address of a PostgreSQL database (`postgresql://…`); the
    default comes from the settings. `project` is a name, or an
    identity of `wellkept admin projects`; the default comes from the folder `cwd`. `embedder` is
    a provider's name, "none", or an object with the methods of `wellkept.Embedder`. With
    `read_only` nothing is created, migrated or written; a database that is missing or has an older
    schema raises StoreError.
    """
    require_embedder(embedder)
    env = os.environ if environment is None else environment
    folder = paths.current_folder() if cwd is None else Path(cwd)
    loaded = settings or load_settings(SettingSources.of(env, cwd=folder))
    location = store_location(loaded, env) if path is None else path
    url = location if isinstance(location, str) and is_address(location) else None
    return Wellkept(
        Services(
            loaded,
            path=store_path(loaded, env) if url else Path(location),
            url=url,
            project=project or loaded.project,
            folder=folder,
            embedder=embedder,
            clock=clock,
            environment=env,
            read_only=read_only,
        )
    )


class Wellkept(Verbs, ContextMethods, MaintenanceMethods, DataMethods, AgentMethods, ViewMethods):
    """The memory of one project, and what the user has said about themselves."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def __enter__(self) -> Wellkept:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise TypeError("A memory holds open files; open it again in the other process.")

    def close(self) -> None:
        """Flush buffers and close the files."""
        for name in ("code_graph", "code"):
            opened: GraphApi | CodeSearch | None = self.__dict__.get(name)
            if opened is not None:
                opened.close()
        self._services.close()

    @property
    def project_name(self) -> str:
        """The project's display name."""
        return self._services.identity.name

    @property
    def project_note(self) -> str | None:
        """Why this folder is kept apart from the project it names, if it is."""
        return self._services.identity.note

    @property
    def path(self) -> Path:
        """The database file; with a server, where it would be: what stays on this machine is kept
        beside it."""
        return self._services.path

    @property
    def requests(self) -> RequestBuilder:
        """Parses the arguments of a caller, as of now."""
        return self._services.requests

    @property
    def has_own_folder(self) -> bool:
        """Whether the project was derived from its folder, so that its files are here."""
        return self._services.project_from_folder

    @property
    def services(self) -> Services:
        """Store, models and settings, for helpers of `wellkept.api`."""
        return self._services

    # -- Write ------------------------------------------------------------------------------------

    def remember_many(
        self,
        statements: Iterable[MemoryDraft | str],
        *,
        merge_similar: bool = True,
        progress: Progress | None = None,
    ) -> list[RememberResult]:
        """Store several statements: plain strings or drafts. All are validated before the first
        is written."""
        from wellkept.core.team.people import asking
        from wellkept.memory.remember import remember_many

        drafts = self._services.requests.drafts(statements)
        if asking().is_agent:
            from wellkept.api.views.agent_notes import as_agent_notes

            drafts = as_agent_notes(self.engine, drafts, project=self.project)
        return remember_many(
            self.engine,
            drafts,
            project=self.project,
            merge_similar=merge_similar,
            progress=progress,
        )

    # -- Read -------------------------------------------------------------------------------------

    @property
    def embedding_problem(self) -> str | None:
        """Why vectors could not be made since this was opened; None when all went well."""
        return self._services.embedding_problem

    def embedding_note(self) -> str | None:
        """A warning about the vectors in use, or None."""
        return self._services.embedding_note()

    def get(self, name: str) -> Memory:
        """One memory by id, short id, unique prefix of an id, or key."""
        from wellkept.memory.edit import find_memory

        return find_memory(self.engine, name, project=self.project)

    def iterate(self, **filters: Unpack[FilterArgs]) -> Iterable[Memory]:
        """Every memory that matches, oldest first."""
        require_known(self.iterate, filters, FILTER_KEYS)
        return self.engine.store.iterate(self._services.requests.filter(filters))

    def state(self, *, session: str | None = None) -> State:
        """Small named values with a lifetime: `temp:`, `session:` and `project:`."""
        from wellkept.memory.state import State

        return State(self.engine, project=self.project, session_id=session)

    def moment(self, when: str | None) -> datetime | None:
        """Parse a date, a time, or an age such as 7d."""
        return self._services.requests.moment(when)

    # -- Parts beside memory, each loaded on first use --------------------------------------------

    @cached_property
    def skills(self) -> Skills:
        """The skills of this project and this user."""
        from wellkept.skills.library.api import Skills

        services = self._services
        return Skills(
            services,
            embedder=lambda: services.skill_embedder,
            own_commands=self._slash_commands,
        )

    def _slash_commands(self, skills: Skills) -> tuple[Command, ...]:
        from wellkept.context.slash_commands import MemoryAccess, SlashCommands

        return SlashCommands(cast(MemoryAccess, self), skills).all()

    @cached_property
    def code_graph(self) -> GraphApi:
        """The code graph of the project's folder."""
        from wellkept.graph.api import GraphApi

        return GraphApi(self._services)

    @cached_property
    def code(self) -> CodeSearch:
        """Search in the code of the project's folder."""
        from wellkept.graph.code_index import CodeSearch

        services = self._services
        return CodeSearch(
            services,
            self.code_graph,
            embedder=services.code_embedder,
            know_secrets=services.know_secrets,
        )

    @cached_property
    def methodology(self) -> Methodologies:
        """The methodology in use: its phases, work units and relay texts."""
        from wellkept.observe.observer.methodology import Methodologies

        return Methodologies(self._services)

    @cached_property
    def observer(self) -> Observer:
        """What is learned from sessions: verdicts, promotion, explanations."""
        from wellkept.observe.observer.api import Observer

        return Observer(self._services)

    @cached_property
    def sharing(self) -> Any:
        """The team's memories as files in the project's repository."""
        return _team().sharing(self._services)

    @cached_property
    def team_memory(self) -> Any:
        """What a team shares, on its server."""
        return _team().team_memory(self._services)

    @cached_property
    def remote(self) -> Any:
        """The team's server that this project is shared through."""
        return _team().remote(self._services)

    @cached_property
    def injected(self) -> InjectedLines:
        """What agents were given unasked, and what came of it."""
        from wellkept.context.injection_log import InjectedLines

        return InjectedLines(self)


def _team() -> TeamPlugin:
    from wellkept.core.doors import require_plugin

    return require_plugin("team")
