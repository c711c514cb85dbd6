"""The hook process: append the event to the spool, then print context if the client takes any.

Capture comes first and parses nothing; the payload is translated when the spool is drained. Context
comes from a running server over its socket, else from this process. Every step has a time limit.

Runs at every event, so it imports only what the interpreter has loaded or loads in microseconds.
The rest is imported when it is needed.
"""

import os
import sys
import time

from wellkept.clients.certain_secrets import without_certain
from wellkept.store import spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    # The wrapper `signal` costs half of the interpreter's start, for its enums.
    import _signal as signal

CAPTURE, BOTH, ANSWER = MODES = ("capture", "both", "answer")
READ_LIMIT_S = 10.0
WRITE_LIMIT_S = 10.0
ANSWER_LIMIT_S = 2.0
# The part of it that a server may take.
_SERVER_SHARE = 0.2
_CHUNK_BYTES = 1 << 20
UNKNOWN_SESSION = "unknown"
SESSION_KEYS = (b'"session_id"', b'"conversation_id"', b'"sessionID"', b'"sessionId"')
MAX_KEY_BYTES = 200
# Ends of a turn or session: the spool is drained then.
_DRAIN_EVENTS = frozenset(
    {
        "stop",
        "agentstop",
        "sessionend",
        "afteragent",
        "session.idle",
        "event:session.idle",
        "turn_end",
        "session_end",
    }
)
# Beginnings: what a session left that ended without one of those events is drained then.
_START_EVENTS = frozenset(
    {
        "sessionstart",
        "session_start",
        "event:session.created",
        "userpromptsubmit",
        "userpromptsubmitted",
        "beforesubmitprompt",
        "beforeagent",
        "chat.message",
        "prompt",
    }
)
# The native program leaves these to this one, which drains.
LEFT_EVENTS = _DRAIN_EVENTS | _START_EVENTS
_ABANDONED_S = 300.0


def main(arguments: list[str]) -> None:
    """Handle one event; its payload is on standard input."""
    if len(arguments) not in (2, 3) or (arguments[2:] and arguments[2] not in MODES):
        debug(f"wrong arguments: {arguments}")
        return
    client, event, *rest = arguments
    mode = rest[0] if rest else CAPTURE
    payload = read_payload(0)
    state = spool.state_folder(os.environ)
    if state is None:
        debug("no home folder")
        return
    silent, blind = _paused(state, payload)
    if mode != ANSWER and not blind:
        _capture(state, client, event, payload)
    if mode != CAPTURE and not silent and (event != "Stop" or _is_attended()):
        _answer(state, client, event, payload)


def read_payload(descriptor: int) -> bytes:
    """Read a descriptor to its end; beyond the size limit the rest is discarded.

    On a read error, or when the client does not close it in time, what has come so far.
    """
    chunks: list[bytes] = []
    size = 0
    _limit_time(READ_LIMIT_S, _raise_timeout)
    try:
        while chunk := os.read(descriptor, _CHUNK_BYTES):
            # Read on: the client may not expect its pipe to close early.
            if size <= spool.MAX_ENTRY_BYTES:
                chunks.append(chunk)
            size += len(chunk)
    except OSError as error:
        debug(f"standard input: {error}")
    return b"".join(chunks)


def session_key(payload: bytes) -> str:
    """The session id, found without parsing; good enough to group events by."""
    for key in SESSION_KEYS:
        start = payload.find(key)
        if start >= 0:
            end = start + len(key)
            rest = payload[end : end + MAX_KEY_BYTES].lstrip(b" \t\r\n:")
            value, quote, _ = rest[1:].partition(b'"')
            if rest[:1] == b'"' and quote and value:
                return value.decode("utf-8", "replace")
    return UNKNOWN_SESSION


def debug(message: str) -> None:
    """Write to stderr when `WELLKEPT_DEBUG` is set."""
    if "WELLKEPT_DEBUG" in os.environ:
        sys.stderr.write(f"wellkept hook: {message}\n")


def _capture(state: str, client: str, event: str, payload: bytes) -> None:
    _limit_time(WRITE_LIMIT_S, _raise_timeout)
    folder, now_ms = f"{state}/{spool.FOLDER_NAME}", time.time_ns() // 1_000_000
    try:
        wholly = _redacts_first(state)
        safe = _redacted(state, payload) if wholly else without_certain(payload)
        if safe is None:
            spool.record_drop(folder, client=client, event=event, size=len(payload), now_ms=now_ms)
            return
        event_id = spool.append(
            folder,
            client=client,
            session=session_key(payload),
            event=event,
            payload=safe,
            now_ms=now_ms,
        )
    except OSError as error:
        debug(f"not captured: {error}")
    else:
        if event_id is None:
            debug("not captured: the spool is full")
        name = event.lower()
        if name in _DRAIN_EVENTS or (
            name in _START_EVENTS and spool.waiting_files(folder, longer_than_s=_ABANDONED_S)
        ):
            from wellkept.clients.detached_drain import start

            start(state)


def _paused(state: str, payload: bytes) -> tuple[bool, bool]:
    """Whether `wellkept off` pauses answers, and whether it pauses capture."""
    if not os.path.exists(f"{state}/{spool.OFF_NAME}"):
        return False, False
    from wellkept.clients.pause import paused_parts

    return paused_parts(state, payload)


def _is_attended() -> bool:
    """Whether a person sits before the client. In a run without one, an answer at the stop would
    take the place of what the agent said."""
    attended = os.environ.get("CLAUDE_CODE_SESSION_ATTENDED")
    return attended == "1" if attended else os.environ.get("CLAUDE_CODE_ENTRYPOINT") == "cli"


def _redacts_first(state: str) -> bool:
    """Whether secrets are taken out before the first write."""
    chosen = os.environ.get("WELLKEPT_CAPTURE_REDACT")
    return chosen == "hook" if chosen else os.path.exists(f"{state}/{spool.REDACT_NAME}")


def _redacted(state: str, payload: bytes) -> bytes | None:
    """The payload without its secrets; None when that fails, for then nothing may be written."""
    try:
        from wellkept.clients.answers.in_process import redacted

        return redacted(state, payload)
    except Exception as error:  # noqa: BLE001 - whatever it is, the raw text is not written
        debug(f"not captured: {error!r}")
        return None


def _answer(state: str, client: str, event: str, payload: bytes) -> None:
    """Print the response, or nothing when the time limit is reached."""
    from wellkept.clients.answers.protocol import NoServerError, ask

    value = os.environ.get("WELLKEPT_HOOK_TIMEOUT_MS", "")
    limit_s = int(value) / 1000 if value.isdecimal() and int(value) else ANSWER_LIMIT_S
    _limit_time(limit_s, _exit_silently)
    server_s = limit_s * _SERVER_SHARE
    try:
        response = ask(state, client=client, event=event, payload=payload, timeout_s=server_s)
    except NoServerError:
        from wellkept.clients.answers.in_process import answer_in_process

        answer_in_process(state, client=client, event=event, payload=payload, write=_write)
    else:
        _write(response)


def _write(response: bytes) -> None:
    while response:
        response = response[os.write(1, response) :]


# -- Time limits ----------------------------------------------------------------------------------


def _limit_time(limit_s: float, on_limit: "Callable[[int, object], None]") -> None:
    """Call a function when the limit is reached; replaces an earlier limit."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, on_limit)
        signal.setitimer(signal.ITIMER_REAL, limit_s)


def _exit_silently(_number: int, _frame: object) -> None:
    os._exit(0)


def _raise_timeout(_number: int, _frame: object) -> None:
    raise TimeoutError("time limit reached")
