"""Ways in which a chat service fails, with the bodies that the real ones send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from wellkept.core.chat.messages import Message
from wellkept.core.records import field, record


@record(kw_only=True)
class Fault:
    """How one request goes wrong.

    `status` answers with an error; `body` is its body, or with status 200 the whole answer. `hang`
    sends nothing. In a stream: `cut_after` closes the connection after so many events, `garbage_at`
    sends broken JSON in the place of an event, `delay_s` waits before each, `error_at` sends the
    service's error event. `answer` is what the model would have said.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str | None = None
    hang: bool = False
    cut_after: int | None = None
    garbage_at: int | None = None
    error_at: int | None = None
    delay_s: float = 0.0
    answer: str | Message = "It was going to say this."


_OVERFLOWS: Mapping[str, tuple[int, Any]] = {
    "anthropic": (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 213462 tokens > 200000 maximum",
            },
        },
    ),
    "openai": (
        400,
        {
            "error": {
                "message": "Your input exceeds the context window of this model. Please adjust"
                " your input and try again.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    ),
    "deepseek": (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 131072 tokens. However, you"
                " requested 140000 tokens (136000 in the messages, 4000 in the completion).",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_request_error",
            }
        },
    ),
    "qwen": (
        400,
        {
            "error": {
                "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should"
                " be [1, 129024]",
                "type": "invalid_request_error",
                "code": "invalid_parameter_error",
            }
        },
    ),
    "glm": (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    "minimax": (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "invalid params, context window exceeds limit (2013)",
            },
        },
    ),
    "ollama": (
        400,
        {"error": {"message": "the input length exceeds the context length", "type": "api_error"}},
    ),
    "gemini": (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (1200000) exceeds the maximum number of"
                    " tokens allowed (1048576).",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
    ),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size. try increasing the"
                " context size or enable context shift",
                "type": "exceed_context_size_error",
            }
        },
    ),
}
OVERFLOWING = tuple(_OVERFLOWS)


def overflow(service: str) -> Fault:
    """What a service says when the conversation is too long for its model."""
    status, body = _OVERFLOWS[service]
    return Fault(status=status, body=json.dumps(body))
