"""A conversation with a chat model, in one form for every provider.

A conversation is a list of messages. Roles are system, user, assistant and tool; a tool message
holds the results of the calls of the assistant message before it. `kind` marks messages that the
runtime made itself, such as a summary. Providers translate to and from this form; the agent knows
no other.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, TypeAlias, cast

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
