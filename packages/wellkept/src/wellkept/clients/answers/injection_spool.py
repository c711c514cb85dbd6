"""Writes what was injected to the event spool, from where a drain takes it into the store.

The hook has the store open for reading only, and must not wait for a lock. An entry goes into the
file of its session, after the event that asked for the context. Without room or permission there
is no log entry; the answer is not affected.
"""

from __future__ import annotations

from datetime import datetime

from wellkept.clients.hook_process import session_key
from wellkept.clients.registry import INJECTED_EVENT
from wellkept.core.clock import to_ms
from wellkept.core.session.hook_context import HookContext, HookContextRequest
from wellkept.store import spool

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
