"""Skills that a person forces: by the setting `skills.force`, or for one session.

A forced skill is given to the agent whatever the prompt, even one that is switched off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from wellkept.core.text import clean

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.core.ports.key_values import KeyValueStore


class ForcedSkills:
    """The forced skills of one project, by name."""

    def __init__(self, store: KeyValueStore, project: str, *, always: str = "") -> None:
        self._store = store
        self._space = f"skills.forced/{quote(clean(project), safe='')}"
        self._always = _distinct(always.split(","))

    def names(self, session: str | None = None) -> tuple[str, ...]:
        """What is forced always, and in a session."""
        return _distinct([*self._always, *(self.of_session(session) if session else ())])

    def of_session(self, session: str) -> tuple[str, ...]:
        """What is forced in this session alone."""
        kept = self._store.get_value(self._space, session)
        return tuple(one for one in kept if isinstance(one, str)) if isinstance(kept, list) else ()

    def put(self, session: str, names: Sequence[str]) -> None:
        """Force these in a session, in place of those before; none of them to end it."""
        value: list[Json] = [*_distinct(names)]
        self._store.put_value(self._space, session, value or None)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.strip() for one in names if one.strip()))
