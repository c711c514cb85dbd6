"""Who is asking: a person of a tenant, with a role, by a token. Knows no HTTP, no SQL.

A tenant is one organisation; everything stored belongs to exactly one. Whoever works on the local
file is its administrator. Roles are a ladder: each may do what those below it may.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, Final

from wellkept.core.errors import ForbiddenError, UsageError
from wellkept.core.ids import sha256_hex
from wellkept.core.records import field, record

PREFIX: Final = "wkt_"
_PURPOSE: Final = b"wellkept session\0"
_SECRET_BYTES: Final = 32
_TENANT: Final = r"[a-z0-9][a-z0-9-]{0,39}"
_TOKEN: Final = rf"{PREFIX}({_TENANT})\.([0-9a-f]{{12}})\.([A-Za-z0-9_-]{{43}})"


@record(kw_only=True)
class Token:
    """A token in full."""

    tenant: str
    id: str
    secret: str = field(default="", repr=False)

    @property
    def text(self) -> str:
        """What a person keeps."""
        return f"{PREFIX}{self.tenant}.{self.id}.{self.secret}"

    @property
    def credential(self) -> str:
        """What proves the person to the database."""
        return f"{self.tenant}.{self.id}.{self._key}"

    @property
    def hash(self) -> str:
        """What the database keeps."""
        return sha256_hex(self._key.encode())

    @property
    def _key(self) -> str:
        return sha256_hex(_PURPOSE + self.secret.encode())


def new_token(tenant: str) -> Token:
    """A token that nobody had before."""
    import secrets

    return Token(
        tenant=require_tenant(tenant),
        id=secrets.token_hex(6),
        secret=secrets.token_urlsafe(_SECRET_BYTES),
    )


def read_token(text: str) -> Token | None:
    """The parts of a token; None for a text that is none."""
    found = re.fullmatch(_TOKEN, text.strip())
    return Token(tenant=found[1], id=found[2], secret=found[3]) if found else None


def require_tenant(name: str) -> str:
    """The name of an organisation; UsageError for one that cannot be used."""
    if not re.fullmatch(_TENANT, name):
        raise UsageError(
            f"{name!r} cannot name an organisation.",
            hint="Use 1 to 40 lower-case letters, digits and hyphens, such as acme-tools.",
        )
    return name


LOCAL_TENANT: Final = "main"
LOCAL_USER: Final = "local"


class Role(Enum):
    """What a person may do, from least to most."""

    READER = "reader"
    """Reads what is shared; changes nothing."""
    WRITER = "writer"
    """Also remembers, corrects, and deletes their own."""
    REVIEWER = "reviewer"
    """Also confirms, rejects and deletes what others wrote."""
    ADMIN = "admin"
    """Also people, tokens, policies, the audit log and upkeep."""

    def covers(self, needed: Role) -> bool:
        """Whether this role may do what `needed` may."""
        return _LADDER.index(self) >= _LADDER.index(needed)


_LADDER: Final = tuple(Role)


@record(kw_only=True)
class Principal:
    """A person who asks, or an agent on their machine, as the server knows them."""

    tenant: str
    user: str
    role: Role
    token_id: str = ""
    """The token they came with; empty on the local machine."""
    credential: str = field(default="", repr=False)
    """Proves them to the database, which looks it up itself; empty on the local machine."""

    is_agent: bool = False
    """Whether an agent asks: it keeps to one project, and its word is not a person's."""

    def __post_init__(self) -> None:
        if not self.tenant or not self.user:
            raise UsageError("A person who asks needs a tenant and a name.")

    def require_person(self, what: str) -> None:
        """ForbiddenError when an agent asks for what takes a person's word."""
        if self.is_agent:
            raise ForbiddenError(
                f"{what} takes a person, and this was asked by an agent.",
                hint="The person can do it in their own terminal, on the page, or say it in their"
                " next prompt.",
            )

    @property
    def is_local(self) -> bool:
        """Whether this is whoever works on this machine's own memory."""
        return not self.credential

    def require(self, needed: Role, *, what: str) -> None:
        """ForbiddenError unless the role suffices for `what`."""
        if not self.role.covers(needed):
            raise ForbiddenError(
                f"{what} needs the role {needed.value}; {self.user} is {self.role.value}.",
                hint="Ask an administrator of your organisation.",
            )


LOCAL: Final = Principal(tenant=LOCAL_TENANT, user=LOCAL_USER, role=Role.ADMIN)
"""Whoever works on this machine: administrator of the local tenant."""
AGENT: Final = Principal(tenant=LOCAL_TENANT, user=LOCAL_USER, role=Role.ADMIN, is_agent=True)
"""An agent on this machine: over MCP, with an agent's token, or in a tool call."""


# -- Who asks now ----------------------------------------------------------------------------------


PRINCIPAL: Final = "wellkept.principal"
"""Key of the principal in the ASGI scope."""

_ASKING: ContextVar[Principal] = ContextVar("wellkept_asking", default=LOCAL)


def asking() -> Principal:
    """Who asks."""
    return _ASKING.get()


def principal_in(scope: Mapping[str, Any] | None) -> Principal:
    """The principal of an ASGI scope; whoever works on this machine when there was no guard."""
    return LOCAL if scope is None else scope.get(PRINCIPAL, LOCAL)


def asked_in_this_task(principal: Principal) -> None:
    """Hand the principal on to the rest of this task and the threads it starts."""
    _ASKING.set(principal)


@contextmanager
def asked_by(principal: Principal) -> Generator[None]:
    """Hand the principal on inside the block."""
    before = _ASKING.set(principal)
    try:
        yield
    finally:
        _ASKING.reset(before)
