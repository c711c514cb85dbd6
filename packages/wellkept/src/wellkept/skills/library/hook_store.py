"""Storage for hooks in an open project: the user's trust, and which once-only hooks ran."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

from wellkept.core.clock import to_ms
from wellkept.core.codec import Json
from wellkept.core.errors import StoreBusyError, StoreFullError, StoreReadOnlyError
from wellkept.core.settings import paths
from wellkept.core.text import clean
from wellkept.skills.hooks.runner import SkillHooks
from wellkept.skills.hooks.trust import TrustFile

if TYPE_CHECKING:
    from wellkept.core.clock import Clock
    from wellkept.core.ports.key_values import KeyValueStore
    from wellkept.core.skills import SkillIndex
    from wellkept.memory.workspace import Workspace

TRUST_FILE: Final = "hook-trust.json"
_RETENTION: Final = timedelta(days=30)
_WRITE_ERRORS: Final = (StoreReadOnlyError, StoreBusyError, StoreFullError)


class _StoredHookRunLog:
    """The `HookRunLog` port over the key-value store, so that a session continued elsewhere keeps
    it.

    Sessions idle for a month are removed. Without a session, or where the store cannot be written,
    only this process remembers.
    """

    def __init__(self, store: KeyValueStore, project: str, *, clock: Clock) -> None:
        self._store = store
        self._space = f"skills.hooks.once/{quote(clean(project), safe='')}"
        self._clock = clock
        self._seen: set[tuple[str, str]] = set()
        self._lock = Lock()

    def claim(self, session: str, hook: str) -> bool:
        """Record that a hook runs now; False when it ran before."""
        with self._lock:
            if (session, hook) in self._seen:
                return False
            self._seen.add((session, hook))
            return not session or self._claim_in_store(clean(session), hook)

    def _claim_in_store(self, session: str, hook: str) -> bool:
        known = _hooks(self._store.get_value(self._space, session))
        if hook in known:
            return False
        with suppress(*_WRITE_ERRORS):
            if not known:
                self._forget_old()
            now: dict[str, Json] = {"at_ms": to_ms(self._clock()), "hooks": [*known, hook]}
            self._store.put_value(self._space, session, now)
        return True

    def _forget_old(self) -> None:
        before = to_ms(self._clock() - _RETENTION)
        for session, value in self._store.values(self._space).items():
            at_ms = value.get("at_ms") if isinstance(value, dict) else None
            if not isinstance(at_ms, int) or at_ms < before:
                self._store.put_value(self._space, session, None)


def _hooks(value: Json) -> list[str]:
    hooks = value.get("hooks") if isinstance(value, dict) else None
    return [str(one) for one in cast("list[Json]", hooks)] if isinstance(hooks, list) else []


def hooks_of(services: Workspace, *, index: Callable[[], SkillIndex]) -> SkillHooks:
    """The hooks of an open project."""
    return SkillHooks(
        index=index,
        root=services.root,
        trust=TrustFile(paths.data_folder(services.environment) / TRUST_FILE),
        ran=_StoredHookRunLog(services.store, services.project, clock=services.clock),
        environment=services.environment,
    )
