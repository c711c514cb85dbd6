"""Learning from the agent's sessions: findings, compaction, a model, and whose spool it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import wellkept
from tests.support.embedding_server import Behaviour, FakeEmbeddingServer
from tests.wiring.conftest import MakeAgent, run_session
from wellkept.core.chat.messages import Message
from wellkept.core.errors import ProviderError
from wellkept.core.session.scratchpad import QaIssue
from wellkept.core.types import Source
from wellkept.testing.scripted_model import ScriptedModel, call, calls
from wellkept_agent.counters import Counters
from wellkept_agent.events import ProblemReported
from wellkept_agent.learning import Learning, spool_folder

pytestmark = [pytest.mark.anyio, pytest.mark.feature("C3", "C8")]

FINDING = "The totals of orders are computed in cents by orders.py"


def findings(wk: wellkept.Wellkept) -> list[str]:
    return [one.content for one in wk.list(types="fact")]


async def test_findings_of_a_session_are_kept_at_its_end(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent(["Done."])
    async with agent.session() as session:
        await session.run("Look into the totals of orders")
        session.state.add_finding(FINDING)
        assert findings(wk) == []
    assert findings(wk) == [FINDING]
    (memory,) = wk.list(types="fact")
    assert (memory.source, memory.session_id) == (Source.OBSERVER_INFERRED, session.id)


async def test_findings_of_a_session_that_failed_are_not_kept(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent([ProviderError("The model is gone.")])
    async with agent.session() as session:
        session.state.add_finding(FINDING)
        await session.run("Look into the totals of orders")
    assert findings(wk) == []


async def test_what_one_session_found_is_told_once_another_confirms_it(
    make_agent: MakeAgent,
) -> None:
    for number in (1, 2):
        agent, model = make_agent(["Done."])
        async with agent.session() as session:
            await session.run("Where are the totals of orders computed in cents?")
            session.state.add_finding(FINDING)
        assert FINDING not in str(model.requests), number
    agent, model = make_agent(["Done."])
    await run_session(agent, "Where are the totals of orders computed in cents?")
    assert FINDING in str(model.requests[0].messages)


async def test_before_compaction_what_is_known_is_kept_once(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent([calls(call("Bash", command="ls")), "Done."])
    going: Sequence[Message] = ()
    async with agent.session() as session:
        session.state.add_finding(FINDING)
        await session.run("Look into the totals of orders")
        going = tuple(session.conversation.turns)
        await session.hooks.compaction(session.context, going)
        assert findings(wk) == [FINDING]
        seen = wk.engine.store.get_session(session.id)
        assert seen is not None
        assert "ls" in str(seen.work)
    assert findings(wk) == [FINDING]


async def test_the_sessions_of_the_agent_are_among_those_of_all_clients(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent([calls(call("Bash", command="git log --oneline")), "Done."])
    session, _ = await run_session(agent, "What was committed here lately?")
    seen = wk.engine.store.get_session(session.id)
    assert seen is not None
    assert (seen.client, seen.ended_at is not None) == ("wellkept", True)
    assert seen.project == wk.project
    assert (seen.input_tokens or 0) > 0
    assert not list(spool_folder(wk).glob("wellkept-*"))


async def test_a_memory_of_ones_own_has_a_spool_of_its_own(project: Path, tmp_path: Path) -> None:
    with wellkept.open(tmp_path / "own" / "my.db", cwd=project, embedder="none") as wk:
        agent = wk.agent(ScriptedModel(["Noted."]))
        await run_session(agent, "Always write amounts in cents, never in euros.")
        assert spool_folder(wk).is_relative_to(tmp_path / "own")
        assert any("cents" in one.content for one in wk.iterate())
        assert wk.agent_sessions()


async def test_a_named_project_keeps_its_sessions(project: Path, tmp_path: Path) -> None:
    with wellkept.open(cwd=project, project="elsewhere", embedder="none") as wk:
        await run_session(
            wk.agent(ScriptedModel(["Noted."])), "Always write amounts in cents, never in euros."
        )
        (seen,) = wk.engine.store.sessions(project=wk.project)
        assert seen.client == "wellkept"
        assert any("cents" in one.content for one in wk.iterate())


async def test_a_spool_that_cannot_be_written_is_reported_once(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    folder = spool_folder(wk)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way", "utf-8")
    agent, _ = make_agent([calls(call("Bash", command="ls")), "Done."])
    problems: list[ProblemReported] = []
    async with agent.session() as session:
        session.listen(lambda e: problems.append(e) if isinstance(e, ProblemReported) else None)
        assert (await session.run("What is here in this folder?")).ok
    assert sum("is not captured" in one.message for one in problems) == 1


async def test_without_learning_nothing_is_captured(project: Path, home: Path) -> None:
    environment = {"WELLKEPT_HOME": str(home), "WELLKEPT_AGENT_MEMORY_AUTO_EXTRACT": "false"}
    with wellkept.open(cwd=project, embedder="none", environment=environment) as wk:
        wk.remember("Amounts are written in cents", type="convention", source="user_taught")
        model = ScriptedModel(["Noted."])
        await run_session(wk.agent(model), "Which amounts are used in this shop?")
        assert "cents" in str(model.requests[0].messages)
        assert wk.engine.store.sessions(project=wk.project) == []


async def test_what_a_killed_session_learned_is_told_by_the_next(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent(
        [
            calls(call("Bash", command="make ship")),
            calls(call("Bash", command="SHIP_REGION=eu-west make ship")),
            "Shipped.",
        ]
    )
    session = agent.session()
    learning = next(one for one in session.capabilities if one.name == "learning")
    learning.turn_ended = lambda result: None  # pyright: ignore[reportAttributeAccessIssue]
    await session.run("Ship it to production please")
    assert wk.engine.store.get_session(session.id) is None  # never closed, nothing drained

    agent, model = make_agent([calls(call("Bash", command="make ship")), "Done."])
    await run_session(agent, "Please bring the shop to production now")
    (result,) = model.requests[1].messages[-1].tool_results
    assert "SHIP_REGION=eu-west make ship" in result.content


async def test_issues_of_qa_are_told_when_their_file_is_read_again(
    make_agent: MakeAgent, wk: wellkept.Wellkept, project: Path
) -> None:
    orders = str(project / "orders.py")
    agent, _ = make_agent([calls(call("Read", file_path=orders)), "Done."])
    issue = QaIssue(
        "The total ignores discounts that are larger than the order",
        severity="critical",
        file="orders.py",
        recommendation="Never let a total fall below zero",
    )
    async with agent.session() as session:
        await session.run("Add discounts to the totals of orders")
        learning = session.capability(Learning)
        assert learning is not None
        await learning.judged(passed=False, detail="QA found one issue", issues=[issue])
    (pattern,) = wk.list(types="error_pattern")
    assert pattern.source is Source.QA_AUTO
    wk.edit(pattern.id, user_verified=True)

    agent, model = make_agent([calls(call("Read", file_path=orders)), "Done."])
    await run_session(agent, "Look at how orders are added up")
    (result,) = model.requests[1].messages[-1].tool_results
    assert "larger than the order" in result.content


async def test_a_validated_sub_task_is_on_the_record(
    make_agent: MakeAgent, wk: wellkept.Wellkept
) -> None:
    agent, _ = make_agent([calls(call("Bash", command="ls")), "Done."])
    async with agent.session() as session:
        await session.run("Add discounts to the totals of orders")
        learning = session.capability(Learning)
        assert learning is not None
        await learning.judged(passed=True, task="discounts")
        pad = wk.engine.store.scratchpad(session.id)
        assert pad is not None
        (task,) = [one for one in pad.tasks if one.name == "discounts"]
        assert [one.verdict for one in task.validations] == ["passed"]


async def test_with_a_chat_model_the_session_is_read_by_it_at_its_end(
    project: Path, home: Path
) -> None:
    said = "The shop in Bonn saw its receipts printed in Euro"
    item = {
        "type": "requirement",
        "content": "The shop in Bonn prints receipts in Euro.",
        "evidence": [{"event": "e1", "quote": "saw its receipts printed in Euro"}],
    }
    with FakeEmbeddingServer(Behaviour(completion=json.dumps({"memories": [item]}))) as server:
        environment = {
            "WELLKEPT_HOME": str(home),
            "WELLKEPT_TEXT_MODEL_PROVIDER": "anthropic",
            "WELLKEPT_TEXT_MODEL_BASE_URL": server.url,
            "WELLKEPT_TEXT_MODEL_NAME": "small",
        }
        with wellkept.open(cwd=project, embedder="none", environment=environment) as wk:
            await run_session(wk.agent(ScriptedModel(["Noted."])), said)
            by_model = [m.content for m in wk.iterate() if (m.author or "").startswith("model:")]
            assert by_model == [said]  # the words that were said, not the model's
            counted = Counters(wk.services.store).report()
            assert counted.memory_extracted >= 1
