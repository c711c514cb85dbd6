"""Messages of a conversation to and from JSON, for transcripts.

What goes in comes out, but for two things. Texts are redacted on their way in: signed thinking,
which a provider takes back only unchanged, is left out where that changed it. Images are kept by
name, elsewhere; one that is not has a note in its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias, cast

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
    new_message_id,
)
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError

IMAGE_NOTE: Final = "[An image was here; it is not kept.]"
EMPTY_NOTE: Final = "[Nothing but thinking.]"
KeepImage: TypeAlias = Callable[[ImagePart], "str | None"]
"""Keeps an image and gives the name to find it by; None when it is not kept."""
LoadImage: TypeAlias = Callable[[str, str], "ImagePart | None"]
"""An image by its name and media type; None when it is gone."""
_ROLES: Final = MappingProxyType({role.value: role for role in Role})
_KINDS: Final = MappingProxyType({kind.value: kind for kind in MessageKind})


def message_to_json(
    message: Message,
    *,
    safe: Callable[[Json], Json] = lambda value: value,
    image: KeepImage = lambda _: None,
) -> dict[str, Json]:
    """A message as plain JSON; `safe` changes its texts and the arguments of its calls, but
    neither ids, names nor signatures."""
    parts = [part for one in message.parts if (part := _part_to_json(one, safe, image)) is not None]
    return {
        "id": message.id,
        "role": message.role.value,
        "kind": message.kind.value,
        "parts": cast("list[Json]", parts or [{"text": EMPTY_NOTE}]),
    }


def message_from_json(data: object, *, image: LoadImage = lambda _name, _type: None) -> Message:
    """A message from JSON; a UsageError when it is none."""
    fields = _mapping(data)
    parts = fields.get("parts")
    role = _ROLES.get(str(fields.get("role")))
    if role is None or not isinstance(parts, list) or not parts:
        raise UsageError("That is no message.")
    return Message(
        role=role,
        parts=tuple(_part_from_json(_mapping(part), image) for part in cast("list[object]", parts)),
        kind=_KINDS.get(str(fields.get("kind", "")), MessageKind.PLAIN),
        id=_text(fields, "id") or new_message_id(),
    )


def _part_to_json(
    part: Part, safe: Callable[[Json], Json], keep: KeepImage
) -> dict[str, Json] | None:
    match part:
        case TextPart(text):
            return {"text": safe(text)}
        case ThinkingPart(text, signature, redacted):
            return _thinking_to_json(text, safe(text), signature, redacted=redacted)
        case ImagePart():
            return _image_to_json(part, keep) or {"text": IMAGE_NOTE}
        case ToolCallPart(id=id, name=name, arguments=arguments, signature=signature):
            call: dict[str, Json] = {"call": id, "name": name}
            call["arguments"] = _safe_arguments(arguments, safe)
            if signature:
                call["signature"] = signature
            return call
        case ToolResultPart(call_id=call_id, name=name, content=content, is_error=is_error):
            images = [_image_to_json(one, keep) for one in part.images]
            kept = [one for one in images if one is not None]
            lost = f"\n{IMAGE_NOTE}" * (len(images) - len(kept))
            shown = safe(f"{content}{lost}")
            result: dict[str, Json] = {"result": call_id, "name": name}
            result |= {"content": shown, "is_error": is_error}
            if kept:
                result["images"] = cast("list[Json]", kept)
            return result


def _safe_arguments(arguments: str, safe: Callable[[Json], Json]) -> Json:
    """Arguments with their values changed one by one: in the text, escapes would hide them."""
    try:
        value = cast("Json", json.loads(arguments))
        kept = safe(value)
    except (ValueError, RecursionError, UsageError):
        return safe(arguments)
    return safe(arguments) if kept == value else json.dumps(kept, ensure_ascii=False)


def _thinking_to_json(
    text: str, safe_text: Json, signature: str, *, redacted: bool
) -> dict[str, Json] | None:
    if signature and safe_text != text:
        return None
    kept: dict[str, Json] = {"thinking": safe_text}
    if signature:
        kept["signature"] = signature
    if redacted:
        kept["redacted"] = True
    return kept


def _image_to_json(part: ImagePart, keep: KeepImage) -> dict[str, Json] | None:
    name = keep(part)
    return None if name is None else {"image": name, "media_type": part.media_type}


def _part_from_json(fields: Mapping[str, object], load: LoadImage) -> Part:
    if "call" in fields:
        return ToolCallPart(
            _text(fields, "call"),
            _text(fields, "name"),
            _text(fields, "arguments") or "{}",
            _text(fields, "signature"),
        )
    if "result" in fields:
        return _result_from_json(fields, load)
    if "thinking" in fields:
        redacted = fields.get("redacted") is True
        return ThinkingPart(_text(fields, "thinking"), _text(fields, "signature"), redacted)
    if "image" in fields:
        return load(_text(fields, "image"), _text(fields, "media_type")) or TextPart(IMAGE_NOTE)
    return TextPart(_text(fields, "text"))


def _result_from_json(fields: Mapping[str, object], load: LoadImage) -> ToolResultPart:
    listed = fields.get("images")
    named = [
        _mapping(one) for one in cast("list[object]", listed if isinstance(listed, list) else [])
    ]
    images = [load(_text(one, "image"), _text(one, "media_type")) for one in named]
    found = tuple(one for one in images if one is not None)
    return ToolResultPart(
        _text(fields, "result"),
        _text(fields, "name"),
        _text(fields, "content") + f"\n{IMAGE_NOTE}" * (len(images) - len(found)),
        is_error=fields.get("is_error") is True,
        images=found,
    )


def _mapping(data: object) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise UsageError("That is no message.")
    return cast("dict[str, object]", data)


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
