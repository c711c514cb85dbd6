"""Server for hook requests, run in a thread by any long-lived Wellkept process.

Of all such processes the holder of the lock file serves; when it exits, another takes over within
seconds. A request that fails ends with a closed connection, and the hook answers by itself. The
responses come from a function that is passed in.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

from wellkept.clients.answers.protocol import (
    SOCKET_NAME,
    NoServerError,
    ProtocolError,
    SocketAddress,
    encode_response,
    parse_request_header,
)
from wellkept.core.errors import WellkeptError
from wellkept.store.spool import fcntl, make_private_folder

LOCK_NAME = "answer.lock"
WORKERS = 4
_RETRY_LOCK_S = 2.0
_ACCEPT_TIMEOUT_S = 0.2
_HEAD_BYTES = 256
_READ_TIMEOUT_S = 2.0


Respond: TypeAlias = Callable[[str, str, bytes], bytes]
"""Client, event and payload -> what the hook prints."""


class AnswerServer:
    """Serves hooks from a thread between `start` and `stop`; also a context manager."""

    def __init__(
        self,
        state: Path,
        respond: Respond,
        *,
        on_error: Callable[[WellkeptError], None] = lambda _: None,
    ) -> None:
        self._state = state
        self._respond = respond
        self._on_error = on_error
        self._stopping = threading.Event()
        self._serving = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wellkept-answers", daemon=True)

    def __enter__(self) -> AnswerServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start serving, or waiting for the process that serves to exit."""
        make_private_folder(str(self._state))
        self._thread.start()

    def stop(self) -> None:
        """Stop, after finishing requests in progress; another process takes over."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def wait_until_serving(self, timeout_s: float) -> bool:
        """Wait at most so long; whether this process serves."""
        return self._serving.wait(timeout_s)

    def _run(self) -> None:
        if fcntl is None or not hasattr(socket, "AF_UNIX"):
            return
        try:
            lock = os.open(self._state / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            # Disk full or no permission: hooks answer by themselves.
            return
        try:
            while not self._stopping.is_set():
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self._stopping.wait(_RETRY_LOCK_S)
                    continue
                self._serve()
                return
        finally:
            os.close(lock)

    def _serve(self) -> None:
        try:
            listener = self._listener()
        except (OSError, NoServerError):
            return
        with listener, ThreadPoolExecutor(WORKERS, "wellkept-answer") as workers:
            self._serving.set()
            while not self._stopping.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                workers.submit(self._handle, connection)
            (self._state / SOCKET_NAME).unlink(missing_ok=True)

    def _listener(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Only the lock holder gets here, so an existing socket is stale.
            (self._state / SOCKET_NAME).unlink(missing_ok=True)
            with SocketAddress(str(self._state)) as address:
                listener.bind(address)
            (self._state / SOCKET_NAME).chmod(0o600)
            listener.listen(64)
            listener.settimeout(_ACCEPT_TIMEOUT_S)
        except BaseException:
            listener.close()
            raise
        return listener

    def _handle(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(_READ_TIMEOUT_S)
            try:
                client, event, payload = _receive_request(connection)
                connection.sendall(encode_response(self._respond(client, event, payload)))
            except WellkeptError as error:
                self._on_error(error)
            except (OSError, ProtocolError):
                return


def _receive_request(connection: socket.socket) -> tuple[str, str, bytes]:
    with connection.makefile("rb") as received:
        head = received.readline(_HEAD_BYTES)
        client, event, _, length = parse_request_header(head)
        payload = received.read(length)
    if len(payload) != length:
        raise ProtocolError("connection closed early")
    return client, event, payload
