"""Calls of models against a loopback server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from wellkept.core.chat.messages import (
    Message,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    ToolDefinition,
    system_message,
    user_message,
)
from wellkept.models.chat.open import AgentModelSettings, RetryPolicy, open_model

ANTHROPIC = "anthropic:claude-sonnet-4-5"
OPENAI = "openai:gpt-5"
NAMES = (ANTHROPIC, OPENAI, "ollama:qwen3")
READ = ToolDefinition("Read", "Read a file.", {"type": "object", "properties": {}})

Ask = Callable[..., "list[ModelChunk]"]


class Waits:
    """Sleeps nobody has to sit through."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def ask(waits: Waits) -> Ask:
    """Ask a model at an address; returns all chunks."""

    def asked(name: str, url: str, *messages: Message, **options: Any) -> list[ModelChunk]:
        given = messages or (system_message("Be brief."), user_message("Hello?"))
        request = ModelRequest(
            messages=given,
            tools=options.pop("tools", ()),
            thinking=options.pop("thinking", None),
            model=options.pop("model", None),
            max_tokens=options.pop("max_tokens", None),
        )
        report = options.pop("report", None)
        options.setdefault("retries", RetryPolicy(sleep=waits))
        settings = AgentModelSettings(base_url=address(name, url), **options)
        model = open_model(name, environment={}, settings=settings, report=report)

        async def collected() -> list[ModelChunk]:
            return [chunk async for chunk in model.stream(request)]

        return asyncio.run(collected())

    return asked


def address(name: str, url: str) -> str:
    """The address that a protocol is given: OpenAI's ends with a version."""
    return url if name.startswith(("anthropic", "minimax")) else f"{url}/v1"


def response(chunks: list[ModelChunk]) -> ModelResponse:
    """The whole answer at the end of the chunks; there is exactly one."""
    found = [chunk for chunk in chunks if isinstance(chunk, ModelResponse)]
    assert len(found) == 1
    assert chunks[-1] is found[0]
    return found[0]
