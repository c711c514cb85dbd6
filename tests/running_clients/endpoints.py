"""Model endpoints on loopback that play a script, so that a real client runs without a model.

A request that offers tools takes the next turn of the script; any other (a title, a count of
tokens) gets a short text. Whatever the client sent is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]
MAX_CALLS = 60


@dataclass(frozen=True, slots=True)
class Say:
    """The model says something, and the turn is over."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls a tool; one that takes free text is given a string.

    Codex keeps the tools of an MCP server in a namespace.
    """

    tool: str
    given: dict[str, Any] | str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Until:
    """The model makes a call again and again until a request mentions something."""

    mentioned: str
    call: Call


Turn: TypeAlias = Say | Call
Script: TypeAlias = Sequence[Turn | Until]
Events: TypeAlias = Iterator[tuple[str | None, Body | str]]


def _anthropic(turn: Turn, number: int) -> Events:
    block: Body = {"type": "text", "text": ""}
    delta: Body = {"type": "text_delta", "text": getattr(turn, "text", "")}
    if isinstance(turn, Call):
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": turn.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.given)}
    message: Body = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": []}
    message |= {"model": "fake", "stop_reason": None, "stop_sequence": None, "usage": _USAGE}
    stop = {"stop_reason": "end_turn" if isinstance(turn, Say) else "tool_use"}
    events: list[Body] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop | {"stop_sequence": None}, "usage": _USAGE},
        {"type": "message_stop"},
    ]
    yield from ((str(event["type"]), event) for event in events)


def _responses(turn: Turn, number: int) -> Events:
    item: Body = {"id": f"item_{number}", "status": "completed"}
    if isinstance(turn, Say):
        part: Body = {"type": "output_text", "text": turn.text, "annotations": []}
        item |= {"type": "message", "role": "assistant", "content": [part]}
    elif isinstance(turn.given, str):
        item |= {"type": "custom_tool_call", "call_id": f"call_{number}", "name": turn.tool}
        item |= {"input": turn.given}
    else:
        item |= {"type": "function_call", "call_id": f"call_{number}", "name": turn.tool}
        item |= {"arguments": json.dumps(turn.given)}
        item |= {"namespace": turn.namespace} if turn.namespace else {}
    response: Body = {"id": f"resp_{number}", "object": "response", "model": "fake"}
    usage = _USAGE | {"total_tokens": 2}
    for kind, more in (
        ("response.created", {"response": response | {"status": "in_progress"}}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": response | {"status": "completed", "usage": usage}}),
    ):
        yield kind, {"type": kind, **more}


def _chat(turn: Turn, number: int) -> Events:
    chunk: Body = {"id": f"chat_{number}", "object": "chat.completion.chunk", "model": "fake"}
    delta: Body = {"role": "assistant"}
    if isinstance(turn, Say):
        delta["content"] = turn.text
    else:
        function = {"name": turn.tool, "arguments": json.dumps(turn.given)}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        delta["tool_calls"] = [call]
    reason = "stop" if isinstance(turn, Say) else "tool_calls"
    yield None, chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield None, chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    yield None, "[DONE]"


def _gemini(turn: Turn, number: int) -> Events:
    if isinstance(turn, Say):
        part: Body = {"text": turn.text}
    else:
        part = {"functionCall": {"name": turn.tool, "args": turn.given}}
    content = {"role": "model", "parts": [part]}
    candidate = {"index": 0, "finishReason": "STOP", "content": content}
    yield None, {"candidates": [candidate], "responseId": f"resp-{number}"}


_USAGE: Body = {"input_tokens": 1, "output_tokens": 1}
_DIALECTS: dict[str, Callable[[Turn, int], Events]] = {
    "/messages": _anthropic,
    "/responses": _responses,
    "/chat/completions": _chat,
    ":streamGenerateContent": _gemini,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """How every question goes wrong: a status, no answer at all, or a web page."""

    status: int = 200
    hang: bool = False
    html: bool = False


class Endpoint:
    """All dialects at one address; use as a context manager.

    `with_tools` and `without_tools` are said in place of the script to requests of either kind.
    """

    def __init__(
        self,
        turns: Script,
        *,
        without_tools: str = "Well.",
        with_tools: str | None = None,
        fault: Fault | None = None,
    ) -> None:
        self.seen: list[str] = []
        self.asked: list[Body] = []
        self.fault = fault
        self.closing = Event()
        self._without_tools = without_tools
        self._with_tools = with_tools
        self._turns = list(turns)
        self._lock = Lock()
        handler = type("Handler", (_Handler,), {"endpoint": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Endpoint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def last(self) -> str:
        """The last request that offered tools, as the client sent it."""
        return self.seen[-1]

    def next_turn(self, body: Body) -> tuple[Turn, int]:
        """What to answer to a request, and its number."""
        with self._lock:
            self.asked.append(body)
            if not body.get("tools"):
                return Say(self._without_tools), 0
            self.seen.append(json.dumps(body, ensure_ascii=False))
            if self._with_tools is not None:
                return Say(self._with_tools), len(self.seen)
            return self._turn(), len(self.seen)

    def _turn(self) -> Turn:
        turn = self._turns.pop(0) if self._turns else Say("Done.")
        if not isinstance(turn, Until):
            return turn
        if turn.mentioned in self.last or len(self.seen) > MAX_CALLS:
            return self._turn()
        self._turns.insert(0, turn)
        return turn.call


class _Handler(BaseHTTPRequestHandler):
    endpoint: Endpoint

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Lists of models and the like: there are none."""
        self._send(b'{"data":[],"models":[]}', "application/json")

    def do_POST(self) -> None:
        """A question to the model."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        dialect = next((d for end, d in _DIALECTS.items() if path.endswith(end)), None)
        if dialect is None:
            self._send(b'{"input_tokens":1,"totalTokens":1}', "application/json")
            return
        if self.endpoint.fault is not None:
            self._go_wrong(self.endpoint.fault)
            return
        turn, number = self.endpoint.next_turn(json.loads(raw))
        self._send("".join(map(_framed, dialect(turn, number))).encode(), "text/event-stream")

    def _go_wrong(self, fault: Fault) -> None:
        if fault.hang:
            self.endpoint.closing.wait()
            return
        kind = "text/html" if fault.html else "application/json"
        raw = b"<html>Welcome</html>" if fault.html else b'{"error":{"message":"Too many"}}'
        self._send(raw, kind, status=fault.status)

    def _send(self, raw: bytes, kind: str, *, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def _framed(event: tuple[str | None, Body | str]) -> str:
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    return f"event: {name}\ndata: {text}\n\n" if name else f"data: {text}\n\n"
