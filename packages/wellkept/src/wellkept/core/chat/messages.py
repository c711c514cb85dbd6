"""A conversation with a chat model, in one form for every provider.

A conversation is a list of messages. Roles are system, user, assistant and tool; a tool message
holds the results of the calls of the assistant message before it. `kind` marks messages that the
runtime made itself, such as a summary. Providers translate to and from this form; the agent knows
no other.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast

from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.ids import IdSource
from wellkept.core.records import field, record
from wellkept.core.text import estimate_tokens

new_message_id = IdSource(lambda: time.time_ns() // 1_000_000)

IMAGE_TOKENS = 1_600
_MESSAGE_TOKENS = 4


class Role(StrEnum):
    """Who a message is from."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class MessageKind(StrEnum):
    """What a message is for. Anything but `PLAIN` was made by the runtime."""

    PLAIN = ""
    MEMORY = "memory"
    SUMMARY = "summary"
    BOUNDARY = "boundary"
    RESTORED = "restored"
    REMINDER = "reminder"


@record
class TextPart:
    """Plain text."""

    text: str


@record
class ThinkingPart:
    """What a model thought before it answered. `signature` is sent back as it came; of `redacted`
    thinking it is all there is."""

    text: str
    signature: str = ""
    redacted: bool = False


@record
class ImagePart:
    """A picture: base64 and its media type."""

    data: str
    media_type: str


@record
class ToolCallPart:
    """A model's call of a tool. `arguments` is JSON as the model wrote it, valid or not.
    `signature` is sent back as it came."""

    id: str
    name: str
    arguments: str = "{}"
    signature: str = ""

    @property
    def args(self) -> dict[str, Any]:
        """The arguments by name; empty when they are no JSON object."""
        try:
            read: object = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return {}
        return cast("dict[str, Any]", read) if isinstance(read, dict) else {}


@record
class ToolResultPart:
    """The result of one call, for the model."""

    call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[ImagePart, ...] = ()


Part: TypeAlias = TextPart | ThinkingPart | ImagePart | ToolCallPart | ToolResultPart


@record(kw_only=True)
class Message:
    """One message of a conversation."""

    role: Role
    parts: tuple[Part, ...]
    kind: MessageKind = MessageKind.PLAIN
    id: str = field(default_factory=new_message_id)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def thinking(self) -> str:
        """The thinking parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The calls of an assistant message."""
        return tuple(part for part in self.parts if isinstance(part, ToolCallPart))

    @property
    def tool_results(self) -> tuple[ToolResultPart, ...]:
        """The results of a tool message."""
        return tuple(part for part in self.parts if isinstance(part, ToolResultPart))

    @property
    def tokens(self) -> int:
        """About how many tokens the message takes."""
        return _MESSAGE_TOKENS + sum(map(part_tokens, self.parts))


def part_tokens(part: Part) -> int:
    """About how many tokens a part takes."""
    match part:
        case TextPart(text):
            return estimate_tokens(text)
        case ThinkingPart(text):
            return estimate_tokens(text)
        case ImagePart():
            return IMAGE_TOKENS
        case ToolCallPart(name=name, arguments=arguments):
            return estimate_tokens(name) + estimate_tokens(arguments)
        case ToolResultPart(content=content, images=images):
            return estimate_tokens(content) + IMAGE_TOKENS * len(images)


def system_message(text: str) -> Message:
    """A message of the system."""
    return Message(role=Role.SYSTEM, parts=(TextPart(text),))


def user_message(text: str, *, kind: MessageKind = MessageKind.PLAIN) -> Message:
    """A message of the person, or of the runtime in their place."""
    return Message(role=Role.USER, parts=(TextPart(text),), kind=kind)


def assistant_message(text: str, *calls: ToolCallPart) -> Message:
    """An answer of the model."""
    return Message(role=Role.ASSISTANT, parts=(*((TextPart(text),) if text else ()), *calls))


def tool_message(*results: ToolResultPart) -> Message:
    """The results of the calls of one answer."""
    return Message(role=Role.TOOL, parts=results)


@record
class ToolDefinition:
    """A tool as a model is told about it; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


@record
class ThinkingRequest:
    """How much a model should think: tokens, an effort, or both, as its provider takes them."""

    budget_tokens: int | None = None
    effort: Literal["high", "xhigh"] | None = None
    interleaved: bool = False


@record(kw_only=True)
class ModelRequest:
    """One call of a model. `model` is set where a skill or a sub-agent asks for another one."""

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    max_tokens: int | None = None
    thinking: ThinkingRequest | None = None
    model: str | None = None

    @property
    def tokens(self) -> int:
        """About how many tokens the messages take."""
        return sum(message.tokens for message in self.messages)


class StopReason(StrEnum):
    """Why a model ended its answer."""

    DONE = "done"
    TOOLS = "tools"
    LENGTH = "length"
    REFUSED = "refused"


@record(kw_only=True)
class ModelUsage:
    """Tokens of one call, or of several. `input` is without what came from the cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: ModelUsage) -> ModelUsage:
        return ModelUsage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )

    @property
    def total(self) -> int:
        """All tokens, however they were billed."""
        return self.input + self.output + self.cache_read + self.cache_write


@record(kw_only=True)
class ModelResponse:
    """A model's whole answer. `usage` is None when the provider did not say."""

    message: Message
    stop: StopReason = StopReason.DONE
    usage: ModelUsage | None = None
    model: str = ""


@record
class TextChunk:
    """A piece of the answer's text."""

    text: str


@record
class ThinkingChunk:
    """A piece of what the model thinks."""

    text: str


@record
class ToolCallChunk:
    """The model has begun to write a call, or writes on; `arguments` is only the new piece."""

    id: str
    name: str
    arguments: str = ""


ModelChunk: TypeAlias = TextChunk | ThinkingChunk | ToolCallChunk | ModelResponse
"""What a model streams. The last item is the `ModelResponse`, and there is exactly one."""


@record(kw_only=True)
class ThinkingSupport:
    """What a model can do of thinking: level names, default level, budgets in tokens."""

    levels: tuple[str, ...] = ()
    default: str | None = None
    max_budget: int | None = None
    deep_budget: int | None = None
    ultra_budget: int | None = None


@record(kw_only=True)
class ModelInfo:
    """What is known of a model. `small` when its window is so small that less is injected."""

    name: str
    provider: str
    context_tokens: int = 128_000
    max_output_tokens: int = 8_192
    has_tools: bool = True
    has_images: bool = False
    has_prompt_cache: bool = False
    thinking: ThinkingSupport = ThinkingSupport()
    small: bool = False


# -- As JSON ---------------------------------------------------------------------------------------


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
