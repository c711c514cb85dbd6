"""Sessions that go on later, and `project:` values that outlive theirs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import wellkept
from tests.support.chat_server import ChatServer, Fault
from tests.wiring.conftest import MakeAgent, run_session
from wellkept.core.chat.messages import (
    Message,
    MessageKind,
    ModelRequest,
    Role,
    ThinkingPart,
    ToolCallPart,
)
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.models.chat.open import AgentModelSettings, open_model
from wellkept.testing.scripted_model import call, calls
from wellkept_agent.events import ProblemReported

pytestmark = pytest.mark.anyio


@pytest.mark.feature("G1")
async def test_a_session_is_resumed_with_its_messages(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent([calls(call("Bash", command="echo one")), "One."])
    first, _ = await run_session(agent, "Say one")

    (listed,) = wk.agent_sessions()
    assert (listed.id, listed.title) == (first.id, "Say one")
    agent, model = make_agent(["Two."])
    async with agent.session(resume="last") as session:
        await session.run("And two")
    assert session.id == first.id
    told = [one for one in model.requests[0].messages if one.kind is not MessageKind.MEMORY]
    assert [one.role for one in told] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.ASSISTANT,
        Role.USER,
    ]
    assert len(wk.agent_sessions()) == 1
    assert wk.engine.store.get_session(first.id) is not None


@pytest.mark.feature("G1")
async def test_a_killed_session_gets_a_result_for_its_open_call(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent([calls(call("Bash", command="echo one")), "One."])
    first, _ = await run_session(agent, "Say one")
    (path,) = Path(str(first.folder)).glob("transcript.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:20])

    agent, model = make_agent(["Back again."])
    async with agent.session(resume=first.id[:12]) as session:
        result = await session.run("Go on")
    assert result.ok
    (lost,) = [one for message in model.requests[0].messages for one in message.tool_results]
    assert lost.is_error
    assert "lost" in lost.content


@pytest.mark.feature("G1", "G9")
async def test_a_killed_tool_round_goes_on_with_its_signed_thinking(
    wk: wellkept.Wellkept,
) -> None:
    """Anthropic refuses a tool round whose thinking is missing or changed."""
    thought = ThinkingPart("First a look.", "c2lnbmF0dXJl")
    asked = Message(
        role=Role.ASSISTANT, parts=(thought, ToolCallPart("toolu_1", "LS", '{"path": "."}'))
    )
    with ChatServer([asked, Fault(status=400), "Back."]) as server:
        model = open_model(
            "anthropic:claude-sonnet-4-5",
            environment={},
            settings=AgentModelSettings(base_url=server.url, api_key="k"),
        )
        first, (result,) = await run_session(wk.agent(model), "Look around")
        assert not result.ok
        async with wk.agent(model).session(resume=first.id) as session:
            assert (await session.run("Go on")).text == "Back."
    sent = [block for one in server.bodies[-1]["messages"] for block in one["content"]]
    kinds = [block["type"] for block in sent]
    assert kinds.index("thinking") + 1 == kinds.index("tool_use")
    assert {"type": "thinking", "thinking": "First a look.", "signature": "c2lnbmF0dXJl"} in sent


@pytest.mark.feature("G1")
async def test_there_must_be_something_to_resume(make_agent: MakeAgent) -> None:
    agent, _ = make_agent([])
    with pytest.raises(NotFoundError):
        agent.session(resume="last")
    with pytest.raises(NotFoundError):
        agent.session(resume="nowhere")


@pytest.mark.feature("G1")
async def test_a_transcript_that_cannot_be_written_does_not_end_the_run(
    make_agent: MakeAgent,
) -> None:
    agent, _ = make_agent([calls(call("Bash", command="echo one")), "One."])
    problems: list[ProblemReported] = []
    async with agent.session() as session:
        session.listen(lambda e: problems.append(e) if isinstance(e, ProblemReported) else None)
        session.folder.parent.mkdir(parents=True)
        session.folder.write_text("in the way", "utf-8")
        result = await session.run("Say one")
    assert result.ok
    assert [one.source for one in problems].count("transcript") == 1


@pytest.mark.feature("A9", "G1")
async def test_project_values_are_kept_at_once_and_told_in_the_next_session(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent(["Yes."])
    async with agent.session() as session:
        session.state.set("project:package_manager", "pnpm")
        session.state.set("session:draft", "gone")
        # At once: also a session that never ends has left it.
        assert wk.state().get("project:package_manager") == "pnpm"
        assert wk.get("state:package_manager").content == "package manager: pnpm"

    agent, model = make_agent(["Yes."])
    second, _ = await run_session(agent, "Which package manager is used here?")
    assert second.state.get("project:package_manager") == "pnpm"
    assert second.state.get("session:draft") is None
    assert "package manager: pnpm" in str(model.requests[0].messages)


@pytest.mark.feature("A9")
async def test_a_changed_value_replaces_the_memory_and_none_closes_it(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent(["Yes."])
    async with agent.session() as session:
        session.state.set("project:package_manager", "pnpm")
        session.state.set("project:package_manager", "yarn")
        assert wk.get("state:package_manager").content == "package manager: yarn"
        session.state.set("project:package_manager", None)
    with pytest.raises(NotFoundError):
        wk.get("state:package_manager")
    assert wk.state().get("project:package_manager") is None


@pytest.mark.feature("A9")
async def test_a_value_that_cannot_be_kept_is_refused_with_its_reason(
    make_agent: MakeAgent,
) -> None:
    agent, _ = make_agent(["Yes."])
    async with agent.session() as session:
        with pytest.raises(UsageError, match="at most"):
            session.state.set("project:huge", "x" * 300_000)


@pytest.mark.feature("G1")
async def test_a_resumed_session_is_not_told_again_what_it_still_has(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    wk.remember("Totals of orders are rounded down to whole cents", type="fact")
    asked = "How are the totals of orders rounded?"
    agent, model = make_agent(["Down."])
    await run_session(agent, asked)
    assert "rounded down" in model.requests[0].messages[-1].text

    agent, model = make_agent(["Down, as I said."])
    async with agent.session(resume="last") as session:
        await session.run(f"Again please: {asked}")
    assert "rounded down" not in model.requests[0].messages[-1].text
    assert str(model.requests[0].messages).count("rounded down") == 1


@pytest.mark.feature("G1")
async def test_sessions_side_by_side_do_not_mix(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:

    def script(request: ModelRequest) -> Message | str:
        last = request.messages[-1]
        if last.tool_results:
            return "Done."
        return calls(call("Bash", command=f"echo {last.text.split()[0]}"))

    agent, _ = make_agent(script)
    names = ["first", "second", "third"]
    done = await asyncio.gather(*(run_session(agent, f"{name} please, in full") for name in names))
    for name, (session, (result,)) in zip(names, done, strict=True):
        assert result.ok
        (output,) = [one for m in session.conversation.turns for one in m.tool_results]
        assert output.content.startswith(name)
        seen = wk.engine.store.get_session(session.id)
        assert seen is not None
        assert seen.ended_at is not None
    assert len(wk.agent_sessions()) == 3
