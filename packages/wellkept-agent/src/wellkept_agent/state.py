"""State of a session by scope: `temp:`, `session:` and `project:` keys.

`temp:` values are cleared after each round of tools. `session:` values live as long as the session;
those that are findings are extracted at its end. `project:` values are handed on at once to be kept
as memory, and a value that is set again with the same content is not handed on twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wellkept.core.codec import Json
from wellkept.core.errors import UsageError

TEMP = "temp:"
SESSION = "session:"
PROJECT = "project:"
SCOPES = (TEMP, SESSION, PROJECT)
FINDING = SESSION + "finding"

Persist = Callable[[str, Json], None]
"""Keeps a `project:` value: the key without its prefix, and the value."""


class ScopedState:
    """Values by key; the prefix of a key says how long a value lives."""

    def __init__(self, persist: Persist | None = None) -> None:
        self._values: dict[str, Json] = {}
        self._persist = persist

    def set(self, key: str, value: Json) -> None:
        """Set a value. The key must begin with a scope."""
        if not key.startswith(SCOPES) or key in SCOPES:
            raise UsageError(
                f"State key {key!r} has no scope.",
                hint="Begin it with temp:, session: or project:.",
            )
        is_new = key not in self._values or self._values[key] != value
        self._values[key] = value
        if is_new and key.startswith(PROJECT) and self._persist is not None:
            self._persist(key.removeprefix(PROJECT), value)

    def get(self, key: str, default: Json = None) -> Json:
        """A value, or the default."""
        return self._values.get(key, default)

    def remove(self, key: str) -> None:
        """Drop a value, if it is there. What was persisted stays."""
        self._values.pop(key, None)

    def clear_temp(self) -> None:
        """Drop what lives for one round of tools."""
        for key in [key for key in self._values if key.startswith(TEMP)]:
            del self._values[key]

    def add_finding(self, text: str) -> None:
        """Note something worth keeping at the session's end."""
        if text.strip() and text not in self.findings():
            count = sum(1 for key in self._values if key.startswith(FINDING))
            self.set(f"{FINDING}:{count + 1}", text.strip())

    def findings(self) -> tuple[str, ...]:
        """The findings of the session, in order."""
        return tuple(
            value
            for key, value in self._values.items()
            if key.startswith(FINDING) and isinstance(value, str)
        )

    def project(self) -> dict[str, Json]:
        """The `project:` values, keys without their prefix."""
        return {
            k.removeprefix(PROJECT): v for k, v in self._values.items() if k.startswith(PROJECT)
        }

    def session(self) -> dict[str, Json]:
        """What a resumed session needs: everything but `temp:`."""
        return {key: value for key, value in self._values.items() if not key.startswith(TEMP)}

    def restore(self, values: dict[str, Json]) -> None:
        """Take back the values of a resumed session; nothing is persisted again."""
        self._values = {key: value for key, value in values.items() if key.startswith(SCOPES)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values
