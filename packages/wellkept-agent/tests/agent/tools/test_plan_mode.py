"""Plan mode (G8): the plan file, the guard, the reminders, the approval."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from random import Random

import pytest

from tests.agent.conftest import MakeSession
from tests.agent.tools.conftest import MakeBench, TestPerson, ToolBench
from wellkept.core.chat.messages import MessageKind, ModelRequest, ToolCallPart
from wellkept.core.errors import UsageError
from wellkept.testing.scripted_model import ScriptedModel, call, calls
from wellkept_agent import AgentSession, LoopSettings, RunEnd
from wellkept_agent import plan_mode as slugs
from wellkept_agent.events import AgentEvent, PlanModeEntered, PlanModeExited
from wellkept_agent.permissions import PermissionMode
from wellkept_agent.plan_mode import (
    SECTIONS,
    PlanMode,
    PlanModeSettings,
    full_reminder,
    is_attachment,
    missing_sections,
)
from wellkept_agent.settings import load
from wellkept_agent.tools.default import default_tools

pytestmark = pytest.mark.feature("G8")

_PLAN = "# Plan: x\n" + "".join(f"\n## {name}\nText.\n" for name in SECTIONS)


@pytest.fixture
def planning(make_bench: MakeBench) -> ToolBench:
    """A bench in plan mode."""
    return make_bench(mode="plan", capabilities=[PlanMode()])


def _plan_file(bench: ToolBench) -> Path:
    path = bench.session.permissions.plan_file
    assert path is not None
    return path


def test_defaults_and_switches_are_those_of_the_documents() -> None:
    assert PlanModeSettings() == PlanModeSettings(
        turns_between_attachments=5,
        full_reminder_every=5,
        plan_agents=1,
        explore_agents=3,
        disable_attachments=False,
    )
    environment = {
        "CLAUDE_CODE_PLAN_V2_AGENT_COUNT": "2",
        "CLAUDE_CODE_PLAN_V2_EXPLORE_AGENT_COUNT": "5",
        "CLAUDE_CODE_DISABLE_ATTACHMENTS": "true",
    }
    loaded = load(PlanModeSettings, environment=environment)
    assert (loaded.plan_agents, loaded.explore_agents, loaded.disable_attachments) == (2, 5, True)
    for value in ("0", "6"):
        with pytest.raises(UsageError):
            load(PlanModeSettings, environment={"CLAUDE_CODE_PLAN_V2_AGENT_COUNT": value})


@pytest.mark.feature("A10", "G8")
def test_a_plan_is_kept_without_secrets_and_for_its_owner(planning: ToolBench) -> None:
    planning.use("LS")
    path = _plan_file(planning)
    done = planning.use("Write", file_path=str(path), content=f"{_PLAN}\nDB_PASS=tiger4711\n")
    assert not done.is_error
    assert "DB_PASS=[redacted:password]" in path.read_text("utf-8")
    edited = planning.use(
        "Edit", file_path=str(path), old_string="# Plan: x", new_string="# y\nmysql -ptiger4711"
    )
    assert not edited.is_error
    assert "tiger4711" not in path.read_text("utf-8")
    if os.name != "nt":
        assert path.stat().st_mode & 0o077 == 0


def test_a_slug_is_adjective_noun_verb_and_never_taken_twice() -> None:
    random = Random(1)
    taken: set[str] = set()
    for _ in range(300):
        slug = slugs.plan_slug(taken.__contains__, random=random)
        adjective, noun, verb = slug.split("-")
        assert adjective in slugs.ADJECTIVES
        assert noun in slugs.NOUNS
        assert verb in slugs.VERBS
        assert slug not in taken
        taken.add(slug)
    every = slugs.plan_slug(lambda slug: slug.count("-") == 2, random=random)
    assert every.endswith("-2")


def test_entering_gives_a_plan_file_and_takes_the_right_to_write(make_bench: MakeBench) -> None:
    bench = make_bench(mode="bypass", capabilities=[PlanMode()])
    bench.write("a.txt", "x\n")
    output = bench.use("EnterPlanMode")
    path = _plan_file(bench)
    assert str(path) in output.content
    assert bench.session.permissions.mode is PermissionMode.PLAN
    assert PlanModeEntered(path) in bench.events
    assert "on already" in bench.use("EnterPlanMode").content
    assert bench.events.count(PlanModeEntered(path)) == 1


def test_nobody_plans_for_nobody(make_session: MakeSession) -> None:
    session = make_session(
        [calls(call("EnterPlanMode")), "done"],
        tools=default_tools(),
        capabilities=[PlanMode()],
        settings=LoopSettings(permission_mode="bypass"),
    )
    asyncio.run(session.run("go"))
    assert "Nobody is here" in session.conversation.turns[2].tool_results[0].content
    assert session.permissions.mode is PermissionMode.BYPASS


def test_only_reading_is_allowed_and_writing_the_plan(planning: ToolBench) -> None:
    planning.write("a.txt", "x\n")
    assert not planning.use("Read", file_path="a.txt").is_error
    path = _plan_file(planning)
    for name, arguments in (
        ("Glob", {"pattern": "*"}),
        ("Grep", {"pattern": "x"}),
        ("LS", {}),
        ("Bash", {"command": "ls -la | head -3"}),
        ("TodoWrite", {"todos": list[str]()}),
    ):
        assert not planning.use(name, **arguments).is_error, name
    for name, arguments in (
        ("Write", {"file_path": "b.txt", "content": "x"}),
        ("Edit", {"file_path": "a.txt", "old_string": "x", "new_string": "y"}),
        ("Bash", {"command": "touch b"}),
        ("Bash", {"command": "ls; touch b"}),
        ("Bash", {"command": "ls", "run_in_background": False, "description": "$(x)"}),
        ("Write", {"file_path": f"{path.parent}/../x.md", "content": "x"}),
        ("Write", {"file_path": f"{path}x", "content": "x"}),
    ):
        output = planning.use(name, **arguments)
        if arguments.get("command") == "ls":
            assert not output.is_error
        else:
            assert "Plan mode" in output.content, name
    assert not planning.use("Write", file_path=str(path), content="# Plan\n").is_error
    edited = planning.use("Edit", file_path=str(path), old_string="# Plan", new_string="# Plan: y")
    assert not edited.is_error
    assert path.read_text() == "# Plan: y\n"
    assert not planning.person.asked
    assert sorted(one.name for one in planning.root.iterdir()) == ["a.txt"]


def test_an_approved_plan_ends_plan_mode(planning: ToolBench) -> None:
    assert "no plan yet" in planning.use("ExitPlanMode").content
    planning.use("Write", file_path=str(_plan_file(planning)), content=_PLAN)
    output = planning.use("ExitPlanMode")
    assert not output.is_error
    assert planning.person.plans == [_PLAN.strip()]
    assert _PLAN.strip() in output.content
    assert planning.session.permissions.mode is PermissionMode.DEFAULT
    assert PlanModeExited(approved=True) in planning.events
    assert "not on" in planning.use("ExitPlanMode").content
    assert not planning.use("Write", file_path="b.txt", content="x").is_error
    assert planning.person.asked[0].tool == "Write"


def test_a_plan_that_shall_be_changed_keeps_plan_mode_on(planning: ToolBench) -> None:
    planning.use("ExitPlanMode")
    planning.use("Write", file_path=str(_plan_file(planning)), content=_PLAN)
    planning.person.plan_answer = "Use SQLite instead."
    output = planning.use("ExitPlanMode")
    assert "Use SQLite instead." in output.content
    assert planning.session.permissions.mode is PermissionMode.PLAN
    assert PlanModeExited(approved=False) in planning.events


def test_missing_sections_are_asked_for_once(planning: ToolBench) -> None:
    planning.use("ExitPlanMode")
    plan = "# Plan\n## Summary\nx\n## Approach\ny\n## Files\nz\n"
    planning.use("Write", file_path=str(_plan_file(planning)), content=plan)
    first = planning.use("ExitPlanMode")
    assert "Considerations, Verification" in first.content
    assert first.is_error
    assert not planning.use("ExitPlanMode").is_error
    assert missing_sections(_PLAN) == []


def test_when_nobody_is_there_the_plan_waits(make_session: MakeSession) -> None:
    capability = PlanMode()

    def script(request: ModelRequest) -> object:
        path = str(capability.plan_file(None))
        if len(request.messages) < 4:
            return calls(call("Write", file_path=path, content=_PLAN))
        return calls(call("ExitPlanMode"))

    session = make_session(
        script,
        tools=default_tools(),
        capabilities=[capability],
        settings=LoopSettings(permission_mode="plan"),
    )
    result = asyncio.run(session.run("plan it"))
    assert result.end is RunEnd.QUESTION
    assert session.permissions.mode is PermissionMode.PLAN
    capability.leave(approved=True)
    assert session.permissions.mode is PermissionMode.DEFAULT


def test_a_plain_question_is_answered_by_one_call(make_session: MakeSession) -> None:
    model = ScriptedModel(lambda _request: "It is 42.")
    session = make_session(
        (),
        model=model,
        tools=default_tools(),
        capabilities=[PlanMode()],
        settings=LoopSettings(permission_mode="plan"),
    )
    assert asyncio.run(session.run("What is the answer?")).text == "It is 42."
    assert len(model.requests) == 1


def test_a_plan_that_was_written_is_put_before_the_person(make_session: MakeSession) -> None:
    capability = PlanMode()
    model = ScriptedModel(lambda _request: "Here is my plan.")
    session = make_session(
        (),
        model=model,
        tools=default_tools(),
        capabilities=[capability],
        settings=LoopSettings(permission_mode="plan"),
    )
    path = capability.plan_file(None)
    path.parent.mkdir(parents=True)
    path.write_text("# Plan: it", "utf-8")
    asyncio.run(session.run("Plan it"))
    asyncio.run(session.run("And what is the answer?"))
    assert "ExitPlanMode" in model.requests[1].messages[-1].text
    assert len(model.requests) == 3


# -- Reminders ------------------------------------------------------------------------------------


def _attachments(session: AgentSession) -> list[str]:
    return [m.text.split(".")[0] for m in session.conversation.turns if is_attachment(m)]


def _question() -> ToolCallPart:
    options = [{"label": "a"}, {"label": "b"}]
    return call("AskUserQuestion", questions=[{"question": "Which?", "options": options}])


def _steps(count: int) -> list[object]:
    return [*(calls(call("LS")) for _ in range(count - 1)), calls(_question())]


def _planning_session(make_session: MakeSession, steps: int, **options: object) -> AgentSession:
    settings = options.pop("plan", None)
    assert settings is None or isinstance(settings, PlanModeSettings)
    session = make_session(
        _steps(steps),
        tools=default_tools(),
        capabilities=[PlanMode(settings)],
        settings=LoopSettings(permission_mode="plan", repeated_calls=100),
    )
    asyncio.run(session.run("plan it"))
    return session


def test_the_first_reminder_is_full_and_they_come_every_five_answers(
    make_session: MakeSession,
) -> None:
    session = _planning_session(make_session, 31)
    full, sparse = "Plan mode is active", "Plan mode is still active"
    assert _attachments(session) == [full, *[sparse] * 4, full, sparse]
    turns = list(session.conversation.turns)
    places = [n for n, m in enumerate(turns) if is_attachment(m)]
    answers = [sum(m.role == "assistant" for m in turns[:n]) for n in places]
    assert answers == [0, 5, 10, 15, 20, 25, 30]
    assert all(turns[n].kind is MessageKind.REMINDER for n in places)


def test_attachments_can_be_switched_off(make_session: MakeSession) -> None:
    plan = PlanModeSettings(disable_attachments=True)
    assert _attachments(_planning_session(make_session, 8, plan=plan)) == []


def test_a_reminder_that_compaction_removed_is_given_again(make_session: MakeSession) -> None:
    session = _planning_session(make_session, 3)
    session.replace_turns([])
    session.model = ScriptedModel(_steps(1))  # pyright: ignore[reportArgumentType]
    asyncio.run(session.run("go on"))
    assert _attachments(session) == ["Plan mode is active"]


def test_entering_again_begins_with_a_full_reminder(make_session: MakeSession) -> None:
    session = _planning_session(make_session, 2)
    session.permissions.mode = PermissionMode.DEFAULT
    session.model = ScriptedModel(["ok"])
    asyncio.run(session.run("never mind"))
    assert "Plan mode has ended" in session.conversation.turns[-2].text
    session.permissions.mode = PermissionMode.PLAN
    session.model = ScriptedModel(_steps(1))  # pyright: ignore[reportArgumentType]
    asyncio.run(session.run("plan again"))
    assert _attachments(session) == ["Plan mode is active"] * 2


def test_the_full_reminder_says_what_the_documents_ask_for(tmp_path: Path) -> None:
    path = tmp_path / "a-b-c.md"
    text = full_reminder(path, plan_exists=False, explore_agents=3, plan_agents=1)
    for needed in (str(path), "up to 3 Explore agents", "Plan agent", "AskUserQuestion",
                   "ExitPlanMode", "Verification", "with Write", *SECTIONS):  # fmt: skip
        assert needed in text
    again = full_reminder(path, plan_exists=True, explore_agents=1, plan_agents=4)
    assert "with Edit" in again
    assert "4 Plan agents" in again


def test_the_model_stays_the_same(planning: ToolBench) -> None:
    planning.use("LS")
    assert all(request.model is None for request in planning.session.model.requests)  # type: ignore[attr-defined]


# -- Sub-agents -----------------------------------------------------------------------------------


def test_a_sub_agent_plans_by_the_same_rules_in_its_own_file(make_session: MakeSession) -> None:
    seen: list[ModelRequest] = []
    wrote: list[str] = []

    def script(request: ModelRequest) -> object:
        seen.append(request)
        text = "\n".join(m.text for m in request.messages)
        if "help me" not in text:
            if not any(m.tool_results for m in request.messages):
                return calls(call("Task", description="d", prompt="help me"))
            return calls(_question())
        results = [r.content for m in request.messages for r in m.tool_results]
        wrote.extend(results[-1:])
        own = text.split("Create it at ")[1].split(" with Write")[0]
        if not results:
            return calls(call("Write", file_path="x.py", content="x"))
        if len(results) == 1:
            return calls(call("Write", file_path=own, content="mine"))
        return "done"

    session = make_session(
        script,
        tools=default_tools(),
        capabilities=[PlanMode()],
        settings=LoopSettings(permission_mode="plan"),
    )
    asyncio.run(session.run("plan it"))
    helper = next(r for r in seen if any("help me" in m.text for m in r.messages))
    reminder = helper.messages[-1].text
    assert reminder.startswith("Plan mode is active.")
    assert "Explore agents" not in reminder
    assert "-agent-general-purpose-" in reminder
    assert "ExitPlanMode" not in {one.name for one in helper.tools}
    assert "Plan mode: Write" in wrote[0]
    assert "Created" in wrote[1]
    assert not (session.root / "x.py").exists()


@pytest.mark.parametrize(("limit", "most"), [(3, 3), (1, 1)])
def test_only_so_many_explore_agents_work_side_by_side(
    make_session: MakeSession, limit: int, most: int
) -> None:
    running, peak = 0, 0

    class Slow(ScriptedModel):
        async def stream(self, request: ModelRequest):  # type: ignore[no-untyped-def]
            nonlocal running, peak
            is_helper = any(m.text == "look" for m in request.messages)
            running += is_helper
            peak = max(peak, running)
            await asyncio.sleep(0.05 if is_helper else 0)
            async for chunk in super().stream(request):
                yield chunk
            running -= is_helper

    def script(request: ModelRequest) -> object:
        if any(m.text == "look" for m in request.messages):
            return "seen"
        if any(m.tool_results for m in request.messages):
            return calls(_question())
        tasks = [call("Task", description="d", prompt="look", subagent_type="Explore")] * 1
        tasks += [
            call("Task", description="d", prompt="look", subagent_type="Explore") for _ in range(4)
        ]
        return calls(*tasks)

    plan = PlanModeSettings(explore_agents=limit)
    session = make_session(
        (),
        model=Slow(script),  # pyright: ignore[reportArgumentType]
        tools=default_tools(plan_settings=plan),
        capabilities=[PlanMode(plan)],
        settings=LoopSettings(permission_mode="plan"),
    )
    asyncio.run(session.run("plan it"))
    assert peak == most
    results = next(m for m in session.conversation.turns if m.tool_results).tool_results
    assert [r.content for r in results] == ["seen"] * 5


def test_a_resumed_session_finds_its_plan(make_session: MakeSession) -> None:
    first = _planning_session(make_session, 1)
    plan = first.permissions.plan_file
    second = make_session(
        _steps(1),
        tools=default_tools(),
        capabilities=[PlanMode()],
        settings=LoopSettings(permission_mode="plan"),
        state=first.state.session(),
    )
    asyncio.run(second.run("go on"))
    assert second.permissions.plan_file == plan


def test_a_person_can_switch_the_mode_at_any_time(make_session: MakeSession) -> None:
    events: list[AgentEvent] = []
    session = make_session(
        ["hi", *_steps(1)], tools=default_tools(), capabilities=[PlanMode()], person=TestPerson()
    )
    session.listen(events.append)
    asyncio.run(session.run("hello"))
    assert not [e for e in events if isinstance(e, PlanModeEntered)]
    session.permissions.mode = PermissionMode.PLAN
    asyncio.run(session.run("plan"))
    assert [e for e in events if isinstance(e, PlanModeEntered)]
