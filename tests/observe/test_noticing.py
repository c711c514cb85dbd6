"""Signals on the scratchpad (D1), its bounds and its place in the transaction (D3)."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.observe.learning_steps import Shown, Work, pad_of, take
from tests.observe.telling import world
from tests.support.model_store.store import ModelStore
from wellkept.core.records import replace
from wellkept.core.session.events import Event, ToolKind
from wellkept.core.session.scratchpad import Scratchpad
from wellkept.memory.engine import Engine
from wellkept.observe import thresholds
from wellkept.observe.session.reducer import apply_events
from wellkept.observe.signals.fold import session_signals
from wellkept.observe.signals.work import work_of

pytestmark = pytest.mark.feature("D1", "D3")


def test_reads_and_edits_are_counted_for_each_file() -> None:
    w = Work()
    sheet = Shown(w.read("a.py"), w.read("a.py"), w.change("a.py"), w.run("cat b.py"))
    names = ("reads", "edits", "first_step", "last_step")
    told = {f.subject: tuple(map(f.number, names)) for f in sheet.of("file_access")}
    assert told == {"a.py": (2, 1, 2, 3), "b.py": (1, 0, 4, 4)}
    assert (sheet.task.edit_count, sheet.task.last_edit) == (1, 3)


def test_files_used_within_three_steps_are_a_pair_and_no_others() -> None:
    w = Work()
    quiet = [w.run("ls"), w.run("ls"), w.run("ls")]
    sheet = Shown(w.read("b.py"), w.change("a.py"), *quiet, w.read("c.py"))
    (pair,) = sheet.of("co_access")
    assert (pair.subject, pair.number("step_delta")) == ("a.py\nb.py", 1)
    assert (pair.fields["edited"], pair.number("a_first")) == (True, 0)
    assert pair.number("time_delta_ms") == 1_000


def test_files_of_two_agents_are_no_pair() -> None:
    w = Work()
    assert Shown(w.read("a.py", agent="x"), w.read("b.py")).of("co_access") == []


def test_an_error_keeps_its_count_and_what_ended_it() -> None:
    w = Work()
    broken = "error: cache 0x7f is stale after 12 ms"
    sheet = Shown(
        w.run("make build", error=broken),
        w.run("make build", error=broken.replace("12", "31")),
        w.run("make clean"),
        w.run("make build"),
    )
    (error,) = sheet.of("error_retry")
    assert (error.count, error.text("tool")) == (2, "make build")
    assert error.text("resolved") == "make build"


def test_another_subcommand_is_no_retry_and_another_form_is_told_as_it_ran() -> None:
    w = Work()
    up = "docker compose up -d"
    sheet = Shown(w.run(up, error="Error: port 5432 is in use"), w.run("docker compose down"))
    assert sheet.of("error_retry")[0].fields["resolved"] is None
    other = Shown(
        w.run("npm install", error="npm error peer dependency conflict"),
        w.run("npm install --legacy-peer-deps"),
    )
    (error,) = other.of("error_retry")
    assert error.text("resolved") == "npm install --legacy-peer-deps"


def test_a_failing_test_counts_once_in_a_session() -> None:
    w = Work()
    sheet = Shown(w.tests_fail(), w.tests_fail(), w.change("a.py"), w.tests_pass())
    (error,) = sheet.of("error_retry")
    assert (error.count, error.text("resolved")) == (1, "pytest -q")
    assert [v.verdict for v in sheet.task.proofs] == ["failed", "passed"]


def test_an_edit_of_the_same_lines_after_a_failure_is_going_back() -> None:
    w = Work()
    sheet = Shown(
        w.edit("a.py", "x = 1", "total = add(1)"),
        w.tests_fail(),
        w.edit("a.py", "total = add(1)", "total = add(2)"),
    )
    (back,) = sheet.of("backtrack")
    assert (back.text("path"), back.text("cause")) == ("a.py", "wrong_assumption")
    assert back.number("within_steps") == 2
    assert "AssertionError" in back.text("hint")


def test_an_edit_between_the_two_makes_it_a_cascading_change() -> None:
    w = Work()
    sheet = Shown(
        w.edit("a.py", "x = 1", "total = add(1)"),
        w.change("b.py"),
        w.edit("a.py", "total = add(1)", "total = add(2)"),
    )
    (back,) = sheet.of("backtrack")
    assert (back.text("cause"), back.texts("files")) == ("cascading_change", ["b.py"])


@pytest.mark.parametrize(("quiet", "found"), [(5, 0), (1, 0)])
def test_later_edits_and_edits_of_other_lines_are_not_going_back(quiet: int, found: int) -> None:
    w = Work()
    again = ("total = add(1)", "total = 2") if quiet == 5 else ("other = 1", "other = 2")
    events = [w.edit("a.py", "x = 1", "total = add(1)"), *(w.tests_fail() for _ in range(quiet))]
    sheet = Shown(*events, w.edit("a.py", *again))
    assert len(sheet.of("backtrack")) == found


@pytest.mark.feature("D2")
def test_an_edit_undone_after_twenty_steps_is_a_dead_end() -> None:
    for command in ("git checkout -- a.py", "git restore a.py", "git reset --hard"):
        w = Work()
        first = w.change("a.py")
        failures = [w.tests_fail() for _ in range(thresholds.DEAD_END_STEPS)]
        (end,) = Shown(first, *failures, w.run(command)).task.dead_ends
        assert (end.files, end.said) == (("a.py",), False)
        assert "AssertionError" in end.why
        short = Work()
        few = [short.change("a.py"), short.tests_fail(), short.run(command)]
        assert Shown(*few).task.dead_ends == ()


@pytest.mark.feature("D2")
def test_writing_back_the_former_text_is_undoing_too() -> None:
    w = Work()
    first = w.edit("a.py", "x = 1", "x = pool()")
    looks = [w.tests_fail() for _ in range(thresholds.DEAD_END_STEPS)]
    sheet = Shown(first, *looks, w.edit("a.py", "x = pool()", "x = 1"))
    assert len(sheet.of("dead_end")) == 1


@pytest.mark.feature("D2")
def test_a_dead_end_that_the_agent_tells_of_needs_no_steps() -> None:
    w = Work()
    told = "I tried threads for the upload, but it deadlocks because the client is not safe."
    (end,) = Shown(w.change("a.py"), w.turn_end(told)).task.dead_ends
    assert (end.said, end.approach) == (True, told)
    works = w.turn_end("I tried threads and it works.")
    assert Shown(w.change("a.py"), works).task.dead_ends == ()


def test_commits_are_noted_with_their_files_and_marked_when_taken_back() -> None:
    w = Work()
    made = w.run('git commit -m "Add"', "[main abc1234] Add\n 1 file changed")
    (commit,) = Shown(w.change("a.py"), made).task.proofs
    assert (commit.sha, commit.files, commit.verdict) == ("abc1234", ("a.py",), "passed")
    back = w.run("git reset --hard HEAD~1")
    (commit,) = Shown(w.change("a.py"), made, back).task.proofs
    assert commit.verdict == "failed"


def test_the_plan_of_the_agent_names_sub_tasks() -> None:
    w = Work()

    def plan(*statuses: str) -> Event:
        todos = [{"content": f"part {n}", "status": s} for n, s in enumerate(statuses)]
        return w.call("TodoWrite", ToolKind.OTHER, input=json.dumps({"todos": todos}))

    work = Shown(
        plan("in_progress", "pending"),
        w.change("a.py"),
        plan("completed", "in_progress", "pending"),
        w.change("b.py"),
    ).work
    assert [s.review.name for s in work.tasks] == ["part 0", "part 1"]
    assert [[f.what for f in s.edits] for s in work.tasks] == [["a.py"], ["b.py"]]
    assert (work.plan.planned, work.plan.done) == (2, 1)


def test_tasks_that_are_made_and_changed_one_by_one_are_a_plan_too() -> None:
    w = Work()

    def make(subject: str) -> Event:
        given = {"subject": subject, "description": "d", "activeForm": "doing"}
        return w.call("TaskCreate", ToolKind.OTHER, input=json.dumps(given))

    def mark(task: str, status: str) -> Event:
        given = {"taskId": task, "status": status}
        return w.call("TaskUpdate", ToolKind.OTHER, input=json.dumps(given))

    events = [make("part 1"), make("part 2"), mark("1", "in_progress"), w.change("a.py")]
    events += [mark("1", "completed"), make("part 3"), mark("2", "in_progress"), w.change("b.py")]
    events += [mark("2", "completed"), mark("3", "completed"), mark("9", "completed")]
    work = Shown(*events).work
    assert [s.review.name for s in work.tasks if s.edits] == ["part 1", "part 2"]
    assert (work.plan.planned, work.plan.done) == (2, 3)
    more = [make("another"), mark("4", "in_progress"), w.change("c.py"), mark("4", "completed")]
    plan = Shown(*events, *more).work.plan
    assert (plan.planned, plan.done) == (3, 4)


def test_a_plan_after_a_plan_that_was_done_counts_for_itself() -> None:
    w = Work()

    def plan(name: str, *statuses: str) -> Event:
        todos = [{"step": f"{name} {n}", "status": s} for n, s in enumerate(statuses)]
        return w.call("update_plan", ToolKind.OTHER, input=json.dumps({"plan": todos}))

    steps = [plan("a", "in_progress", "pending"), plan("a", "completed", "completed")]
    steps += [plan("b", "pending", "pending", "pending"), plan("b", *["completed"] * 3)]
    done = Shown(*steps, w.change("a.py")).work.plan
    assert (done.planned, done.done) == (5, 5)


def test_strange_plans_are_no_plans() -> None:
    w = Work()
    for text in ("{", "[]", '{"todos": 3}', '{"todos": [1, null]}', '"x"', '{"a": []}'):
        assert apply_events(
            None, [w.call("TodoWrite", ToolKind.OTHER, input=text)], environment=world()
        ).pad


def test_secrets_do_not_reach_the_scratchpad() -> None:
    w = Work()
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    todos = json.dumps({"todos": [{"content": f"use {secret}", "status": "in_progress"}]})
    events = [
        w.prompt(f"Always use the token {secret} for the tests."),
        w.call("TodoWrite", ToolKind.OTHER, input=todos),
        w.run(f"deploy --token {secret}", error=f"error: token {secret} refused"),
        w.change("a.py"),
        w.turn_end(f"I tried {secret} first, but it failed because of the key."),
    ]
    shown = Shown(*events)
    assert secret not in str((shown.work, session_signals(shown.work, shown.work.tasks)))


def test_a_long_session_stays_inside_the_bounds() -> None:
    w = Work()
    pad: Scratchpad | None = None
    session = None
    largest = 0
    for batch in range(8):
        events: list[Event] = []
        for n in range(batch * 250, batch * 250 + 250):
            events += [
                w.read(f"src/m{n % 900}/f{n}.py"),
                w.edit(f"src/m{n % 900}/g{n % 3000}.py", f"x{n}", f"y{n}"),
                w.run(f"tool{n}", error=f"error: no {n:x} thing {chr(97 + n % 26)}"),
                w.run(f'git commit -m "c{n}"', f"[main {n:07x}] c{n}"),
            ]
        folded = apply_events(session, events, environment=world(), pad=pad)
        session, pad = folded.session, folded.pad
        assert pad is not None
        work = work_of(session, pad)
        signals = session_signals(work, work.tasks)
        largest = max(largest, len(str(pad)))
        kinds = [signal.kind.value for signal in signals]
        assert kinds.count("file_access") <= thresholds.MAX_FILES
        assert kinds.count("co_access") <= thresholds.MAX_PAIRS
        assert kinds.count("error_retry") <= thresholds.MAX_ERRORS
        (steps,) = [one.fields["steps"] for one in signals if one.kind.value == "sequence"]
        assert isinstance(steps, list)
        assert len(steps) <= thresholds.MAX_STEPS
    assert pad is not None
    assert pad.step == 8_000
    assert largest < 1_000


@pytest.mark.feature("C2", "D3")
def test_taking_events_twice_changes_no_scratchpad(engine: Engine) -> None:
    w = Work()
    events = [w.prompt("Add"), w.read("a.py"), w.change("b.py"), w.tests_pass(), w.end()]
    take(engine, events)
    once = pad_of(engine, w.session_id)
    take(engine, events)
    assert pad_of(engine, w.session_id) == once


_STEPS = st.lists(st.integers(0, 7), min_size=1, max_size=40)


@pytest.mark.feature("C2", "D3")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=_STEPS, cut=st.integers(1, 39))
def test_how_events_are_batched_does_not_matter(steps: list[int], cut: int) -> None:
    def told() -> list[Event]:
        w = Work()
        ways = (
            lambda: w.read("a.py"),
            lambda: w.read("b.py"),
            lambda: w.edit("a.py", "one line", "another line"),
            lambda: w.edit("a.py", "another line", "one line"),
            lambda: w.change("b.py"),
            w.tests_fail,
            w.tests_pass,
            lambda: w.run("git checkout -- a.py"),
        )
        return [ways[step]() for step in steps]

    pads: list[Scratchpad] = []
    works: list[object] = []
    for batch in (1, cut, 100):
        engine = Engine(store=ModelStore())
        take(engine, told(), batch=batch)
        pads.append(replace(pad_of(engine, "session-001"), revision=0))
        session = engine.store.get_session("session-001")
        assert session is not None
        works.append(work_of(session, pads[-1]))
    assert pads[0] == pads[1] == pads[2]
    assert works[0] == works[1] == works[2]
