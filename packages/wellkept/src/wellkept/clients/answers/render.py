"""Render context text as the exact bytes a client expects from its hook.

Only events in the table take context. At other events a client drops the whole response (Codex),
reports an error (Claude Code at session end) or goes on working (any client at a stop: only what
must be done before it ends is said there).

Imported by the hook process, so it imports only types. Invariant: the text fits the client's limit,
is cut between lines, and no character is split.
"""

from collections.abc import Callable

from wellkept.clients.known import KNOWN

# Claude Code counts UTF-16 units. Codex allows 2,500 tokens and takes a token for four bytes.
# The others document no limit and get the same.
LIMIT = 10_000
_CLOSING = "</wellkept-memory>"
_CUT_MARK = "[…]"
_SPECIFIC = '{{"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":"{text}"}}}}'

CONTEXT_EVENTS = {name: one.context_events for name, one in KNOWN.items() if one.context_events}
"""Client -> events whose hook output goes to the model."""

_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)} | {0x22: '\\"', 0x5C: "\\\\"}


def takes_context(client: str, event_name: str) -> bool:
    """Whether a client takes context at an event."""
    return event_name in CONTEXT_EVENTS.get(client, ())


def render(client: str, event_name: str, text: str) -> bytes:
    """The bytes to print; empty without text or when the event takes no context."""
    if not text.strip() or not takes_context(client, event_name):
        return b""
    text = text.encode("utf-8", "replace").decode("utf-8")
    body = fit_to_limit(text, size=_utf8_bytes if client == "codex" else _utf16_units)
    field = KNOWN[client].context_field
    if field == "text":  # our own shim takes it
        return body.encode("utf-8")
    quoted = body.translate(_ESCAPES)
    if field:
        return f'{{"{field}":"{quoted}"}}'.encode()
    return _SPECIFIC.format(event=event_name, text=quoted).encode()


def fit_to_limit(text: str, *, size: Callable[[str], int], limit: int = LIMIT) -> str:
    """The text, or the lines that fit, with a cut mark and the frame closed."""
    if size(text) <= limit:
        return text
    tail = f"\n{_CUT_MARK}\n{_CLOSING}" if text.rstrip().endswith(_CLOSING) else f"\n{_CUT_MARK}"
    left = limit - size(tail)
    kept: list[str] = []
    for line in text.split("\n"):
        left -= size(line) + 1
        if left < 0:
            break
        kept.append(line)
    return ("\n".join(kept) if kept else _characters(text, size, limit - size(tail))) + tail


def _characters(text: str, size: Callable[[str], int], room: int) -> str:
    """As many characters as fit, for a single long line."""
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


def _utf16_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _utf8_bytes(text: str) -> int:
    return len(text.encode("utf-8"))
