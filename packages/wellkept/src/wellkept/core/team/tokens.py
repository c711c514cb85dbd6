"""Tokens of people: made, read, and turned into what the database knows them by.

A token is shown once, when it is issued. From its secret a credential is derived, which proves a
person to the database; the database keeps a hash of that only. So neither its rows nor its log of
statements hold anything that an HTTP server would take.
"""

from __future__ import annotations

import re
import secrets
from hashlib import sha256
from typing import Final

from wellkept.core.errors import UsageError
from wellkept.core.records import field, record

PREFIX: Final = "wkt_"
_PURPOSE: Final = b"wellkept session\0"
_SECRET_BYTES: Final = 32
_TENANT: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_TOKEN: Final = re.compile(rf"{PREFIX}({_TENANT.pattern})\.([0-9a-f]{{12}})\.([A-Za-z0-9_-]{{43}})")


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
        return sha256(self._key.encode()).hexdigest()

    @property
    def _key(self) -> str:
        return sha256(_PURPOSE + self.secret.encode()).hexdigest()


def new_token(tenant: str) -> Token:
    """A token that nobody had before."""
    return Token(
        tenant=require_tenant(tenant),
        id=secrets.token_hex(6),
        secret=secrets.token_urlsafe(_SECRET_BYTES),
    )


def read_token(text: str) -> Token | None:
    """The parts of a token; None for a text that is none."""
    found = _TOKEN.fullmatch(text.strip())
    return Token(tenant=found[1], id=found[2], secret=found[3]) if found else None


def require_tenant(name: str) -> str:
    """The name of an organisation; UsageError for one that cannot be used."""
    if not _TENANT.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name an organisation.",
            hint="Use 1 to 40 lower-case letters, digits and hyphens, such as acme-tools.",
        )
    return name
