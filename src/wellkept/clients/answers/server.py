"""The other end of the hook's questions: any long-lived Wellkept process can run one in a thread.

Of all processes that offer to answer, the one that holds the lock file does; when it goes, another
takes over within seconds. A question that cannot be answered ends with a closed connection, and
the hook helps itself. Knows nothing of what the answers are: it is given a function for that.
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
    Address,
    NoServerError,
    ProtocolError,
    answer,
    read_question_head,
)
from wellkept.core.errors import WellkeptError
from wellkept.store.spool import fcntl, make_private_folder

LOCK_NAME = "answer.lock"
WORKERS = 4
_TAKE_OVER_EVERY_S = 2.0
_LOOK_UP_EVERY_S = 0.2
_HEAD_BYTES = 256
_READ_TIMEOUT_S = 2.0


Answers: TypeAlias = Callable[[str, str, bytes], bytes]
"""What the server is given: from a client, an event and its payload to what the hook prints."""


class AnswerServer:
    """Answers hooks from a thread between `start` and `stop`; also a context manager."""

    def __init__(
        self,
        state: Path,
        answers: Answers,
        *,
        on_error: Callable[[WellkeptError], None] = lambda _: None,
    ) -> None:
        self._state = state
        self._answers = answers
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
        """Begin to answer, or to wait for the process that does to go away."""
        make_private_folder(str(self._state))
        self._thread.start()

    def stop(self) -> None:
        """Let the next process take over; questions that are being answered are finished."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def wait_until_serving(self, timeout_s: float) -> bool:
        """Whether this process answers, after waiting for it at most so long."""
        return self._serving.wait(timeout_s)

    def _run(self) -> None:
        if fcntl is None or not hasattr(socket, "AF_UNIX"):
            return
        try:
            lock = os.open(self._state / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            # No room or no permission: hooks help themselves.
            return
        try:
            while not self._stopping.is_set():
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self._stopping.wait(_TAKE_OVER_EVERY_S)
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
                    line, _ = listener.accept()
                except TimeoutError:
                    continue
                workers.submit(self._talk, line)
            (self._state / SOCKET_NAME).unlink(missing_ok=True)

    def _listener(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Whoever holds the lock is alone, so a socket that is there was left by the dead.
            (self._state / SOCKET_NAME).unlink(missing_ok=True)
            with Address(str(self._state)) as address:
                listener.bind(address)
            (self._state / SOCKET_NAME).chmod(0o600)
            listener.listen(64)
            listener.settimeout(_LOOK_UP_EVERY_S)
        except BaseException:
            listener.close()
            raise
        return listener

    def _talk(self, line: socket.socket) -> None:
        with line:
            line.settimeout(_READ_TIMEOUT_S)
            try:
                client, event, payload = _received_question(line)
                line.sendall(answer(self._answers(client, event, payload)))
            except WellkeptError as error:
                self._on_error(error)
            except (OSError, ProtocolError):
                return


def _received_question(line: socket.socket) -> tuple[str, str, bytes]:
    with line.makefile("rb") as received:
        head = received.readline(_HEAD_BYTES)
        client, event, _, length = read_question_head(head)
        payload = received.read(length)
    if len(payload) != length:
        raise ProtocolError("the line was closed early")
    return client, event, payload
