"""Whatever a conversation looks like, compaction keeps it whole (G5)."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.compaction.conversations import is_whole, tokens
from wellkept.core.chat.messages import (
    Message,
    MessageKind,
    ModelInfo,
    ModelRequest,
    Role,
    ToolCallPart,
    ToolResultPart,
    assistant_message,
    tool_message,
    user_message,
)
from wellkept.core.errors import ContextTooLongError, ProviderError
from wellkept.testing.scripted_model import Answer, ScriptedModel
from wellkept_agent import AgentSession
from wellkept_agent.compaction.capability import Compaction
from wellkept_agent.compaction.compactor import open_round, safe_cut, tail_start
from wellkept_agent.compaction.micro import is_cleared
from wellkept_agent.compaction.summary import REQUEST
from wellkept_agent.conversation import mended
from wellkept_agent.settings import CompactionSettings

pytestmark = pytest.mark.feature("G5")

TOOLS = ("Read", "Bash", "Grep", "Task", "mcp:x:y")


@st.composite
def rounds(draw: st.DrawFn) -> list[Message]:
    """A prompt or an answer, or several calls with their results; ids may repeat."""
    size = draw(st.sampled_from([1, 50, 400, 1_500, 4_000]))
    kind = draw(st.sampled_from(["prompt", "answer", "calls", "calls", "calls"]))
    if kind == "prompt":
        return [user_message("ask " + tokens(size))]
    if kind == "answer":
        return [assistant_message("say " + tokens(size))]
    count = draw(st.integers(1, 4))
    prefix = draw(st.sampled_from(["call_", "../", "x"]))
    names = [draw(st.sampled_from(TOOLS)) for _ in range(count)]
    calls = [ToolCallPart(f"{prefix}{n}", name) for n, name in enumerate(names)]
    results = [
        ToolResultPart(c.id, c.name, f"{c.id} gave " + tokens(size), is_error=draw(st.booleans()))
        for c in calls
    ]
    return [assistant_message("", *calls), tool_message(*results)]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Any conversation that a loop can have before a model call."""
    parts = draw(st.lists(rounds(), max_size=25))
    return [user_message("begin"), *(message for part in parts for message in part)]


def ids(turns: list[Message]) -> list[str]:
    return [message.id for message in turns]


@given(conversations(), st.integers(-3, 80))
def test_a_safe_cut_leaves_both_halves_whole(turns: list[Message], index: int) -> None:
    cut = safe_cut(turns, index)
    assert 0 <= cut <= max(0, min(index, len(turns)))
    assert is_whole(turns[:cut])
    assert is_whole(turns[cut:])


@given(conversations(), st.integers(0, 30_000))
def test_the_tail_holds_what_is_not_answered(turns: list[Message], room: int) -> None:
    start = tail_start(turns, max_tokens=room, tokens=lambda message: message.tokens)
    assert start <= open_round(turns)
    assert is_whole(turns[start:])
    open_part = turns[open_round(turns) :]
    assert all(m.role is not Role.ASSISTANT or m.tool_calls for m in open_part)


@settings(max_examples=40)
@given(
    turns=conversations(),
    window=st.sampled_from([6_000, 20_000, 60_000, 200_000]),
    summary=st.sampled_from(["works", "fails", "empty", "too long"]),
    has_cache=st.booleans(),
    loose=st.booleans(),
    again=st.booleans(),
)
def test_no_result_loses_its_call_and_nothing_unanswered_is_lost(  # noqa: PLR0917
    turns: list[Message], window: int, summary: str, has_cache: bool, loose: bool, again: bool
) -> None:
    def script(request: ModelRequest) -> Answer:
        if REQUEST in request.messages[-1].text:
            return {
                "works": "the summary",
                "fails": ProviderError("down"),
                "empty": "",
                "too long": tokens(100_000),
            }[summary]
        return ContextTooLongError("too long") if request.tokens > window else "done"

    options = (
        CompactionSettings(micro_threshold=2_000, micro_min_savings=1_000)
        if loose
        else CompactionSettings()
    )
    info = ModelInfo(name="m", provider="p", context_tokens=window, has_prompt_cache=has_cache)
    model = ScriptedModel(script, info=info)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        compaction = Compaction(options)
        session = AgentSession(
            model, root=root, folder=root / "s", capabilities=[compaction], messages=turns
        )

        async def run() -> None:
            result = await session.run("the last prompt")
            assert result.ok, result
            if again:
                await compaction.compact()

        asyncio.run(run())
        for request in model.requests:
            assert is_whole(request.messages)
        final = model.requests[-1] if not again else None
        if final is not None:
            assert any("the last prompt" in message.text for message in final.messages)
        after = list(session.conversation.turns)
        assert is_whole(after)
        assert mended(after) == after
        # Messages that stay keep their order; what compaction adds is marked.
        stayed = [m.id for m in after if m.id in set(ids(turns))]
        assert stayed == [i for i in ids(turns) if i in set(stayed)]
        new = [m.text for m in after if m.kind is MessageKind.PLAIN and m.id not in ids(turns)]
        assert [text for text in new if "the last prompt" not in text] == ["done"]
        # A cleared result that names a file has that file.
        for message in after:
            for one in message.tool_results:
                if is_cleared(one.content) and 'path="' in one.content:
                    path = Path(one.content.split('path="')[1].split('"')[0])
                    assert path.read_text().startswith(f"{one.call_id} gave")
