"""`Team`: what an administrator does: people, tokens, policies, skills, a person's data.

The same for an operator, who owns the database and works from a terminal, and for an administrator
over HTTP, whom the database holds to their own organisation.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TextIO

from wellkept.core.clock import Clock, system_clock
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import record
from wellkept.core.team.people import Token, new_token

if TYPE_CHECKING:
    from wellkept.core.ports.team import TeamStore
    from wellkept.core.team.people import Principal
    from wellkept.core.team.records import TokenInfo

USUAL_DAYS: Final = 90
MAX_DAYS: Final = 3650
_SKILL_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
MAX_SKILL_CHARS: Final = 100_000


@record(kw_only=True)
class IssuedToken:
    """A token and what is known of it. The text is shown once and kept nowhere."""

    token: str
    id: str
    person: str
    expires_at: datetime | None


class Team:
    """One organisation, for one who asks."""

    def __init__(self, store: TeamStore, *, tenant: str, clock: Clock = system_clock) -> None:
        self.store = store
        self.tenant = tenant
        self._clock = clock

    # -- Tokens -----------------------------------------------------------------------------------

    def issue_token(
        self, person: str, *, label: str = "", days: int | None = USUAL_DAYS
    ) -> IssuedToken:
        """A new token of a person; `days` None never expires."""
        token = new_token(self.tenant)
        return self._issue(token, person, label, self._expiry(days))

    def rotate_token(self, id: str) -> IssuedToken:
        """Replace a token by one that lasts as long; the old one ends at once."""
        old = self._token(id)
        lifetime = None if old.expires_at is None else old.expires_at - old.created_at
        expires = None if lifetime is None else self._clock() + lifetime
        new = self._issue(new_token(self.tenant), old.person, old.label, expires)
        if old.state(self._clock()) != "revoked":
            self.store.revoke_token(old.id)
        return new

    def rotate_own_token(self, principal: Principal) -> IssuedToken:
        """Exchange the token that is asked with; the new one lasts no longer than the old."""
        old, token = self._token(principal.token_id), new_token(self.tenant)
        self.store.rotate_own_token(token)
        return IssuedToken(
            token=token.text, id=token.id, person=principal.user, expires_at=old.expires_at
        )

    def _issue(
        self, token: Token, person: str, label: str, expires: datetime | None
    ) -> IssuedToken:
        self.store.add_token(token, person=person, label=label, expires=expires)
        return IssuedToken(token=token.text, id=token.id, person=person, expires_at=expires)

    def _expiry(self, days: int | None) -> datetime | None:
        if days is None:
            return None
        if not 1 <= days <= MAX_DAYS:
            raise UsageError(f"A token cannot last {days} days.", hint=f"Give 1 to {MAX_DAYS}.")
        return self._clock() + timedelta(days=days)

    def _token(self, id: str) -> TokenInfo:
        found = [one for one in self.store.tokens() if one.id == id]
        if not found:
            raise NotFoundError(f"There is no token {id!r}.", hint="List the tokens.")
        return found[0]

    # -- Skills that everybody gets ---------------------------------------------------------------

    def put_skill(self, name: str, text: str) -> None:
        """Give a skill to everybody; the text is a SKILL.md."""
        if not _SKILL_NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot name a skill.", hint="Use lower-case letters, digits, hyphens."
            )
        if not text.strip() or len(text) > MAX_SKILL_CHARS:
            raise UsageError(f"A skill has 1 to {MAX_SKILL_CHARS:,} characters.")
        self.store.put_managed_skill(name, text)

    # -- A person's data --------------------------------------------------------------------------

    def export_person(self, person: str, file: TextIO) -> int:
        """Write everything a person wrote as `admin export` does; returns how many."""
        from wellkept.memory.exchange.jsonl import write_memories

        return write_memories(self.store.memories_of(person), file)
