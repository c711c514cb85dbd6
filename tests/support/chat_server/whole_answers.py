"""What chat services answer when nobody asks for a stream: one JSON object for each protocol."""

from __future__ import annotations

import json
from typing import Any

from wellkept.core.chat.messages import (
    ModelResponse,
    ModelUsage,
    StopReason,
    TextPart,
    ToolCallPart,
)

_ANTHROPIC_STOPS = {StopReason.TOOLS: "tool_use", StopReason.LENGTH: "max_tokens"}
_OPENAI_STOPS = {StopReason.TOOLS: "tool_calls", StopReason.LENGTH: "length"}


def anthropic_message(answer: ModelResponse, model: str) -> dict[str, Any]:
    """The body of Anthropic's `/v1/messages`."""
    usage = answer.usage or ModelUsage()
    content: list[dict[str, Any]] = []
    for part in answer.message.parts:
        if isinstance(part, TextPart):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, ToolCallPart):
            given = json.loads(part.arguments)
            content.append({"type": "tool_use", "id": part.id, "name": part.name, "input": given})
    return {
        "id": f"msg_{answer.message.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": _ANTHROPIC_STOPS.get(answer.stop, "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": usage.input, "output_tokens": usage.output},
    }


def openai_completion(answer: ModelResponse, model: str) -> dict[str, Any]:
    """The body of OpenAI's `/chat/completions`."""
    usage = answer.usage or ModelUsage()
    text = "".join(part.text for part in answer.message.parts if isinstance(part, TextPart))
    message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
    called = [
        {
            "id": part.id,
            "type": "function",
            "function": {"name": part.name, "arguments": part.arguments},
        }
        for part in answer.message.parts
        if isinstance(part, ToolCallPart)
    ]
    if called:
        message["tool_calls"] = called
    stop = _OPENAI_STOPS.get(answer.stop, "stop")
    return {
        "id": f"chatcmpl-{answer.message.id}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": stop}],
        "usage": {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
        },
    }
