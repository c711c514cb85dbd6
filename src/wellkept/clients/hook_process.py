"""What the hook process does: put the event on disk, then answer if the client wants an answer.

The order matters: capture never waits for an answer. Nothing is parsed to capture an event; its
payload is translated when it is taken from the spool. Answers come from a live Wellkept process
over its socket, else from this very process, else there is none. Everything has a time limit.

Runs at every event, so it imports only what the interpreter starts with or loads in microseconds;
the answer path imports the rest when it is needed.
"""

import os
import sys
import time

from wellkept.store import spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    # What `signal` wraps; the wrapper's enums would cost half of the interpreter's start.
    import _signal as signal

CAPTURE, BOTH, ANSWER = MODES = ("capture", "both", "answer")
READ_LIMIT_S = 10.0
WRITE_LIMIT_S = 10.0
ANSWER_LIMIT_S = 2.0
# Of that, what a live process gets before it is too late to answer.
_ASKING_SHARE = 0.2
_CHUNK_BYTES = 1 << 20
_UNKNOWN_SESSION = "unknown"
_SESSION_KEYS = (b'"session_id"', b'"conversation_id"', b'"sessionID"', b'"sessionId"')
_MAX_KEY_BYTES = 200
# With these a turn or a session is over, so that it is worth while to take in what was caught.
_ENDS = frozenset({"stop", "sessionend", "afteragent", "session.idle", "event:session.idle"})


def main(arguments: list[str]) -> None:
    """Deal with one event; the payload comes on standard input."""
    if len(arguments) not in (2, 3) or (arguments[2:] and arguments[2] not in MODES):
        debug(f"wrong arguments: {arguments}")
        return
    client, event, *rest = arguments
    mode = rest[0] if rest else CAPTURE
    payload = read_payload(0)
    state = spool.state_folder(os.environ)
    if state is None:
        debug("there is no home folder")
        return
    if mode != ANSWER:
        _capture(state, client, event, payload)
    if mode != CAPTURE:
        _answer(state, client, event, payload)


def read_payload(descriptor: int) -> bytes:
    """Everything on a descriptor; of a payload above the limit only enough to know that it is.

    Of a descriptor that breaks, or that the client forgets to close, what has come so far.
    """
    chunks: list[bytes] = []
    size = 0
    _limit_time(READ_LIMIT_S, _raise_timeout)
    try:
        while chunk := os.read(descriptor, _CHUNK_BYTES):
            # The client may not expect its pipe to close early, so the rest is read and let go.
            if size <= spool.MAX_ENTRY_BYTES:
                chunks.append(chunk)
            size += len(chunk)
    except OSError as error:
        debug(f"standard input: {error}")
    return b"".join(chunks)


def session_key(payload: bytes) -> str:
    """Which session a payload says it is of, found without parsing; good enough to group by."""
    for key in _SESSION_KEYS:
        at = payload.find(key)
        if at >= 0:
            rest = payload[at + len(key) : at + len(key) + _MAX_KEY_BYTES].lstrip(b" \t\r\n:")
            value, quote, _ = rest[1:].partition(b'"')
            if rest[:1] == b'"' and quote and value:
                return value.decode("utf-8", "replace")
    return _UNKNOWN_SESSION


def debug(message: str) -> None:
    """Say what went wrong, to the person who asked for it."""
    if "WELLKEPT_DEBUG" in os.environ:
        sys.stderr.write(f"wellkept hook: {message}\n")


def _capture(state: str, client: str, event: str, payload: bytes) -> None:
    _limit_time(WRITE_LIMIT_S, _raise_timeout)
    try:
        kept = spool.append(
            f"{state}/{spool.FOLDER_NAME}",
            client=client,
            session=session_key(payload),
            event=event,
            payload=payload,
            now_ms=time.time_ns() // 1_000_000,
        )
    except OSError as error:
        debug(f"not captured: {error}")
    else:
        if kept is None:
            debug("not captured: the spool is full")
        if event.lower() in _ENDS:
            from wellkept.clients.detached_drain import start

            start(state)


def _answer(state: str, client: str, event: str, payload: bytes) -> None:
    """Print the answer. A late one is worth nothing to a client that waits, so it is not given."""
    from wellkept.clients.answers.protocol import NoServerError, ask

    limit_s = _answer_limit_s()
    _limit_time(limit_s, _leave)
    asking_s = limit_s * _ASKING_SHARE
    try:
        told = ask(state, client=client, event=event, payload=payload, timeout_s=asking_s)
    except NoServerError:
        from wellkept.clients.answers.in_process import answer_in_process

        answer_in_process(state, client=client, event=event, payload=payload, write=_write)
    else:
        _write(told)


def _write(answer: bytes) -> None:
    while answer:
        answer = answer[os.write(1, answer) :]


# -- Time limits ----------------------------------------------------------------------------------


def _answer_limit_s() -> float:
    given = os.environ.get("WELLKEPT_HOOK_TIMEOUT_MS", "")
    return int(given) / 1000 if given.isdecimal() and int(given) else ANSWER_LIMIT_S


def _limit_time(limit_s: float, then: "Callable[[int, object], None]") -> None:
    """Have something done when the limit is reached; replaces the limit before."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, then)
        signal.setitimer(signal.ITIMER_REAL, limit_s)


def _leave(_number: int, _frame: object) -> None:
    os._exit(0)


def _raise_timeout(_number: int, _frame: object) -> None:
    raise TimeoutError("it took too long")
