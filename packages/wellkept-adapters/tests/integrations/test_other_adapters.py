"""LangGraph nodes, the pydantic-ai toolset, the LlamaIndex block; what is said without a package."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from pydantic_ai import Agent, models
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from wellkept import Wellkept
from wellkept_adapters.langgraph_nodes import MemoryState, recall_node, remember_node
from wellkept_adapters.llama_index import WellkeptBlock
from wellkept_adapters.pydantic_ai import memory_toolset

pytestmark = pytest.mark.feature("I2")
models.ALLOW_MODEL_REQUESTS = False
DEPLOY = "We deploy to the staging cluster first"


# -- LangGraph nodes ------------------------------------------------------------------------------


def test_nodes_recall_for_the_last_human_message_and_keep_the_turn(wk: Wellkept) -> None:
    wk.remember(DEPLOY, type="decision")
    state = MemoryState(
        messages=[
            SystemMessage("Be brief."),
            HumanMessage("Hello there"),
            AIMessage("Hi"),
            HumanMessage("Where do we deploy?"),
        ],
        recalled="",
    )
    recalled = recall_node(wk)(state, {})["recalled"]
    assert DEPLOY in recalled
    state["messages"] += [AIMessage("To staging."), AIMessage("")]
    remember_node(wk)(state, {"configurable": {"thread_id": 17}})
    kept = {m.content: m for m in wk.iterate(types="episode")}
    assert set(kept) == {"Where do we deploy?", "To staging."}
    assert {m.session_id for m in kept.values()} == {"17"}
    assert all("langgraph" in m.tags for m in kept.values())


def test_what_was_recalled_is_not_kept_again_and_rules_are_learned(wk: Wellkept) -> None:
    wk.remember(DEPLOY)
    told = recall_node(wk)(MemoryState(messages=[HumanMessage("deploy?")], recalled=""), {})
    said = f"{told['recalled']}\nAlways write amounts in cents."
    remember_node(wk)(MemoryState(messages=[HumanMessage(said)], recalled=""), {})
    contents = [memory.content for memory in wk.iterate()]
    assert sum(DEPLOY in text for text in contents) == 1
    assert any(m.source == "user_taught" and "cents" in m.content for m in wk.iterate())


def test_an_empty_state_and_an_empty_memory_say_nothing(wk: Wellkept) -> None:
    empty = MemoryState(messages=[], recalled="")
    assert recall_node(wk)(empty, {}) == {"recalled": ""}
    assert remember_node(wk)(empty, {}) == {}
    assert wk.stats().total == 0


# -- pydantic-ai ----------------------------------------------------------------------------------


def test_the_toolset_remembers_recalls_and_forgets(wk: Wellkept) -> None:
    seen: list[Any] = []

    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append((messages[-1], info))
        step = len(seen)
        if step == 1:
            given = {"statement": DEPLOY, "type": "decision"}
            return ModelResponse([ToolCallPart("remember", given)])
        if step == 2:
            return ModelResponse([ToolCallPart("remember", {"statement": "x", "type": "hunch"})])
        if step == 3:
            return ModelResponse([ToolCallPart("recall_memory", {"question": "where to deploy?"})])
        if step == 4:
            (memory,) = wk.iterate()
            return ModelResponse([ToolCallPart("forget_memory", {"memory_id": memory.short})])
        return ModelResponse([TextPart("Done.")])

    agent = Agent(FunctionModel(script), toolsets=[memory_toolset(wk, session="s")])
    assert agent.run_sync("Remember it.").output == "Done."
    answers = [str(message) for message, _ in seen]
    assert "inserted" in answers[1]
    assert "Choose one of" in answers[2]
    assert DEPLOY in answers[3]
    assert "Closed [m:" in answers[4]
    assert {tool.name for tool in seen[0][1].function_tools} == {
        "recall_memory",
        "remember",
        "forget_memory",
    }
    (closed,) = wk.iterate(validity="any")
    assert not closed.is_open
    assert "pydantic-ai" in closed.tags
    assert closed.session_id == "s"


@pytest.mark.parametrize("unasked", [True, False])
def test_what_is_known_about_the_prompt_is_told_unasked(wk: Wellkept, unasked: bool) -> None:
    wk.remember(DEPLOY)
    told: list[str] = []

    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        told.append(str(info.instructions))
        return ModelResponse([TextPart("To staging.")])

    toolset = memory_toolset(wk, recall_unasked=unasked)
    Agent(FunctionModel(script), toolsets=[toolset]).run_sync("Where do we deploy?")
    assert (DEPLOY in told[0]) is unasked


# -- LlamaIndex -----------------------------------------------------------------------------------


def test_the_block_recalls_and_keeps_what_leaves_the_short_term_memory(wk: Wellkept) -> None:
    wk.remember(DEPLOY)

    async def run() -> None:
        block = WellkeptBlock(wellkept=wk)
        memory = Memory.from_defaults(  # pyright: ignore[reportUnknownMemberType]
            session_id="s", memory_blocks=[block], token_limit=200, token_flush_size=50,
            tokenizer_fn=str.split,
        )  # fmt: skip
        await memory.aput(ChatMessage(role="user", content="Where do we deploy?"))
        assert DEPLOY in str((await memory.aget())[0].content)
        for n in range(30):
            said = f"Turn {n} about the orders module " + "and so on " * 5
            await memory.aput(ChatMessage(role="user", content=said))
            await memory.aput(ChatMessage(role="assistant", content=f"Answer {n}"))

    asyncio.run(run())
    kept = list(wk.iterate(types="episode"))
    assert any("Turn 0 about" in one.content for one in kept)
    assert {one.session_id for one in kept} == {"s"}
    assert all("llama-index" in one.tags for one in kept)


def test_the_block_gets_shorter_by_its_weakest_lines(wk: Wellkept) -> None:
    for n in range(5):
        wk.remember(f"Deploy rule number {n}: look at the log of part {n} first")

    async def run() -> None:
        block = WellkeptBlock(wellkept=wk)
        whole = await block.aget([ChatMessage(role="user", content="deploy rule log")])
        lines = whole.splitlines()
        assert len(lines) > 4
        less = await block.atruncate(whole, 5)
        assert less is not None
        assert less.splitlines() == [*lines[:-2], lines[-1]]
        assert await block.atruncate(whole, 10_000) is None
        assert await block.aget([]) == ""
        assert await block.aget() == ""

    asyncio.run(run())


# -- Without the package --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langgraph", "langgraph", "langgraph"),
        ("langgraph_nodes", "langchain_core", "langgraph"),
        ("anthropic_memory", "anthropic", "anthropic"),
        ("openai_agents", "agents", "openai-agents"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("llama_index", "llama_index", "llama-index"),
        ("crewai", "crewai", "crewai"),
    ],
)
def test_a_missing_framework_is_named_with_the_way_to_get_it(
    module: str, package: str, extra: str
) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import wellkept_adapters, wellkept_adapters.mem0\n"
        f"import wellkept_adapters.{module}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"pip install 'wellkept[{extra}]'" in done.stderr
