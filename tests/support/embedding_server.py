"""A loopback server that speaks the wire protocols of model services, faults included.

It answers `/api/tags`, `/api/embed`, `/api/chat`, `/v1/embeddings`, `/v1/chat/completions`,
`/v1/rerank` and Anthropic's `/v1/messages` with the shapes, status codes and error bodies of the
real services; vectors are made from the words of the text, so like texts get like vectors. Faults
are queued and used up one a request.
Invariant: the same text always gets the same vector. Knows nothing of Wellkept.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

from tests.support.loopback import LoopbackServer
from wellkept.core.records import field, record


@record
class Fault:
    """One way in which the next request goes wrong.

    `status` answers with that code and an error body; `hang` gives no answer until the server
    closes; `trickle` sends a byte now and then without end; `drop` closes the connection at once;
    `body` is sent as it is with status 200.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    hang: bool = False
    trickle: bool = False
    drop: bool = False
    body: bytes | None = None


@record
class SeenRequest:
    """What a client sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]


@record
class Behaviour:
    """How the server differs from a healthy, recent one."""

    models: Sequence[str] = ("qwen3-embedding:4b", "text-embedding-3-small")
    native_dimension: int = 2560
    honours_dimensions: bool = True
    api_key: str | None = None
    answers_in_reverse: bool = False
    leaves_out_last: bool = False
    completion: str = "A hypothetical answer."


class FakeEmbeddingServer(LoopbackServer):
    """Runs in a thread on a free loopback port between `with` and its end."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.behaviour = behaviour or Behaviour()
        self.seen: list[SeenRequest] = []
        self.faults: deque[Fault] = deque()
        server = _Server(("127.0.0.1", 0), _Handler)
        server.fake = self
        super().__init__(server)

    @property
    def openai_url(self) -> str:
        """The address that an OpenAI client is given."""
        return f"{self.url}/v1"

    def fail_next(self, *faults: Fault) -> None:
        """Let the following requests go wrong, one fault each."""
        self.faults.extend(faults)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    fake: FakeEmbeddingServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay quiet when a client hangs up: that is what time-out tests do."""


@record
class _Reply:
    status: int
    body: Mapping[str, object]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        self._serve("GET", {})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        self._serve("POST", cast("dict[str, object]", json.loads(self.rfile.read(length))))

    def log_message(self, format: str, *args: object) -> None:
        """Write no access log."""

    def _serve(self, method: str, body: Mapping[str, object]) -> None:
        fake = self.server.fake
        fake.seen.append(SeenRequest(method, self.path, dict(self.headers.items()), body))
        if fake.faults:
            self._go_wrong(fake, fake.faults.popleft())
            return
        key = self.headers.get("x-api-key")
        authorization = f"Bearer {key}" if key else self.headers.get("Authorization")
        reply = _answer(fake.behaviour, method, self.path, body, authorization)
        self._send(reply.status, json.dumps(reply.body).encode(), {})

    def _go_wrong(self, fake: FakeEmbeddingServer, fault: Fault) -> None:
        if fault.hang:
            fake.closing.wait()
        if fault.trickle:
            self._trickle(fake)
        if fault.hang or fault.drop or fault.trickle:
            self.close_connection = True
        elif fault.status is not None:
            error = {"error": {"message": f"fault {fault.status}", "type": "server_error"}}
            self._send(fault.status, json.dumps(error).encode(), fault.headers)
        else:
            self._send(200, fault.body or b"", fault.headers)

    def _trickle(self, fake: FakeEmbeddingServer) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        try:
            while not fake.closing.wait(0.02):
                self.wfile.write(b" ")
                self.wfile.flush()
        except OSError:
            pass  # the client hung up

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _answer(
    behaviour: Behaviour,
    method: str,
    path: str,
    body: Mapping[str, object],
    authorization: str | None,
) -> _Reply:
    if behaviour.api_key and authorization != f"Bearer {behaviour.api_key}":
        shown = (authorization or "").removeprefix("Bearer ")
        return _openai_error(401, f"Incorrect API key provided: {shown}.")
    match method, path:
        case "GET", "/api/tags":
            return _tags(behaviour)
        case "POST", "/api/embed":
            return _ollama_embed(behaviour, body)
        case "POST", "/v1/embeddings":
            return _openai_embed(behaviour, body)
        case "POST", "/v1/chat/completions":
            return _chat(behaviour)
        case "POST", "/api/chat":
            return _ollama_chat(behaviour, body)
        case "POST", "/v1/messages":
            return _messages(behaviour, body)
        case "POST", "/v1/rerank":
            return _rerank(behaviour, body)
        case _:
            return _openai_error(404, f"Unknown request URL: {method} {path}.")


def _tags(behaviour: Behaviour) -> _Reply:
    models = [
        {
            "name": name,
            "model": name,
            "size": 1,
            "digest": hashlib.sha256(name.encode()).hexdigest(),
        }
        for name in behaviour.models
    ]
    return _Reply(200, {"models": models})


def _ollama_embed(behaviour: Behaviour, body: Mapping[str, object]) -> _Reply:
    model = str(body.get("model"))
    if model not in behaviour.models:
        return _Reply(404, {"error": f'model "{model}" not found, try pulling it first'})
    vectors = [_vector(text, _dimension(behaviour, body)) for text in _texts(body.get("input"))]
    if behaviour.leaves_out_last:
        vectors.pop()
    return _Reply(200, {"model": model, "embeddings": vectors, "total_duration": 1})


def _openai_embed(behaviour: Behaviour, body: Mapping[str, object]) -> _Reply:
    model = str(body.get("model"))
    texts = _texts(body.get("input"))
    if model not in behaviour.models:
        return _openai_error(404, f"The model `{model}` does not exist.")
    if not texts or not all(texts):
        return _openai_error(400, "'$.input' is invalid.")
    rows: list[dict[str, object]] = [
        {"object": "embedding", "index": index, "embedding": _vector(text, dimension)}
        for dimension in [_dimension(behaviour, body)]
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    arranged = _arranged(behaviour, rows)
    return _Reply(200, {"object": "list", "data": arranged, "model": model, "usage": usage})


def _chat(behaviour: Behaviour) -> _Reply:
    message = {"role": "assistant", "content": behaviour.completion}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127}
    reply = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}
    return _Reply(200, reply)


def _ollama_chat(behaviour: Behaviour, body: Mapping[str, object]) -> _Reply:
    message = {"role": "assistant", "content": behaviour.completion}
    counts = {"prompt_eval_count": 120, "eval_count": 7, "done": True, "done_reason": "stop"}
    return _Reply(200, {"model": body.get("model"), "message": message, **counts})


def _messages(behaviour: Behaviour, body: Mapping[str, object]) -> _Reply:
    if not isinstance(body.get("max_tokens"), int):
        error = {"type": "invalid_request_error", "message": "max_tokens: Field required"}
        return _Reply(400, {"type": "error", "error": error})
    reply = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [{"type": "text", "text": behaviour.completion}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 120, "output_tokens": 7},
    }
    return _Reply(200, reply)


def _rerank(behaviour: Behaviour, body: Mapping[str, object]) -> _Reply:
    query = set(str(body.get("query")).lower().split())
    rows: list[dict[str, object]] = []
    for index, document in enumerate(_texts(body.get("documents"))):
        words = set(document.lower().split())
        score = len(query & words) / max(1, len(query | words))
        rows.append({"index": index, "relevance_score": score})
    return _Reply(200, {"model": body.get("model"), "results": _arranged(behaviour, rows)})


def _arranged(behaviour: Behaviour, rows: list[dict[str, object]]) -> list[dict[str, object]]:
    kept = rows[:-1] if behaviour.leaves_out_last else rows
    return kept[::-1] if behaviour.answers_in_reverse else kept


def _openai_error(status: int, message: str) -> _Reply:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return _Reply(status, {"error": error})


def _dimension(behaviour: Behaviour, body: Mapping[str, object]) -> int:
    asked = body.get("dimensions")
    if behaviour.honours_dimensions and isinstance(asked, int):
        return min(asked, behaviour.native_dimension)
    return behaviour.native_dimension


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(item) for item in cast("list[object]", value or [])]


def _vector(text: str, dimension: int) -> list[float]:
    """Add up a pseudo-random direction for each word."""
    values = [0.0] * dimension
    for word in text.lower().split() or [""]:
        digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
        for place in range(0, len(digest), 4):
            spot = int.from_bytes(digest[place : place + 3], "little") % dimension
            values[spot] += 1.0 if digest[place + 3] % 2 else -1.0
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    return [value / length for value in values]
