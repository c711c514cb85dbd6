"""Protocol between the hook process and a running server: one request, one response.

    Q1 <client> <event> <milliseconds to answer> <payload length>\\n<payload>
    A1 <answer length>\\n<answer>

The response is printed byte for byte; empty means nothing to inject. A server that cannot answer
closes the connection. The socket's only protection is its folder, which only the owner may enter.
Unknown versions are refused, so both sides can be upgraded in any order.

Imported by the hook process: `_socket` costs a twentieth of its wrapper `socket`.
"""

import _socket
import os
import time

from wellkept.store.spool import plain_name

SOCKET_NAME = "answer.sock"
MAX_PAYLOAD_BYTES = 8 << 20
MAX_ANSWER_BYTES = 1 << 20
# Longer paths do not fit the system's address structure.
_MAX_PATH_BYTES = 100
_MAX_HEADER_BYTES = 256
_CHUNK_BYTES = 1 << 16
_CONNECT_TIMEOUT_S = 0.1


class NoServerError(Exception):
    """No server is running, or it does not speak this protocol."""


class ProtocolError(Exception):
    """The other side broke the protocol."""


def ask(state: str, *, client: str, event: str, payload: bytes, timeout_s: float) -> bytes:
    """The server's response. NoServerError also when it took too long: it may hang."""
    family = getattr(_socket, "AF_UNIX", None)
    if family is None or len(payload) > MAX_PAYLOAD_BYTES:
        raise NoServerError
    deadline_s = time.monotonic() + timeout_s
    with SocketAddress(state) as address:
        connection = _socket.socket(family, _socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            connection.connect(address)
            connection.sendall(
                encode_request(client, event, timeout_ms=int(timeout_s * 1000), payload=payload)
            )
            return _receive_response(connection, deadline_s)
        except (OSError, ProtocolError) as error:
            raise NoServerError from error
        finally:
            connection.close()


def is_server_running(state: str) -> bool:
    """Whether a server is running."""
    family = getattr(_socket, "AF_UNIX", None)
    if family is None:
        return False
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_CONNECT_TIMEOUT_S)
        with SocketAddress(state) as address:
            connection.connect(address)
    except (OSError, NoServerError):
        return False
    finally:
        connection.close()
    return True


def encode_request(client: str, event: str, *, timeout_ms: int, payload: bytes) -> bytes:
    """Encode a request."""
    head = f"Q1 {plain_name(client)} {plain_name(event)} {timeout_ms} {len(payload)}\n"
    return head.encode("ascii") + payload


def parse_request_header(head: bytes) -> tuple[str, str, int, int]:
    """Client, event, timeout in milliseconds and payload length from a request's first line."""
    parts = head.decode("ascii", "replace").split()
    if len(parts) != 5 or parts[0] != "Q1" or not (parts[3] + parts[4]).isdecimal():
        raise ProtocolError(f"not a request: {head[:40]!r}")
    if int(parts[4]) > MAX_PAYLOAD_BYTES:
        raise ProtocolError(f"a payload of {parts[4]} bytes")
    return parts[1], parts[2], int(parts[3]), int(parts[4])


def encode_response(text: bytes) -> bytes:
    """Encode a response."""
    return b"A1 %d\n%b" % (len(text), text)


class SocketAddress:
    """The socket's address, also when its path is too long for the system."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._folder: int | None = None

    def __enter__(self) -> str:
        path = f"{self._state}/{SOCKET_NAME}"
        if len(os.fsencode(path)) <= _MAX_PATH_BYTES:
            return path
        try:
            self._folder = os.open(self._state, os.O_RDONLY)
        except OSError as error:
            raise NoServerError from error
        return f"/proc/self/fd/{self._folder}/{SOCKET_NAME}"

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            os.close(self._folder)


def _receive_response(connection: "_socket.socket", deadline_s: float) -> bytes:
    received = bytearray()
    while True:
        head, newline, body = bytes(received).partition(b"\n")
        if newline:
            length = _response_length(head)
            if len(body) >= length:
                return body[:length]
        elif len(received) > _MAX_HEADER_BYTES:
            raise ProtocolError("first line too long")
        remaining_s = deadline_s - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError
        connection.settimeout(remaining_s)
        chunk = connection.recv(_CHUNK_BYTES)
        if not chunk:
            raise ProtocolError("connection closed early")
        received += chunk


def _response_length(head: bytes) -> int:
    mark, _, length = head.partition(b" ")
    if mark != b"A1" or not length.isdigit() or int(length) > MAX_ANSWER_BYTES:
        raise ProtocolError(f"not a response: {head[:40]!r}")
    return int(length)
