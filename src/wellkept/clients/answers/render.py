"""What a client must be told, in its own words: context text as the exact bytes it reads.

Which events can carry context is one table. An event that is not in it gets nothing, since a
client that is told more than it expects drops the whole answer (Codex), complains (Claude Code at
the end of a session) or goes on working (any client when it wants to stop).

Imported by the hook process when it has something to say, so it imports nothing but types.
Invariant: the text fits the client's limit, is cut between lines, and never splits a character.
"""

from collections.abc import Callable

# Claude Code counts UTF-16 units. Codex allows 2,500 tokens and takes a token for four bytes.
# The others name no limit, and get no more than these two.
LIMIT = 10_000
_CLOSING = "</wellkept-memory>"
_CUT_MARK = "[…]"
_SPECIFIC = '{{"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":"{text}"}}}}'

CONTEXT_EVENTS: dict[str, tuple[str, ...]] = {
    "claude-code": (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "SubagentStart",
    ),
    "codex": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"),
    "gemini": ("SessionStart", "BeforeAgent", "AfterTool"),
    "cursor": ("sessionStart", "postToolUse"),
    "opencode": ("SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStart"),
}
"""Client -> the events at which it takes context and gives it to the model."""

_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)} | {0x22: '\\"', 0x5C: "\\\\"}


def takes_context(client: str, event_name: str) -> bool:
    """Whether a client hands on context at an event."""
    return event_name in CONTEXT_EVENTS.get(client, ())


def render(client: str, event_name: str, text: str) -> bytes:
    """The bytes to print; none when there is nothing to say or the event takes no context."""
    if not text.strip() or not takes_context(client, event_name):
        return b""
    text = text.encode("utf-8", "replace").decode("utf-8")
    body = fitted(text, size=_utf8_bytes if client == "codex" else _utf16_units)
    if client == "opencode":  # its shim is ours, and puts the text in place as it is
        return body.encode("utf-8")
    quoted = body.translate(_ESCAPES)
    if client == "cursor":
        return f'{{"additional_context":"{quoted}"}}'.encode()
    return _SPECIFIC.format(event=event_name, text=quoted).encode()


def fitted(text: str, *, size: Callable[[str], int], limit: int = LIMIT) -> str:
    """The text, or as many of its lines as fit, with a mark and the frame closed again."""
    if size(text) <= limit:
        return text
    tail = f"\n{_CUT_MARK}\n{_CLOSING}" if text.rstrip().endswith(_CLOSING) else f"\n{_CUT_MARK}"
    room = limit - size(tail)
    kept: list[str] = []
    for line in text.split("\n"):
        room -= size(line) + 1
        if room < 0:
            break
        kept.append(line)
    return ("\n".join(kept) if kept else _characters(text, size, limit - size(tail))) + tail


def _characters(text: str, size: Callable[[str], int], room: int) -> str:
    """As many characters as fit, for a single line that does not."""
    low, high = 0, min(len(text), room)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


def _utf16_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _utf8_bytes(text: str) -> int:
    return len(text.encode("utf-8"))
