"""Makes messages fit that must stay: their largest texts go to files, an excerpt stays.

For what the model has not answered yet: it cannot be summarised away, and may be larger than the
window (a pasted log, ten files read at once).
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.chat.messages import Message, Part, Role, TextPart, ToolResultPart, part_tokens
from wellkept.core.errors import WellkeptError
from wellkept.core.records import replace
from wellkept.core.text import estimate_tokens
from wellkept_agent.compaction.session_files import SessionFiles
from wellkept_agent.conversation_text import middle_cut

_SMALLEST_EXCERPT = 200
_NOTE_TOKENS = 80


def shrunk(
    messages: Sequence[Message], *, max_tokens: int, files: SessionFiles
) -> tuple[Message, ...]:
    """The messages cut to about `max_tokens`, the largest parts first. Writes files: call it in a
    thread."""
    over = sum(message.tokens for message in messages) - max_tokens
    if over <= 0:
        return tuple(messages)
    places = [
        (part_tokens(part), index, number)
        for index, message in enumerate(messages)
        for number, part in enumerate(message.parts)
        if _may_be_cut(message, part)
    ]
    changed = [list(message.parts) for message in messages]
    for tokens, index, number in sorted(places, reverse=True):
        if over <= 0 or tokens <= _SMALLEST_EXCERPT + _NOTE_TOKENS:
            break
        room = max(_SMALLEST_EXCERPT, tokens - over - _NOTE_TOKENS)
        part = _excerpt(messages[index], changed[index][number], room, files)
        over -= tokens - part_tokens(part)
        changed[index][number] = part
    return tuple(
        message if list(message.parts) == parts else replace(message, parts=tuple(parts))
        for message, parts in zip(messages, changed, strict=True)
    )


def _may_be_cut(message: Message, part: Part) -> bool:
    return isinstance(part, ToolResultPart) or (
        message.role is Role.USER and isinstance(part, TextPart)
    )


def _excerpt(message: Message, part: Part, max_tokens: int, files: SessionFiles) -> Part:
    if isinstance(part, ToolResultPart):
        text = _noted(part.call_id, part.content, max_tokens, files)
        return replace(part, content=text, images=())
    assert isinstance(part, TextPart)
    return TextPart(_noted(f"prompt-{message.id}", part.text, max_tokens, files))


def _noted(name: str, text: str, max_tokens: int, files: SessionFiles) -> str:
    note = "[Too long for the model's window; an excerpt."
    if estimate_tokens(text) > max_tokens:
        try:
            path = files.write_result(name, text).path
            note += f" In full: {path}. Read it in parts.]"
        except (OSError, WellkeptError) as error:
            note += f" The rest could not be kept: {error}.]"
    return f"{note}\n{middle_cut(text, max_tokens=max_tokens)}"
