"""Where a conversation may be cut: never between a tool call and its result.

A cut is an index: what is before it goes, what is from it on stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wellkept.core.chat.messages import Message, MessageKind, Role

_MADE_BY_COMPACTION = (MessageKind.BOUNDARY, MessageKind.SUMMARY, MessageKind.RESTORED)


def safe_cut(turns: Sequence[Message], index: int) -> int:
    """The nearest cut at or before an index that takes no result away from its call."""
    index = max(0, min(index, len(turns)))
    while index > 0 and index < len(turns) and turns[index].role is Role.TOOL:
        index -= 1
    return index


def open_round(turns: Sequence[Message]) -> int:
    """Where the part begins that the model has not answered yet: its last calls with their
    results, or the person's prompt. The length of the turns when everything is answered."""
    index = len(turns)
    while index > 0 and turns[index - 1].role is not Role.ASSISTANT:
        index -= 1
    answered = index == len(turns)
    if not answered and turns[index].role is Role.TOOL:
        index -= 1  # the assistant message that made the calls
    return len(turns) if answered else max(0, index)


def tail_start(
    turns: Sequence[Message], *, max_tokens: int, tokens: Callable[[Message], int]
) -> int:
    """Where the tail begins: the open round in any case, and before it as many messages as fit."""
    start = open_round(turns)
    used = sum(map(tokens, turns[start:]))
    best = start
    for index in range(start - 1, -1, -1):
        used += tokens(turns[index])
        if used > max_tokens or turns[index].kind in _MADE_BY_COMPACTION:
            break
        if safe_cut(turns, index) == index:
            best = index
    return best
