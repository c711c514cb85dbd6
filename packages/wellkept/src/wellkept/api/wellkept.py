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
from typing import TYPE_CHECKING, Any, Unpack

from wellkept.api.methods.agent import AgentMethods
from wellkept.api.methods.context import ContextMethods
from wellkept.api.methods.data import DataMethods
from wellkept.api.methods.maintenance import MaintenanceMethods
from wellkept.api.methods.views import ViewMethods
from wellkept.api.wiring.services import Services, require_embedder, store_location, store_path
from wellkept.core.clock import Clock, system_clock
from wellkept.core.query import Order, Validity
from wellkept.core.records import replace
from wellkept.core.settings import paths
from wellkept.core.settings.sources import SettingSources, load_settings
from wellkept.core.types import RelationType, parse_choice
from wellkept.memory.request_builder import (
    EDIT_KEYS,
    FILTER_KEYS,
    MEMORY_KEYS,
    require_known,
    require_text,
)
from wellkept.store import is_address

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.api.plugins import TeamPlugin
    from wellkept.context.injection_log import InjectedLines
    from wellkept.core.memory import Memory, MemoryDraft
    from wellkept.core.ports.models import Embedder
    from wellkept.core.query import Page, Stats
    from wellkept.core.settings.model import Settings
    from wellkept.core.types import Progress
    from wellkept.graph.api import GraphApi
    from wellkept.graph.code_index import CodeSearch
    from wellkept.memory.arguments import EditArgs, FilterArgs, MemoryArgs, Names
    from wellkept.memory.commands.execute import CommandResult
    from wellkept.memory.recall.progressive import IndexRow, Timeline
    from wellkept.memory.recall.requests import RecallRequest, RecallResult
    from wellkept.memory.remember import RememberResult
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
    identity as `wellkept projects` lists it; the default comes from the folder `cwd`. `embedder` is
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


class Wellkept(ContextMethods, MaintenanceMethods, DataMethods, AgentMethods, ViewMethods):
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
        for name in ("graph", "code"):
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
    def services(self) -> Services:
        """Store, models and settings, for helpers of `wellkept.api`."""
        return self._services

    # -- Write ------------------------------------------------------------------------------------

    def remember(
        self, content: str, *, merge_similar: bool = True, **fields: Unpack[MemoryArgs]
    ) -> RememberResult:
        """Store one statement. The result says whether it was inserted, merged with a duplicate,
        or replaced a memory that it contradicts."""
        require_known(self.remember, fields, MEMORY_KEYS)
        draft = self._services.requests.draft(content, fields)
        return self.remember_many([draft], merge_similar=merge_similar)[0]

    def remember_many(
        self,
        statements: Iterable[MemoryDraft | str],
        *,
        merge_similar: bool = True,
        progress: Progress | None = None,
    ) -> list[RememberResult]:
        """Store several statements: plain strings or drafts. All are validated before the first
        is written."""
        from wellkept.api.server.caller import asking
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

    def edit(
        self, name: str, *, if_updated_at: datetime | None = None, **changes: Unpack[EditArgs]
    ) -> Memory:
        """Change a memory. `if_updated_at` refuses the edit when it changed since then.

        New content or a new type closes the memory and opens its successor. A new confidence also
        changes the confidence of related memories.
        """
        from wellkept.api.server.caller import asking
        from wellkept.memory.edit import revise

        require_known(self.edit, changes, EDIT_KEYS)
        old = self.get(name)
        patch = self._services.requests.patch(changes, of=old.type)
        if asking().is_agent:
            from wellkept.memory.agent_notes import require_agents_own

            require_agents_own(old, patch)
        if patch.confidence is not None:
            # Validate before anything is written.
            self.set_confidence(old.id, patch.confidence, dry_run=True)
        rest = replace(patch, confidence=None)
        new = revise(self.engine, old.id, rest, if_updated_at=if_updated_at)
        if patch.confidence is None:
            return new
        self.set_confidence(new.id, patch.confidence)
        return self.get(new.id)

    def relate(
        self,
        name: str,
        type: str,
        *,
        memory: str | None = None,
        file: str | None = None,
        confidence: float = 1.0,
    ) -> Memory:
        """Add a relation from a memory to another memory or to a file, once per target."""
        from wellkept.core.memory import Relation
        from wellkept.memory.edit import relate

        relation = Relation(
            parse_choice(RelationType, type, what="relation"),
            target_id=None if memory is None else self.get(memory).id,
            target_file=None if file is None else self._services.requests.files(file)[0],
            confidence=confidence,
        )
        return relate(self.engine, self.get(name).id, relation)

    def forget(
        self, *names: str, keep_history: bool = False, dry_run: bool = False
    ) -> list[Memory]:
        """Delete memories for good, or with `keep_history` only close them."""
        from wellkept.memory.edit import forget

        ids = [self.get(name).id for name in names]
        return forget(self.engine, ids, keep_history=keep_history, dry_run=dry_run)

    def apply_commands(
        self, message: str, *, author: str | None = None, session: str | None = None
    ) -> list[CommandResult]:
        """Carry out what a user's message tells the memory: commands, and rules in plain speech."""
        from functools import partial

        self._services.require_person("Acting on a person's message")
        from wellkept.memory.commands.execute import Speaker, apply_commands
        from wellkept.project.rule_targets import named_things

        find_named = partial(named_things, self._services.identity.root)
        speaker = Speaker(author=author, session_id=session, find_named=find_named)
        return apply_commands(self.engine, message, project=self.project, speaker=speaker)

    # -- Read -------------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        offset: int = 0,
        mode: str | None = None,
        profile: str | None = None,
        phase: str | None = None,
        near_files: Names = (),
        read_dates: bool = True,
        recent_sessions: int | None = None,
        around: str | None = None,
        neighbours: int | None = None,
        count_access: bool = True,
        min_score: float | None = None,
        **filters: Unpack[FilterArgs],
    ) -> RecallResult:
        """Find the memories that answer a question, best first.

        A score is the probability of an answer; what scores below `min_score` is left out. Scores
        of the profiles other than the default are none, so there the usual least is 0.
        """
        from wellkept.memory.recall.requests import DEFAULT_PROFILE, RecallRequest, SearchMode

        require_text(query, what="A question")
        require_known(self.recall, filters, FILTER_KEYS)
        settings, requests = self.settings, self._services.requests
        profile = profile or settings.recall_profile
        if min_score is None:
            min_score = settings.recall_min_score if profile == DEFAULT_PROFILE else 0.0
        request = RecallRequest(
            query=query,
            where=requests.filter(filters),
            limit=settings.recall_limit if limit is None else limit,
            offset=offset,
            phase=self._phase(phase),
            profile=profile,
            mode=parse_choice(SearchMode, mode or settings.recall_mode, what="mode"),
            files=requests.files(near_files),
            read_dates=read_dates,
            recent_sessions=recent_sessions,
            around=self.get(around).id if around else None,
            neighbours=settings.recall_neighbours if neighbours is None else neighbours,
            count_access=count_access,
            min_score=min_score,
        )
        return self._recall(request)

    def _recall(self, request: RecallRequest) -> RecallResult:
        from wellkept.memory.recall.recall import recall
        from wellkept.memory.recall.requests import SearchMode

        found = recall(self.engine, request)
        if request.where.project is not None and any(hit.memory.files for hit in found.hits):
            from wellkept.memory.recall.freshness import mark_missing_files

            found = mark_missing_files(
                found, root=self.root, sure=self._services.project_from_folder
            )
        note = None if request.mode is SearchMode.WORDS else self.embedding_note()
        return replace(found, notes=(*found.notes, note)) if note else found

    @property
    def embedding_problem(self) -> str | None:
        """Why vectors could not be made since this was opened; None when all went well."""
        return self._services.embedding_problem

    def embedding_note(self) -> str | None:
        """A warning about the vectors in use, or None."""
        return self._services.embedding_note()

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        offset: int = 0,
        **filters: Unpack[FilterArgs],
    ) -> list[IndexRow]:
        """Like `recall`, as index rows: one line per memory, with the tokens it costs to read."""
        return self.index_rows(
            self.recall(query, limit=limit, offset=offset, count_access=False, **filters)
        )

    def index_rows(self, found: RecallResult) -> list[IndexRow]:
        """The hits of a recall as index rows."""
        from wellkept.memory.recall.progressive import index_row

        return [index_row(self.engine, hit.memory, score=hit.score) for hit in found]

    def timeline(
        self, anchor: str, *, before: int = 5, after: int = 5, **filters: Unpack[FilterArgs]
    ) -> Timeline:
        """The memories before and after one in time."""
        from wellkept.memory.recall.progressive import timeline

        require_known(self.timeline, filters, FILTER_KEYS)
        where = self._services.requests.filter(filters)
        return timeline(self.engine, self.get(anchor).id, where=where, before=before, after=after)

    def get(self, name: str) -> Memory:
        """One memory by id, short id, unique prefix of an id, or key."""
        from wellkept.memory.edit import find_memory

        return find_memory(self.engine, name, project=self.project)

    def list(
        self,
        *,
        order: str = "newest",
        limit: int = 50,
        cursor: str | None = None,
        **filters: Unpack[FilterArgs],
    ) -> Page[Memory]:
        """One page of the memories that match. Iterating it yields its memories."""
        require_known(self.list, filters, FILTER_KEYS)
        return self.engine.store.list(
            self._services.requests.filter(filters),
            order=parse_choice(Order, order, what="order"),
            limit=limit,
            cursor=cursor,
        )

    def iterate(self, **filters: Unpack[FilterArgs]) -> Iterable[Memory]:
        """Every memory that matches, oldest first."""
        require_known(self.iterate, filters, FILTER_KEYS)
        return self.engine.store.iterate(self._services.requests.filter(filters))

    def stats(self, **filters: Unpack[FilterArgs]) -> Stats:
        """Counts by type, scope and source. `closed` counts closed memories in every case, the
        other figures only memories that match."""
        require_known(self.stats, filters, FILTER_KEYS)
        where = self._services.requests.filter(filters)
        found = self.engine.store.stats(where)
        if where.validity is not Validity.OPEN or where.as_of is not None:
            return found
        closed = self.engine.store.stats(replace(where, validity=Validity.CLOSED))
        return replace(found, closed=closed.total)

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
        from wellkept.context.slash_commands import SlashCommands

        return SlashCommands(self, skills).all()

    @cached_property
    def graph(self) -> GraphApi:
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
            self.graph,
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
