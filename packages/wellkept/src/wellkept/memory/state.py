"""Small named values with a lifetime: `temp:`, `session:` and `project:`.

    temp:     in this object until `end_round`
    session:  in the store under the session id until `end_session`
    project:  in the store for the project until removed, and recalled as a memory

Values are JSON with secrets redacted; a key that contains a secret is refused. A `session:` or
`project:` value is durable when `put` returns, and visible to every process with the same store.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from enum import StrEnum
from typing import cast
from urllib.parse import quote

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.text import clean, shorten
from wellkept.core.types import MemoryType, Source
from wellkept.memory.draft import MemoryDraft
from wellkept.memory.edit import forget
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember
from wellkept.text.secrets.redaction import redact_json, redact_name

MAX_VALUE_BYTES = 262_144
MAX_KEY_CHARS = 256
MAX_STATEMENT_CHARS = 400
SESSION_DAYS = 7.0


class StateScope(StrEnum):
    """How long a value lives; the key begins with it."""

    TEMP = "temp"
    SESSION = "session"
    PROJECT = "project"

    @property
    def prefix(self) -> str:
        """How keys of this scope begin."""
        return f"{self.value}:"


class State:
    """The state of one project, as one session sees it."""

    def __init__(self, engine: Engine, *, project: str, session_id: str | None = None) -> None:
        self._engine = engine
        self._project = project
        self._session_id = None if session_id is None else redact_name(clean(session_id))
        self._temp: dict[str, str] = {}
        self._listed_at: datetime | None = None

    def get(self, key: str, default: Json = None) -> Json:
        """The value under a key, or the default."""
        scope = scope_of(key)
        if scope is StateScope.TEMP:
            return cast("Json", json.loads(self._temp[key])) if key in self._temp else default
        value = self._engine.store.get_value(self._namespace(scope), key)
        return default if value is None else value

    def put(self, key: str, value: Json) -> None:
        """Store a value; None removes it."""
        scope = scope_of(key)
        text = checked_json(key, value)
        if scope is StateScope.TEMP:
            self._put_temp(key, text if value is not None else None)
            return
        if redact_name(key) != key:
            raise UsageError(
                "The key looks like a secret, and keys are not redacted.",
                hint="Name what the value is for.",
            )
        if scope is StateScope.SESSION and value is not None:
            # Record once a day that this session has state, to find sessions that never end.
            now = self._engine.clock()
            if self._listed_at is None or abs(now - self._listed_at) > timedelta(days=1):
                self._engine.store.put_value(
                    _session_list(self._project), self._need_session(), to_ms(now)
                )
                self._listed_at = now
        # Before it is cut and written as text, where a part of a secret could hide.
        value = redact_json(value)
        self._engine.store.put_value(self._namespace(scope), key, value)
        if scope is StateScope.PROJECT:
            self._keep(key.removeprefix(scope.prefix), value)

    def _keep(self, name: str, value: Json) -> None:
        """A `project:` value as a memory; without a value it is closed."""
        memory_key = f"state:{name}"
        if value not in (None, "", False):
            draft = MemoryDraft(
                content=_statement(name, value),
                type=MemoryType.CONVENTION,
                key=memory_key,
                source=Source.AGENT_EXPLICIT,
            )
            remember(self._engine, draft, project=self._project)
        elif old := self._engine.store.find_key(
            memory_key, project=self._project, user_scope=False
        ):
            forget(self._engine, [old.id], keep_history=True)

    def remove(self, key: str) -> None:
        """Remove a value; a missing key is no error."""
        self.put(key, None)

    def items(self, scope: StateScope) -> dict[str, Json]:
        """Every value of one scope by its full key, sorted."""
        if scope is StateScope.TEMP:
            return {key: cast("Json", json.loads(self._temp[key])) for key in sorted(self._temp)}
        return dict(sorted(self._engine.store.values(self._namespace(scope)).items()))

    def end_round(self) -> None:
        """End a round of tool calls: drop `temp:` values."""
        self._temp.clear()

    def end_session(self) -> dict[str, Json]:
        """End the session: drop its values and return them."""
        self.end_round()
        held = self.items(StateScope.SESSION)
        _clear_session(self._engine, self._project, self._need_session())
        self._listed_at = None
        return held

    def _put_temp(self, key: str, text: str | None) -> None:
        if text is None:
            self._temp.pop(key, None)
        else:
            self._temp[key] = text

    def _namespace(self, scope: StateScope) -> str:
        if scope is StateScope.SESSION:
            return _session_namespace(self._project, self._need_session())
        return f"state.project/{_name(self._project)}"

    def _need_session(self) -> str:
        if self._session_id is None:
            raise UsageError(
                "There is no session, so there is no session: state.",
                hint="Give a session id, or use a project: key.",
            )
        return self._session_id


def _statement(name: str, value: Json) -> str:
    """A value as a sentence: `user_prefers: "pnpm"` is "user prefers: pnpm"."""
    words = " ".join(name.replace("_", " ").replace("-", " ").replace(".", " ").split())
    if value is True:
        return words
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{words}: {shorten(text, limit=MAX_STATEMENT_CHARS)}"


def scope_of(key: str) -> StateScope:
    """The scope that a key names, or an error that lists the three."""
    prefix, colon, name = key.partition(":")
    if not colon or prefix not in set(StateScope):
        raise UsageError(
            f"The key {key!r} does not say how long its value lives.",
            hint=f"Begin it with one of: {', '.join(s.prefix for s in StateScope)}",
        )
    if not name.strip() or clean(key) != key or len(key) > MAX_KEY_CHARS:
        raise UsageError(
            f"The key {key[:40]!r} cannot be used.",
            hint=f"Give a name after the colon, at most {MAX_KEY_CHARS} characters in all.",
        )
    return StateScope(prefix)


def checked_json(key: str, value: object) -> str:
    """The value as JSON text, if it comes back from JSON the same and is not too large."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        size, same = len(text.encode()), json.loads(text) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"The value of {key!r} is not JSON: {error}.") from None
    if not same:
        raise UsageError(
            f"The value of {key!r} would change in JSON.",
            hint="Use lists, not tuples, and text as keys of objects.",
        )
    if size > MAX_VALUE_BYTES:
        raise UsageError(
            f"The value of {key!r} takes {size:,} bytes; at most {MAX_VALUE_BYTES:,} are kept.",
            hint="Keep large things in a file and their path here.",
        )
    return text


def forget_old_sessions(
    engine: Engine, *, project: str, days: float = SESSION_DAYS, dry_run: bool = False
) -> list[str]:
    """Drop the state of sessions last active longer ago that never ended; returns their ids."""
    oldest = engine.clock() - timedelta(days=days)
    ledger = engine.store.values(_session_list(project))
    old = sorted(
        name for name, ms in ledger.items() if isinstance(ms, int) and from_ms(ms) < oldest
    )
    for session_id in old if not dry_run else ():
        _clear_session(engine, project, session_id)
    return old


def _clear_session(engine: Engine, project: str, session_id: str) -> None:
    space = _session_namespace(project, session_id)
    for key in engine.store.values(space):
        engine.store.put_value(space, key, None)
    engine.store.put_value(_session_list(project), session_id, None)


def _session_namespace(project: str, session_id: str) -> str:
    return f"state.session/{_name(project)}/{_name(session_id)}"


def _session_list(project: str) -> str:
    return f"state.sessions/{_name(project)}"


def _name(text: str) -> str:
    """A name escaped for use in a namespace."""
    return quote(clean(text), safe="")
