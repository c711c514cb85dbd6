"""A model that answers from a script, for tests of agents. Makes no request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeAlias

from wellkept.core.chat.messages import (
    Message,
    ModelChunk,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ModelUsage,
    StopReason,
    TextChunk,
    ThinkingChunk,
    ToolCallPart,
    assistant_message,
)
from wellkept.core.errors import ProviderError

Answer: TypeAlias = "str | Message | ModelResponse | Exception"
Script: TypeAlias = "Iterable[Answer] | Callable[[ModelRequest], Answer]"

_calls = 0


def call(name: str, /, **arguments: object) -> ToolCallPart:
    """A call of a tool, with an id of its own."""
    global _calls  # noqa: PLW0603 - ids only need to differ
    _calls += 1
    return ToolCallPart(f"call_{_calls}", name, json.dumps(arguments))


def calls(*parts: ToolCallPart, text: str = "") -> Message:
    """An answer that calls tools."""
    return assistant_message(text, *parts)


class ScriptedModel:
    """Gives the answers of a script in order, or what a function says. Requests are in `requests`.

    A text is a final answer; an exception is raised; a script that is used up fails the run.
    """

    def __init__(
        self, script: Script, *, info: ModelInfo | None = None, delay_s: float = 0.0
    ) -> None:
        self.info = info or ModelInfo(name="scripted", provider="scripted")
        self.requests: list[ModelRequest] = []
        self._delay_s = delay_s
        self._answer: Callable[[ModelRequest], Answer]
        if callable(script):
            self._answer = script
        else:
            answers = iter(script)

            def next_answer(_request: ModelRequest) -> Answer:
                return next(answers, ProviderError("The script is used up."))

            self._answer = next_answer

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream the next answer word by word."""
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            answer = assistant_message(answer)
        if isinstance(answer, Message):
            stop = StopReason.TOOLS if answer.tool_calls else StopReason.DONE
            usage = ModelUsage(input=request.tokens, output=answer.tokens)
            answer = ModelResponse(message=answer, stop=stop, usage=usage, model=self.info.name)
        await asyncio.sleep(self._delay_s)
        if answer.message.thinking:
            yield ThinkingChunk(answer.message.thinking)
        for word in answer.message.text.splitlines(keepends=True):
            yield TextChunk(word)
        yield answer
