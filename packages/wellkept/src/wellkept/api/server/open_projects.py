"""Open projects of a server: opened on first use, then shared by all calls.

Invariant: at most `MAX_OPEN` stay open; further projects are opened for a single call. One thread
at a time opens a project, because services are created on first use. A folder whose project changed
is opened anew.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from wellkept.core.team.people import asking

if TYPE_CHECKING:
    from wellkept.api import Wellkept

MAX_OPEN = 8

OpenIn: TypeAlias = "Callable[[Path, str | None], Wellkept]"
"""Opens the project of a folder, or a project by name."""


class OpenProjects:
    """The open projects of a server."""

    def __init__(self, open_in: OpenIn, *, folder: Path) -> None:
        self._open_in = open_in
        self._folder = folder
        self._open: dict[tuple[Path, str | None], Wellkept] = {}
        self._names: dict[Path, str] = {}
        self._retired: list[Wellkept] = []
        self._lock = Lock()

    @contextmanager
    def of(self, project: str, *, folder: Path | None = None) -> Generator[Wellkept]:
        """The project of this name or folder; by default the project of `folder`. ForbiddenError
        for an agent that names one."""
        if project.strip():
            asking().require_person("Looking into another project")
        key = self._project_key(project, folder or self._folder)
        wk, is_shared = self._get(key)
        try:
            yield wk
        finally:
            if not is_shared and not self._keeps(key, wk):
                wk.close()

    def activity_count(self, tenant: str) -> int | None:  # noqa: ARG002
        """How often activity of a tenant was told so far; None where nobody tells and the store
        must be asked."""
        return None

    def behind_s(self) -> float | None:
        """How many seconds the copy of the store that answers is behind; None where it is the store
        itself."""
        return None

    def require_store(self) -> None:
        """StoreError when the store does not answer."""
        with self.of("") as wk:
            wk.engine.store.get_value("server", "ready")

    def close(self) -> None:
        """Flush and close all projects."""
        with self._lock:
            opened = [*self._open.values(), *self._retired]
            self._open, self._retired = {}, []
        for wk in opened:
            wk.close()

    def _project_key(self, project: str, folder: Path) -> tuple[Path, str | None]:
        if not project.strip():
            return folder, None
        named = Path(project).expanduser() if project.startswith(("~/", "~\\")) else Path(project)
        if named.is_absolute():
            return named, None
        name = project.strip()
        return folder, None if name.casefold() == self._name_of(folder) else name

    def _name_of(self, folder: Path) -> str:
        """The name of a folder's project: callers may name the project at hand."""
        if folder not in self._names:
            with self._open_in(folder, None) as wk:
                self._names[folder] = wk.project_name.casefold()
        return self._names[folder]

    def _keeps(self, key: tuple[Path, str | None], wk: Wellkept) -> bool:
        """Whether what made the store in this call is kept for the next."""
        if not wk.services.is_there:
            return False
        with self._lock:
            return len(self._open) < MAX_OPEN and self._open.setdefault(key, wk) is wk

    def _get(self, key: tuple[Path, str | None]) -> tuple[Wellkept, bool]:
        with self._lock:
            known = self._open.get(key)
            if known is not None and known.services.is_current():
                return known, True
            if known is not None:
                # Another call may be using it.
                self._retired.append(self._open.pop(key))
            wk = self._open_in(*key)
            if not wk.services.is_there:
                return wk, False
            # Create the services while holding the lock.
            _ = wk.project, wk.engine
            if len(self._open) < MAX_OPEN:
                self._open[key] = wk
                return wk, True
            return wk, False
