"""Compaction in the loop (G5): thresholds, tiers, hooks, events, failures."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.agent.compaction.conversations import is_whole, reading, result, round_of, tokens
from tests.agent.conftest import MakeSession
from wellkept.core.chat.messages import (
    Message,
    MessageKind,
    ModelInfo,
    ModelRequest,
    Role,
    assistant_message,
    user_message,
)
from wellkept.core.errors import ContextTooLongError, ProviderError, UsageError
from wellkept.testing.scripted_model import Answer, ScriptedModel, call, calls
from wellkept_agent import AgentSession, Capability, RunEnd, tool
from wellkept_agent.compaction.capability import Compaction, Level, TimelineEntry, thresholds
from wellkept_agent.compaction.compactor import Restored, RestoredSection
from wellkept_agent.compaction.summary import REQUEST
from wellkept_agent.events import (
    AgentEvent,
    CompactionCompleted,
    CompactionStarted,
    ContextWarning,
    MicroCompactionApplied,
    ProblemReported,
)
from wellkept_agent.hooks import HookContext
from wellkept_agent.settings import CompactionSettings
from wellkept_agent.tools.shell.process import ShellProcess

pytestmark = pytest.mark.feature("G5")

WINDOW = 100_000


def talk(count: int, *, size: int = 2_000) -> list[Message]:
    """A conversation without tools, of `2 * count * size` tokens."""
    turns: list[Message] = []
    for number in range(count):
        turns += [
            user_message(f"q{number} {tokens(size)}"),
            assistant_message(f"a{number} {tokens(size)}"),
        ]
    return turns


def is_summary_request(request: ModelRequest) -> bool:
    return REQUEST in request.messages[-1].text


def answering(
    *,
    summary: Answer | Callable[[ModelRequest], Answer] = "## Request\nthe summary",
    answer: Answer = "done",
) -> Callable[[ModelRequest], Answer]:
    """A model that summarises when it is asked to, and answers otherwise."""

    def script(request: ModelRequest) -> Answer:
        if is_summary_request(request):
            return summary(request) if callable(summary) else summary
        return answer

    return script


class Scene:
    """A session with compaction and what it told."""

    def __init__(
        self,
        make: MakeSession,
        script: Callable[[ModelRequest], Answer],
        *,
        turns: Sequence[Message] = (),
        settings: CompactionSettings | None = None,
        window: int = WINDOW,
        has_prompt_cache: bool = False,
        capabilities: Sequence[Capability] = (),
        timeline: Callable[[TimelineEntry], None] | None = None,
        **options: object,
    ) -> None:
        info = ModelInfo(
            name="m", provider="scripted", context_tokens=window, has_prompt_cache=has_prompt_cache
        )
        self.model = ScriptedModel(script, info=info)
        self.compaction = Compaction(settings, timeline=timeline)
        self.session: AgentSession = make(
            [],
            model=self.model,
            system="You are an agent.",
            capabilities=[self.compaction, *capabilities],
            messages=turns,
            **options,
        )
        self.events: list[AgentEvent] = []
        self.session.listen(self.events.append)

    def run(self, prompt: str = "go on") -> RunEnd:
        async def run() -> RunEnd:
            async with self.session:
                return (await self.session.run(prompt)).end

        return asyncio.run(run())

    def compact(self, instructions: str = ""):
        return asyncio.run(self.compaction.compact(instructions))

    def told(self, kind: type[AgentEvent]) -> list[AgentEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def kinds(self) -> list[MessageKind]:
        return [message.kind for message in self.session.conversation.turns]

    def text(self, kind: MessageKind) -> str:
        return "\n".join(m.text for m in self.session.conversation.turns if m.kind is kind)


# -- Thresholds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "auto", "warning", "error", "blocking"),
    [
        (200_000, 187_000, 180_000, 180_000, 197_000),
        (100_000, 87_000, 80_000, 80_000, 97_000),
        (8_000, 6_400, 6_400, 6_400, 7_760),
    ],
)
def test_thresholds(window: int, auto: int, warning: int, error: int, blocking: int) -> None:
    found = thresholds(window, CompactionSettings())
    assert (found.auto_compact, found.warning, found.error, found.blocking) == (
        auto,
        warning,
        error,
        blocking,
    )


def test_the_offset_of_13000_counts_when_it_is_reached_first() -> None:
    assert thresholds(200_000, CompactionSettings(auto_compact_percent=50)).auto_compact == 100_000
    assert thresholds(200_000, CompactionSettings(auto_compact_percent=99)).auto_compact == 187_000
    assert (
        thresholds(200_000, CompactionSettings(blocking_limit=5_000)).level(6_000) is Level.BLOCKING
    )


# -- Nothing to do --------------------------------------------------------------------------------


def test_without_a_need_the_prefix_of_every_request_is_the_same(make_session: MakeSession) -> None:
    @tool(name="Read", read_only=True)
    def read(n: int) -> str:
        return tokens(1_000)

    script = iter([*(calls(call("Read", n=n)) for n in range(12)), "done"])
    scene = Scene(make_session, lambda _: next(script), tools=[read])
    assert scene.run() is RunEnd.DONE
    requests = scene.model.requests
    for earlier, later in pairwise(requests):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert later.tools == earlier.tools
    assert not scene.told(CompactionStarted)
    assert not scene.told(MicroCompactionApplied)


# -- Micro-compaction in the loop -----------------------------------------------------------------


def test_old_results_are_cleared_before_a_call(make_session: MakeSession) -> None:
    scene = Scene(make_session, answering(), turns=reading(10), window=200_000)
    scene.run()
    assert scene.told(MicroCompactionApplied) == [MicroCompactionApplied(7)]
    sent = scene.model.requests[0].messages
    assert "persisted-output" in sent[3].tool_results[0].content
    assert sent[-1].kind is MessageKind.REMINDER
    assert "cleared 7 tool result(s)" in sent[-1].text
    assert sent == scene.session.conversation.messages[: len(sent)]
    assert len(scene.compaction.compacted_ids) == 7


def test_the_model_can_read_a_cleared_result_again(make_session: MakeSession) -> None:
    scene = Scene(make_session, answering(), turns=reading(10), window=200_000)
    scene.run()
    from wellkept_agent import ToolContext

    mark = scene.session.conversation.turns[2].tool_results[0].content
    path = mark.split('path="')[1].split('"')[0]
    assert ToolContext(scene.session, call_id="x").path(path).read_text() == tokens(5_000)


def test_a_full_disk_is_told_once_and_nothing_is_cleared(make_session: MakeSession) -> None:
    turns = reading(10)
    scene = Scene(make_session, answering(), turns=turns, window=200_000)
    scene.session.folder.mkdir()
    (scene.session.folder / "tool-results").write_text("in the way")
    asyncio.run(scene.session.run("one"))
    asyncio.run(scene.session.run("two"))
    problems = [e.message for e in scene.events if isinstance(e, ProblemReported)]
    assert problems == ["Old tool results could not be cleared: no file could be written."]
    assert list(scene.session.conversation.turns[: len(turns)]) == turns


def test_secrets_do_not_get_into_files(make_session: MakeSession) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    turns = [user_message(f"my token is {secret}"), *reading(10)]
    turns[2:4] = round_of(
        result("c0", 6_000, text=f"TOKEN={secret}\n"), result("s", 900, text=secret)
    )
    scene = Scene(make_session, answering(), turns=turns)
    scene.run()
    scene.compact()
    written = [p for p in scene.session.folder.rglob("*") if p.is_file()]
    assert len(written) > 3
    assert not [p for p in written if secret in p.read_text()]


# -- Full compaction ------------------------------------------------------------------------------


def test_a_conversation_near_the_limit_is_summarised(make_session: MakeSession) -> None:
    scene = Scene(make_session, answering(), turns=talk(18))
    assert scene.run("what next?") is RunEnd.DONE
    assert [
        type(e) for e in scene.events if isinstance(e, CompactionStarted | CompactionCompleted)
    ] == [
        CompactionStarted,
        CompactionCompleted,
    ]
    assert scene.kinds[:2] == [MessageKind.BOUNDARY, MessageKind.SUMMARY]
    summary = scene.text(MessageKind.SUMMARY)
    assert "the summary" in summary
    last = scene.model.requests[-1]
    assert last.tokens < 20_000
    assert "what next?" in [m.text for m in last.messages]
    completed = scene.told(CompactionCompleted)[0]
    assert isinstance(completed, CompactionCompleted)
    assert completed.removed_messages == 33  # of 37: the prompt and 6,000 tokens before it stay
    assert completed.summary_tokens == 6
    kept = Path(summary.split("in full: ")[1].split(".md")[0] + ".md")
    assert "q0 abc" in kept.read_text()


def test_compaction_happens_once_and_not_at_every_step(make_session: MakeSession) -> None:
    scene = Scene(make_session, answering(), turns=talk(18))
    asyncio.run(scene.session.run("one"))
    asyncio.run(scene.session.run("two"))
    assert len(scene.told(CompactionStarted)) == 1


def test_the_calls_that_are_not_answered_yet_stay_with_their_results(
    make_session: MakeSession,
) -> None:
    @tool(name="Look", read_only=True)
    def look() -> str:
        return "what was seen " + tokens(20_000)

    answers = iter([calls(call("Look")), "done"])
    scene = Scene(
        make_session,
        lambda request: "the summary" if is_summary_request(request) else next(answers),
        turns=talk(16, size=2_200),
        tools=[look],
    )
    scene.run()
    assert scene.told(CompactionStarted)
    sent = scene.model.requests[-1].messages
    assert sent[-1].role is Role.TOOL
    assert "what was seen" in sent[-1].tool_results[0].content
    assert is_whole(sent)


def test_a_model_with_a_prompt_cache_gets_the_conversation_as_it_stands(
    make_session: MakeSession,
) -> None:
    scene = Scene(make_session, answering(), turns=talk(18), has_prompt_cache=True)
    before = scene.session.conversation.messages
    scene.run()
    request = scene.model.requests[0]
    assert is_summary_request(request)
    assert request.messages[:30] == before[:30]


def test_instructions_of_the_person_and_the_settings_reach_the_summary(
    make_session: MakeSession,
) -> None:
    scene = Scene(
        make_session,
        answering(),
        turns=talk(5),
        settings=CompactionSettings(instructions="always keep ports"),
    )
    done = scene.compact("keep the schema")
    asked = scene.model.requests[0].messages[-1].text
    assert "always keep ports\nkeep the schema" in asked
    assert done.tier == "full"
    assert done.tokens_after < done.tokens_before
    assert scene.told(CompactionStarted) == [CompactionStarted("manual")]


def test_the_last_request_is_kept_word_for_word(make_session: MakeSession) -> None:
    turns = [
        user_message("port the parser to Rust, but leave lexer.c alone"),
        assistant_message(tokens(9_000)),
    ]
    scene = Scene(make_session, answering(), turns=[*talk(4), *turns, *reading(2)[1:]])
    scene.compact()
    assert "port the parser to Rust, but leave lexer.c alone" in scene.text(MessageKind.SUMMARY)


@pytest.mark.parametrize("messages", [0, 1])
def test_a_short_conversation_is_not_compacted_by_itself(
    make_session: MakeSession, messages: int
) -> None:
    """Minimum 4 messages: the system prompt, `messages` and the prompt are fewer."""
    turns = [user_message(tokens(90_000))][:messages]
    scene = Scene(make_session, answering(), turns=turns)
    scene.run(tokens(500))
    assert not scene.told(CompactionStarted)


# -- Hooks ----------------------------------------------------------------------------------------


class Watcher(Capability):
    """Writes down the hooks around a compaction."""

    name = "watcher"

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.messages: Sequence[Message] = ()

    async def on_session_start(self, context: HookContext) -> None:
        self.seen.append("start")

    async def on_compaction(self, context: HookContext, messages: Sequence[Message]) -> None:
        self.seen.append("compaction")
        self.messages = messages


def test_hooks_get_the_messages_before_they_go_and_start_runs_again(
    make_session: MakeSession,
) -> None:
    watcher = Watcher()
    turns = talk(18)
    scene = Scene(make_session, answering(), turns=turns, capabilities=[watcher])
    scene.run()
    assert watcher.seen == ["start", "compaction", "start"]
    assert list(watcher.messages) == turns[:33]


def test_the_pre_compact_command_is_told_and_adds_instructions(
    make_session: MakeSession, tmp_path: Path
) -> None:
    script = tmp_path / "hook.py"
    script.write_text(
        "import json, sys, pathlib\n"
        f"pathlib.Path({str(tmp_path / 'told.json')!r}).write_text(sys.stdin.read())\n"
        "print('keep every port number')\n"
    )
    settings = CompactionSettings(pre_compact_command=f'"{sys.executable}" "{script}"')
    scene = Scene(make_session, answering(), turns=talk(5), settings=settings)
    scene.compact("keep the schema")
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["hook_event_name"] == "PreCompact"
    assert told["trigger"] == "manual"
    assert told["custom_instructions"] == "keep the schema"
    assert "keep every port number" in scene.model.requests[0].messages[-1].text


@pytest.mark.parametrize("command", ["exit 3", "sleep 60", "no-such-program-here"])
def test_a_pre_compact_command_that_fails_is_reported(
    make_session: MakeSession, command: str
) -> None:
    settings = CompactionSettings(pre_compact_command=command, pre_compact_time_limit_s=0.5)
    scene = Scene(make_session, answering(), turns=talk(5), settings=settings)
    assert scene.compact().tier == "full"
    assert any(isinstance(e, ProblemReported) and e.source == "PreCompact" for e in scene.events)


# -- Restoration ----------------------------------------------------------------------------------


class Shows(Capability):
    """Has something to show again."""

    name = "shows"

    def restored_sections(self) -> list[RestoredSection]:
        return [
            RestoredSection(Restored.TASKS, "task 7 runs"),
            RestoredSection(Restored.PLAN, "first this, then that"),
            RestoredSection(Restored.SKILLS, "release-notes"),
        ]


class Breaks(Capability):
    """Fails when it is asked."""

    name = "breaks"

    def restored_sections(self) -> list[RestoredSection]:
        raise RuntimeError("no")


@pytest.mark.feature("G7")
def test_files_todos_plan_skills_and_tasks_are_shown_again(make_session: MakeSession) -> None:
    scene = Scene(make_session, answering(), turns=talk(18), capabilities=[Breaks(), Shows()])
    session = scene.session
    session.todos = (("write it", "completed"), ("test it", "pending"))
    for number in range(7):
        path = session.root / f"f{number}.py"
        path.write_text(f"# file {number}\n")
        for _ in range(number + 1):
            session.files.track_read(path, path.read_text())
    large = session.root / "large.py"
    large.write_text(tokens(5_001))
    for _ in range(9):
        session.files.track_read(large, large.read_text())
    (session.root / "f6.py").write_text("# file 6, changed\n")
    (session.root / "f5.py").unlink()
    scene.run()
    text = scene.text(MessageKind.RESTORED)
    assert "- [x] write it\n- [ ] test it" in text
    order = [
        text.index(part)
        for part in ("Todos", "first this", "release-notes", "task 7 runs", "f6.py")
    ]
    assert order == sorted(order)
    shown = [f"f{n}.py" for n in range(7) if f"f{n}.py" in text]
    assert shown == ["f1.py", "f2.py", "f3.py", "f4.py", "f6.py"]
    assert "# file 6, changed" in text
    assert "large.py" not in text
    assert any(isinstance(e, ProblemReported) and e.source == "breaks" for e in scene.events)


def test_the_plan_file_and_background_commands_are_shown_again(make_session: MakeSession) -> None:
    scene = Scene(make_session, answering(), turns=talk(18))
    session = scene.session
    plan = session.root / "plan.md"
    plan.write_text("## Approach\nport it first")
    session.permissions.plan_files[None] = plan
    process = ShellProcess(
        "sleep 30 && make serve", folder=session.root, environment=os.environ, max_chars=100
    )
    session.jobs.add(process)
    scene.run()
    text = scene.text(MessageKind.RESTORED)
    assert "port it first" in text
    assert "- bash_1 (running): sleep 30 && make serve" in text


def test_restoration_leaves_room_in_a_small_window(make_session: MakeSession) -> None:
    scene = Scene(make_session, answering(), turns=talk(7, size=1_000), window=16_000)
    for number in range(5):
        path = scene.session.root / f"f{number}.py"
        path.write_text(tokens(4_000))
        scene.session.files.track_read(path, path.read_text())
    scene.run()
    assert scene.told(CompactionCompleted)
    assert scene.model.requests[-1].tokens * 1.33 < 12_800


# -- Failures -------------------------------------------------------------------------------------


def test_a_summary_is_tried_three_times(make_session: MakeSession) -> None:
    tries = iter([ProviderError("busy", cause="busy"), "", "third time"])
    scene = Scene(make_session, answering(summary=lambda _: next(tries)), turns=talk(18))
    assert scene.run() is RunEnd.DONE
    assert "third time" in scene.text(MessageKind.SUMMARY)
    sizes = [r.tokens for r in scene.model.requests if is_summary_request(r)]
    assert len(sizes) == 3
    assert sizes[2] < sizes[0]


def test_when_no_summary_can_be_made_the_conversation_stays_usable(
    make_session: MakeSession,
) -> None:
    turns = [user_message("the port is 5433, never 5432"), *talk(2)]
    for number in range(14):
        turns += round_of(result(f"c{number}", 5_000, name="Task"))
    turns.append(assistant_message("I decided to use `libpq` because of SSL."))
    scene = Scene(make_session, answering(summary=ProviderError("no")), turns=turns)
    assert scene.run("and now?") is RunEnd.DONE
    problems = [e.message for e in scene.events if isinstance(e, ProblemReported)]
    assert any("No summary could be made" in one for one in problems)
    assert scene.told(CompactionCompleted)
    last = scene.model.requests[-1]
    assert last.tokens * 1.33 < 80_000
    everything = "\n".join(m.text for m in last.messages)
    assert "the port is 5433, never 5432" in everything
    assert "and now?" in everything
    assert is_whole(last.messages)


def test_a_summary_longer_than_what_it_replaces_is_not_used(make_session: MakeSession) -> None:
    scene = Scene(make_session, answering(summary=tokens(90_000)), turns=talk(18))
    scene.run()
    assert "Extracted by rules" in scene.text(MessageKind.SUMMARY)


def test_a_huge_prompt_is_cut_and_kept_in_a_file(make_session: MakeSession) -> None:
    def script(request: ModelRequest) -> Answer:
        return ContextTooLongError("too long") if request.tokens > 60_000 else "done"

    scene = Scene(make_session, script)
    assert scene.run("fix this log:\n" + tokens(300_000) + "THE END") is RunEnd.DONE
    sent = scene.model.requests[-1].messages[-1].text
    assert "fix this log" in sent
    assert sent.endswith("THE END")
    path = Path(sent.split("In full: ")[1].split(".txt")[0] + ".txt")
    assert path.read_text().endswith("THE END")


def test_the_model_saying_that_it_is_too_long_makes_room(make_session: MakeSession) -> None:
    def script(request: ModelRequest) -> Answer:
        if request.tokens > 30_000:
            return ContextTooLongError("too long")
        return "the summary" if is_summary_request(request) else "done"

    scene = Scene(make_session, script, turns=talk(12))
    assert scene.run() is RunEnd.DONE
    assert scene.told(CompactionStarted) == [CompactionStarted("overflow")]
    tried = [r.tokens for r in scene.model.requests if not is_summary_request(r)]
    assert tried[0] > 30_000 > tried[1]


def test_clearing_results_can_be_room_enough(make_session: MakeSession) -> None:
    def script(request: ModelRequest) -> Answer:
        return ContextTooLongError("too long") if request.tokens > 25_000 else "done"

    settings = CompactionSettings(disable_auto_compact=True)
    scene = Scene(make_session, script, turns=reading(6, size=6_000), settings=settings)
    assert scene.run() is RunEnd.DONE
    assert scene.told(MicroCompactionApplied)
    assert not scene.told(CompactionStarted)


def test_a_run_that_is_stopped_while_it_summarises_loses_nothing(make_session: MakeSession) -> None:
    turns = talk(18)
    scene = Scene(make_session, answering(), turns=turns)
    scene.model._delay_s = 30  # pyright: ignore[reportPrivateUsage]

    async def run() -> RunEnd:
        task = asyncio.ensure_future(scene.session.run("go"))
        while not scene.model.requests:
            await asyncio.sleep(0.01)
        scene.session.stop()
        return (await task).end

    assert asyncio.run(run()) is RunEnd.CANCELLED
    assert list(scene.session.conversation.turns)[:36] == turns


# -- Switches -------------------------------------------------------------------------------------


def test_disable_compact_switches_everything_off(make_session: MakeSession) -> None:
    settings = CompactionSettings(disable_compact=True)
    scene = Scene(make_session, answering(), turns=[*reading(10), *talk(4)], settings=settings)
    assert scene.run() is RunEnd.DONE
    assert not scene.told(MicroCompactionApplied)
    assert not scene.told(CompactionStarted)
    with pytest.raises(UsageError, match="switched off"):
        scene.compact()


def test_disable_auto_compact_leaves_micro_compaction(make_session: MakeSession) -> None:
    settings = CompactionSettings(disable_auto_compact=True)
    scene = Scene(make_session, answering(), turns=[*talk(9), *reading(10)], settings=settings)
    scene.run()
    assert scene.told(MicroCompactionApplied)
    assert not scene.told(CompactionStarted)


def test_disable_microcompact_leaves_the_rest(make_session: MakeSession) -> None:
    settings = CompactionSettings(disable_micro_compact=True)
    scene = Scene(make_session, answering(), turns=[*talk(9), *reading(10)], settings=settings)
    scene.run()
    assert not scene.told(MicroCompactionApplied)
    assert scene.told(CompactionStarted)


def test_without_compaction_a_full_window_ends_the_turn(make_session: MakeSession) -> None:
    settings = CompactionSettings(disable_compact=True)
    scene = Scene(make_session, answering(), turns=talk(25), settings=settings)
    assert scene.run() is RunEnd.CONTEXT_FULL
    assert not scene.model.requests
    warning = scene.told(ContextWarning)[0]
    assert isinstance(warning, ContextWarning)
    assert warning.level == "blocking"


def test_a_warning_is_given_once_for_each_level(make_session: MakeSession) -> None:
    settings = CompactionSettings(disable_auto_compact=True)
    scene = Scene(make_session, answering(), turns=talk(21), settings=settings)
    asyncio.run(scene.session.run("one"))
    asyncio.run(scene.session.run("two"))
    assert [e.level for e in scene.events if isinstance(e, ContextWarning)] == ["error"]


# -- Timeline -------------------------------------------------------------------------------------


@pytest.mark.feature("G10")
def test_a_timeline_entry_is_written(make_session: MakeSession) -> None:
    entries: list[TimelineEntry] = []
    scene = Scene(make_session, answering(), turns=talk(18), timeline=entries.append)
    scene.run()
    (entry,) = entries
    assert entry.key.startswith("ctx_compressed_")
    assert entry.importance == 0.3
    assert entry.session == scene.session.id
    assert "] Compressed 33 conversation segments:\n## Request\nthe summary" in entry.content


@pytest.mark.feature("G10")
def test_a_timeline_that_fails_blocks_nothing(make_session: MakeSession) -> None:
    def full(_entry: TimelineEntry) -> None:
        raise OSError("disk full")

    scene = Scene(make_session, answering(), turns=talk(18), timeline=full)
    assert scene.run() is RunEnd.DONE
    assert any("disk full" in e.message for e in scene.events if isinstance(e, ProblemReported))


# -- By hand --------------------------------------------------------------------------------------


def test_compacting_an_empty_conversation_does_nothing(make_session: MakeSession) -> None:
    assert Scene(make_session, answering()).compact().tier == "none"


def test_a_second_compaction_keeps_what_the_first_one_knew(make_session: MakeSession) -> None:
    def summary(request: ModelRequest) -> Answer:
        text = "\n".join(m.text for m in request.messages)
        return "facts: " + ", ".join(fact for fact in ("port 5433", "user ada") if fact in text)

    scene = Scene(
        make_session, answering(summary=summary), turns=[user_message("port 5433"), *talk(4)]
    )
    scene.compact()
    for message in [user_message("user ada"), *talk(4)]:
        scene.session.add(message)
    scene.compact()
    assert scene.kinds.count(MessageKind.SUMMARY) == 1
    assert "port 5433, user ada" in scene.text(MessageKind.SUMMARY)


def test_a_subagent_is_compacted_by_itself(make_session: MakeSession) -> None:
    @tool(name="Look", read_only=True)
    def look(n: int) -> str:
        return f"look {n} " + tokens(9_000)

    steps = iter(range(12))

    def script(request: ModelRequest) -> Answer:
        if is_summary_request(request):
            return "the summary"
        step = next(steps, None)
        return "reported" if step is None else calls(call("Look", n=step))

    entries: list[TimelineEntry] = []
    scene = Scene(make_session, script, tools=[look], timeline=entries.append)
    before = scene.session.conversation.messages
    result_ = asyncio.run(scene.session.delegate("look around", agent_type="Explore"))
    assert result_.ok
    assert result_.text == "reported"
    assert scene.told(CompactionCompleted)
    assert scene.session.conversation.messages == before
    assert not entries
    assert all(is_whole(request.messages) for request in scene.model.requests)
