"""The messages of a session, in layers, and the rule that no tool result loses its call.

`messages[0]` is the system prompt, which never changes in a session. `messages[1]` is the session's
memory when there is one; it changes only at a start and after compaction, so that a provider's
prompt cache survives. The rest is the conversation. Invariant: each call has exactly one result, in
the message right after it, and each result has its call.
"""

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
    system_message,
    tool_message,
)
from wellkept.core.records import replace
from wellkept.core.text import estimate_tokens

LOST_RESULT = "[The result of this call was lost: the session ended before it came back.]"


class Conversation:
    """Messages with their layers."""

    def __init__(self, system: str, messages: Iterable[Message] = ()) -> None:
        self._system = system_message(system)
        self._memory: Message | None = None
        self._turns = mended(messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """Everything, as a model is sent it."""
        memory = () if self._memory is None else (self._memory,)
        return (self._system, *memory, *self._turns)

    @property
    def turns(self) -> Sequence[Message]:
        """The messages without the two layers before them."""
        return self._turns

    @property
    def system(self) -> str:
        """The system prompt."""
        return self._system.text

    @property
    def memory(self) -> str:
        """The text of the session memory layer; empty when there is none."""
        return "" if self._memory is None else self._memory.text

    def set_memory(self, text: str) -> None:
        """Set the session memory layer; empty text removes it."""
        if not text.strip():
            self._memory = None
        elif text != self.memory:
            self._memory = Message(role=Role.USER, parts=(TextPart(text),), kind=MessageKind.MEMORY)

    @property
    def tokens(self) -> int:
        """About how many tokens everything takes."""
        return sum(message.tokens for message in self.messages)

    def append(self, message: Message) -> None:
        """Add a message at the end."""
        self._turns.append(message)

    def replace_turns(self, messages: Iterable[Message]) -> None:
        """Put other messages in the place of all after the layers; calls without results are
        mended."""
        self._turns = mended(messages)

    def index_of(self, message_id: str) -> int | None:
        """Where a message is among the turns."""
        return next((i for i, m in enumerate(self._turns) if m.id == message_id), None)


def mended(messages: Iterable[Message]) -> list[Message]:
    """Messages with a result for each call and no result without one."""
    whole: list[Message] = []
    open_calls: dict[str, str] = {}
    for message in messages:
        if message.role is Role.TOOL:
            known = [r for r in message.tool_results if r.call_id in open_calls]
            for result in known:
                del open_calls[result.call_id]
            known += _lost(open_calls)
            open_calls = {}
            if known:
                whole.append(_with_parts(message, known))
            continue
        if open_calls:
            whole.append(tool_message(*_lost(open_calls)))
        open_calls = {call.id: call.name for call in message.tool_calls}
        whole.append(message)
    if open_calls:
        whole.append(tool_message(*_lost(open_calls)))
    return whole


def _lost(calls: dict[str, str]) -> list[ToolResultPart]:
    return [ToolResultPart(call, name, LOST_RESULT, is_error=True) for call, name in calls.items()]


def _with_parts(message: Message, parts: Sequence[Part]) -> Message:
    return message if tuple(parts) == message.parts else replace(message, parts=tuple(parts))


# -- A conversation as plain text: for a summary, and for the file that keeps what was replaced ---


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
