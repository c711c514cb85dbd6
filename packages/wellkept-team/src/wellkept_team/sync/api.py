"""`wk.remote`: share a project through a team's server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.context.start.handoff import Handoff, write_handoff
from wellkept.core.errors import ConflictError, NotFoundError, ProviderError, UsageError
from wellkept.core.ids import is_full_id, normalise_short, short_id
from wellkept.core.records import record, replace
from wellkept.core.team.records import SharedState
from wellkept.core.types import Scope
from wellkept.memory.edit import Bases
from wellkept_team.people.policies import keep_policy
from wellkept_team.sharing.git_tier import person
from wellkept_team.sharing.push import SCOPES
from wellkept_team.sync.connection import TeamConnection, checked_url
from wellkept_team.sync.managed_skills import keep_managed_skills
from wellkept_team.sync.run import SyncReport, connection_of, sync_project
from wellkept_team.sync.state import (
    Condition,
    Remote,
    all_remotes,
    drop_token,
    get_remote,
    get_token,
    put_remote,
    put_token,
)

if TYPE_CHECKING:
    from wellkept.api.wiring.services import Services
    from wellkept_team.sharing.team_entry import PushResult, TeamChange


@record(kw_only=True)
class RemoteState:
    """Where sharing through a server stands."""

    project: str
    remote: Remote
    shared: int = 0
    proposed: int = 0
    """Memories of this machine that wait for a second person or a reviewer."""
    conflicts: tuple[str, ...] = ()
    """Memories with rivals, up for review."""


@record(kw_only=True)
class AddedRemote:
    """A remote that was added, and its first sync."""

    remote: Remote
    report: SyncReport


class Remotes:
    """The remote of this project."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def add(
        self,
        url: str,
        *,
        token: str,
        project: str | None = None,
        scopes: Sequence[Scope] = SCOPES,
    ) -> AddedRemote:
        """Log in, keep the token, and sync for the first time.

        Nothing is kept when the server does not accept the token.
        """
        if Scope.USER in scopes:
            raise UsageError("Memories about you are not shared.", hint="Choose other scopes.")
        engine, name = self._services.engine, self._services.project
        known = get_remote(engine.store, name)
        remote = Remote(
            url=checked_url(url),
            project=project or self._shared_name(),
            scopes=tuple(dict.fromkeys(scopes)) or SCOPES,
        )
        if known is not None and known.url != remote.url:
            raise ConflictError(
                f"This project is shared through {known.url} already.",
                hint="Remove that first: wellkept team leave",
            )
        before = self._kept_token(remote.url)
        put_token(self._services.environment, remote.url, token)
        try:
            connection_of(remote, self._services.environment, author=self._author()).pull(
                after=0, limit=1
            )
        except ProviderError:
            self._give_back_token(remote.url, before)
            raise
        if known is not None:
            remote = replace(known, scopes=remote.scopes, condition=Condition.NEW, next_at=None)
        put_remote(engine.store, name, remote)
        report = self.sync()
        return AddedRemote(remote=get_remote(engine.store, name) or remote, report=report)

    def sync(self) -> SyncReport:
        """Push and pull now."""
        return sync_project(
            self._services.engine,
            self._services.project,
            environment=self._services.environment,
            author=self._author(),
        )

    def state(self) -> RemoteState | None:
        """Where this project's remote stands; None without one."""
        name = self._services.project
        remote = get_remote(self._services.store, name)
        return None if remote is None else self._state(name, remote)

    def list(self) -> list[RemoteState]:
        """The remotes of every project on this machine."""
        found = all_remotes(self._services.store)
        return [self._state(name, remote) for name, remote in sorted(found.items())]

    def remove(self) -> Remote:
        """Share nothing any more. Memories stay, here and on the server; the skills that it gave
        go."""
        store, name = self._services.store, self._services.project
        remote = self._need()
        put_remote(store, name, None)
        keep_managed_skills(store, name, {})
        keep_policy(store, name, None)
        Bases(self._services.engine, name).clear()
        if all(one.url != remote.url for one in all_remotes(store).values()):
            drop_token(self._services.environment, remote.url)
        return remote

    def rotate(self) -> None:
        """Exchange the token for a new one, which is kept in its place; the old one ends."""
        token = self._connection().rotate_token()
        put_token(self._services.environment, self._need().url, token)

    def waiting(self) -> tuple[TeamChange, ...]:
        """What waits on the server for a second person or a reviewer."""
        return self._connection().waiting()

    def decide(self, names: Sequence[str], *, holds: bool) -> tuple[PushResult, ...]:
        """A reviewer's yes or no to what waits; the decision is pulled at once."""
        made = self._connection().decide(self._full_ids(names), holds=holds)
        self.sync()
        return made

    def hand_over(self, handoff: Handoff) -> None:
        """Send a hand-over to the team's server, for whoever goes on with its branch."""
        self._connection().hand_over(write_handoff(handoff))

    def _full_ids(self, names: Sequence[str]) -> list[str]:
        if all(map(is_full_id, names)):
            return list(names)
        known = {one.id for one in self.waiting()}
        known |= set(Bases(self._services.engine, self._services.project).items())
        by_short = {short_id(one): one for one in known}
        found: list[str] = []
        for name in names:
            full = name if is_full_id(name) else by_short.get(normalise_short(name))
            if full is None:
                raise NotFoundError(
                    f"Nothing is shared under {name!r}.", hint="See `wellkept team review`."
                )
            found.append(full)
        return found

    def _connection(self) -> TeamConnection:
        return connection_of(self._need(), self._services.environment, author=self._author())

    def _need(self) -> Remote:
        found = get_remote(self._services.store, self._services.project)
        if found is None:
            raise NotFoundError(
                "This project has no remote.", hint="Add one: wellkept team join URL"
            )
        return found

    def _state(self, name: str, remote: Remote) -> RemoteState:
        bases = Bases(self._services.engine, name).items()
        held = {key: one for key, one in bases.items() if not one.left}
        return RemoteState(
            project=name,
            remote=remote,
            shared=sum(one.state is SharedState.TEAM for one in held.values()),
            proposed=sum(one.state is SharedState.PROPOSED for one in held.values()),
            conflicts=tuple(sorted(key for key, one in held.items() if one.rivals)),
        )

    def _shared_name(self) -> str:
        """The name under which everybody knows the project."""
        name = self._services.project
        if name.startswith("path:"):
            raise UsageError(
                "Only this machine knows the project by its folder.",
                hint="Give it a name that the team shares: wellkept team join URL --as NAME",
            )
        return name

    def _author(self) -> str:
        return person(self._services.root) or "somebody"

    def _kept_token(self, url: str) -> str | None:
        try:
            return get_token(self._services.environment, url)
        except (NotFoundError, UsageError):
            return None

    def _give_back_token(self, url: str, token: str | None) -> None:
        if token is None:
            drop_token(self._services.environment, url)
        else:
            put_token(self._services.environment, url, token)
