"""Writes what was injected to the event spool, from where a drain takes it into the store.

The hook has the store open for reading only, and must not wait for a lock. An entry goes into the
file of its session, after the event that asked for the context. Without room or permission there
is no log entry; the answer is not affected.

The ids of the items that a session was given are kept beside it, so that nothing is repeated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from wellkept.clients.hook_process import session_key
from wellkept.clients.registry import INJECTED_EVENT
from wellkept.core.clock import to_ms
from wellkept.core.session.hook_context import HookContext, HookContextRequest
from wellkept.store import spool
from wellkept.store.spool import SUFFIX, file_name, make_private_folder

FOLDER_NAME = "shown"
_MAX_BYTES = 1 << 20
_RETENTION_S = 30 * 24 * 3_600


class ShownItems:
    """Shown ids by session, in a state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER_NAME

    def ids(self, client: str, session: str) -> frozenset[str]:
        """The ids shown in a session so far."""
        try:
            with self._path(client, session).open("rb") as file:
                raw = file.read(_MAX_BYTES)
        except OSError:
            return frozenset()
        return frozenset(raw.decode("ascii", "replace").split())

    def add(self, client: str, session: str, ids: Iterable[str]) -> None:
        """Add ids that are about to be shown."""
        lines = "".join(f"{one}\n" for one in ids).encode("ascii", "replace")
        if not lines:
            return
        try:
            make_private_folder(str(self._folder))
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            descriptor = os.open(self._path(client, session), flags, 0o600)
            try:
                os.write(descriptor, lines)
            finally:
                os.close(descriptor)
        except OSError:
            return

    def forget(self, client: str, session: str) -> None:
        """Clear a session that starts over."""
        try:
            self._path(client, session).unlink(missing_ok=True)
        except OSError:
            return

    def forget_old(self) -> None:
        """Delete files of sessions without a change for a month."""
        try:
            paths = list(self._folder.iterdir())
        except OSError:
            return
        for path in paths:
            try:
                if time.time() - path.stat().st_mtime >= _RETENTION_S:
                    path.unlink(missing_ok=True)
            except OSError:
                continue

    def _path(self, client: str, session: str) -> Path:
        return self._folder / file_name(client, session).removesuffix(SUFFIX)


MAX_TRIGGER_CHARS = 500


class InjectionSpool:
    """The log of injections of one state folder, writing side."""

    def __init__(self, state: str) -> None:
        self._folder = f"{state}/{spool.FOLDER_NAME}"

    def add(
        self, request: HookContextRequest, context: HookContext, *, payload: bytes, at: datetime
    ) -> None:
        """Log an answer. `payload` is that of the event, which names the session's file."""
        if not context.lines or not context.project:
            return
        try:
            spool.append(
                self._folder,
                client=request.client,
                session=session_key(payload),
                event=INJECTED_EVENT,
                payload=_encoded(request, context),
                now_ms=to_ms(at),
            )
        except OSError:
            return


def _encoded(request: HookContextRequest, context: HookContext) -> bytes:
    import json

    agent = request.agent
    session = request.session.removesuffix(f"/{agent}") if agent else request.session
    told = {
        "session": session,
        "agent": agent,
        "cwd": request.cwd,
        "moment": request.moment,
        "trigger": (request.query or ", ".join(request.files))[:MAX_TRIGGER_CHARS],
        "project": context.project,
        "tokens": context.tokens,
        "lines": [
            {
                "text": line.text,
                "kind": line.kind,
                "id": line.id,
                "memory": line.memory_id,
                "reason": line.reason,
                "score": [line.score, line.importance, line.confidence],
            }
            for line in context.lines
        ],
    }
    return json.dumps(told, ensure_ascii=True).encode("ascii")
