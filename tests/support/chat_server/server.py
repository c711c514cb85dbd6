"""The server: plays a script of answers and faults to whoever asks.

Requests are kept as they came. Nothing here knows how Wellkept's own models work.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias, cast

from tests.support.chat_server import shapes, whole_answers
from tests.support.chat_server.faults import Fault
from tests.support.loopback import LoopbackServer
from wellkept.core.chat.messages import Message, ModelResponse, assistant_message
from wellkept.core.records import record

Answer: TypeAlias = "str | Message | ModelResponse | Fault"
Body: TypeAlias = Mapping[str, Any]


@record
class SeenCall:
    """A request as a client sent it; names of headers are in small letters."""

    path: str
    headers: Mapping[str, str]
    body: Body


class ChatServer(LoopbackServer):
    """Runs in a thread on a free loopback port between `with` and its end.

    `script` is a list of answers, or a function from a request's body to one; a list that is used
    up says "Done." `flavour` is the service whose habits are followed on `/chat/completions`.
    """

    def __init__(
        self,
        script: Iterable[Answer] | Callable[[Body], Answer],
        *,
        flavour: str = "openai",
        api_key: str | None = None,
    ) -> None:
        self.requests: list[SeenCall] = []
        self.flavour = flavour
        self.api_key = api_key
        self._lock = threading.Lock()
        self._script = script if callable(script) else iter(script)
        server = _Server(("127.0.0.1", 0), _Handler)
        server.chat = self
        super().__init__(server)

    @property
    def openai_url(self) -> str:
        """The address for OpenAI's protocol."""
        return f"{self.url}/v1"

    @property
    def bodies(self) -> list[Body]:
        """The bodies of all requests."""
        return [one.body for one in self.requests]

    def answer(self, call: SeenCall) -> Answer:
        """What comes next."""
        with self._lock:
            self.requests.append(call)
            if callable(self._script):
                return self._script(call.body)
            return next(self._script, "Done.")


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    chat: ChatServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay quiet when a client hangs up: that is what cancelling does."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        """Write no access log."""

    def do_POST(self) -> None:
        """A question to the model."""
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = cast("dict[str, Any]", json.loads(raw))
        chat = self.server.chat
        path = self.path.partition("?")[0]
        protocol = "anthropic" if path.endswith("/messages") else "openai"
        if not path.endswith(("/messages", "/chat/completions")):
            self._send(404, shapes.error_body(protocol, 404), {})
            return
        answer = chat.answer(SeenCall(path, {k.lower(): v for k, v in self.headers.items()}, body))
        if not self._has_key(chat.api_key):
            self._send(401, shapes.error_body(protocol, 401), {})
            return
        fault = answer if isinstance(answer, Fault) else None
        if fault is not None and self._refused(fault, protocol):
            return
        model = str(body.get("model"))
        if not body.get("stream"):
            self._send(200, json.dumps(self._whole(answer, protocol, model)), {})
            return
        self._stream(self._events(answer, protocol, model), fault, protocol)

    def _has_key(self, api_key: str | None) -> bool:
        given = self.headers.get("x-api-key") or ""
        bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        return api_key is None or api_key in (given, bearer)

    def _refused(self, fault: Fault, protocol: str) -> bool:
        """Answer without a stream; False when the stream itself goes wrong."""
        if fault.hang:
            self.server.chat.closing.wait()
            self.close_connection = True
            return True
        if fault.status != 200 or fault.body is not None:
            body = fault.body
            if body is None:
                body = shapes.error_body(protocol, fault.status)
            self._send(fault.status, body, fault.headers)
            return True
        return False

    def _whole(self, answer: Answer, protocol: str, model: str) -> dict[str, Any]:
        """The answer in one piece."""
        if protocol == "anthropic":
            return whole_answers.anthropic_message(_response(answer), model)
        return whole_answers.openai_completion(_response(answer), model)

    def _events(self, answer: Answer, protocol: str, model: str) -> shapes.Events:
        answer = _response(answer)
        if protocol == "anthropic":
            return shapes.anthropic_events(answer, model)
        return shapes.openai_events(answer, model, self.server.chat.flavour)

    def _stream(self, events: shapes.Events, fault: Fault | None, protocol: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, (name, data) in enumerate(events):
            if fault is not None:
                if number == fault.cut_after:
                    self.close_connection = True
                    return
                if fault.delay_s and self.server.chat.closing.wait(fault.delay_s):
                    self.close_connection = True
                    return
                if number == fault.garbage_at:
                    self._event(name, '{"broken": ')
                    continue
                if number == fault.error_at:
                    self._event(*shapes.error_event(protocol))
                    break
            self._event(name, data if isinstance(data, str) else json.dumps(data))
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, name: str | None, data: str) -> None:
        lines = f"event: {name}\n" if name else ""
        raw = f"{lines}data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def _send(self, status: int, body: str, headers: Mapping[str, str]) -> None:
        raw = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)


def _response(answer: Answer) -> ModelResponse:
    if isinstance(answer, Fault):
        answer = answer.answer
    if isinstance(answer, str):
        answer = assistant_message(answer)
    return shapes.plain_answer(answer) if isinstance(answer, Message) else answer
