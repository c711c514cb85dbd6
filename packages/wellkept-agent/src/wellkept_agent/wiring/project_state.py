"""`project:` values of a session: kept at once, as a value and as a memory.

The next session finds the value in its state, and is told of it as of anything else that is known.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from wellkept.memory.state import StateScope
from wellkept.text.secrets.redaction import redact_json

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept_agent.wiring.memory import AgentMemory

_MAX_VALUE_CHARS = 400


class ProjectState:
    """The `project:` values of one memory."""

    def __init__(self, wk: AgentMemory) -> None:
        self._wk = wk

    def values(self) -> dict[str, Json]:
        """What earlier sessions left, by full key."""
        return self._wk.state().items(StateScope.PROJECT)

    def keep(self, key: str, value: Json) -> None:
        """Keep a value; None and empty texts remove it, and its memory is closed."""
        # Before it is cut and written as text, where a part of a secret could hide.
        value = redact_json(value)
        self._wk.state().put(f"{StateScope.PROJECT.prefix}{key}", value)
        name = f"state:{key}"
        if value is None or value == "" or value is False:
            self._forget(name)
            return
        self._wk.remember(
            statement(key, value), type="convention", key=name, source="agent_explicit"
        )

    def _forget(self, name: str) -> None:
        from wellkept.core.errors import NotFoundError

        try:
            self._wk.forget(name, keep_history=True)
        except NotFoundError:
            return


def statement(key: str, value: Json) -> str:
    """A value as a sentence: `user_prefers: "pnpm"` is "user prefers: pnpm"."""
    words = " ".join(key.replace("_", " ").replace("-", " ").replace(".", " ").split())
    if value is True:
        return words
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"
    return f"{words}: {shown}"
