"""How the hook process asks a live Wellkept process: one question and one answer over a socket.

    Q1 <client> <event> <milliseconds to answer> <payload length>\\n<payload>
    A1 <answer length>\\n<answer>

The answer is what the hook prints, to the byte; empty means that there is nothing to say. A server
that cannot answer closes the connection. The socket lies in a folder that only its owner may enter,
which is the whole of its protection. Unknown versions are refused, so both sides may be upgraded
in any order.

Imported by the hook process: `_socket` is what `socket` wraps, at a twentieth of the cost.
"""

import _socket
import os
import time

from wellkept.store.spool import plain_name

SOCKET_NAME = "answer.sock"
MAX_PAYLOAD_BYTES = 8 << 20
MAX_ANSWER_BYTES = 1 << 20
# Beyond this a path does not fit the system's address structure.
_MAX_PATH_BYTES = 100
_MAX_HEADER_BYTES = 256
_CHUNK_BYTES = 1 << 16
_GREETING_TIMEOUT_S = 0.1


class NoServerError(Exception):
    """No process is there, or it does not speak this protocol."""


class ProtocolError(Exception):
    """The other side said something that is not of this protocol."""


def ask(state: str, *, client: str, event: str, payload: bytes, timeout_s: float) -> bytes:
    """The answer of a live process; empty when it has none or took too long."""
    family = getattr(_socket, "AF_UNIX", None)
    if family is None or len(payload) > MAX_PAYLOAD_BYTES:
        raise NoServerError
    deadline_s = time.monotonic() + timeout_s
    with Address(state) as address:
        line = _socket.socket(family, _socket.SOCK_STREAM)
        try:
            line.settimeout(timeout_s)
            line.connect(address)
            line.sendall(question(client, event, timeout_ms=int(timeout_s * 1000), payload=payload))
            return _received_answer(line, deadline_s)
        except TimeoutError:
            return b""
        except (OSError, ProtocolError) as error:
            raise NoServerError from error
        finally:
            line.close()


def is_answered(state: str) -> bool:
    """Whether a live process is there to be asked."""
    family = getattr(_socket, "AF_UNIX", None)
    if family is None:
        return False
    line = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        line.settimeout(_GREETING_TIMEOUT_S)
        with Address(state) as address:
            line.connect(address)
    except (OSError, NoServerError):
        return False
    finally:
        line.close()
    return True


def question(client: str, event: str, *, timeout_ms: int, payload: bytes) -> bytes:
    """A question as it goes over the line."""
    head = f"Q1 {plain_name(client)} {plain_name(event)} {timeout_ms} {len(payload)}\n"
    return head.encode("ascii") + payload


def read_question_head(head: bytes) -> tuple[str, str, int, int]:
    """Client, event, milliseconds to answer and payload length of a question's first line."""
    parts = head.decode("ascii", "replace").split()
    if len(parts) != 5 or parts[0] != "Q1" or not (parts[3] + parts[4]).isdecimal():
        raise ProtocolError(f"not a question: {head[:40]!r}")
    if int(parts[4]) > MAX_PAYLOAD_BYTES:
        raise ProtocolError(f"a payload of {parts[4]} bytes")
    return parts[1], parts[2], int(parts[3]), int(parts[4])


def answer(text: bytes) -> bytes:
    """An answer as it goes over the line."""
    return b"A1 %d\n%b" % (len(text), text)


class Address:
    """The path of the socket in a folder, also when it is too long for the system."""

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


def _received_answer(line: "_socket.socket", deadline_s: float) -> bytes:
    received = bytearray()
    while True:
        head, newline, body = bytes(received).partition(b"\n")
        if newline:
            length = _answer_length(head)
            if len(body) >= length:
                return body[:length]
        elif len(received) > _MAX_HEADER_BYTES:
            raise ProtocolError("no end of the first line")
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        line.settimeout(left_s)
        chunk = line.recv(_CHUNK_BYTES)
        if not chunk:
            raise ProtocolError("the line was closed early")
        received += chunk


def _answer_length(head: bytes) -> int:
    mark, _, length = head.partition(b" ")
    if mark != b"A1" or not length.isdigit() or int(length) > MAX_ANSWER_BYTES:
        raise ProtocolError(f"not an answer: {head[:40]!r}")
    return int(length)
