"""A conversation as plain text: for a summary, and for the file that keeps what was replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from wellkept.core.chat.messages import (
    ImagePart,
    Message,
    MessageKind,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from wellkept.core.text import estimate_tokens

_NAMES = {Role.USER: "Person", Role.ASSISTANT: "Agent", Role.TOOL: "Tool", Role.SYSTEM: "System"}
_SMALLEST_RESULT = 400


def as_text(
    messages: Iterable[Message], *, max_chars: int | None = None, result_chars: int | None = None
) -> str:
    """Messages as text; each part shortened in its middle to `max_chars`, calls and results to
    `result_chars`."""
    limits = (max_chars, max_chars if result_chars is None else result_chars)
    return "\n\n".join(_message(one, limits) for one in messages)


def fitted(messages: Sequence[Message], *, max_tokens: int, result_chars: int | None = None) -> str:
    """Messages as text that fits: long parts are shortened first, then the middle is left out."""
    text = as_text(messages, result_chars=result_chars)
    chars = 16_000
    while estimate_tokens(text) > max_tokens and chars >= _SMALLEST_RESULT:
        shorter = chars if result_chars is None else min(chars, result_chars)
        text = as_text(messages, max_chars=chars, result_chars=shorter)
        chars //= 2
    return middle_cut(text, max_tokens=max_tokens)


def middle_cut(text: str, *, max_tokens: int) -> str:
    """A text that fits: beginning and end, with a note of what is missing between them."""
    tokens = estimate_tokens(text)
    while tokens > max_tokens:
        keep = int(len(text) * max_tokens / tokens * 0.95) - 60
        if keep <= 0:
            return ""
        text = shortened(text, keep)
        tokens = estimate_tokens(text)
    return text


def shortened(text: str, max_chars: int) -> str:
    """Beginning and end of a text, with a note of how much is missing between them."""
    if len(text) <= max_chars:
        return text
    head, tail = max_chars - max_chars // 3, max_chars // 3
    note = f"\n[… {len(text) - head - tail:,} characters left out …]\n"
    return text[:head] + note + (text[-tail:] if tail else "")


_Limits: TypeAlias = tuple[int | None, int | None]


def _message(message: Message, limits: _Limits) -> str:
    name = _NAMES[message.role]
    if message.role is Role.USER and message.kind is not MessageKind.PLAIN:
        name = f"Runtime ({message.kind})"
    return "\n".join([f"## {name}", *(_part(part, limits) for part in message.parts)])


def _part(part: Part, limits: _Limits) -> str:
    max_chars, result_chars = limits
    match part:
        case TextPart(text):
            return _limited(text, max_chars)
        case ThinkingPart():
            return "[thinking]"
        case ImagePart():
            return "[image]"
        case ToolCallPart(name=name, arguments=arguments):
            return f"[calls {name} {_limited(arguments, result_chars)}]"
        case ToolResultPart(name=name, content=content, is_error=is_error):
            what = "error" if is_error else "result"
            return f"[{what} of {name}]\n{_limited(content, result_chars)}"


def _limited(text: str, max_chars: int | None) -> str:
    return text if max_chars is None else shortened(text, max_chars)
