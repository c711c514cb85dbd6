"""Context for hook requests of any project, read from its store.

A long-lived process keeps the last few projects open; the hook process asks once and exits. A store
that does not exist is not created. Whose memory a folder may read is looked up, never decided here:
a folder that nobody decided for yet gets only what the user said about themselves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from wellkept.context.moment import SKILL_TIMEOUT_S, silenced, tell
from wellkept.core.errors import WellkeptError
from wellkept.core.session.hook_context import HookContext, HookContextRequest

if TYPE_CHECKING:
    from wellkept.api.wellkept import Wellkept

MAX_OPEN_PROJECTS = 8


class HookContextProvider:
    """Builds context for requests; `open_project` opens a folder's store, None when it has none.

    Skills that are not found within `skill_timeout_s` are left out: memories do not wait for them.
    """

    def __init__(
        self,
        open_project: Callable[[Path], Wellkept | None],
        *,
        skill_timeout_s: float = SKILL_TIMEOUT_S,
    ) -> None:
        self._open_project = open_project
        self._skill_timeout_s = skill_timeout_s
        self._projects: OrderedDict[Path, Wellkept] = OrderedDict()
        self._retired: list[Wellkept] = []
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

    def _project(self, folder: Path) -> Wellkept | None:
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

    def _opened(self, folder: Path) -> Wellkept | None:
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
) -> Wellkept | None:
    """A folder's store, read-only and searched by words; None when there is no store.

    Leave skills out in the hook process: finding them takes longer than the rest of its work.
    """
    from wellkept.api.wellkept import Wellkept
    from wellkept.api.wiring.services import Services, store_path
    from wellkept.core.clock import system_clock
    from wellkept.core.settings.sources import SettingSources, load_settings

    explicit = {} if with_skills else {"context.skills": "off"}
    try:
        settings = load_settings(SettingSources.of(environment, cwd=folder), explicit=explicit)
    except WellkeptError:
        return None
    if settings.store_url or not store_path(settings, environment).is_file():
        return None
    return Wellkept(
        Services(
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
    )
