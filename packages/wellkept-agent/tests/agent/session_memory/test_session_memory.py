"""The running summary of a session (G6), and compaction with it (G5)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.agent.compaction.conversations import is_whole, result, round_of, tokens
from tests.agent.conftest import MakeSession
from wellkept.core.chat.messages import (
    Message,
    MessageKind,
    ModelInfo,
    ModelRequest,
    assistant_message,
    user_message,
)
from wellkept.core.errors import ProviderError
from wellkept.testing.scripted_model import Answer, ScriptedModel, call, calls
from wellkept_agent import AgentSession, RunEnd
from wellkept_agent.compaction.capability import Compaction
from wellkept_agent.compaction.summary import REQUEST
from wellkept_agent.events import (
    AgentEvent,
    CompactionCompleted,
    ProblemReported,
    SessionMemoryCompactApplied,
    SubagentStarted,
)
from wellkept_agent.session_memory import (
    SECTIONS,
    TEMPLATE,
    SessionMemory,
    SessionMemoryFiles,
    SessionMemoryMetadata,
    SessionMemorySettings,
)
from wellkept_agent.settings import CompactionSettings

pytestmark = pytest.mark.feature("G6")

QUICK = SessionMemorySettings(cooldown_s=0, idle_s=0)
SUMMARY = "\n\n".join(f"## {name}\n- the port is 5433" for name in SECTIONS)


def is_update(request: ModelRequest) -> bool:
    return "maintaining a session memory summary" in request.messages[0].text


def keeping(
    *steps: Answer, answer: Answer = "done", update: Answer = SUMMARY
) -> Callable[[ModelRequest], Answer]:
    """A model that answers updates by the steps, then always by `update`; anything else, too."""
    script = list(steps)

    def asked(request: ModelRequest) -> Answer:
        if not is_update(request):
            return answer
        return script.pop(0) if script else update

    return asked


class Scene:
    """A session with a running summary."""

    def __init__(
        self,
        make: MakeSession,
        script: Callable[[ModelRequest], Answer],
        *,
        turns: Sequence[Message] = (),
        settings: SessionMemorySettings = QUICK,
        compaction: CompactionSettings | None = None,
        window: int = 99_999,  # compacted at 80 %
        **options: object,
    ) -> None:
        self.now = 0.0
        info = ModelInfo(name="m", provider="scripted", context_tokens=window)
        self.model = ScriptedModel(script, info=info)
        self.memory = SessionMemory(
            settings, monotonic=lambda: self.now, clock=lambda: datetime(2026, 1, 2, tzinfo=UTC)
        )
        self.session: AgentSession = make(
            [],
            model=self.model,
            capabilities=[Compaction(compaction), self.memory],
            messages=turns,
            **options,
        )
        self.events: list[AgentEvent] = []
        self.session.listen(self.events.append)
        self.folder = self.session.folder / "session-memory"

    async def turn(self, prompt: str = "go on") -> RunEnd:
        """One turn, and the update it started."""
        end = (await self.session.run(prompt)).end
        await self.memory.settled()
        return end

    def run(self, *prompts: str) -> None:
        async def run() -> None:
            for prompt in prompts or ("go on",):
                assert await self.turn(prompt) is RunEnd.DONE

        asyncio.run(run())

    @property
    def updates(self) -> int:
        return sum(is_update(r) and len(r.messages) == 2 for r in self.model.requests)

    @property
    def problems(self) -> list[str]:
        return [e.message for e in self.events if isinstance(e, ProblemReported)]


# -- Updates --------------------------------------------------------------------------------------


def test_nothing_happens_below_5000_tokens(make_session: MakeSession) -> None:
    scene = Scene(make_session, keeping())
    scene.run(tokens(4_000))
    assert scene.updates == 0
    assert not scene.folder.exists()


def test_a_summary_is_kept_with_what_it_covers(make_session: MakeSession) -> None:
    written = TEMPLATE.replace("[What the user is working on]", "Move the port to 5433")
    scene = Scene(make_session, keeping(written))
    scene.run("move the port " + tokens(5_000))
    assert "Move the port to 5433" in (scene.folder / "summary.md").read_text()
    covered = json.loads((scene.folder / "metadata.json").read_text())
    last = scene.session.conversation.turns[0]
    assert covered["last_summarized_id"] == last.id
    assert covered["messages_summarized"] == 1
    assert covered["last_extraction"] == "2026-01-02T00:00:00+00:00"
    assert covered["summary_token_count"] > 0
    assert (scene.folder / ".lastSummarizedId").read_text().strip() == last.id
    assert "move the port" in next(r for r in scene.model.requests if is_update(r)).messages[1].text
    assert not [e for e in scene.events if isinstance(e, SubagentStarted)]


def test_the_next_update_gets_only_what_is_new(make_session: MakeSession) -> None:
    scene = Scene(make_session, keeping())
    scene.run("first " + tokens(5_000), "second " + tokens(5_000))
    assert scene.updates == 2
    second = [r for r in scene.model.requests if is_update(r) and len(r.messages) == 2][1]
    assert "second" in second.messages[1].text
    assert "first" not in second.messages[1].text
    assert "the port is 5433" in second.messages[1].text


def test_an_update_waits_for_new_tokens(make_session: MakeSession) -> None:
    scene = Scene(make_session, keeping())
    scene.run(tokens(5_000), tokens(2_000))
    assert scene.updates == 1


def test_tool_calls_count_only_while_compaction_runs(make_session: MakeSession) -> None:
    """(tokens and calls) or (tokens and not compacting)."""
    few = [user_message(tokens(5_000)), *round_of(result("c", 10))]
    many = [user_message(tokens(5_000))]
    for number in range(10):
        many += round_of(result(f"c{number}", 10))
    for turns, compacting, due in (
        (few, False, True),
        (few, True, False),
        (many, True, True),
        ([user_message("short"), *many[1:]], False, False),
    ):
        scene = Scene(make_session, keeping(), turns=turns)
        scene.memory.is_compacting = compacting
        assert scene.memory._is_due() is due  # pyright: ignore[reportPrivateUsage]


def test_updates_keep_a_distance_of_60_seconds(make_session: MakeSession) -> None:
    scene = Scene(make_session, keeping(), settings=SessionMemorySettings(idle_s=0))

    async def run() -> list[int]:
        seen: list[int] = []
        for now in (0, 30, 59, 60):
            scene.now = now
            await scene.turn(tokens(6_000))
            seen.append(scene.updates)
        return seen

    assert asyncio.run(run()) == [1, 1, 1, 2]


def test_a_session_that_is_closed_after_its_turn_asks_for_no_update(
    make_session: MakeSession,
) -> None:
    def answer(request: ModelRequest) -> Answer:
        return "done " + tokens(6_000)

    model = ScriptedModel(answer, info=ModelInfo(name="m", provider="p"))
    session = make_session([], model=model, capabilities=[SessionMemory()])

    async def run() -> None:
        async with session:
            assert (await session.run("go")).ok

    asyncio.run(run())
    assert len(model.requests) == 1


def test_an_update_never_holds_the_turn_up(make_session: MakeSession) -> None:
    held = asyncio.Event()

    class Slow(ScriptedModel):
        async def stream(self, request: ModelRequest):
            if is_update(request):
                await held.wait()
            async for chunk in super().stream(request):
                yield chunk

    model = Slow(keeping(), info=ModelInfo(name="m", provider="p"))
    memory = SessionMemory(QUICK)
    session = make_session([], model=model, capabilities=[memory])

    async def run() -> tuple[RunEnd, bool]:
        async with session:
            end = (await session.run(tokens(6_000))).end
            return end, memory.files.summary() is None

    assert asyncio.run(run()) == (RunEnd.DONE, True)  # and closing the session gave it up
    assert memory.files.summary() is None


def test_an_update_that_hangs_is_given_up_and_does_not_hold_compaction(
    make_session: MakeSession,
) -> None:
    class Hangs(ScriptedModel):
        async def stream(self, request: ModelRequest):
            if is_update(request):
                await asyncio.Event().wait()
            async for chunk in super().stream(request):
                yield chunk

    model = Hangs(keeping(), info=ModelInfo(name="m", provider="p"))
    memory = SessionMemory(SessionMemorySettings(cooldown_s=0, wait_ms=20, stale_ms=50))
    session = make_session([], model=model, capabilities=[memory])
    problems: list[str] = []
    session.listen(lambda e: problems.append(e.message) if isinstance(e, ProblemReported) else None)

    async def run() -> None:
        await session.run(tokens(6_000))
        await memory.settled()  # returns after wait_ms
        while not problems:
            await asyncio.sleep(0.01)

    asyncio.run(run())
    assert "took longer than 0.05 s" in problems[0]


def test_failures_are_reported_and_three_in_a_row_switch_it_off(make_session: MakeSession) -> None:
    scene = Scene(make_session, keeping(update=ProviderError("down")))
    scene.run(*[tokens(6_000)] * 5)
    assert scene.updates == 3
    assert len(scene.problems) == 3
    assert "stays off" in scene.problems[-1]
    assert scene.memory.files.summary() is None


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("I have nothing to add.", "lacks the sections Current Task"),
        (SUMMARY.replace("## Open Items", ""), "lacks the sections Open Items"),
        (SUMMARY + tokens(4_100), "4,000 are allowed"),
        ("", "empty summary"),
        (calls(call("Bash", command="rm -rf /")), "empty summary"),
    ],
)
def test_what_is_no_summary_is_refused_and_covers_nothing(
    make_session: MakeSession, bad: Answer, why: str
) -> None:
    scene = Scene(make_session, keeping(update=bad))
    scene.run(tokens(6_000))
    assert why in scene.problems[0]
    assert scene.memory.files.metadata() is None
    assert not list(scene.session.root.iterdir())


def test_an_update_is_one_call_without_tools(make_session: MakeSession) -> None:
    scene = Scene(make_session, keeping())
    scene.run(tokens(6_000))
    (asked,) = [r for r in scene.model.requests if is_update(r)]
    assert not asked.tools
    assert scene.memory.files.summary() == SUMMARY


def test_a_failed_update_leaves_the_old_summary(make_session: MakeSession) -> None:
    scene = Scene(make_session, keeping(SUMMARY, ProviderError("down")))
    scene.run(tokens(6_000), tokens(6_000))
    assert scene.memory.files.summary() == SUMMARY


def test_it_is_off_without_a_budget(make_session: MakeSession) -> None:
    scene = Scene(make_session, keeping())
    scene.session.control.max_tokens = 20_000
    scene.run(tokens(6_000))
    assert scene.updates == 0


def test_its_tokens_count_for_the_session(make_session: MakeSession) -> None:
    scene = Scene(make_session, keeping())
    scene.run(tokens(6_000))
    own = sum(r.tokens for r in scene.model.requests if not is_update(r))
    assert scene.session.control.usage.input >= own + 6_000


def test_a_resumed_session_goes_on_with_its_summary(make_session: MakeSession) -> None:
    first = Scene(make_session, keeping())
    first.run("first " + tokens(6_000))
    again = Scene(
        make_session,
        keeping(SUMMARY.replace("5433", "5434")),
        turns=first.session.conversation.turns,
    )
    again.run("second " + tokens(6_000))
    text = next(r for r in again.model.requests if is_update(r)).messages[1].text
    assert "second" in text
    assert "first" not in text
    assert "5434" in (again.memory.files.summary() or "")


# -- Files ----------------------------------------------------------------------------------------


def test_the_template_alone_is_no_summary(tmp_path: Path) -> None:
    files = SessionMemoryFiles(tmp_path)
    assert files.summary() is None
    files.folder.mkdir()
    files.summary_path.write_text(TEMPLATE)
    assert files.summary() is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '"x"',
        "{}",
        '{"last_summarized_id": "a"}',
        "[" * 100_000,
        "\ud800".encode("utf-8", "surrogatepass"),
    ],
)
def test_broken_metadata_is_no_metadata(tmp_path: Path, text: str | bytes) -> None:
    files = SessionMemoryFiles(tmp_path)
    files.folder.mkdir()
    files.metadata_path.write_bytes(text.encode() if isinstance(text, str) else text)
    assert files.metadata() is None


# -- Compaction with the running summary ----------------------------------------------------------


def covered(scene: Scene, index: int, summary: str = SUMMARY) -> None:
    """Write a summary that covers the messages up to an index."""
    metadata = SessionMemoryMetadata(
        last_summarized_id=scene.session.conversation.turns[index].id,
        last_extraction=datetime(2026, 1, 2, tzinfo=UTC),
        summary_token_count=1,
        messages_summarized=index + 1,
    )
    SessionMemoryFiles(scene.session.folder).write(summary, metadata)


def big_talk(rounds: int = 30) -> list[Message]:
    turns = [user_message("start")]
    for number in range(rounds):
        turns += round_of(result(f"t{number}", 2_000, name="Task"), text=f"step {number}")
    return [*turns, assistant_message("so far")]


OFF = SessionMemorySettings(max_failures=1, min_tokens_between_update=10**9)


def compacting(make: MakeSession, **options: object) -> Scene:
    def asked(request: ModelRequest) -> Answer:
        return "a new summary" if REQUEST in request.messages[-1].text else "done"

    options.setdefault("turns", big_talk())
    options.setdefault("settings", OFF)
    return Scene(make, asked, **options)  # pyright: ignore[reportArgumentType]


@pytest.mark.feature("G5")
def test_the_running_summary_is_used_without_a_model_call(make_session: MakeSession) -> None:
    scene = compacting(make_session)
    covered(scene, 48)
    scene.run("what next?")
    (applied,) = [e for e in scene.events if isinstance(e, SessionMemoryCompactApplied)]
    assert applied.summary_tokens < 100
    assert 40_000 < applied.saved_tokens < 50_000
    assert not [e for e in scene.events if isinstance(e, CompactionCompleted)]
    assert len(scene.model.requests) == 1
    sent = scene.model.requests[0].messages
    assert [m.kind for m in sent[1:3]] == [MessageKind.BOUNDARY, MessageKind.SUMMARY]
    assert "the port is 5433" in sent[2].text
    assert "what next?" in sent[-1].text
    assert [m.text for m in sent if m.text.startswith("step")] == [
        f"step {n}" for n in range(24, 30)
    ]
    assert is_whole(sent)


@pytest.mark.feature("G5")
@pytest.mark.parametrize("index", range(1, 62, 7))
def test_wherever_the_summary_ends_no_result_loses_its_call(
    make_session: MakeSession, index: int
) -> None:
    scene = compacting(make_session)
    covered(scene, index)
    scene.run("what next?")
    assert is_whole(scene.model.requests[-1].messages)
    assert "what next?" in scene.model.requests[-1].messages[-1].text


@pytest.mark.feature("G5")
@pytest.mark.parametrize(
    "case",
    [
        "no summary",
        "no metadata",
        "unknown id",
        "saves too little",
        "too long",
        "one flag",
        "other flag",
        "not enough room",
    ],
)
def test_it_falls_through_to_a_new_summary(make_session: MakeSession, case: str) -> None:
    settings, compaction = OFF, CompactionSettings()
    if case == "one flag":
        settings = SessionMemorySettings(session_memory=False)
    if case == "other flag":
        compaction = CompactionSettings(session_memory_compact=False)
    if case == "too long":
        compaction = CompactionSettings(session_memory_max_tokens=20)
    turns = big_talk(45 if case == "not enough room" else 30)
    scene = compacting(make_session, settings=settings, compaction=compaction, turns=turns)
    covered(scene, {"saves too little": 8, "not enough room": 24}.get(case, 48))
    files = scene.memory.files
    if case == "no summary":
        files.summary_path.unlink()
    if case == "no metadata":
        files.metadata_path.unlink()
    if case == "unknown id":
        files.metadata_path.write_text(
            files.metadata_path.read_text().replace('_id": "', '_id": "x')
        )
    scene.run("what next?")
    assert [e for e in scene.events if isinstance(e, CompactionCompleted)]
    assert not [e for e in scene.events if isinstance(e, SessionMemoryCompactApplied)]


@pytest.mark.feature("G5")
def test_instructions_of_the_person_ask_for_a_new_summary(make_session: MakeSession) -> None:
    scene = compacting(make_session)
    covered(scene, 48)
    compaction = scene.session.capabilities[0]
    assert isinstance(compaction, Compaction)
    assert asyncio.run(compaction.compact("keep ports")).tier == "full"


@pytest.mark.feature("G5")
def test_a_prompt_that_the_summary_covers_but_nobody_answered_stays(
    make_session: MakeSession,
) -> None:
    scene = compacting(make_session, turns=[*big_talk()[:-1]])
    covered(scene, len(scene.session.conversation.turns) - 1)
    compaction = scene.session.capabilities[0]
    assert isinstance(compaction, Compaction)
    done = asyncio.run(compaction.compact())
    assert done.tier == "session_memory"
    turns = scene.session.conversation.turns
    assert [m.kind for m in turns[:2]] == [MessageKind.BOUNDARY, MessageKind.SUMMARY]
    assert turns[-1].tool_results[0].call_id == "t29"
    assert is_whole(turns)


@pytest.mark.feature("G5")
def test_a_subagent_does_not_use_the_summary_of_its_parent(make_session: MakeSession) -> None:
    scene = compacting(make_session)
    covered(scene, 48)
    names = [type(c.for_subagent()).__name__ for c in scene.session.capabilities]
    assert names == ["Compaction", "NoneType"]
