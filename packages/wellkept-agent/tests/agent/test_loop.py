"""The loop (G1): order of hooks, tools, limits, stopping, failures."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from tests.agent.conftest import MakeSession
from wellkept.core.chat.messages import (
    Message,
    MessageKind,
    ModelRequest,
    ModelResponse,
    Role,
    StopReason,
    ToolCallPart,
    assistant_message,
    user_message,
)
from wellkept.core.errors import ContextTooLongError, ProviderError
from wellkept.core.records import replace
from wellkept.testing.scripted_model import ScriptedModel, call, calls
from wellkept_agent import (
    Capability,
    HookPoint,
    LoopSettings,
    RunEnd,
    ToolOutput,
    tool,
)
from wellkept_agent.events import (
    AgentEvent,
    ProblemReported,
    RunFinished,
    TextDelta,
    ToolFinished,
)
from wellkept_agent.hooks import HookContext, SessionSummary

pytestmark = pytest.mark.feature("G1")


@tool(read_only=True)
def echo(text: str) -> str:
    """Give the text back."""
    return f"echo {text}"


def _always_echo(_request: ModelRequest) -> Message:
    return calls(call("echo", text="a"))


class _Longer:
    """Calls echo with another long text each time."""

    count = 0

    def __call__(self, _request: ModelRequest) -> Message:
        self.count += 1
        return calls(call("echo", text=str(self.count) * 400))


class Recorder(Capability):
    """Writes down which hook was called."""

    name = "recorder"

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    async def on_session_start(self, context: HookContext) -> None:
        self.seen.append(f"start {context.provider}/{context.model}")

    async def on_user_message(self, context: HookContext, text: str) -> str | None:
        self.seen.append("user")
        return text + "!"

    async def on_before_llm(
        self, context: HookContext, request: ModelRequest
    ) -> ModelRequest | None:
        self.seen.append("before_llm")

    async def on_after_llm(
        self, context: HookContext, response: ModelResponse
    ) -> ModelResponse | None:
        self.seen.append("after_llm")

    async def on_before_tool(self, context: HookContext, call: ToolCallPart) -> ToolOutput | None:
        self.seen.append(f"before {call.name}")

    async def on_after_tool(
        self, context: HookContext, call: ToolCallPart, output: ToolOutput
    ) -> ToolOutput | None:
        self.seen.append(f"after {call.name}")
        return replace(output, content=output.content + " (seen)")

    async def on_session_end(self, context: HookContext, summary: SessionSummary) -> None:
        self.seen.append(f"end {summary.task} {summary.success} {dict(summary.tool_usage)}")


def test_the_hooks_run_in_order_and_change_what_they_may(make_session: MakeSession) -> None:
    seen: list[str] = []
    session = make_session(
        [calls(call("echo", text="a")), "done"], tools=[echo], capabilities=[Recorder(seen)]
    )

    async def run() -> str:
        async with session:
            return (await session.run("go")).text

    assert asyncio.run(run()) == "done"
    assert seen == [
        "start scripted/scripted",
        "user",
        "before_llm",
        "after_llm",
        "before echo",
        "after echo",
        "before_llm",
        "after_llm",
        "end go True {'echo': 1}",
    ]
    prompt, _answer, results, _end = session.conversation.turns
    assert prompt.text == "go!"
    assert results.tool_results[0].content == "echo a (seen)"


def test_without_hooks_the_conversation_is_the_same(make_session: MakeSession) -> None:
    script = [calls(call("echo", text="a"), text="look"), "done"]
    plain = make_session(list(script), tools=[echo])
    hooked = make_session(list(script), tools=[echo], capabilities=[Capability()])
    asyncio.run(plain.run("go"))
    asyncio.run(hooked.run("go"))
    assert [m.parts for m in plain.conversation.messages] == [
        m.parts for m in hooked.conversation.messages
    ]


def test_a_hook_can_answer_in_a_tools_place(make_session: MakeSession) -> None:
    def intercept(_context: HookContext, call: ToolCallPart) -> ToolOutput:
        return ToolOutput(content=f"no {call.name} today")

    session = make_session(
        [calls(call("echo", text="a")), "done"],
        tools=[echo],
        hooks=[(HookPoint.BEFORE_TOOL, intercept)],
    )
    asyncio.run(session.run("go"))
    assert session.conversation.turns[2].tool_results[0].content == "no echo today"


@pytest.mark.parametrize("kind", ["fails", "hangs", "hangs in a thread"])
def test_a_bad_hook_is_reported_and_the_run_goes_on(make_session: MakeSession, kind: str) -> None:
    released = threading.Event()

    async def bad(*_: object) -> None:
        if kind == "fails":
            raise ValueError("broken")
        await asyncio.sleep(60)

    def bad_thread(*_: object) -> None:
        released.wait(20)

    hook = bad_thread if kind == "hangs in a thread" else bad
    session = make_session(
        ["fine"],
        hooks=[(point, hook) for point in (HookPoint.USER_MESSAGE, HookPoint.BEFORE_LLM)],
        settings=LoopSettings(hook_time_limit_s=0.05),
    )
    events: list[AgentEvent] = []
    session.listen(events.append)

    async def run() -> str:
        text = (await session.run("go")).text
        released.set()
        return text

    assert asyncio.run(run()) == "fine"
    problems = [event for event in events if isinstance(event, ProblemReported)]
    assert len(problems) == 2
    assert ("broken" if kind == "fails" else "longer") in problems[0].message


def test_read_only_calls_run_side_by_side_and_others_alone(make_session: MakeSession) -> None:
    running, most, order = 0, dict[str, int](), list[str]()

    async def work(kind: str) -> str:
        nonlocal running
        running += 1
        most[kind] = max(most.get(kind, 0), running)
        await asyncio.sleep(0.01)
        running -= 1
        order.append(kind)
        return kind

    @tool(read_only=True)
    async def look(at: str) -> str:
        """Look."""
        return await work(f"look {at[0]}")

    @tool
    async def change(what: str) -> str:
        """Change."""
        return await work("change")

    looks = [call("look", at=f"a{n}") for n in range(3)]
    session = make_session(
        [calls(*looks, call("change", what="x"), call("look", at="b")), "done"],
        tools=[look, change],
        settings=LoopSettings(permission_mode="bypass"),
    )
    asyncio.run(session.run("go"))
    assert most == {"look a": 3, "change": 1, "look b": 1}
    assert order == ["look a", "look a", "look a", "change", "look b"]
    results = session.conversation.turns[2].tool_results
    assert [r.call_id for r in results] == [c.id for c in session.conversation.turns[1].tool_calls]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{not json", "no valid JSON"),
        ("[1]", "must be a JSON object"),
        ('{"text": 3}', "text: Input should be a valid string"),
        ('{"text": "a", "more": 1}', "more: Extra inputs"),
        ("{}", "text: Field required"),
        ("[" * 100_000, "no valid JSON"),
    ],
)
def test_bad_arguments_are_told_to_the_model(
    make_session: MakeSession, arguments: str, said: str
) -> None:
    session = make_session([calls(ToolCallPart("c1", "echo", arguments)), "sorry"], tools=[echo])
    assert asyncio.run(session.run("go")).text == "sorry"
    result = session.conversation.turns[2].tool_results[0]
    assert result.is_error
    assert said in result.content


def test_an_unknown_tool_gets_a_hint(make_session: MakeSession) -> None:
    session = make_session([calls(call("ecko", text="a")), "done"], tools=[echo])
    asyncio.run(session.run("go"))
    assert "Did you mean echo?" in session.conversation.turns[2].tool_results[0].content


def test_a_failing_a_slow_and_a_huge_tool_give_results(make_session: MakeSession) -> None:
    @tool(read_only=True)
    def broken() -> str:
        """Fail."""
        raise RuntimeError("out of order")

    @tool(read_only=True)
    async def slow() -> str:
        """Take long."""
        await asyncio.sleep(60)
        return "late"

    @tool(read_only=True)
    def huge() -> str:
        """Say much."""
        return "a" * 5_000 + "\x00" + "z" * 5_000

    session = make_session(
        [calls(call("broken"), call("slow"), call("huge")), "done"],
        tools=[broken, slow, huge],
        settings=LoopSettings(tool_time_limit_s=1.0, max_result_chars=1_000),
    )
    asyncio.run(session.run("go"))
    first, second, third = session.conversation.turns[2].tool_results
    assert (first.is_error, second.is_error, third.is_error) == (True, True, False)
    assert "RuntimeError: out of order" in first.content
    assert "longer than 1 s" in second.content
    assert "9,001 characters left out" in third.content
    assert len(third.content) < 1_100


def test_a_model_that_never_stops_is_stopped(make_session: MakeSession) -> None:
    count = 0

    def more(_request: ModelRequest) -> Message:
        nonlocal count
        count += 1
        return calls(call("echo", text=str(count)))

    session = make_session(more, tools=[echo], settings=LoopSettings(max_steps=7))
    result = asyncio.run(session.run("go"))
    assert (result.end, result.steps, count) == (RunEnd.MAX_STEPS, 7, 7)
    assert session.conversation.turns[-1].role is Role.TOOL


def test_a_model_that_goes_in_circles_is_stopped(make_session: MakeSession) -> None:
    session = make_session(
        _always_echo,
        tools=[echo],
        settings=LoopSettings(repeated_calls=3),
    )
    result = asyncio.run(session.run("go"))
    assert (result.end, result.steps) == (RunEnd.REPEATED_CALLS, 6)
    assert result.detail == "echo was called 6 times with the same result."


def test_the_token_limit_ends_a_turn(make_session: MakeSession) -> None:
    session = make_session(
        _Longer(),
        tools=[echo],
        settings=LoopSettings(max_tokens=1_000),
    )
    assert asyncio.run(session.run("go")).end is RunEnd.MAX_TOKENS


def test_stopping_while_a_tool_runs_leaves_no_call_without_result(
    make_session: MakeSession,
) -> None:
    started = asyncio.Event()
    cancelled: list[str] = []

    @tool(read_only=True)
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append("wait")
            raise
        return "late"

    session = make_session(
        [calls(call("wait"), call("echo", text="x")), "again"], tools=[wait, echo]
    )

    async def run() -> tuple[RunEnd, str]:
        turn = asyncio.ensure_future(session.run("go"))
        await started.wait()
        session.stop(RunEnd.INTERRUPTED)
        first = await turn
        second = await session.run("go on")
        return first.end, second.text

    assert asyncio.run(run()) == (RunEnd.INTERRUPTED, "again")
    assert cancelled == ["wait"]
    results = session.conversation.turns[2].tool_results
    assert [r.name for r in results] == ["wait", "echo"]


def test_stopping_while_the_model_speaks(make_session: MakeSession) -> None:
    session = make_session([], model=ScriptedModel(["late", "fine"], delay_s=0.2))

    async def run() -> tuple[RunEnd, str]:
        turn = asyncio.ensure_future(session.run("go"))
        await asyncio.sleep(0.02)
        session.stop()
        return (await turn).end, (await session.run("again")).text

    assert asyncio.run(run()) == (RunEnd.CANCELLED, "fine")


@pytest.mark.parametrize("error", [ProviderError("busy"), ValueError("bad SDK")])
def test_a_model_that_fails_ends_the_turn_and_not_the_session(
    make_session: MakeSession, error: Exception
) -> None:
    session = make_session([error, "better"])

    async def run() -> tuple[RunEnd, str]:
        return (await session.run("go")).end, (await session.run("again")).text

    assert asyncio.run(run()) == (RunEnd.MODEL_FAILED, "better")


def test_an_answer_that_was_cut_off_goes_on(make_session: MakeSession) -> None:
    cut = ModelResponse(message=assistant_message("The answer is"), stop=StopReason.LENGTH)
    session = make_session([cut, "forty-two"])
    assert asyncio.run(session.run("go")).text == "forty-two"
    assert session.conversation.turns[2].kind is MessageKind.REMINDER


def test_a_conversation_that_is_too_long_is_made_shorter_once(make_session: MakeSession) -> None:
    class Shorten(Capability):
        def attach(self, session: Any) -> None:
            self.session = session

        async def make_room(self) -> bool:
            self.session.replace_turns([user_message("short")])
            return True

    too_long = ContextTooLongError("too long")
    session = make_session([too_long, "fine"], capabilities=[Shorten()])
    assert asyncio.run(session.run("go")).text == "fine"
    again = make_session([too_long, too_long], capabilities=[Shorten()])
    assert asyncio.run(again.run("go")).end is RunEnd.CONTEXT_FULL
    without = make_session([too_long])
    assert asyncio.run(without.run("go")).end is RunEnd.CONTEXT_FULL


def test_an_empty_answer_is_one_that_a_provider_takes_back(make_session: MakeSession) -> None:
    session = make_session([assistant_message("")])
    asyncio.run(session.run("go"))
    assert session.conversation.turns[-1].parts


def test_events_come_in_order_and_end_with_the_run(make_session: MakeSession) -> None:
    session = make_session([calls(call("echo", text="a")), "one\ntwo"], tools=[echo])

    async def collected() -> Sequence[AgentEvent]:
        return [event async for event in session.stream("go")]

    events = asyncio.run(collected())
    names = [type(event).__name__ for event in events]
    assert names == [
        "TurnStarted",
        "StepStarted",
        "UsageChanged",
        "ToolStarted",
        "ToolFinished",
        "StepStarted",
        "TextDelta",
        "TextDelta",
        "UsageChanged",
        "RunFinished",
    ]
    assert "".join(e.delta for e in events if isinstance(e, TextDelta)) == "one\ntwo"
    assert [e.content for e in events if isinstance(e, ToolFinished)] == ["echo a"]
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert finished.end is RunEnd.DONE


def test_leaving_a_stream_early_cancels_the_turn(make_session: MakeSession) -> None:
    session = make_session(_always_echo, tools=[echo])

    async def first() -> str:
        stream = session.stream("go")
        event = await anext(stream)
        await stream.aclose()
        return type(event).__name__

    assert asyncio.run(first()) == "TurnStarted"
    assert session.last_end is RunEnd.CANCELLED


def test_a_sub_agent_has_its_own_conversation_and_stops_with_its_parent(
    make_session: MakeSession,
) -> None:
    model = ScriptedModel(["found it", "thanks"])
    session = make_session([], model=model, tools=[echo])

    async def run() -> None:
        result = await session.delegate("look around", agent_type="Explore", tools=["echo"])
        assert result.text == "found it"
        session.stop()
        stopped = await session.delegate("once more", agent_type="Explore")
        assert stopped.end is RunEnd.CANCELLED

    asyncio.run(run())
    assert session.conversation.turns == []
    assert (
        session.control.usage.total
        == model.requests[0].tokens + assistant_message("found it").tokens
    )
