"""Port: what an organisation keeps about its people. Each object speaks for one who asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from wellkept.core.memory import Memory
from wellkept.core.ports.store import Store
from wellkept.core.team.people import Principal, Role, Token
from wellkept.core.team.records import (
    AuditEntry,
    AuditFilter,
    ErasureReport,
    ManagedSkill,
    Organisation,
    Person,
    TeamPolicy,
    TokenInfo,
    UpkeepReport,
)


class TeamStore(Protocol):
    """People, tokens, audit and policies of one organisation, as one person may see and change
    them. ForbiddenError where the database refuses."""

    def organisation(self) -> Organisation | None:
        """The organisation; None when nobody made it yet."""
        ...

    def create_organisation(self, title: str) -> None:
        """Make it; ConflictError when it is there."""
        ...

    def people(self) -> list[Person]:
        """Everybody, by name, with those who were removed."""
        ...

    def put_person(self, name: str, role: Role) -> None:
        """Add a person, or change their role; also one who was removed."""
        ...

    def remove_person(self, name: str) -> None:
        """End a membership and all tokens of the person; what they wrote stays."""
        ...

    def tokens(self) -> list[TokenInfo]:
        """Tokens, newest first: all for an administrator, else one's own."""
        ...

    def add_token(self, token: Token, *, person: str, label: str, expires: datetime | None) -> None:
        """Keep a token that was issued."""
        ...

    def revoke_token(self, id: str) -> None:
        """End a token at once."""
        ...

    def rotate_own_token(self, token: Token) -> None:
        """Exchange the token that is asked with for another that lasts no longer."""
        ...

    def audit(self, wanted: AuditFilter) -> list[AuditEntry]:
        """Entries, newest first: all for an administrator, else one's own."""
        ...

    def policy(self, project: str) -> TeamPolicy | None:
        """The policy of a project; '' is the organisation's own."""
        ...

    def put_policy(self, project: str, policy: TeamPolicy) -> None:
        """Set the policy of a project, or of all."""
        ...

    def upkeep(self, *, dry_run: bool) -> UpkeepReport:
        """Delete what the policies keep no longer, by the clock of the database; the audit log says
        so. For administrators and whoever owns the database."""
        ...

    def managed_skills(self) -> list[ManagedSkill]:
        """Skills for everybody, by name."""
        ...

    def put_managed_skill(self, name: str, text: str) -> None:
        """Add a skill or replace its text."""
        ...

    def remove_managed_skill(self, name: str) -> None:
        """Take a skill away; NotFoundError when there is none."""
        ...

    def memories_of(self, person: str) -> list[Memory]:
        """Everything a person wrote, personal memories too: for whoever owns the database."""
        ...

    def erase(self, person: str, *, dry_run: bool) -> ErasureReport:
        """Delete everything a person wrote and every trace of the name, or only count it."""
        ...


class TeamDatabase(Protocol):
    """A database of organisations, over one pool of connections."""

    def authenticate(self, token: str) -> Principal | None:
        """Whose token this is; None when it is unknown, expired or revoked."""
        ...

    def store_of(self, principal: Principal) -> Store:
        """The memories that a person may see."""
        ...

    def team_of(self, principal: Principal) -> TeamStore:
        """The organisation as a person may see it."""
        ...

    def operator(self, tenant: str) -> TeamStore:
        """The organisation as whoever owns the database sees it."""
        ...

    def operator_store(self, tenant: str) -> Store:
        """All memories of an organisation, as whoever owns the database sees them."""
        ...

    def organisations(self) -> Sequence[Organisation]:
        """Every organisation; for whoever owns the database."""
        ...

    def keep_up_due(self, *, every: timedelta) -> UpkeepReport | None:
        """Do what is due of every organisation's upkeep; None when another process is at it, or
        nothing is due. StoreError when one organisation's failed; the others' is done then."""
        ...

    def set_up_server_role(self, name: str, *, password: str | None) -> bool:
        """Make or refresh the database role that servers use; returns whether it is new."""
        ...

    def require_server_role(self) -> None:
        """UsageError when row-level security would not hold for the user of the address."""
        ...

    def require_answer(self) -> None:
        """StoreError when the database does not answer."""
        ...

    def behind_s(self) -> float | None:
        """How many seconds the standby that answers is behind at most; None on the primary."""
        ...

    def listen(
        self,
        on_activity: Callable[[str], None],
        *,
        on_ready: Callable[[], None],
        until: Callable[[], bool],
    ) -> None:
        """Call with the tenant at each commit that logged activity, from `on_ready` on, until told
        to end. Holds a connection of its own; StoreError when that is lost."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...


class TeamView(Protocol):
    """What one person of a team sees: the store, and the policies."""

    @property
    def store(self) -> Store: ...

    def policy(self, project: str) -> TeamPolicy: ...
