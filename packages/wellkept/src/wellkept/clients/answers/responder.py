"""Turn a client's event into the bytes the hook prints: same code in the hook and in a server.

payload -> event -> context request -> context without what was shown -> the client's output format.
The context source is passed in as a function; this module knows nothing of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from wellkept.clients.answers.injection_spool import InjectionSpool, ShownItems
from wellkept.clients.answers.render import render, takes_context
from wellkept.clients.registry import translate
from wellkept.core.clock import Clock, system_clock
from wellkept.core.session.events import (
    Event,
    Origin,
    PromptSubmitted,
    SessionStarted,
    ToolCalled,
    ToolKind,
    ToolStarting,
    TurnEnded,
)
from wellkept.core.session.hook_context import (
    ASKED_AT_STOP,
    HookContext,
    HookContextRequest,
    may_have_failed,
)

MAX_QUERY_CHARS = 2_000
MAX_OUTPUT_CHARS = 8_000
# Session starts after which the agent no longer has what was injected before.
_FRESH_SOURCES = frozenset({"startup", "clear", "compact"})
_CHANGING = frozenset({ToolKind.EDIT, ToolKind.WRITE})
_FILE_KINDS = _CHANGING | {ToolKind.READ}

ContextSource: TypeAlias = Callable[[HookContextRequest, frozenset[str]], HookContext]
"""Context for a request, without the ids that were shown before."""


class HookResponder:
    """Answers hook events; can be passed to an `AnswerServer` as it is."""

    def __init__(
        self,
        context: ContextSource,
        *,
        shown: ShownItems,
        log: InjectionSpool | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self._context = context
        self._shown = shown
        self._log = log
        self._clock = clock

    def __call__(self, client: str, event: str, payload: bytes) -> bytes:
        """What the hook prints for an event; empty when there is nothing to inject."""
        if not takes_context(client, event):
            return b""
        translated = translate(client, event, payload, event_id="", at=self._clock())
        request = next(filter(None, map(context_request, translated)), None)
        return b"" if request is None else self._respond(client, request, event, payload)

    def _respond(
        self, protocol: str, request: HookContextRequest, event: str, payload: bytes
    ) -> bytes:
        client, session = request.client, request.session
        if request.fresh:
            known = self._shown.ids(client, session)
            self._shown.forget(client, session)
            self._shown.add(client, session, known & {ASKED_AT_STOP})
        context = self._context(request, self._shown.ids(client, session))
        response = render(protocol, event, context.text)
        if response:
            self._shown.add(client, session, context.ids)
            if self._log is not None:
                self._log.add(request, context, payload=payload, at=self._clock())
        return response


def context_request(event: Event) -> HookContextRequest | None:
    """The context request for an event; None for an event that gets no context."""
    match event:
        case SessionStarted(origin=origin, source=source):
            return _request(origin, "session", fresh=source in _FRESH_SOURCES)
        case PromptSubmitted(origin=origin, text=text, plans=plans) if text.strip():
            return _request(origin, "plan" if plans else "prompt", query=text)
        case ToolStarting(origin=origin, kind=ToolKind.SHELL, command=str(command)):
            return _request(origin, "command", query=command)
        case ToolStarting(origin=origin, kind=kind, files=files) if files and kind in _CHANGING:
            return _request(origin, "file", files=files)
        case ToolCalled(origin=origin, kind=ToolKind.SHELL, command=str(command)) if (
            event.error or may_have_failed(event.output)
        ):
            output = _ends(f"{event.error or ''}\n{event.output}")
            return _request(origin, "failure", query=command, output=output)
        case ToolCalled(origin=origin, kind=kind, files=files) if files and kind in _FILE_KINDS:
            return _request(origin, "file", files=files, reading=kind is ToolKind.READ)
        case TurnEnded(origin=origin):
            return _request(origin, "stop")
        case _:
            return None


def _request(
    origin: Origin,
    moment: str,
    *,
    query: str = "",
    output: str = "",
    files: tuple[str, ...] = (),
    fresh: bool = False,
    reading: bool = False,
) -> HookContextRequest:
    # A sub-agent has its own conversation, in which nothing was shown yet.
    session = f"{origin.session_id}/{origin.agent}" if origin.agent else origin.session_id
    return HookContextRequest(
        client=origin.client,
        session=session,
        moment=moment,
        agent=origin.agent,
        cwd=origin.cwd,
        query=query.strip()[:MAX_QUERY_CHARS],
        output=output,
        files=files,
        fresh=fresh,
        reading=reading,
    )


def _ends(text: str) -> str:
    """The beginning and the end of a long output: the cause is in one of them."""
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    half = MAX_OUTPUT_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"
