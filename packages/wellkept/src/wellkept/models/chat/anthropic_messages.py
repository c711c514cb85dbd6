"""Our conversation in Anthropic's form: blocks, alternating roles, cache marks.

Marks for the prompt cache stand on the system prompt (which covers the tools before it), on the
session-memory layer and on the last message. Invariant: the same messages become the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, cast

from wellkept.core.chat.messages import (
    ImagePart,
    Message,
    MessageKind,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolDefinition,
    ToolResultPart,
)
from wellkept.models.chat.tool_names import ToolNames, call_id

Block = dict[str, Any]
NO_IMAGE = "[An image was here; this model takes none.]"
_MARK = {"type": "ephemeral"}
_BEGINNING = "[The conversation goes on.]"
_EMPTY = "[empty]"
_MAX_INVALID_CHARS = 4_000
_MARKABLE = frozenset({"text", "image", "tool_use", "tool_result"})


def system_blocks(messages: Iterable[Message], *, marks: bool) -> list[Block]:
    """The system prompt; its end is marked."""
    blocks = [_text(m.text) for m in messages if m.role is Role.SYSTEM and m.text.strip()]
    if blocks and marks:
        blocks[-1]["cache_control"] = _MARK
    return blocks


def conversation(
    messages: Iterable[Message],
    *,
    names: ToolNames,
    marks: bool,
    images: bool = True,
    thinking: bool = True,
) -> list[Block]:
    """The messages after the system prompt, with alternating roles, beginning with the user."""
    made: list[Block] = []
    for message in messages:
        if message.role is Role.SYSTEM:
            continue
        blocks = _blocks(message, names, images=images, thinking=thinking)
        if marks and message.kind is MessageKind.MEMORY and blocks:
            blocks[-1]["cache_control"] = _MARK
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        if not blocks:
            continue
        if made and made[-1]["role"] == role:
            made[-1]["content"].extend(blocks)
        else:
            made.append({"role": role, "content": blocks})
    if not made or made[0]["role"] != "user":
        made.insert(0, {"role": "user", "content": [_text(_BEGINNING)]})
    if marks:
        _mark_last(made[-1]["content"])
    return made


def tool_list(tools: Sequence[ToolDefinition], *, names: ToolNames, mark: bool) -> list[Block]:
    """The tools; the last one is marked where no system prompt carries the mark."""
    made: list[Block] = [
        {
            "name": names.sent(one.name),
            "description": one.description,
            "input_schema": dict(one.parameters),
        }
        for one in tools
    ]
    if made and mark:
        made[-1]["cache_control"] = _MARK
    return made


def _blocks(message: Message, names: ToolNames, *, images: bool, thinking: bool) -> list[Block]:
    blocks: list[Block] = []
    for part in message.parts:
        if isinstance(part, ThinkingPart) and not thinking:
            continue
        block = _block(part, names, images=images)
        if block is not None:
            blocks.append(block)
    has_answer = any(block["type"] in _MARKABLE for block in blocks)
    if message.role is Role.ASSISTANT and blocks and not has_answer:
        blocks.append(_text(_EMPTY))
    return blocks


def _block(part: Part, names: ToolNames, *, images: bool) -> Block | None:
    match part:
        case TextPart(text):
            return _text(text) if text.strip() else None
        case ThinkingPart(text, signature, redacted):
            if redacted:
                return {"type": "redacted_thinking", "data": signature}
            # Without a signature it is another provider's; this one would refuse it.
            if not signature:
                return None
            return {"type": "thinking", "thinking": text, "signature": signature}
        case ImagePart():
            return _image(part) if images else _text(NO_IMAGE)
        case ToolCallPart(id=given, name=name, arguments=arguments):
            return {
                "type": "tool_use",
                "id": call_id(given),
                "name": names.sent(name),
                "input": arguments_object(arguments),
            }
        case ToolResultPart():
            return _result(part, images=images)


def _result(part: ToolResultPart, *, images: bool) -> Block:
    content = [_text(part.content)] if part.content.strip() else []
    content += [_image(one) if images else _text(NO_IMAGE) for one in part.images]
    block: Block = {
        "type": "tool_result",
        "tool_use_id": call_id(part.call_id),
        "content": content or [_text(_EMPTY)],
    }
    if part.is_error:
        block["is_error"] = True
    return block


def arguments_object(arguments: str) -> dict[str, Any]:
    """A call's arguments as an object; what is no valid object is kept as text."""
    try:
        parsed: object = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        return cast("dict[str, Any]", parsed)
    return {"invalid_json": arguments[:_MAX_INVALID_CHARS]}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _image(part: ImagePart) -> Block:
    source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    return {"type": "image", "source": source}


def _mark_last(blocks: list[Block]) -> None:
    for block in reversed(blocks):
        if block["type"] in _MARKABLE:
            block["cache_control"] = _MARK
            return
