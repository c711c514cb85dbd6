"""A line to a server that breaks, on loopback."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit


class BadLine:
    """A proxy on loopback that cuts, delays nothing, and sends some requests twice."""

    def __init__(self, target: str, *, seed: int, bad: float) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 0)
        self._random = random.Random(seed)
        self.bad = bad
        self.cuts = 0
        self.doubled = 0
        self.sent = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> BadLine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            how = self._random.choice(("before", "request", "answer", "half", "twice"))
            is_bad = self._random.random() < self.bad
            threading.Thread(
                target=self._carry, args=(caller, how if is_bad else "well"), daemon=True
            ).start()

    def _carry(self, caller: socket.socket, how: str) -> None:
        with caller, suppress(OSError, ValueError):
            caller.settimeout(60)
            if how == "before":
                self.cuts += 1
                return
            request = _whole_request(caller)
            if how == "request":
                self.cuts += 1
                self._send(request[: len(request) // 2], wait=False)
                return
            answer = self._send(request)
            if how == "twice":
                self.doubled += 1
                answer = self._send(request)
            if how == "answer":
                self.cuts += 1
                return
            if how == "half":
                self.cuts += 1
                answer = answer[: len(answer) // 2]
            caller.sendall(answer)

    def _send(self, request: bytes, *, wait: bool = True) -> bytes:
        with socket.create_connection(self._target, timeout=60) as server:
            server.sendall(request)
            self.sent += len(request)
            return _all_of(server) if wait else b""


def _whole_request(caller: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(caller)
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    size = int(fields.get(b"content-length", b"0"))
    while len(body) < size:
        body += _some(caller)
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body


def _some(caller: socket.socket) -> bytes:
    got = caller.recv(1 << 16)
    if not got:
        raise ValueError("The caller left.")
    return got


def _all_of(server: socket.socket) -> bytes:
    data = b""
    while got := server.recv(1 << 16):
        data += got
    return data
