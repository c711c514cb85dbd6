"""Compacted conversations as providers get them (G5): over real HTTP, in both protocols."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from tests.agent.compaction.conversations import reading, tokens
from tests.support.chat_server import ChatServer, overflow
from wellkept.core.chat.messages import Message, assistant_message, user_message
from wellkept.models.chat.open import AgentModelSettings, open_model
from wellkept_agent import AgentSession, RunEnd, tool
from wellkept_agent.compaction.capability import Compaction
from wellkept_agent.compaction.summary import REQUEST
from wellkept_agent.events import CompactionStarted, MicroCompactionApplied
from wellkept_agent.settings import CompactionSettings

pytestmark = pytest.mark.feature("G5")

Entries = list[Mapping[str, Any]]


@tool(name="Read", read_only=True)
def read(file_path: str) -> str:
    """Read a file."""
    return tokens(100)


def talk() -> list[Message]:
    turns: list[Message] = []
    for number in range(8):
        turns += [
            user_message(f"q{number} {tokens(2_000)}"),
            assistant_message(f"a{number} {tokens(2_000)}"),
        ]
    return [*turns, *reading(10, size=5_000)]


def is_summary(body: Mapping[str, Any]) -> bool:
    return "Write only the summary" in json.dumps(body["messages"][-1]) and REQUEST[
        :20
    ] in json.dumps(body)


def check_openai(messages: Entries) -> None:
    """Each call has its result in the messages right after it, and nothing else has one."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    assert not open_calls


def check_anthropic(messages: Entries) -> None:
    assert messages[0]["role"] == "user"
    assert all(one["role"] != other["role"] for one, other in pairwise(messages))
    open_calls: set[str] = set()
    for message in messages:
        blocks = cast("Entries", message["content"])
        answered = {b["tool_use_id"] for b in blocks if b["type"] == "tool_result"}
        assert answered == open_calls
        open_calls = {b["id"] for b in blocks if b["type"] == "tool_use"}
    assert not open_calls


@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
@pytest.mark.parametrize("says_too_long", [False, True])
def test_a_compacted_conversation_is_what_the_service_takes(
    tmp_path: Path, protocol: str, says_too_long: bool
) -> None:
    refused: list[int] = []

    def answer(body: Mapping[str, Any]) -> Any:
        size = len(json.dumps(body)) // 4
        if says_too_long and size > 30_000:
            refused.append(size)
            return overflow(protocol)
        return "## Facts\nport 5433" if is_summary(body) else "Done."

    settings = CompactionSettings(micro_min_savings=10**9 if says_too_long else 20_000)
    events: list[object] = []
    with ChatServer(answer) as server:
        url = server.url if protocol == "anthropic" else server.openai_url
        model = open_model(
            "anthropic:claude-sonnet-4-5" if protocol == "anthropic" else "openai:gpt-5",
            environment={},
            settings=AgentModelSettings(
                base_url=url, api_key="k", context_tokens=200_000 if says_too_long else 60_000
            ),
        )
        session = AgentSession(
            model,
            root=tmp_path,
            folder=tmp_path / "session",
            tools=[read],
            capabilities=[Compaction(settings)],
            messages=talk(),
        )
        session.listen(events.append)

        async def run() -> RunEnd:
            async with session:
                return (await session.run("what is the port?")).end

        assert asyncio.run(run()) is RunEnd.DONE
    assert any(isinstance(event, CompactionStarted | MicroCompactionApplied) for event in events)
    assert bool(refused) is says_too_long
    check = check_anthropic if protocol == "anthropic" else check_openai
    for body in server.bodies:
        check(body["messages"])
    assert "what is the port?" in json.dumps(server.bodies[-1]["messages"][-1])
