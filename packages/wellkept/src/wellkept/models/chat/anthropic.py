"""Anthropic's Messages protocol: what is asked, and how an answer is read. MiniMax speaks it too.

Marks for the prompt cache stand on the system prompt (which covers the tools before it), on the
session-memory layer and on the last message. Invariant: the same messages become the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wellkept.core.chat.messages import (
    ImagePart,
    Message,
    MessageKind,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    ModelUsage,
    Part,
    Role,
    StopReason,
    TextChunk,
    TextPart,
    ThinkingChunk,
    ThinkingPart,
    ThinkingRequest,
    ToolCallChunk,
    ToolCallPart,
    ToolDefinition,
    ToolResultPart,
)
from wellkept.core.records import replace
from wellkept.models.chat.catalog import ModelRow
from wellkept.models.chat.wire import (
    BEGINNING,
    EMPTY,
    NO_IMAGE,
    Block,
    LeftOut,
    ToolNames,
    arguments_object,
    call_id,
)
from wellkept.models.http import Endpoint, string, table, tables

_VERSION = {"anthropic-version": "2023-06-01"}
_INTERLEAVED = {"anthropic-beta": "interleaved-thinking-2025-05-14"}
_LEAST_BUDGET = 1_024
_ROOM_TO_ANSWER = 4_096
_STOPS = {
    "tool_use": StopReason.TOOLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSED,
}
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
_MARK = {"type": "ephemeral"}
_MARKABLE = frozenset({"text", "image", "tool_use", "tool_result"})


class AnthropicWire:
    """Requests for one model at one endpoint, whose address may end with `/v1`."""

    def __init__(self, endpoint: Endpoint, row: ModelRow) -> None:
        self.endpoint = replace(endpoint, key_header="x-api-key", headers=_VERSION)
        has_version = endpoint.base_url.rstrip("/").endswith("/v1")
        self.path = "/messages" if has_version else "/v1/messages"
        self.streaming: Block = {"stream": True}
        self.thinking_headers: Mapping[str, str] = _INTERLEAVED
        self._row = row

    def answer(self, names: ToolNames) -> _Answer:
        """An answer that is to come."""
        return _Answer(names)

    def body(
        self, request: ModelRequest, names: ToolNames, *, limit: int, left_out: frozenset[LeftOut]
    ) -> Block:
        """The body of a request."""
        info = self._row.info
        marks = info.has_prompt_cache
        system = system_blocks(request.messages, marks=marks)
        body: Block = {
            "model": info.name,
            "max_tokens": limit,
            "messages": conversation(
                request.messages,
                names=names,
                marks=marks,
                images=info.has_images,
                thinking=LeftOut.PAST_THINKING not in left_out,
            ),
        }
        if system:
            body["system"] = system
        if request.tools:
            mark = marks and not system
            body["tools"] = tool_list(request.tools, names=names, mark=mark)
        if request.thinking is not None and LeftOut.THINKING not in left_out:
            body |= self._thinking(request.thinking, limit)
        return body

    def _thinking(self, wanted: ThinkingRequest, limit: int) -> Block:
        """The parameters by which a model is told to think, or not to."""
        if wanted.budget_tokens == 0:
            return {"thinking": {"type": "disabled"}} if self._row.off else {}
        if self._row.thinking == "adaptive":
            effort = self._row.efforts.get(wanted.effort or "high", "high")
            return {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": effort},
            }
        if self._row.thinking != "budget":
            return {}
        # Thinking counts as output: there must be room for an answer beside it.
        most = self._row.info.max_output_tokens
        budget = min(wanted.budget_tokens or most, most - _ROOM_TO_ANSWER)
        budget = max(budget, _LEAST_BUDGET)
        return {
            "thinking": {"type": "enabled", "budget_tokens": budget},
            "max_tokens": min(max(limit, budget + _ROOM_TO_ANSWER), most),
        }


class _Answer:
    """An answer as its events come in."""

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._blocks: dict[Any, dict[str, str]] = {}
        self._usage: dict[str, int] = {}
        self._stop: str | None = None
        self._model = ""
        self.is_complete = False

    def taken(self, event: Mapping[str, Any]) -> list[ModelChunk]:
        """Take in an event; returns what a person can see of it."""
        match event.get("type"):
            case "message_start":
                message = table(event, "message")
                self._model = string(message, "model")
                self._count(table(message, "usage"))
            case "content_block_start":
                return self._begin(event.get("index"), table(event, "content_block"))
            case "content_block_delta":
                return self._go_on(event.get("index"), table(event, "delta"))
            case "message_delta":
                self._stop = string(table(event, "delta"), "stop_reason") or self._stop
                self._count(table(event, "usage"))
            case "message_stop":
                self.is_complete = True
            case _:
                pass
        return []

    def whole(self, reply: Mapping[str, Any]) -> ModelResponse:
        """The answer that came in one piece."""
        for index, block in enumerate(tables(reply, "content")):
            self._begin(index, block)
            self._blocks[index]["arguments"] = json.dumps(table(block, "input"))
        self._model = string(reply, "model")
        self._stop = string(reply, "stop_reason")
        self._count(table(reply, "usage"))
        return self.response()

    def response(self) -> ModelResponse:
        """The whole answer."""
        parts = [self._part(block) for _, block in sorted(self._blocks.items())]
        kept = tuple(part for part in parts if part is not None)
        has_calls = any(isinstance(part, ToolCallPart) for part in kept)
        stop = _STOPS.get(self._stop or "", StopReason.TOOLS if has_calls else StopReason.DONE)
        usage = ModelUsage(
            input=self._usage.get("input_tokens", 0),
            output=self._usage.get("output_tokens", 0),
            cache_read=self._usage.get("cache_read_input_tokens", 0),
            cache_write=self._usage.get("cache_creation_input_tokens", 0),
        )
        return ModelResponse(
            message=Message(role=Role.ASSISTANT, parts=kept),
            stop=stop,
            usage=usage if self._usage else None,
            model=self._model,
        )

    def _begin(self, index: Any, block: Block) -> list[ModelChunk]:
        names = ("type", "text", "thinking", "signature", "data", "id", "name")
        kept = {name: string(block, name) for name in names}
        kept["arguments"] = ""
        self._blocks[index] = kept
        if kept["type"] == "tool_use":
            kept["name"] = self._names.own(kept["name"])
            return [ToolCallChunk(kept["id"], kept["name"])]
        return [TextChunk(kept["text"])] if kept["text"] else []

    def _go_on(self, index: Any, delta: Block) -> list[ModelChunk]:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta.get("type"):
            case "text_delta":
                return [TextChunk(_added(block, "text", string(delta, "text")))]
            case "thinking_delta":
                added = _added(block, "thinking", string(delta, "thinking"))
                return [ThinkingChunk(added)] if added else []
            case "signature_delta":
                _added(block, "signature", string(delta, "signature"))
            case "input_json_delta":
                added = _added(block, "arguments", string(delta, "partial_json"))
                return [ToolCallChunk(block.get("id", ""), block.get("name", ""), added)]
            case _:
                pass
        return []

    def _part(self, block: dict[str, str]) -> Part | None:
        match block["type"]:
            case "text":
                return TextPart(block["text"]) if block["text"] else None
            case "thinking":
                return ThinkingPart(block["thinking"], block.get("signature", ""))
            case "redacted_thinking":
                return ThinkingPart("", block["data"], redacted=True)
            case "tool_use":
                return ToolCallPart(block["id"], block["name"], block["arguments"] or "{}")
            case _:
                return None

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Counts of a message's start and end; the later one counts."""
        for name in _COUNTS:
            value = usage.get(name)
            if isinstance(value, int) and value >= 0:
                self._usage[name] = value


def _added(block: dict[str, str], name: str, piece: str) -> str:
    block[name] = block.get(name, "") + piece
    return piece


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
        made.insert(0, {"role": "user", "content": [_text(BEGINNING)]})
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
        blocks.append(_text(EMPTY))
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
        "content": content or [_text(EMPTY)],
    }
    if part.is_error:
        block["is_error"] = True
    return block


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
