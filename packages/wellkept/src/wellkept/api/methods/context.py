"""`Wellkept.pack`: what to inject at a moment, and what is read for it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError, WellkeptError
from wellkept.core.records import replace
from wellkept.core.text import identifiers
from wellkept.core.types import Phase, parse_choice

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.api.wiring.services import Services
    from wellkept.context.build import Considered
    from wellkept.context.candidates import ContextCandidate
    from wellkept.context.client_files import ClientFiles
    from wellkept.context.moments import ContextRequest, StartOptions
    from wellkept.context.packing import ContextPack, ExtraLine
    from wellkept.context.sections import SectionLines
    from wellkept.context.skill_lines import SkillContextSource
    from wellkept.context.start.handoff import Handoff
    from wellkept.core.graph import CodeUsers
    from wellkept.core.settings.model import Settings
    from wellkept.graph.api import GraphApi
    from wellkept.memory.arguments import Names
    from wellkept.memory.engine import Engine
    from wellkept.observe.observer.methodology import Methodologies
    from wellkept.skills.library.api import Skills

_MAX_OUTPUT_CHARS = 1_000
_HANDOFF_TOKENS = 1_600
_TABLE_SESSIONS, _TABLE_TOKENS = 5, 2_000
_HANDOFF_DECISIONS = 5


class ContextMethods:
    """Part of `Wellkept`."""

    _services: Services

    if TYPE_CHECKING:

        @cached_property
        def skills(self) -> Skills: ...

        @cached_property
        def methodology(self) -> Methodologies: ...

        @cached_property
        def code_graph(self) -> GraphApi: ...

    @property
    def project(self) -> str:
        """The identity that this project's memories are stored under."""
        return self._services.project

    @property
    def root(self) -> Path:
        """The project's folder. File paths are relative to it."""
        return self._services.root

    @property
    def settings(self) -> Settings:
        """The effective settings."""
        return self._services.settings

    @property
    def engine(self) -> Engine:
        """The dependencies of `wellkept.memory`, for operations without a method here."""
        return self._services.engine

    def pack(
        self,
        query: str = "",
        *,
        moment: str | None = None,
        files: Names = (),
        phase: str | None = None,
        budget_tokens: int | None = None,
        max_chars: int | None = None,
        shown: Iterable[str] = (),
        session: str | None = None,
        skills_within_s: float | None = None,
        output: str = "",
        reading: bool = False,
        quiet: bool = False,
        session_limit: int | None = None,
        observation_limit: int | None = None,
        days: int | None = None,
        branch: str | None = None,
        client: str | None = None,
        complexity: str | None = None,
        observation_types: Names | None = None,
        concepts: Names = (),
        format: str | None = None,
        trace: list[Considered] | None = None,
    ) -> ContextPack:
        """What to inject now, within a token budget.

        `moment` defaults to prompt with a query, file with files, else session. At a failure, the
        query is the command line and `output` what it printed; `reading` when a file is only read.
        With `quiet`, only what is at stake in this session is told.
        Matching skills are listed unless the settings turn that off; `skills_within_s` limits the
        time to find them. `session_limit`, `observation_limit` and `days` limit how much earlier
        work a session start tells of, `observation_types` and `concepts` which records of it. The
        `format` table is recent work by date, with what each record costs. With `branch`, that
        branch is taken in place of the one checked out, and git is not asked.
        What `client` loads by itself is left out; without a name, what any client loads.
        A task of `complexity` trivial gets neither recipes nor end-to-end observations.
        What is looked at and not told is added to `trace`.
        """
        from wellkept.context.build import build_context
        from wellkept.context.moments import MOMENTS, ContextFormat, ContextRequest, Moment
        from wellkept.memory.file_presence import exists_below

        usual = "prompt" if query.strip() else "file" if tuple(files) else "session"
        at = parse_choice(Moment, moment or usual, what="moment")
        room = MOMENTS[at].tokens if budget_tokens is None else budget_tokens
        request = ContextRequest(
            project=self.project,
            moment=at,
            query=f"{query}\n{output[-_MAX_OUTPUT_CHARS:]}" if output else query,
            files=self._services.requests.files(files) if files else (),
            phase=self.phase(phase),
            budget_tokens=self.settings.context_budget_tokens if room is None else room,
            max_chars=max_chars,
            shown=frozenset(shown) | self._silent_lines(moment or usual),
            session=session,
            reading=reading,
            quiet=quiet,
            days=self.settings.context_days if days is None else days,
            trivial=self._is_trivial(complexity),
            types=self._services.injected_types,
        )
        is_table = (
            parse_choice(ContextFormat, format or "text", what="format") is ContextFormat.TABLE
        )

        @cache
        def files_of_client() -> ClientFiles:
            from wellkept.context.client_files import ClientFiles

            return ClientFiles(client, root=self.root, environment=self._services.environment)

        if is_table or at is Moment.SESSION:
            from wellkept.context.start.session_start import session_start

            options = self._start_options(
                session_limit=session_limit,
                observation_limit=observation_limit,
                days=request.days,
                branch=branch,
                kinds=observation_types,
                concepts=concepts,
            )
            if is_table:
                return self._table(request, options, sessions=session_limit, budget=budget_tokens)
            start = session_start(self.engine, request, options=options, files=files_of_client())
            request, sections = replace(request, quiet=quiet or start.is_silent), start.sections
        else:
            request, sections = self._with_named_code(request, query)
        vouched, more = self._sure_of(request, query, output)
        return build_context(
            self.engine,
            request,
            exists=exists_below(self.root) if self._services.has_files else None,
            is_loaded=lambda text: files_of_client().has(text),
            trace=trace,
            extras=self._skill_lines(request, within_s=skills_within_s),
            vouched=vouched,
            sections=(*sections, *more),
        )

    def _with_named_code(
        self, request: ContextRequest, query: str
    ) -> tuple[ContextRequest, tuple[SectionLines, ...]]:
        """The request with the files that it names, and who uses them: for a plan, and once in a
        session at a prompt."""
        if request.moment not in ("plan", "prompt") or not self._services.has_files:
            return request, ()
        if "`" not in query and not identifiers(query):
            return request, ()
        from wellkept.context.plan import PLAN_LINE, named_code, plan_lines

        is_first = not any(one.startswith(PLAN_LINE) for one in request.shown)
        if request.moment == "prompt" and (request.quiet or not is_first):
            return request, ()
        named, users = named_code(query, root=self.root, users=self._users)
        return replace(request, named=named), tuple(plan_lines(users))

    def _sure_of(
        self, request: ContextRequest, query: str, output: str
    ) -> tuple[tuple[ContextCandidate, ...], tuple[SectionLines, ...]]:
        """What fits for certain: a decision, ways out, and at a commit whose files are whose."""
        if request.moment in ("session", "file", "plan"):
            return (), ()
        from wellkept.context.prompt_policy import foreign_files, way_outs

        found = way_outs(self.engine, request, command=query, output=output)
        if request.moment != "prompt":
            return found, ()
        if request.quiet:
            from wellkept.context.start.session_start import read_tree_now

            mine = foreign_files(self.engine, request, root=self.root, read_tree=read_tree_now)
            return (), tuple(mine)
        from wellkept.context.decisions import decision_for, related_work

        if decided := decision_for(self.engine, request):
            return decided, ()
        return (), tuple(related_work(self.engine, request, root=self.root))

    def handoff(self, branch: str | None = None) -> Handoff:
        """What the next person's agent needs to go on with the work on a branch; the default is
        the one that is checked out."""
        from wellkept.context.moments import ContextRequest
        from wellkept.context.start.handoff import handoff_of
        from wellkept.context.start.session_start import last_digest
        from wellkept.core.git.repository import current_branch
        from wellkept.core.git.run import person
        from wellkept.core.query import Filter, Order
        from wellkept.core.types import MemoryType

        name = branch or current_branch(self.root)
        if name is None:
            raise UsageError("No branch is checked out here.", hint="Name the branch.")
        pack = self.pack(
            moment="session",
            branch=branch if branch != current_branch(self.root) else None,
            budget_tokens=_HANDOFF_TOKENS,
        )
        options = self._start_options(
            session_limit=1, observation_limit=0, days=self.settings.context_days, branch=branch
        )
        digest = last_digest(self.engine, ContextRequest(project=self.project), options=options)
        where = Filter(project=self.project, types=(MemoryType.DECISION,), stale=False)
        decided = self.engine.store.list(where, order=Order.UPDATED, limit=_HANDOFF_DECISIONS)
        return handoff_of(
            pack,
            digest,
            decided=[one.content for one in decided.items],
            branch=name,
            author=person(self.root),
            at=self.engine.clock(),
        )

    @staticmethod
    def _is_trivial(complexity: str | None) -> bool:
        if complexity is None:
            return False
        from wellkept.observe.thresholds import Complexity

        return parse_choice(Complexity, complexity, what="complexity") is Complexity.TRIVIAL

    def _silent_lines(self, moment: str) -> frozenset[str]:
        """Lines not to be told unasked. One that was only ignored still speaks where its file or
        command is at hand; one that did harm does not."""
        is_exact = moment in ("file", "command", "failure")
        found = self.engine.store.silent_lines(project=self.project)
        return frozenset(
            one.line_id for one in found if not is_exact or one.reason.startswith("harm")
        )

    def _start_options(
        self,
        *,
        session_limit: int | None,
        observation_limit: int | None,
        days: int,
        branch: str | None,
        kinds: Names | None = None,
        concepts: Names = (),
    ) -> StartOptions:
        from wellkept.context.moments import StartOptions, WorkKind
        from wellkept.context.start.session_start import no_tree, read_tree_now

        settings = self.settings
        chosen = settings.context_observation_types if kinds is None else kinds
        return StartOptions(
            root=self.root,
            sessions=settings.context_sessions if session_limit is None else session_limit,
            observations=(
                settings.context_observations if observation_limit is None else observation_limit
            ),
            days=days,
            read_tree=no_tree if branch else read_tree_now,
            branch=branch,
            kinds=tuple(
                parse_choice(WorkKind, one, what="kind of observation") for one in _listed(chosen)
            ),
            concepts=_listed(concepts),
        )

    def _table(
        self,
        request: ContextRequest,
        options: StartOptions,
        *,
        sessions: int | None,
        budget: int | None,
    ) -> ContextPack:
        from wellkept.context.packing import pack_table
        from wellkept.context.start.session_start import recent

        most = _TABLE_SESSIONS if sessions is None else sessions
        return pack_table(
            recent(self.engine, request, options=replace(options, sessions=most)),
            project=self.project,
            budget_tokens=_TABLE_TOKENS if budget is None else budget,
            max_chars=request.max_chars,
            count_tokens=self.engine.count_tokens,
        )

    def _users(self, name: str) -> CodeUsers | None:
        try:
            return self.code_graph.users(name)
        except WellkeptError:  # `doctor` tells of a broken graph
            return None

    def _skill_lines(
        self, request: ContextRequest, *, within_s: float | None
    ) -> tuple[ExtraLine, ...]:
        if self.settings.context_skills == "off":
            return ()
        if within_s is None:
            return self._skill_source.offers(request)
        return self._skill_source.offers_within(within_s, request)

    @cached_property
    def _skill_source(self) -> SkillContextSource:
        from wellkept.context.skill_lines import SkillContextSource

        return SkillContextSource(self.skills)

    def phase(self, name: str | None) -> Phase | None:
        """Parse a phase name. Plugins are loaded only for names that are not built in."""
        if name is None:
            return None
        plain = name.strip().lower()
        return Phase(plain) if plain in set(Phase) else self.methodology.phase(name)


def _listed(names: Names) -> tuple[str, ...]:
    """Names that may come as one text with commas between them."""
    given = names.split(",") if isinstance(names, str) else names
    return tuple(one.strip() for one in given if one.strip())
