"""Models behind OpenAI's chat completions, over OpenAI's SDK: OpenAI, DeepSeek, Qwen, GLM, Ollama,
Gemini's compatible endpoint, and any other server that speaks it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, cast
from urllib.parse import urlsplit

import openai
from openai import AsyncOpenAI

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
    new_message_id,
)
from wellkept.core.errors import ContextTooLongError
from wellkept.core.records import record
from wellkept.models.chat import openai_messages as wire
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

_STOPS = {
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSED,
    "sensitive": StopReason.REFUSED,
}
_BROKEN = frozenset({"insufficient_system_resource", "network_error", "error"})


class OpenAIModel:
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
        self._preset = preset
        self._settings = settings
        is_vendor = urlsplit(endpoint.base_url).hostname == urlsplit(preset.base_url).hostname
        # OpenAI renamed the field for its newer models; other servers know only the old name.
        self._limit_field = preset.limit_field if is_vendor else "max_tokens"
        self._attempts = Attempts(
            what=f"{preset.name}:{row.info.name} at {endpoint.shown_url}",
            settings=settings,
            errors=(openai.OpenAIError, *TRANSPORT_ERRORS),
            api_key=endpoint.api_key,
            left_out=set(),
            report=report,
        )

    @property
    def info(self) -> ModelInfo:
        return self._row.info

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream an answer."""
        self._refuse_what_would_be_cut(request)

        def call(left_out: frozenset[LeftOut]) -> AsyncGenerator[ModelChunk]:
            return self._call(request, left_out)

        async with aclosing(self._attempts.stream(call)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _call(
        self, request: ModelRequest, left_out: frozenset[LeftOut]
    ) -> AsyncGenerator[ModelChunk]:
        names = wire_names(request)
        answer = _Answer(names)
        stray = stray_headers("openai", self.info.provider)
        async with http_client(self._endpoint, self._settings) as client:
            sdk = AsyncOpenAI(
                api_key=self._endpoint.api_key or "none",
                base_url=self._endpoint.base_url,
                http_client=client,
                max_retries=0,
                # What the environment says of OpenAI's accounts is for OpenAI alone.
                default_headers=cast("Mapping[str, str]", dict.fromkeys(stray, openai.omit)),
            )
            body, extra = self._body(request, names, left_out)
            stream = await sdk.chat.completions.create(**body, stream=True, extra_body=extra)
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
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The body, and the part of it that only this vendor knows."""
        info = self.info
        body: dict[str, Any] = {
            "model": info.name,
            "messages": wire.conversation(
                request.messages,
                names=names,
                images=info.has_images,
                thinking=self._preset.returns_thinking and LeftOut.PAST_THINKING not in left_out,
            ),
            self._limit_field: output_limit(request, info),
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = wire.tool_list(request.tools, names=names)
        extra: dict[str, Any] = {}
        refuses_effort = self._row.no_effort_with_tools or LeftOut.EFFORT_WITH_TOOLS in left_out
        if request.tools and refuses_effort:
            body["reasoning_effort"] = self._row.off or "none"
        elif request.thinking is not None and LeftOut.THINKING not in left_out:
            self._add_thinking(request.thinking, body, extra)
        return body, extra

    def _add_thinking(
        self, wanted: ThinkingRequest, body: dict[str, Any], extra: dict[str, Any]
    ) -> None:
        """Tell the model to think, or not to, in the vendor's form."""
        is_off = wanted.budget_tokens == 0
        if is_off and self._row.off is None:
            return
        effort = self._row.efforts.get(wanted.effort or "high")
        match self._row.thinking:
            case "effort":
                body["reasoning_effort"] = self._row.off if is_off else effort or "high"
            case "switch":
                extra["thinking"] = {"type": "disabled" if is_off else "enabled"}
                if effort and not is_off:
                    body["reasoning_effort"] = effort
            case "qwen":
                extra["enable_thinking"] = not is_off
                if wanted.budget_tokens:
                    most = self.info.thinking.max_budget or wanted.budget_tokens
                    extra["thinking_budget"] = min(wanted.budget_tokens, most)
            case _:
                pass

    def _refuse_what_would_be_cut(self, request: ModelRequest) -> None:
        """Refuse what does not fit where the server would cut it without a word."""
        if self._preset.cuts_silently and request.tokens > self.info.context_tokens:
            raise ContextTooLongError(
                f"About {request.tokens:,} tokens do not fit into the"
                f" {self.info.context_tokens:,} of {self._attempts.what}.",
                hint="Give the server a larger window (OLLAMA_CONTEXT_LENGTH), or say less.",
            )


@record(frozen=False)
class _Call:
    """A call of a tool as it is written."""

    index: int | None
    id: str
    name: str
    arguments: str = ""
    signature: str = ""


class _Answer:
    """An answer as its pieces come in."""

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[_Call] = []
        self._usage: ModelUsage | None = None
        self._stop: str | None = None
        self._model = ""

    @property
    def is_complete(self) -> bool:
        """Whether the server said why the answer ended."""
        return self._stop is not None and self._stop not in _BROKEN

    def taken(self, event: Any) -> list[ModelChunk]:
        """Take in a piece; returns what a person can see of it."""
        self._model = str(getattr(event, "model", None) or self._model)
        if getattr(event, "usage", None) is not None:
            self._usage = _usage(event.usage)
        chunks: list[ModelChunk] = []
        # Servers send pieces without choices, e.g. with the usage alone.
        for choice in getattr(event, "choices", None) or ():
            self._stop = getattr(choice, "finish_reason", None) or self._stop
            delta = getattr(choice, "delta", None)
            if delta is not None:
                chunks += self._delta(delta)
        return chunks

    def response(self) -> ModelResponse:
        """The whole answer."""
        parts: list[Part] = []
        if thinking := "".join(self._thinking):
            parts.append(ThinkingPart(thinking))
        if text := "".join(self._text):
            parts.append(TextPart(text))
        parts += [
            ToolCallPart(one.id, self._names.own(one.name), one.arguments or "{}", one.signature)
            for one in self._calls
        ]
        # Some servers say `stop` where they call a tool.
        stop = _STOPS.get(self._stop or "", StopReason.TOOLS if self._calls else StopReason.DONE)
        return ModelResponse(
            message=Message(role=Role.ASSISTANT, parts=tuple(parts)),
            stop=stop,
            usage=self._usage,
            model=self._model,
        )

    def _delta(self, delta: Any) -> list[ModelChunk]:
        chunks: list[ModelChunk] = []
        # DeepSeek, Qwen and GLM say `reasoning_content`, Ollama and others `reasoning`.
        thought = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
        if isinstance(thought, str) and thought:
            self._thinking.append(thought)
            chunks.append(ThinkingChunk(thought))
        text = getattr(delta, "content", None) or getattr(delta, "refusal", None)
        if isinstance(text, str) and text:
            self._text.append(text)
            chunks.append(TextChunk(text))
        for piece in getattr(delta, "tool_calls", None) or ():
            chunks.append(self._call_piece(piece))
        return chunks

    def _call_piece(self, piece: Any) -> ToolCallChunk:
        function = getattr(piece, "function", None)
        name = getattr(function, "name", None) or ""
        written = getattr(function, "arguments", None) or ""
        if not isinstance(written, str):  # an object, as some servers send it
            written = json.dumps(written)
        given_id = getattr(piece, "id", None) or ""
        call = self._open_call(getattr(piece, "index", None), given_id, name)
        if call is None:
            call = _Call(
                getattr(piece, "index", None), given_id or f"call_{new_message_id()}", name
            )
            self._calls.append(call)
        elif not call.name:
            call.name = name
        call.arguments += written
        call.signature = _signature(piece) or call.signature
        return ToolCallChunk(call.id, self._names.own(call.name), written)

    def _open_call(self, index: int | None, given_id: str, name: str) -> _Call | None:
        """The call that a piece goes on with; None when it begins one.

        Gemini gives several calls the same index and Ollama none: a new id with a name is a new
        call, whatever its index.
        """
        same = [one for one in self._calls if one.index == index] if index is not None else []
        call = same[-1] if same else None
        if index is None and not name and self._calls:
            call = self._calls[-1]
        if call is not None and name and given_id and given_id != call.id:
            return None
        return call


def _usage(given: Any) -> ModelUsage:
    details = getattr(given, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None)
    if cached is None:
        cached = getattr(given, "prompt_cache_hit_tokens", None)
    read = cached if isinstance(cached, int) and cached > 0 else 0
    prompt = max(0, int(getattr(given, "prompt_tokens", 0) or 0))
    answered = max(0, int(getattr(given, "completion_tokens", 0) or 0))
    return ModelUsage(input=max(0, prompt - read), output=answered, cache_read=read)


def _signature(piece: Any) -> str:
    extra = getattr(piece, "extra_content", None)
    google = cast("Any", extra).get("google") if isinstance(extra, dict) else None
    given = cast("Any", google).get("thought_signature") if isinstance(google, dict) else None
    return given if isinstance(given, str) else ""
