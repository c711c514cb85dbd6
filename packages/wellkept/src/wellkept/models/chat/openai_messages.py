"""Our conversation in the form of OpenAI's chat completions.

Messages of the same role that follow one another are merged: several servers demand that roles
alternate, and none minds. The session-memory layer is thereby the beginning of the first user
message. Invariant: the same messages become the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from wellkept.core.chat.messages import (
    ImagePart,
    Message,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolDefinition,
)
from wellkept.models.chat.tool_names import ToolNames, call_id

Entry = dict[str, Any]
NO_IMAGE = "[An image was here; this model takes none.]"
_IMAGES_OF_RESULTS = "Images of the tool results above:"
_BEGINNING = "[The conversation goes on.]"
_EMPTY = "[empty]"


def conversation(
    messages: Iterable[Message],
    *,
    names: ToolNames,
    images: bool = True,
    thinking: bool = False,
) -> list[Entry]:
    """All messages; `thinking` sends back what the model thought in the running turn."""
    given = list(messages)
    running = _start_of_turn(given)
    system = "\n\n".join(m.text for m in given if m.role is Role.SYSTEM and m.text.strip())
    made: list[Entry] = [{"role": "system", "content": system}] if system else []
    for index, message in enumerate(given):
        match message.role:
            case Role.SYSTEM:
                continue
            case Role.USER:
                _add_user(made, _contents(message, images=images))
            case Role.ASSISTANT:
                made.append(_assistant(message, names, thinking=thinking and index > running))
            case Role.TOOL:
                _add_results(made, message, images=images)
    first = 1 if system else 0
    if len(made) <= first or made[first]["role"] == "assistant":
        made.insert(first, {"role": "user", "content": _BEGINNING})
    return made


def tool_list(tools: Sequence[ToolDefinition], *, names: ToolNames) -> list[Entry]:
    """The tools as functions."""
    return [
        {
            "type": "function",
            "function": {
                "name": names.sent(one.name),
                "description": one.description,
                "parameters": dict(one.parameters),
            },
        }
        for one in tools
    ]


def _start_of_turn(messages: Sequence[Message]) -> int:
    """Where the last prompt of a person stands: what was thought before it is not sent again."""
    users = [i for i, m in enumerate(messages) if m.role is Role.USER and not m.kind]
    return users[-1] if users else -1


def _assistant(message: Message, names: ToolNames, *, thinking: bool) -> Entry:
    entry: Entry = {"role": "assistant", "content": message.text or None}
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    if calls:
        entry["tool_calls"] = [_call(one, names) for one in calls]
    elif not message.text:
        entry["content"] = _EMPTY
    if thinking:
        # Signed thinking is another provider's.
        own = [
            part.text
            for part in message.parts
            if isinstance(part, ThinkingPart) and not part.signature
        ]
        if any(own):
            entry["reasoning_content"] = "".join(own)
    return entry


def _call(part: ToolCallPart, names: ToolNames) -> Entry:
    call: Entry = {
        "id": call_id(part.id),
        "type": "function",
        "function": {"name": names.sent(part.name), "arguments": _arguments(part.arguments)},
    }
    if part.signature:
        call["extra_content"] = {"google": {"thought_signature": part.signature}}
    return call


def _arguments(arguments: str) -> str:
    """Arguments that a server can parse again; several refuse what the model wrote wrongly."""
    try:
        is_object = isinstance(json.loads(arguments or "{}"), dict)
    except (ValueError, RecursionError):
        is_object = False
    return (arguments or "{}") if is_object else json.dumps({"invalid_json": arguments[:4_000]})


def _contents(message: Message, *, images: bool) -> list[Entry]:
    contents: list[Entry] = []
    for part in message.parts:
        if isinstance(part, TextPart) and part.text.strip():
            contents.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            contents.append(_image(part) if images else {"type": "text", "text": NO_IMAGE})
    return contents


def _image(part: ImagePart) -> Entry:
    url = f"data:{part.media_type};base64,{part.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _add_user(made: list[Entry], contents: list[Entry]) -> None:
    """Add to the user message that is there, or a new one; plain text stays a string."""
    if not contents:
        return
    if not made or made[-1]["role"] != "user":
        made.append({"role": "user", "content": ""})
    last = made[-1]
    before = last["content"]
    if isinstance(before, str) and all(one["type"] == "text" for one in contents):
        last["content"] = "\n\n".join(filter(None, [before, *(one["text"] for one in contents)]))
        return
    listed = [{"type": "text", "text": before}] if isinstance(before, str) and before else before
    last["content"] = [*(listed or []), *contents]


def _add_results(made: list[Entry], message: Message, *, images: bool) -> None:
    """One entry for each result; pictures follow in a user message, for results take only text."""
    shown: list[Entry] = []
    for part in message.tool_results:
        content = part.content if part.content.strip() else _EMPTY
        if part.images and not images:
            content = f"{content}\n{NO_IMAGE}"
        elif part.images:
            shown += map(_image, part.images)
        made.append({"role": "tool", "tool_call_id": call_id(part.call_id), "content": content})
    if shown:
        _add_user(made, [{"type": "text", "text": _IMAGES_OF_RESULTS}, *shown])
