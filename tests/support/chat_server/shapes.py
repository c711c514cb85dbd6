"""What chat services stream: a whole answer as the events of each protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from wellkept.core.chat.messages import (
    Message,
    ModelResponse,
    ModelUsage,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)

Events = Iterator[tuple[str | None, Mapping[str, Any] | str]]
_ANTHROPIC_STOPS = {
    StopReason.DONE: "end_turn",
    StopReason.TOOLS: "tool_use",
    StopReason.LENGTH: "max_tokens",
    StopReason.REFUSED: "refusal",
}
_OPENAI_STOPS = {
    StopReason.DONE: "stop",
    StopReason.TOOLS: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.REFUSED: "content_filter",
}
_REASONING = {"ollama": "reasoning"}


def anthropic_events(answer: ModelResponse, model: str) -> Events:
    """The events of Anthropic's `/v1/messages`."""
    usage = answer.usage or ModelUsage()
    counted = {
        "input_tokens": usage.input,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": 1,
    }
    message: dict[str, Any] = {
        "id": f"msg_{answer.message.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": counted,
    }
    yield _named("message_start", message=message)
    yield _named("ping")
    for index, part in enumerate(answer.message.parts):
        block, deltas = _anthropic_block(part)
        yield _named("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield _named("content_block_delta", index=index, delta=delta)
        yield _named("content_block_stop", index=index)
    stop = {"stop_reason": _ANTHROPIC_STOPS[answer.stop], "stop_sequence": None}
    yield _named("message_delta", delta=stop, usage={"output_tokens": usage.output})
    yield _named("message_stop")


def openai_events(answer: ModelResponse, model: str, flavour: str) -> Events:
    """The pieces of `/chat/completions`; `flavour` is the service whose habits are followed."""

    def piece(delta: Mapping[str, Any], reason: str | None = None) -> Mapping[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**head, "choices": [choice], "usage": None}

    head = {
        "id": f"chatcmpl-{answer.message.id}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": model,
        "system_fingerprint": None,
    }
    yield None, piece({"role": "assistant", "content": "", "refusal": None})
    number = 0
    for part in answer.message.parts:
        if isinstance(part, ThinkingPart):
            name = _REASONING.get(flavour, "reasoning_content")
            for words in _halves(part.text):
                yield None, piece({"content": None, name: words})
        elif isinstance(part, TextPart):
            for words in _halves(part.text):
                yield None, piece({"content": words})
        elif isinstance(part, ToolCallPart):
            for delta in _openai_call(part, number, flavour):
                yield None, piece({"tool_calls": [delta]})
            number += 1
    # Ollama says `stop` also where it calls a tool.
    stop = "stop" if flavour == "ollama" and number else _OPENAI_STOPS[answer.stop]
    yield None, piece({}, stop)
    if answer.usage is not None:
        yield None, {**head, "choices": [], "usage": _openai_usage(answer.usage, flavour)}
    yield None, "[DONE]"


def error_event(protocol: str) -> tuple[str | None, str]:
    """An error in a stream that had begun well."""
    if protocol == "anthropic":
        error = {"type": "overloaded_error", "message": "Overloaded"}
        return "error", json.dumps({"type": "error", "error": error})
    error = {"message": "The server had an error", "type": "server_error", "code": None}
    return None, json.dumps({"error": error})


def error_body(protocol: str, status: int) -> str:
    """The body of an HTTP error."""
    if protocol == "anthropic":
        kinds = {429: "rate_limit_error", 529: "overloaded_error", 401: "authentication_error"}
        error = {"type": kinds.get(status, "api_error"), "message": f"fault {status}"}
        return json.dumps({"type": "error", "error": error, "request_id": "req_1"})
    error = {"message": f"fault {status}", "type": "server_error", "param": None, "code": None}
    return json.dumps({"error": error})


def _named(name: str, **fields: Any) -> tuple[str, Mapping[str, Any]]:
    return name, {"type": name, **fields}


def _anthropic_block(part: object) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    match part:
        case ThinkingPart(signature=data, redacted=True):
            return {"type": "redacted_thinking", "data": data}, []
        case ThinkingPart(text, signature):
            deltas = [{"type": "thinking_delta", "thinking": words} for words in _halves(text)]
            signed = {"type": "signature_delta", "signature": signature}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
        case ToolCallPart(id=call_id, name=name, arguments=arguments):
            block: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            pieces = ["", *_halves(arguments)]
            return block, [{"type": "input_json_delta", "partial_json": one} for one in pieces]
        case TextPart(text):
            deltas = [{"type": "text_delta", "text": words} for words in _halves(text)]
            return {"type": "text", "text": ""}, [*deltas]
        case _:
            raise ValueError(f"{part!r} is nothing that a model says")


def _openai_call(part: ToolCallPart, number: int, flavour: str) -> list[Mapping[str, Any]]:
    whole: dict[str, Any] = {
        "index": 0 if flavour == "gemini" else number,
        "id": part.id,
        "type": "function",
        "function": {"name": part.name, "arguments": part.arguments},
    }
    if part.signature:
        whole["extra_content"] = {"google": {"thought_signature": part.signature}}
    if flavour in ("ollama", "gemini"):
        return [whole]
    begun = {**whole, "function": {"name": part.name, "arguments": ""}}
    rest = [
        {"index": number, "function": {"arguments": words}} for words in _halves(part.arguments)
    ]
    return [begun, *rest]


def _openai_usage(usage: ModelUsage, flavour: str) -> Mapping[str, Any]:
    prompt = usage.input + usage.cache_read
    counted: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
    }
    if flavour == "deepseek":
        counted |= {"prompt_cache_hit_tokens": usage.cache_read}
    elif flavour != "ollama":
        counted["prompt_tokens_details"] = {"cached_tokens": usage.cache_read}
    return counted


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


def plain_answer(message: Message) -> ModelResponse:
    """A message as a whole answer with made-up counts."""
    stop = StopReason.TOOLS if message.tool_calls else StopReason.DONE
    return ModelResponse(message=message, stop=stop, usage=ModelUsage(input=120, output=7))
