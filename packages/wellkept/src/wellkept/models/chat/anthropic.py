"""Models behind Anthropic's Messages protocol, over Anthropic's SDK. MiniMax speaks it too."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, cast

import anthropic
from anthropic import AsyncAnthropic

from wellkept.core.chat.messages import (
    Message,
    ModelChunk,
    ModelInfo,
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
)
from wellkept.models.chat import anthropic_messages as wire
from wellkept.models.chat.attempts import (
    Attempts,
    LeftOut,
    Report,
    broken_off,
    check_stream,
)
from wellkept.models.chat.catalog import ModelRow, ProviderPreset
from wellkept.models.chat.connection import (
    http_client,
    output_limit,
    stray_headers,
    wire_names,
)
from wellkept.models.chat.failures import TRANSPORT_ERRORS, cut_off
from wellkept.models.chat.settings import AgentModelSettings
from wellkept.models.chat.tool_names import ToolNames
from wellkept.models.http.client import Endpoint

_INTERLEAVED = "interleaved-thinking-2025-05-14"
_LEAST_BUDGET = 1_024
_ROOM_TO_ANSWER = 4_096
_STOPS = {
    "tool_use": StopReason.TOOLS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "refusal": StopReason.REFUSED,
}


class AnthropicModel:
    """One model at one endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        row: ModelRow,
        preset: ProviderPreset,
        settings: AgentModelSettings,
        report: Report | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._row = row
        self._settings = settings
        self._attempts = Attempts(
            what=f"{preset.name}:{row.info.name} at {endpoint.shown_url}",
            settings=settings,
            errors=(anthropic.AnthropicError, *TRANSPORT_ERRORS),
            api_key=endpoint.api_key,
            left_out=set(),
            report=report,
        )

    @property
    def info(self) -> ModelInfo:
        return self._row.info

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream an answer."""

        def call(left_out: frozenset[LeftOut]) -> AsyncGenerator[ModelChunk]:
            return self._call(request, left_out)

        async with aclosing(self._attempts.stream(call)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _call(
        self, request: ModelRequest, left_out: frozenset[LeftOut]
    ) -> AsyncGenerator[ModelChunk]:
        names = wire_names(request)
        body = self._body(request, names, left_out)
        answer = _Answer(names)
        stray = stray_headers("anthropic", self.info.provider)
        async with http_client(self._endpoint, self._settings) as client:
            # A key that is given keeps the SDK from looking for others in the environment.
            sdk = AsyncAnthropic(
                api_key=self._endpoint.api_key or "none",
                base_url=_without_version(self._endpoint.base_url),
                http_client=client,
                max_retries=0,
                default_headers=cast("Mapping[str, str]", dict.fromkeys(stray, anthropic.omit)),
            )
            with warnings.catch_warnings():
                # Which model is near its end is the vendor's to say, not a warning of this code.
                warnings.simplefilter("ignore", DeprecationWarning)
                stream = await sdk.messages.create(
                    **body, stream=True, extra_headers=_headers(request.thinking)
                )
            async with stream:
                check_stream(self._attempts.what, stream.response)
                async for event in stream:
                    for chunk in answer.taken(event):
                        yield chunk
        if not answer.is_complete:
            raise broken_off(cut_off(self._attempts.what))
        yield answer.response()

    def _body(
        self, request: ModelRequest, names: ToolNames, left_out: frozenset[LeftOut]
    ) -> dict[str, Any]:
        info = self.info
        marks = info.has_prompt_cache
        system = wire.system_blocks(request.messages, marks=marks)
        limit = output_limit(request, info)
        body: dict[str, Any] = {
            "model": info.name,
            "max_tokens": limit,
            "messages": wire.conversation(
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
            body["tools"] = wire.tool_list(request.tools, names=names, mark=mark)
        if request.thinking is not None and LeftOut.THINKING not in left_out:
            body |= self._thinking(request.thinking, limit)
        return body

    def _thinking(self, wanted: ThinkingRequest, limit: int) -> dict[str, Any]:
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
        most = self.info.max_output_tokens
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
        self._blocks: dict[int, dict[str, str]] = {}
        self._usage: dict[str, int] = {}
        self._stop: str | None = None
        self._model = ""
        self.is_complete = False

    def taken(self, event: Any) -> list[ModelChunk]:
        """Take in an event; returns what a person can see of it."""
        match event.type:
            case "message_start":
                self._model = str(event.message.model or "")
                self._count(event.message.usage)
            case "content_block_start":
                return self._begin(event.index, event.content_block)
            case "content_block_delta":
                return self._go_on(event.index, event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                self._count(event.usage)
            case "message_stop":
                self.is_complete = True
            case _:
                pass
        return []

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

    def _begin(self, index: int, block: Any) -> list[ModelChunk]:
        kept = {"type": str(block.type)}
        for name in ("text", "thinking", "signature", "data", "id", "name"):
            kept[name] = str(getattr(block, name, None) or "")
        kept["arguments"] = ""
        self._blocks[index] = kept
        if kept["type"] == "tool_use":
            kept["name"] = self._names.own(kept["name"])
            return [ToolCallChunk(kept["id"], kept["name"])]
        return [TextChunk(kept["text"])] if kept["text"] else []

    def _go_on(self, index: int, delta: Any) -> list[ModelChunk]:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta.type:
            case "text_delta":
                block["text"] = block.get("text", "") + delta.text
                return [TextChunk(delta.text)]
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta.thinking
                return [ThinkingChunk(delta.thinking)] if delta.thinking else []
            case "signature_delta":
                block["signature"] = block.get("signature", "") + delta.signature
            case "input_json_delta":
                block["arguments"] = block.get("arguments", "") + delta.partial_json
                return [
                    ToolCallChunk(block.get("id", ""), block.get("name", ""), delta.partial_json)
                ]
            case _:
                pass
        return []

    def _part(self, block: dict[str, str]) -> Part | None:
        match block["type"]:
            case "text":
                return TextPart(block["text"]) if block["text"] else None
            case "thinking":
                return ThinkingPart(block["thinking"], block["signature"])
            case "redacted_thinking":
                return ThinkingPart("", block["data"], redacted=True)
            case "tool_use":
                return ToolCallPart(block["id"], block["name"], block["arguments"] or "{}")
            case _:
                return None

    def _count(self, usage: Any) -> None:
        """Counts of a message's start and end; the later one counts."""
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ):
            value = getattr(usage, name, None)
            if isinstance(value, int) and value >= 0:
                self._usage[name] = value


def _headers(thinking: ThinkingRequest | None) -> dict[str, str]:
    wants = thinking is not None and thinking.interleaved and thinking.budget_tokens != 0
    return {"anthropic-beta": _INTERLEAVED} if wants else {}


def _without_version(url: str) -> str:
    """The SDK adds `/v1` itself."""
    return url.rstrip("/").removesuffix("/v1")
