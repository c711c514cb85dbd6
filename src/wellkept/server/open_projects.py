"""Which memory a call means: opened when it is first asked for, shared by all that ask later.

Invariant: at most `MAX_OPEN` stay open; a project beyond that is opened for one call. Opening is
done by one thread at a time, because the parts of a memory wire themselves on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from wellkept.app import Wellkept

MAX_OPEN = 8

OpenIn: TypeAlias = "Callable[[Path, str | None], Wellkept]"
"""Opens the memory of a folder, or of a project by name."""


class OpenProjects:
    """The open memories of a server."""

    def __init__(self, open_in: OpenIn, *, folder: Path) -> None:
        self._open_in = open_in
        self._folder = folder
        self._open: dict[tuple[Path, str | None], Wellkept] = {}
        self._lock = Lock()

    @contextmanager
    def of(self, project: str, *, folder: Path | None = None) -> Generator[Wellkept]:
        """The memory of a project by name or folder; of the folder at hand when none is named."""
        place = self._place(project, folder or self._folder)
        memory, is_kept = self._memory(place)
        try:
            yield memory
        finally:
            if not is_kept:
                memory.close()

    def close(self) -> None:
        """Write what is buffered and let go of every memory."""
        with self._lock:
            opened, self._open = self._open, {}
        for memory in opened.values():
            memory.close()

    def _place(self, project: str, folder: Path) -> tuple[Path, str | None]:
        if not project.strip():
            return folder, None
        named = Path(project).expanduser() if project.startswith(("~/", "~\\")) else Path(project)
        return (named, None) if named.is_absolute() else (folder, project.strip())

    def _memory(self, place: tuple[Path, str | None]) -> tuple[Wellkept, bool]:
        with self._lock:
            if known := self._open.get(place):
                return known, True
            memory = self._open_in(*place)
            # Naming the project opens the store and its parts while nobody else is at it.
            _ = memory.project, memory.engine
            if len(self._open) < MAX_OPEN:
                self._open[place] = memory
                return memory, True
            return memory, False
