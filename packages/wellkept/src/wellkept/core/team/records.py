"""What is kept about a team: people, tokens, the audit log, policies and managed skills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.team.people import Role
from wellkept.core.types import MemoryType, parse_choice

MAX_NAME_CHARS: Final = 200
MAX_KEPT_DAYS: Final = 36_500


@record(kw_only=True)
class Organisation:
    """A tenant that has people."""

    tenant: str
    title: str
    created_at: datetime


@record(kw_only=True)
class Person:
    """A member of an organisation. Who was removed keeps the name on what they wrote."""

    name: str
    role: Role
    created_at: datetime
    removed_at: datetime | None = None


@record(kw_only=True)
class TokenInfo:
    """What is known of a token; not the token."""

    id: str
    person: str
    label: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def state(self, now: datetime) -> str:
        """`valid`, `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        is_over = self.expires_at is not None and self.expires_at <= now
        return "expired" if is_over else "valid"


@record(kw_only=True)
class AuditEntry:
    """Something that was changed, or a memory of another that was read."""

    number: int
    at: datetime
    project: str
    person: str
    token: str
    action: str
    subjects: tuple[str, ...]
    """Ids of memories, or names of what was changed."""


@record(kw_only=True)
class AuditFilter:
    """Which entries to list, newest first."""

    person: str | None = None
    action: str | None = None
    """The beginning of an action, such as `memory read` or `token`."""
    subject: str | None = None
    before: int | None = None
    """Only entries with a smaller number: the next page."""
    limit: int = 100


@record(kw_only=True)
class TeamPolicy:
    """What an organisation decides for its projects, or for one of them."""

    injected_types: tuple[MemoryType, ...] | None = None
    """Types of memories that agents are given unasked; None means as usual."""
    retention_days: int | None = None
    """Memories that nobody changed, read or confirmed for so long are deleted; None keeps all."""
    audit_days: int | None = None
    """Entries of the audit log that are older are deleted; None keeps all. Only the organisation's
    own policy decides it."""

    def __post_init__(self) -> None:
        for days in (self.retention_days, self.audit_days):
            if days is not None and not 1 <= days <= MAX_KEPT_DAYS:
                raise UsageError(
                    f"Keeping for {days} days is out of range.", hint=f"Give 1 to {MAX_KEPT_DAYS}."
                )


def policy_to_json(policy: TeamPolicy) -> dict[str, Json]:
    """A policy as it is stored and sent."""
    types = policy.injected_types
    return {
        "injected_types": None if types is None else [kind.value for kind in types],
        "retention_days": policy.retention_days,
        "audit_days": policy.audit_days,
    }


def policy_from_json(known: Mapping[str, Json]) -> TeamPolicy:
    """A policy as it was stored; what a newer Wellkept added is passed over."""
    types = known.get("injected_types")
    return TeamPolicy(
        injected_types=read_types([str(one) for one in types]) if isinstance(types, list) else None,
        retention_days=_days(known.get("retention_days")),
        audit_days=_days(known.get("audit_days")),
    )


def _days(value: Json) -> int | None:
    return value if isinstance(value, int) else None


def read_types(names: Sequence[str]) -> tuple[MemoryType, ...]:
    """Types by their names; UsageError lists the choices."""
    return tuple(parse_choice(MemoryType, name, what="type") for name in names)


@record(kw_only=True)
class RetentionReport:
    """Memories of a project that were deleted, or would be."""

    project: str
    days: int
    ids: tuple[str, ...]


@record(kw_only=True)
class UpkeepReport:
    """What policies keep no longer: deleted, or what would be."""

    is_dry_run: bool
    memories: int
    audit_entries: int
    projects: tuple[RetentionReport, ...] = ()
    """Which memories of which projects; told before they go only."""


@record(kw_only=True)
class ManagedSkill:
    """A skill that an organisation gives to all its people."""

    name: str
    text: str
    updated_at: datetime
    updated_by: str


@record(kw_only=True)
class ErasureReport:
    """What was erased of a person, or would be."""

    person: str
    memories: int
    mentions: int
    """Memories of others that name the person as author."""
    tokens: int
    audit_entries: int
    """Kept, under a name that tells nothing."""
    undo_steps: int
    is_dry_run: bool
    is_verified: bool
    """Whether a look afterwards found nothing left."""


def require_person_name(name: str) -> str:
    """A person's name without white space around it; UsageError for one that cannot be used."""
    plain = name.strip()
    if not plain or len(plain) > MAX_NAME_CHARS or not plain.isprintable() or plain[0] == "(":
        raise UsageError(
            f"{name[:60]!r} cannot name a person.", hint="Use a login name or a mail address."
        )
    return plain


# -- Shared records --------------------------------------------------------------------------------


class SharedState(StrEnum):
    """Where a record stands."""

    PROPOSED = "proposed"
    """Somebody pushed it; only its owner and reviewers see it."""
    TEAM = "team"
    """Everybody has it."""
    BROUGHT_BACK = "brought back"
    """It ended, and somebody proposes it again: open for its owner, closed for all others."""
    CLOSED = "closed"
    """It no longer holds; its history stays."""
    ERASED = "erased"
    """Its text was deleted; the record only says so."""


OPEN_STATES = (SharedState.PROPOSED, SharedState.BROUGHT_BACK, SharedState.TEAM)
"""What somebody holds, or proposes."""


@record(kw_only=True)
class SharedRecord:
    """One shared statement of a project. `seq` is 0 until it is stored."""

    id: str
    project: str
    state: SharedState
    owner: str
    statement: str
    """Fingerprint of what is said: equal for two people who say the same."""
    waiting: bool
    """Whether it waits for somebody's decision."""
    body: str
    seq: int = 0
