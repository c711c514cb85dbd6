"""The MCP server over standard input and output, without the SDK.

Importing the SDK takes most of a second of processor time, in every session of every client. This
speaks the same protocol: a test compares its answers with the SDK's. Greetings and lists are
answered by the reading thread; whatever opens a project runs on other threads.

Invariants: only this module writes to the client, one whole line at a time; a started call is
finished even when its client cancels it or goes away.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast

from wellkept.api.mcp.errors import INTERNAL_ERROR, RequestError
from wellkept.api.mcp.handlers import Handlers, Roots, title_of
from wellkept.api.mcp.protocol import Connection, not_found

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

THREADS: Final = 16
ROOTS_WITHIN_S: Final = 2.0
PROGRESS_EVERY_S: Final = 1.0

Json: TypeAlias = dict[str, Any]


def serve_stdio(handlers: Handlers) -> None:
    """Serve one client until it closes standard input."""
    incoming, outgoing = _own_streams()
    StdioServer(handlers, outgoing).run(incoming)


class StdioServer:
    """One connection."""

    def __init__(self, handlers: Handlers, outgoing: IO[bytes]) -> None:
        self._outgoing = outgoing
        self._writing = threading.Lock()
        self._connection = Connection()
        self._running: dict[str, threading.Event] = {}
        self._asked: dict[str, _Reply] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._lists: Mapping[str, Callable[[Json], Json]] = {
            "tools/list": handlers.list_tools,
            "resources/list": handlers.list_resources,
            "resources/templates/list": handlers.list_templates,
        }
        self._calls: Mapping[str, Callable[[Json, Roots], Json]] = {
            "tools/call": handlers.call_tool,
            "resources/read": handlers.read_resource,
            "prompts/list": handlers.list_prompts,
            "prompts/get": handlers.get_prompt,
        }

    def run(self, incoming: IO[bytes]) -> None:
        """Answer lines until there are no more, then finish the calls that were begun."""
        for line in incoming:
            if line.strip():
                self._take(line)
        if self._pool is not None:
            self._pool.shutdown()

    def _take(self, line: bytes) -> None:
        try:
            message = cast("object", json.loads(line))
        except (ValueError, RecursionError):
            return _log("a line that is not JSON")
        if not isinstance(message, dict):
            return _log("a message that is not an object")
        found = cast("Json", message)
        if isinstance(found.get("method"), str):
            return self._take_method(found)
        if "id" in found and ("result" in found or "error" in found):
            return self._take_reply(found)
        return _log("a message without a method")

    def _take_method(self, message: Json) -> None:
        method, number = message["method"], message.get("id")
        params = message.get("params")
        given = cast("Json", params) if isinstance(params, dict) else {}
        if "id" not in message:
            return self._take_notification(method, given)
        if isinstance(number, bool) or not isinstance(number, str | int):
            return _log("a request whose id is neither a text nor a whole number")
        try:
            self._answer(number, method, given)
        except RequestError as error:
            self._send_error(number, error)

    def _take_notification(self, method: str, params: Json) -> None:
        if method == "notifications/cancelled":
            cancelled = self._running.get(str(params.get("requestId")))
            if cancelled is not None:
                cancelled.set()

    def _take_reply(self, message: Json) -> None:
        reply = self._asked.pop(str(message["id"]), None)
        if reply is not None:
            reply.result = message.get("result")
            reply.arrived.set()

    # -- Requests ---------------------------------------------------------------------------------

    def _answer(self, number: str | int, method: str, params: Json) -> None:
        connection = self._connection
        connection.open(method, params)
        result = connection.greeting(method, params)
        if result is not None:
            return self._send_result(number, method, result)
        if method not in self._lists and method not in self._calls:
            raise not_found(method)
        connection.require_ready()
        if method in self._calls:
            return self._begin(number, method, params)
        return self._send_result(number, method, self._lists[method](params))

    def _begin(self, number: str | int, method: str, params: Json) -> None:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="wellkept-mcp")
        cancelled = self._running[str(number)] = threading.Event()
        self._pool.submit(self._call, number, method, params, cancelled)

    def _call(
        self, number: str | int, method: str, params: Json, cancelled: threading.Event
    ) -> None:
        done = threading.Event()
        try:
            self._report_progress(method, params, done)
            result = self._calls[method](params, self._roots)
            if not cancelled.is_set():
                self._send_result(number, method, result)
        except RequestError as error:
            if not cancelled.is_set():
                self._send_error(number, error)
        except Exception as error:  # noqa: BLE001 - every request is answered
            from traceback import print_exception

            print_exception(error)
            self._send_error(number, RequestError(INTERNAL_ERROR, "Internal server error"))
        finally:
            done.set()
            if self._running.get(str(number)) is cancelled:
                del self._running[str(number)]

    def _report_progress(self, method: str, params: Json, done: threading.Event) -> None:
        """Report every second to a client that asked for it, until the call is done."""
        meta = params.get("_meta")
        token = cast("Json", meta).get("progressToken") if isinstance(meta, dict) else None
        if isinstance(token, bool) or not isinstance(token, str | int):
            return

        def report() -> None:
            seconds = 0
            while not done.wait(PROGRESS_EVERY_S):
                seconds += 1
                text = f"{title_of(method, params)}: still running"
                about: Json = {"progressToken": token, "progress": seconds, "message": text}
                self._send({"method": "notifications/progress", "params": about})

        threading.Thread(target=report, name="wellkept-progress", daemon=True).start()

    def _roots(self) -> list[Path]:
        """The client's root folders; empty when it has none or does not answer in time."""
        from wellkept.api.mcp.roots import folders_of

        if not self._connection.can_list_roots:
            return []
        reply = _Reply()
        number = f"roots-{id(reply)}"
        self._asked[number] = reply
        self._send({"id": number, "method": "roots/list"})
        if not reply.arrived.wait(ROOTS_WITHIN_S):
            self._asked.pop(number, None)
        return folders_of(reply.result)

    # -- Writing ----------------------------------------------------------------------------------

    def _send_result(self, number: str | int, method: str, result: Json) -> None:
        self._send({"id": number, "result": self._connection.finished(method, result)})

    def _send_error(self, number: str | int, error: RequestError) -> None:
        about: Json = {"code": error.code, "message": error.message}
        if error.data is not None:
            about["data"] = error.data
        self._send({"id": number, "error": about})

    def _send(self, message: Json) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        # A client that is gone reads nothing; the end of its input ends the server.
        with self._writing, suppress(BrokenPipeError, ValueError):
            self._outgoing.write(line.encode("utf-8", "replace") + b"\n")
            self._outgoing.flush()


class _Reply:
    """The client's reply to a request of ours."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.result: object = None


def _log(problem: str) -> None:
    print(f"wellkept mcp: skipped {problem}.", file=sys.stderr)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The client's two pipes for this module alone.

    The standard streams then lead elsewhere, so that stray output of a library or a child process
    cannot end up between two messages.
    """
    sys.stdout.flush()
    try:
        incoming, outgoing = os.dup(0), os.dup(1)
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is needed
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
    except OSError:
        return sys.stdin.buffer, sys.stdout.buffer
    return os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb")
