"""The messages of a session, in layers, and the rule that no tool result loses its call.

`messages[0]` is the system prompt, which never changes in a session. `messages[1]` is the session's
memory when there is one; it changes only at a start and after compaction, so that a provider's
prompt cache survives. The rest is the conversation. Invariant: each call has exactly one result, in
the message right after it, and each result has its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wellkept.core.chat.messages import (
    Message,
    MessageKind,
    Part,
    Role,
    TextPart,
    ToolResultPart,
    system_message,
    tool_message,
)
from wellkept.core.records import replace

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
