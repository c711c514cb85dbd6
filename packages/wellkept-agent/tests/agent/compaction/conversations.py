"""Conversations for tests of compaction."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.chat.messages import (
    Message,
    Role,
    ToolCallPart,
    ToolResultPart,
    assistant_message,
    tool_message,
    user_message,
)

TOKEN = "abc "
"""One token of the estimate."""


def tokens(count: int) -> str:
    return TOKEN * count


def round_of(*results: ToolResultPart, text: str = "") -> list[Message]:
    """An answer with calls, and their results."""
    calls = [ToolCallPart(one.call_id, one.name, '{"file_path": "a.py"}') for one in results]
    return [assistant_message(text, *calls), tool_message(*results)]


def result(
    call_id: str, size: int = 5_000, name: str = "Read", *, text: str = ""
) -> ToolResultPart:
    """A result of so many tokens."""
    return ToolResultPart(call_id, name, text + tokens(size))


def reading(count: int, *, size: int = 5_000, name: str = "Read") -> list[Message]:
    """A conversation that reads files one by one and has answered to all."""
    turns: list[Message] = [user_message("read them")]
    for number in range(count):
        turns += round_of(result(f"c{number}", size, name))
    return [*turns, assistant_message("read")]


def is_whole(messages: Sequence[Message]) -> bool:
    """Whether each call has exactly one result, right after it, and each result its call."""
    open_calls: list[str] = []
    for message in messages:
        if message.role is Role.TOOL:
            if sorted(open_calls) != sorted(r.call_id for r in message.tool_results):
                return False
            open_calls = []
        elif open_calls:
            return False
        else:
            open_calls = [call.id for call in message.tool_calls]
    return not open_calls
