"""OpenAI's chat completions, as OpenAI, DeepSeek, Qwen, GLM, Ollama and Gemini speak them.

Messages of the same role that follow one another are merged: several servers demand that roles
alternate, and none minds. The session-memory layer is thereby the beginning of the first user
message. Invariant: the same messages become the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from wellkept.core.chat.messages import (
    ImagePart,
    Message,
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
    new_message_id,
)
from wellkept.core.records import record
from wellkept.models.chat.catalog import ModelRow, ProviderPreset
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

_IMAGES_OF_RESULTS = "Images of the tool results above:"
_STOPS = {
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.REFUSED,
    "sensitive": StopReason.REFUSED,
}
_BROKEN = frozenset({"insufficient_system_resource", "network_error", "error"})


class OpenAIWire:
    """Requests for one model at one endpoint."""

    def __init__(self, endpoint: Endpoint, row: ModelRow, preset: ProviderPreset) -> None:
        self.endpoint = endpoint
        self.path = "/chat/completions"
        self.thinking_headers: Mapping[str, str] = {}
        self.streaming: Block = {"stream": True, "stream_options": {"include_usage": True}}
        self._row = row
        self._preset = preset
        is_vendor = urlsplit(endpoint.base_url).hostname == urlsplit(preset.base_url).hostname
        # OpenAI renamed the field for its newer models; other servers know only the old name.
        self._limit_field = preset.limit_field if is_vendor else "max_tokens"

    def answer(self, names: ToolNames) -> _Answer:
        """An answer that is to come."""
        return _Answer(names)

    def body(
        self, request: ModelRequest, names: ToolNames, *, limit: int, left_out: frozenset[LeftOut]
    ) -> Block:
        """The body of a request."""
        info = self._row.info
        body: Block = {
            "model": info.name,
            "messages": conversation(
                request.messages,
                names=names,
                images=info.has_images,
                thinking=self._preset.returns_thinking and LeftOut.PAST_THINKING not in left_out,
            ),
            self._limit_field: limit,
        }
        if request.tools:
            body["tools"] = tool_list(request.tools, names=names)
        refuses_effort = self._row.no_effort_with_tools or LeftOut.EFFORT_WITH_TOOLS in left_out
        if request.tools and refuses_effort:
            body["reasoning_effort"] = self._row.off or "none"
        elif request.thinking is not None and LeftOut.THINKING not in left_out:
            body |= self._thinking(request.thinking)
        return body

    def _thinking(self, wanted: ThinkingRequest) -> Block:
        """The parameters by which a model is told to think, or not to, in the vendor's form."""
        is_off = wanted.budget_tokens == 0
        if is_off and self._row.off is None:
            return {}
        effort = self._row.efforts.get(wanted.effort or "high")
        match self._row.thinking:
            case "effort":
                return {"reasoning_effort": self._row.off if is_off else effort or "high"}
            case "switch":
                told = {"reasoning_effort": effort} if effort and not is_off else {}
                return {"thinking": {"type": "disabled" if is_off else "enabled"}, **told}
            case "qwen":
                told: Block = {"enable_thinking": not is_off}
                if wanted.budget_tokens:
                    most = self._row.info.thinking.max_budget or wanted.budget_tokens
                    told["thinking_budget"] = min(wanted.budget_tokens, most)
                return told
            case _:
                return {}


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

    def taken(self, event: Mapping[str, Any]) -> list[ModelChunk]:
        """Take in a piece; returns what a person can see of it."""
        self._model = string(event, "model") or self._model
        if usage := table(event, "usage"):
            self._usage = _usage(usage)
        chunks: list[ModelChunk] = []
        # Servers send pieces without choices, e.g. with the usage alone.
        for choice in tables(event, "choices"):
            self._stop = string(choice, "finish_reason") or self._stop
            chunks += self._delta(table(choice, "delta"))
        return chunks

    def whole(self, reply: Mapping[str, Any]) -> ModelResponse:
        """The answer that came in one piece."""
        choices = [{**one, "delta": table(one, "message")} for one in tables(reply, "choices")]
        self.taken({**reply, "choices": choices})
        return self.response()

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

    def _delta(self, delta: Block) -> list[ModelChunk]:
        chunks: list[ModelChunk] = []
        # DeepSeek, Qwen and GLM say `reasoning_content`, Ollama and others `reasoning`.
        if thought := string(delta, "reasoning_content") or string(delta, "reasoning"):
            self._thinking.append(thought)
            chunks.append(ThinkingChunk(thought))
        if said := string(delta, "content") or string(delta, "refusal"):
            self._text.append(said)
            chunks.append(TextChunk(said))
        return chunks + [self._call_piece(piece) for piece in tables(delta, "tool_calls")]

    def _call_piece(self, piece: Block) -> ToolCallChunk:
        function = table(piece, "function")
        name, given_id = string(function, "name"), string(piece, "id")
        written = function.get("arguments") or ""
        if not isinstance(written, str):  # an object, as some servers send it
            written = json.dumps(written)
        call = self._open_call(piece.get("index"), given_id, name)
        if call is None:
            call = _Call(piece.get("index"), given_id or f"call_{new_message_id()}", name)
            self._calls.append(call)
        elif not call.name:
            call.name = name
        call.arguments += written
        google = table(table(piece, "extra_content"), "google")
        call.signature = string(google, "thought_signature") or call.signature
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


def _usage(given: Block) -> ModelUsage:
    cached = table(given, "prompt_tokens_details").get("cached_tokens")
    if cached is None:
        cached = given.get("prompt_cache_hit_tokens")
    read = cached if isinstance(cached, int) and cached > 0 else 0
    prompt, answered = (_count(given.get(n)) for n in ("prompt_tokens", "completion_tokens"))
    return ModelUsage(input=max(0, prompt - read), output=answered, cache_read=read)


def _count(value: object) -> int:
    return max(0, value) if isinstance(value, int) else 0


def conversation(
    messages: Iterable[Message], *, names: ToolNames, images: bool = True, thinking: bool = False
) -> list[Block]:
    """All messages; `thinking` sends back what the model thought in the running turn."""
    given = list(messages)
    # Where the last prompt of a person stands: what was thought before it is not sent again.
    prompts = (i for i, m in enumerate(given) if m.role is Role.USER and not m.kind)
    running = max(prompts, default=-1)
    system = "\n\n".join(m.text for m in given if m.role is Role.SYSTEM and m.text.strip())
    made: list[Block] = [{"role": "system", "content": system}] if system else []
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
        made.insert(first, {"role": "user", "content": BEGINNING})
    return made


def tool_list(tools: Sequence[ToolDefinition], *, names: ToolNames) -> list[Block]:
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


def _assistant(message: Message, names: ToolNames, *, thinking: bool) -> Block:
    entry: Block = {"role": "assistant", "content": message.text or None}
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    if calls:
        entry["tool_calls"] = [_call(one, names) for one in calls]
    elif not message.text:
        entry["content"] = EMPTY
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


def _call(part: ToolCallPart, names: ToolNames) -> Block:
    call: Block = {
        "id": call_id(part.id),
        "type": "function",
        "function": {"name": names.sent(part.name), "arguments": _arguments(part.arguments)},
    }
    if part.signature:
        call["extra_content"] = {"google": {"thought_signature": part.signature}}
    return call


def _arguments(arguments: str) -> str:
    """Arguments that a server can parse again; several refuse what the model wrote wrongly."""
    parsed = arguments_object(arguments)
    return json.dumps(parsed) if "invalid_json" in parsed else arguments or "{}"


def _contents(message: Message, *, images: bool) -> list[Block]:
    contents: list[Block] = []
    for part in message.parts:
        if isinstance(part, TextPart) and part.text.strip():
            contents.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            contents.append(_image(part) if images else {"type": "text", "text": NO_IMAGE})
    return contents


def _image(part: ImagePart) -> Block:
    url = f"data:{part.media_type};base64,{part.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _add_user(made: list[Block], contents: list[Block]) -> None:
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


def _add_results(made: list[Block], message: Message, *, images: bool) -> None:
    """One entry for each result; pictures follow in a user message, for results take only text."""
    shown: list[Block] = []
    for part in message.tool_results:
        content = part.content if part.content.strip() else EMPTY
        if part.images and not images:
            content = f"{content}\n{NO_IMAGE}"
        elif part.images:
            shown += map(_image, part.images)
        made.append({"role": "tool", "tool_call_id": call_id(part.call_id), "content": content})
    if shown:
        _add_user(made, [{"type": "text", "text": _IMAGES_OF_RESULTS}, *shown])
