"""Two sessions of an agent in a real project: the second is told what the first learned."""

from __future__ import annotations

import pytest

import wellkept
from tests.wiring.conftest import MakeAgent, run_session
from wellkept.core.chat.messages import MessageKind
from wellkept.testing.scripted_model import call, calls
from wellkept_agent.events import MemoryInjected

pytestmark = [pytest.mark.anyio, pytest.mark.feature("G1", "H6")]

SHIPS = "SHIP_REGION=eu-west make ship"
RULE = "Always write amounts in cents, never in euros."


async def learn(make_agent: MakeAgent) -> None:
    """The first session: a rule of the person, a failing command and its way out."""
    agent, _ = make_agent(
        [
            "I will keep to that.",
            calls(call("Bash", command="make ship")),
            calls(call("Bash", command=SHIPS)),
            "Shipped.",
        ]
    )
    _, results = await run_session(agent, RULE, "Ship it to production please")
    assert [one.text for one in results] == ["I will keep to that.", "Shipped."]


async def test_the_second_session_is_told_what_the_first_learned(make_agent: MakeAgent) -> None:
    await learn(make_agent)
    agent, model = make_agent([calls(call("Bash", command="make ship")), "Done."])
    session, _ = await run_session(agent, "Please bring the shop to production now")

    memory = model.requests[0].messages[1]
    assert memory.kind is MessageKind.MEMORY
    assert "cents" in memory.text
    assert SHIPS in memory.text or SHIPS in model.requests[1].messages[-1].tool_results[0].content
    assert session.conversation.messages[1] == memory


async def test_at_a_failed_command_the_way_out_stands_in_its_result(
    make_agent: MakeAgent,
) -> None:
    await learn(make_agent)
    agent, model = make_agent([calls(call("Bash", command="make ship")), "Done."])
    told: list[MemoryInjected] = []
    async with agent.session() as session:
        session.listen(
            lambda event: told.append(event) if isinstance(event, MemoryInjected) else None
        )
        await session.run("Please bring the shop to production now")

    (result,) = model.requests[1].messages[-1].tool_results
    assert result.content.startswith("Exit code 2\nSHIP_REGION is not set")
    assert f"`{SHIPS}`" in result.content
    (at_failure,) = [one for one in told if one.moment == "failure"]
    assert at_failure.citations


async def test_what_was_told_is_logged_and_can_be_flagged(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    await learn(make_agent)
    agent, _ = make_agent([calls(call("Bash", command="make ship")), "Done."])
    told: list[MemoryInjected] = []
    async with agent.session() as session:
        session.listen(
            lambda event: told.append(event) if isinstance(event, MemoryInjected) else None
        )
        await session.run("Please bring the shop to production now")

    logged = wk.injected.list(session=session.id).items
    assert {one.moment for one in logged} >= {"session", "failure"}
    assert {one.client for one in logged} == {"wellkept"}
    (harmful, *_) = next(one.citations for one in told if one.moment == "failure")
    wk.injected.flag(harmful, reason="wrong region", session=session.id)

    agent, model = make_agent([calls(call("Bash", command="make ship")), "Done."])
    await run_session(agent, "Please bring the shop to production now")
    assert SHIPS not in model.requests[1].messages[-1].tool_results[0].content


async def test_injected_text_is_never_captured_again(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    await learn(make_agent)
    before = {memory.content for memory in wk.iterate()}
    agent, _ = make_agent([calls(call("Bash", command="make ship")), "Done."])
    session, _ = await run_session(agent, "Please bring the shop to production now")

    assert "Recalled from earlier work" not in "".join(one.content for one in wk.iterate())
    record = wk.engine.store.get_session(session.id)
    assert record is not None
    assert "wellkept-memory" not in str(record.work)
    assert before


async def test_without_memory_the_loop_is_told_nothing(make_agent: MakeAgent) -> None:
    await learn(make_agent)
    agent, model = make_agent([calls(call("Bash", command="make ship")), "Done."], memory=False)
    await run_session(agent, "Please bring the shop to production now")
    assert all(one.kind is MessageKind.PLAIN for one in model.requests[0].messages)
    assert SHIPS not in str(model.requests)


async def test_the_prefix_stays_byte_for_byte_the_same(make_agent: MakeAgent) -> None:
    await learn(make_agent)
    agent, model = make_agent(
        [
            calls(call("Bash", command="make ship")),
            "Once.",
            calls(call("Bash", command="ls")),
            "Twice.",
        ]
    )
    await run_session(agent, "Please bring the shop to production now", "And list what is here")
    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert later.tools == earlier.tools
