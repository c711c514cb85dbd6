"""Compaction in an agent with memory (G5, G10): timeline entry, files, transcript, resume."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.agent.compaction.conversations import is_whole
from tests.wiring.conftest import MakeAgent, run_session
from wellkept.core.chat.messages import (
    MessageKind,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ModelUsage,
    StopReason,
    assistant_message,
)
from wellkept.testing.scripted_model import Answer, ScriptedModel, call, calls
from wellkept_agent.compaction.capability import Compaction
from wellkept_agent.compaction.summary import REQUEST

pytestmark = [pytest.mark.anyio, pytest.mark.feature("G5", "G10")]

WINDOW = 30_000


def is_update(request: ModelRequest) -> bool:
    """Whether it is for the running summary, which is asked for beside the work."""
    return "maintaining a session memory summary" in request.messages[0].text


def scripted(*, steps: int) -> ScriptedModel:
    """Reads a file in each step, then is done; summarises when it is asked to."""
    left = iter(range(steps))

    def answer(request: ModelRequest) -> Answer:
        if REQUEST in request.messages[-1].text:
            return "## Facts\nThe export listens on port 5433."
        if is_update(request):
            return "done"
        step = next(left, None)
        if step is None:
            return "Read them all."
        return calls(call("Read", file_path=f"log{step}.txt"))

    info = ModelInfo(name="scripted", provider="scripted", context_tokens=WINDOW)
    return ScriptedModel(answer, info=info)


@pytest.fixture
def logs(project: Path) -> Path:
    for number in range(8):
        lines = (f"{number}-{line} the worker took its job\n" for line in range(400))
        (project / f"log{number}.txt").write_text("".join(lines), "utf-8")
    return project


async def test_a_long_session_is_compacted_kept_and_resumed(
    make_agent: MakeAgent, wk: wellkept.Wellkept, logs: Path
) -> None:
    model = scripted(steps=8)
    agent, _ = make_agent([], model=model)
    session, (result,) = await run_session(agent, "Read the logs and say what is wrong")
    assert result.ok, result
    assert max(request.tokens for request in model.requests) < WINDOW
    assert all(is_whole(request.messages) for request in model.requests)
    kinds = [message.kind for message in session.conversation.turns]
    assert kinds[:2] == [MessageKind.BOUNDARY, MessageKind.SUMMARY]
    # What was replaced can be read with the agent's own tools.
    summary = session.conversation.turns[1].text
    kept = Path(summary.split("in full: ")[1].split(".md")[0] + ".md")
    assert "Read the logs and say what is wrong" in kept.read_text("utf-8")
    # The timeline remembers it, with little weight.
    (entry,) = [
        one.memory for one in wk.recall("export port", types=["timeline"]) if one.memory.key
    ]
    assert entry.key is not None
    assert entry.key.startswith("ctx_compressed_")
    assert entry.importance == pytest.approx(0.3)
    assert "The export listens on port 5433." in entry.content

    # A resumed session goes on from the summary.
    def answer(request: ModelRequest) -> str:
        return "done" if is_update(request) else "Port 5433."

    again, more = make_agent(answer)
    async with again.session(resume=session.id) as resumed:
        assert (await resumed.run("Which port?")).text == "Port 5433."
    shown = next(one for one in more.requests if not is_update(one)).messages
    assert is_whole(shown)
    assert any("The export listens on port 5433." in message.text for message in shown)


async def test_a_person_compacts_by_hand(make_agent: MakeAgent, logs: Path) -> None:
    agent, _ = make_agent([], model=scripted(steps=3))
    async with agent.session() as session:
        await session.run("Read the logs")
        compaction = next(c for c in session.capabilities if isinstance(c, Compaction))
        done = await compaction.compact("keep ports")
    assert done.tier == "full"
    assert done.tokens_after < done.tokens_before
    assert "port 5433" in session.conversation.turns[1].text


@pytest.mark.parametrize(("used", "is_compacted"), [(186_000, False), (187_000, True)])
@pytest.mark.feature("G6")
async def test_compaction_begins_13000_tokens_before_the_end(
    make_agent: MakeAgent, used: int, is_compacted: bool
) -> None:
    """The provider's own count decides: at 200 K the model is asked for a summary from 187 K on."""
    asked: list[str] = []

    def answer(request: ModelRequest) -> Answer:
        asked.append(request.messages[-1].text)
        if REQUEST in asked[-1]:
            return "## Facts\nThe export listens on port 5433."
        usage = ModelUsage(input=used - 10, output=10)
        return ModelResponse(
            message=assistant_message("Yes."), stop=StopReason.DONE, usage=usage, model="m"
        )

    info = ModelInfo(name="m", provider="scripted", context_tokens=200_000)
    agent, _ = make_agent([], model=ScriptedModel(answer, info=info))
    session, _ = await run_session(agent, "Is it " + "so? " * 12_000, "And this?", "Go")
    assert any(REQUEST in one for one in asked) is is_compacted
    told = "".join(message.text for message in session.conversation.turns)
    assert ("The export listens on port 5433." in told) is is_compacted


@pytest.mark.feature("G7")
async def test_the_files_read_most_are_shown_again(make_agent: MakeAgent, project: Path) -> None:
    for name in "abcdefg":
        (project / f"{name}.txt").write_text(f"this is {name}\n" * 20, "utf-8")
    reads = [*"abcdefg", *"fbgda"]  # c and e were read once, and a long ago; five files fit
    script: list[Answer] = [calls(call("Read", file_path=f"{one}.txt")) for one in reads]
    agent, _ = make_agent([*script, "Read.", "## Facts\nnone"])
    async with agent.session() as session:
        await session.run("Read them")
        compaction = next(c for c in session.capabilities if isinstance(c, Compaction))
        await compaction.compact()
    shown = "".join(m.text for m in session.conversation.turns if m.kind is MessageKind.RESTORED)
    assert [name for name in "abcdefg" if f"this is {name}" in shown] == [*"abdfg"]
