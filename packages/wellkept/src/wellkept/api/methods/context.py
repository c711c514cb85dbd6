"""`Wellkept.context`: what to inject at a moment, and what is read for it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.records import replace
from wellkept.core.types import Phase, parse_choice

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.api.wiring.services import Services
    from wellkept.context.build import ContextRequest
    from wellkept.context.candidates import ContextCandidate
    from wellkept.context.packing import ContextPack, ExtraLine
    from wellkept.context.skill_lines import SkillContextSource
    from wellkept.context.start.handoff import Handoff
    from wellkept.context.start.session_start import StartOptions
    from wellkept.core.settings.model import Settings
    from wellkept.memory.arguments import Names
    from wellkept.memory.engine import Engine
    from wellkept.observe.observer.methodology import Methodologies
    from wellkept.skills.library.api import Skills

_MAX_OUTPUT_CHARS = 1_000
_HANDOFF_TOKENS = 1_600
_HANDOFF_DECISIONS = 5


class ContextMethods:
    """Part of `Wellkept`."""

    _services: Services

    if TYPE_CHECKING:

        @cached_property
        def skills(self) -> Skills: ...

        @cached_property
        def methodology(self) -> Methodologies: ...

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

    def context(
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
    ) -> ContextPack:
        """What to inject now, within a token budget.

        `moment` defaults to prompt with a query, file with files, else session. At a failure, the
        query is the command line and `output` what it printed; `reading` when a file is only read.
        With `quiet`, only what is at stake in this session is told.
        Matching skills are listed unless the settings turn that off; `skills_within_s` limits the
        time to find them. `session_limit`, `observation_limit` and `days` limit how much earlier
        work a session start tells of. With `branch`, that branch is taken in place of the one
        checked out, and git is not asked.
        What `client` loads by itself is left out; without a name, what any client loads.
        A task of `complexity` trivial gets neither recipes nor end-to-end observations.
        """
        from wellkept.context.build import ContextRequest, Moment, build_context
        from wellkept.context.client_files import ClientFiles
        from wellkept.context.prompt_policy import foreign_files, open_failures
        from wellkept.context.sources import way_outs
        from wellkept.context.start.session_start import session_start
        from wellkept.memory.file_presence import exists_below
        from wellkept.memory.recall.requests import SearchMode

        usual = "prompt" if query.strip() else "file" if tuple(files) else "session"
        budget = self.settings.context_budget_tokens if budget_tokens is None else budget_tokens
        request = ContextRequest(
            project=self.project,
            moment=parse_choice(Moment, moment or usual, what="moment"),
            query=f"{query}\n{output[-_MAX_OUTPUT_CHARS:]}" if output else query,
            files=self._services.requests.files(files),
            phase=self._phase(phase),
            budget_tokens=budget,
            max_chars=max_chars,
            shown=frozenset(shown) | self._silent_lines(moment or usual),
            session=session,
            mode=parse_choice(SearchMode, self.settings.recall_mode, what="mode"),
            reading=reading,
            quiet=quiet,
            days=self.settings.context_days if days is None else days,
            trivial=self._is_trivial(complexity),
            types=self._services.injected_types,
        )
        options = self._start_options(
            session_limit=session_limit,
            observation_limit=observation_limit,
            days=request.days,
            branch=branch,
        )
        loaded = ClientFiles(client, root=self.root, environment=self._services.environment)
        start = session_start(self.engine, request, options=options, files=loaded)
        request = replace(request, quiet=quiet or start.is_silent)
        extras = self._skill_lines(request, within_s=skills_within_s)
        return build_context(
            self.engine,
            request,
            exists=exists_below(self.root) if self._services.has_files else None,
            is_loaded=loaded.has,
            extras=extras,
            vouched=(
                *self._decision(request),
                *way_outs(self.engine, request, command=query, output=output),
                *open_failures(self.engine, request),
            ),
            sections=(
                *start.sections,
                *foreign_files(self.engine, request, root=self.root, read_tree=options.read_tree),
            ),
        )

    def _decision(self, request: ContextRequest) -> tuple[ContextCandidate, ...]:
        """The decision that a prompt needs."""
        from wellkept.context.build import Moment
        from wellkept.context.decisions import decision_for

        if request.moment is not Moment.PROMPT or request.quiet:
            return ()
        found = decision_for(
            self.engine,
            project=request.project,
            prompt=request.query,
            shown=request.shown,
            session=request.session,
        )
        return (found,) if found else ()

    def handoff(self, branch: str | None = None) -> Handoff:
        """What the next person's agent needs to go on with the work on a branch; the default is
        the one that is checked out."""
        from wellkept.context.build import ContextRequest
        from wellkept.context.start.handoff import handoff_of
        from wellkept.context.start.session_start import last_digest
        from wellkept.core.git.repository import current_branch
        from wellkept.core.git.run import person
        from wellkept.core.query import Filter, Order
        from wellkept.core.types import MemoryType

        name = branch or current_branch(self.root)
        if name is None:
            raise UsageError("No branch is checked out here.", hint="Name the branch.")
        pack = self.context(
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
    ) -> StartOptions:
        from wellkept.context.start.session_start import StartOptions, no_tree, read_tree_now

        settings = self.settings
        return StartOptions(
            root=self.root,
            sessions=settings.context_sessions if session_limit is None else session_limit,
            observations=(
                settings.context_observations if observation_limit is None else observation_limit
            ),
            days=days,
            read_tree=no_tree if branch else read_tree_now,
            branch=branch,
        )

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

    def _phase(self, name: str | None) -> Phase | None:
        """Parse a phase name. Plugins are loaded only for names that are not built in."""
        if name is None:
            return None
        plain = name.strip().lower()
        return Phase(plain) if plain in set(Phase) else self.methodology.phase(name)
