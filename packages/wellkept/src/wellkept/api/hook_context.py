"""Context for hook requests of any project, read from its store.

A long-lived process keeps the last few projects open; the hook process asks once and exits. A store
that does not exist is not created. Whose memory a folder may read is looked up, never decided here:
a folder that nobody decided for yet gets only what the user said about themselves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from wellkept.api.methods.context import ContextMethods
from wellkept.context.moment import SKILL_TIMEOUT_S, silenced, tell
from wellkept.core.errors import WellkeptError
from wellkept.core.session.hook_context import (
    SKILL_SUMMARIES,
    HookContext,
    HookContextRequest,
    forced_skills,
)

if TYPE_CHECKING:
    from wellkept.api.wellkept import Wellkept
    from wellkept.api.wiring.services import Services
    from wellkept.context.moments import ContextRequest
    from wellkept.context.packing import ExtraLine
    from wellkept.graph.api import GraphApi

MAX_OPEN_PROJECTS = 8


class HookMemory(ContextMethods):
    """What a process that answers one hook needs of a project: a fifth of the modules."""

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def services(self) -> Services:
        """Store, settings and folder."""
        return self._services

    @cached_property
    def code_graph(self) -> GraphApi:
        """The code graph of the project's folder."""
        from wellkept.graph.api import GraphApi

        return GraphApi(self._services)

    def close(self) -> None:
        """Close the files."""
        if "code_graph" in self.__dict__:
            self.code_graph.close()
        self._services.close()

    def _skill_lines(
        self,
        request: ContextRequest,
        *,
        within_s: float | None,  # noqa: ARG002
    ) -> tuple[ExtraLine, ...]:
        """The skills that are forced and the one that a prompt is the task of, by the summaries
        that the last drain kept: this process cannot read skill files."""
        from wellkept.context.moments import MOMENTS

        if not MOMENTS[request.moment].skills or self.settings.context_skills == "off":
            return ()
        store, always = self.engine.store, self.settings.skills_force.split(",")
        known = store.get_value(SKILL_SUMMARIES, self.project)
        here = store.get_value(forced_skills(self.project), request.session or "")
        forced = [*map(str.strip, always), *map(str, here if isinstance(here, list) else ())]
        if not known and not any(forced):
            return ()
        from wellkept.context.skill_lines import forced_by_summary, named_by_summary

        offered = {one.id: one for one in forced_by_summary(filter(None, forced), known)}
        if request.moment == "prompt" and known:
            found = named_by_summary(request.query, known)
            offered |= {found.id: found} if found is not None else {}
        return tuple(one for one in offered.values() if one.id not in request.shown)


HookProject: TypeAlias = "Wellkept | HookMemory"


class HookContextProvider:
    """Builds context for requests; `open_project` opens a folder's store, None when it has none.

    Skills that are not found within `skill_timeout_s` are left out: memories do not wait for them.
    """

    def __init__(
        self,
        open_project: Callable[[Path], HookProject | None],
        *,
        skill_timeout_s: float = SKILL_TIMEOUT_S,
    ) -> None:
        self._open_project = open_project
        self._skill_timeout_s = skill_timeout_s
        self._projects: OrderedDict[Path, HookProject] = OrderedDict()
        self._retired: list[HookProject] = []
        self._lock = Lock()

    def __call__(self, request: HookContextRequest, shown: frozenset[str]) -> HookContext:
        """Context for a request, without the ids in `shown`."""
        if silenced(request, shown) is None:
            return HookContext()
        wk = self._project(Path(request.cwd) if request.cwd else Path.cwd())
        if wk is None:
            return HookContext()
        try:
            asks = wk.settings.capture_ask == "on"
            return tell(wk, request, shown, skill_timeout_s=self._skill_timeout_s, asks=asks)
        finally:
            if wk.services.is_undecided:
                wk.close()

    def close(self) -> None:
        """Close every open project."""
        with self._lock:
            projects = [*self._projects.values(), *self._retired]
            self._projects, self._retired = OrderedDict(), []
        for wk in projects:
            wk.close()

    def _project(self, folder: Path) -> HookProject | None:
        with self._lock:
            wk = self._projects.pop(folder, None)
            if wk is not None and not wk.services.is_current():
                # Another thread may be using it.
                self._retired.append(wk)
                wk = None
            wk = wk or self._opened(folder)
            if wk is not None and not wk.services.is_undecided:
                self._projects[folder] = wk
            full = len(self._projects) > MAX_OPEN_PROJECTS
            oldest = self._projects.popitem(last=False)[1] if full else None
        if oldest is not None:
            oldest.close()
        return wk

    def _opened(self, folder: Path) -> HookProject | None:
        wk = self._open_project(folder)
        if wk is not None:
            # Resolve the project under the lock, so that only one thread opens the store.
            _ = wk.project
        return wk


def open_existing(
    folder: Path,
    *,
    environment: Mapping[str, str],
    busy_timeout_ms: int,
    with_skills: bool = False,
) -> HookProject | None:
    """A folder's store, read-only and searched by words; None when there is no store.

    `with_skills` in a process that lives on: finding them takes longer than the rest of the work.
    """
    from wellkept.api.wiring.services import Services, store_path
    from wellkept.core.clock import system_clock
    from wellkept.core.settings.sources import SettingSources, load_settings

    try:
        settings = load_settings(SettingSources.of(environment, cwd=folder))
    except WellkeptError:
        return None
    if settings.store_url or not store_path(settings, environment).is_file():
        return None
    services = Services(
        settings,
        path=store_path(settings, environment),
        project=settings.project,
        folder=folder,
        embedder="none",
        clock=system_clock,
        environment=environment,
        read_only=True,
        by_files_only=True,
        busy_timeout_ms=busy_timeout_ms,
    )
    if not with_skills:
        return HookMemory(services)
    from wellkept.api.wellkept import Wellkept

    return Wellkept(services)
