"""The agent as a library (G1): names, plain functions, typed results, hooks as decorators."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

from wellkept.core.chat.messages import ModelInfo, ToolCallPart
from wellkept.core.errors import UsageError
from wellkept.testing.scripted_model import ScriptedModel, call, calls
from wellkept_agent import Agent, HookContext, RunEnd, RunFailedError, ToolContext, ToolOutput

pytestmark = pytest.mark.feature("G1", "G2")


class Invoice(BaseModel):
    """What typed agents give here."""

    total: int
    note: str | None = None


@dataclass
class Point:
    """A type that is no pydantic model."""

    x: int


def add(a: int, b: int | None, way: Literal["up", "down"] | None = None) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + (b or 0)} if way != "down" else {}


def test_plain_functions_are_tools_and_null_stays_null() -> None:
    model = ScriptedModel([calls(call("add", a=1, b=None)), "It is 1."])
    result = Agent(model, tools=[add]).run_sync("Add 1 and nothing")
    assert (result.output, result.text) == ("It is 1.", "It is 1.")
    (told,) = model.requests[0].tools
    assert (told.name, told.description) == ("add", "Add two numbers.")
    assert told.parameters["properties"] == {
        "a": {"type": "integer"},
        "b": {"type": ["integer", "null"]},
        "way": {"enum": ["up", "down", None], "type": ["string", "null"]},
    }
    assert told.parameters["required"] == ["a", "b"]
    assert model.requests[1].messages[-1].tool_results[0].content == '{"sum":1}'


def test_a_function_that_asks_is_refused_where_nobody_is_asked() -> None:
    model = ScriptedModel([calls(call("ship")), "No."])
    agent = Agent(model)

    @agent.tool(asks=True)
    def ship(context: ToolContext) -> str:
        raise AssertionError(context)

    agent.run_sync("Ship")
    assert ship.name == "ship"
    assert "did not allow" in model.requests[1].messages[-1].tool_results[0].content


def test_a_result_of_a_type_is_checked_and_asked_for_again() -> None:
    model = ScriptedModel(
        [
            "The total is 4.",
            calls(call("final_result", total="four")),
            calls(call("final_result", total=4)),
        ]
    )
    agent = Agent(model, output_type=Invoice)
    assert agent.run_sync("Read the invoice").output == Invoice(total=4)
    assert "final_result" in model.requests[1].messages[-1].text
    assert "total: Input should be a valid integer" in str(model.requests[2].messages[-1])


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [(Point, {"x": 1}, Point(1)), (list[int], {"result": [1]}, [1]), (int, {"result": 0}, 0)],
)
def test_any_type_with_a_schema_will_do(
    kind: type[object], given: dict[str, object], expected: object
) -> None:
    model = ScriptedModel([calls(call("final_result", **given))])
    assert Agent(model, output_type=kind).run_sync("x").output == expected


def test_a_model_that_gives_no_result_fails_the_run_in_words() -> None:
    with pytest.raises(RunFailedError, match="never called final_result") as raised:
        Agent(ScriptedModel(lambda _: "4"), output_type=Invoice).run_sync("x")
    assert raised.value.result.end is RunEnd.NO_OUTPUT
    without = ScriptedModel([], info=ModelInfo(name="m", provider="p", has_tools=False))
    with pytest.raises(UsageError, match="calls no tools"):
        Agent(without, output_type=Invoice)


def test_hooks_are_decorators_and_get_parsed_arguments() -> None:
    model = ScriptedModel([calls(call("add", a=1, b=2), call("add", a=9, b=2)), "Done."])
    agent = Agent(model, tools=[add])
    seen: list[str] = []

    @agent.on_user_message
    def louder(_context: HookContext, text: str) -> str:
        return text.upper()

    @agent.on_before_tool
    def no_nines(_context: HookContext, one: ToolCallPart) -> str | None:
        return "No nines." if one.args["a"] == 9 else None

    @agent.on_after_tool
    async def shorter(_context: HookContext, one: ToolCallPart, output: ToolOutput) -> str:
        seen.append(one.name)
        return output.content.replace('"', "")

    agent.run_sync("add")
    assert model.requests[0].messages[-1].text == "ADD"
    results = [one.content for one in model.requests[1].messages[-1].tool_results]
    assert results == ["{sum:3}", "No nines."]
    assert seen == ["add", "add"]


@pytest.mark.parametrize("name", ["opnai:gpt-5", "gpt-5"])
def test_a_name_nobody_knows_fails_at_once(name: str) -> None:
    with pytest.raises(UsageError, match="anthropic, openai"):
        Agent(name)


def test_a_key_is_needed_at_the_first_call_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agent = Agent("openai:gpt-5", root=tmp_path)
    assert agent.model.info.name == "gpt-5"
    with pytest.raises(RunFailedError, match="Set OPENAI_API_KEY"):
        agent.run_sync("Hello")


@pytest.mark.anyio
async def test_run_sync_says_what_to_write_in_async_code() -> None:
    with pytest.raises(UsageError, match="await agent"):
        Agent(ScriptedModel(["x"])).run_sync("x")
