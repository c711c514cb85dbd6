"""Open projects of a team's server: one for each person and project, over one pool.

Nothing of this process is needed by the next request, so any number of such servers run side by
side. Invariant: what a person is given was opened with their own credential; a request without a
person is refused, and so is a project that names a folder of the server.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, TypeAlias

from wellkept.api.server.open_projects import OpenProjects
from wellkept.core.errors import ForbiddenError, StoreError, UsageError
from wellkept.core.team.people import asking

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.core.team.people import Principal
    from wellkept_team.people.memories import TeamMemories

MAX_OPEN = 64
_AGAIN_S = 1.0

_Key: TypeAlias = "tuple[Principal, str]"


class _Opened:
    """A project that is open, and how many calls use it."""

    def __init__(self, wk: Wellkept) -> None:
        self.wk = wk
        self.calls = 0


class TeamProjects(OpenProjects):
    """The open projects of all people who ask."""

    def __init__(self, memories: TeamMemories, *, folder: Path) -> None:
        super().__init__(_no_folder, folder=folder)
        self.memories = memories
        self._people: OrderedDict[_Key, _Opened] = OrderedDict()
        self._people_lock = Lock()
        self._told: Counter[str] = Counter()
        self._is_listening = False
        self._closing = Event()
        self._listener = Thread(target=self._listen, name="wellkept-listen", daemon=True)

    @contextmanager
    def of(self, project: str, *, folder: Path | None = None) -> Generator[Wellkept]:  # noqa: ARG002
        """The project of this name, for whoever asks; a folder of the caller means nothing here."""
        principal = asking()
        if principal.is_local:
            raise ForbiddenError("A team's server answers people with a token only.")
        opened = self._enter((principal, _name_of(project)))
        try:
            yield opened.wk
        finally:
            self._leave(opened)

    def activity_count(self, tenant: str) -> int | None:
        """How often the database told of activity; None while it cannot be heard."""
        with self._people_lock:
            if self._listener.ident is None and not self._closing.is_set():
                self._listener.start()
            return self._told[tenant] if self._is_listening else None

    def _listen(self) -> None:
        """Hear of activity for as long as the server runs; begin again after a fault."""

        def ready() -> None:
            self._is_listening = True

        def tell(tenant: str) -> None:
            self._told[tenant] += 1

        while not self._closing.is_set():
            try:
                self.memories.teams.listen(tell, on_ready=ready, until=self._closing.is_set)
            except StoreError:
                self._is_listening = False
                self._closing.wait(_AGAIN_S)

    def require_store(self) -> None:
        """StoreError when the database does not answer; asks as nobody."""
        self.memories.teams.require_answer()

    def behind_s(self) -> float | None:
        """How far the standby that answers is behind; None on the primary."""
        return self.memories.teams.behind_s()

    def close(self) -> None:
        """Flush and close all projects, and the pool."""
        self._closing.set()
        with self._people_lock:
            opened, self._people = list(self._people.values()), OrderedDict()
        if self._listener.ident is not None:
            self._listener.join()
        for one in opened:
            one.wk.close()
        self.memories.teams.close()
        super().close()

    def _enter(self, key: _Key) -> _Opened:
        with self._people_lock:
            known = self._people.get(key)
            if known is None:
                known = self._people[key] = _Opened(self.memories.open(*key))
                # Services are created on first use, which two calls must not do at once.
                _ = known.wk.project, known.wk.engine
            self._people.move_to_end(key)
            known.calls += 1
            unused = self._unused()
        for one in unused:
            one.wk.close()
        return known

    def _unused(self) -> list[_Opened]:
        """Take out the projects that nobody used for longest, down to the limit."""
        out: list[_Opened] = []
        for key, one in list(self._people.items()):
            if len(self._people) <= MAX_OPEN:
                break
            if not one.calls:
                out.append(self._people.pop(key))
        return out

    def _leave(self, opened: _Opened) -> None:
        with self._people_lock:
            opened.calls -= 1


def _name_of(project: str) -> str:
    name = project.strip()
    if name.startswith(("/", "~", "\\", ".")) or name[1:3] in (":\\", ":/"):
        raise UsageError(
            f"{name!r} is a folder; a team's server knows projects by name.",
            hint="Name it as `wellkept admin projects` does, such as git:github.com/owner/name.",
        )
    return name


def _no_folder(folder: Path, project: str | None) -> Wellkept:
    raise AssertionError(f"a team's server opens no folder: {folder}, {project}")
