"""What real transcripts taught: look-alikes of signals that say nothing, and must not count (D1,
D2). Each test is a pattern that was seen in the sessions of several projects."""

from __future__ import annotations

import pytest

from tests.observe.learning_steps import PROJECT, Shown, Work, learn
from wellkept.core.query import Filter
from wellkept.core.session.events import Event, ToolKind
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.observe import thresholds
from wellkept.observe.failures.lessons import stored_way_outs
from wellkept.observe.learning.rules import is_obvious_pair
from wellkept.observe.learning.statistics import project_statistics
from wellkept.text.events.prompt_rules import request_of
from wellkept.text.shell.results import is_informative

pytestmark = pytest.mark.feature("D1", "D2")


def learned(engine: Engine, *, kind: MemoryType) -> list[str]:
    found = [
        engine.store.get([e.memory_id]) for e in engine.store.latest_explanations(project=PROJECT)
    ]
    return [m.content for (m,) in found if m.type is kind]


# -- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("bun run lint", 'error: script "lint" exited with code 1'),
        ("mise run lint", "[lint] ERROR task failed"),
        ("mise run lint", "* typecheck: 1"),
        ("gh api x", "}"),
        ("go run .", "---"),
        ("./setup.sh", "Installed 6 hooks for the client"),
        ("playwright test", "9 passed (21.3s)"),
        ("make all", "make: *** [all] Error 2"),
    ],
)
def test_a_line_that_only_says_that_something_failed_is_no_error(command: str, line: str) -> None:
    assert not is_informative(line, command=command)
    w = Work()
    assert Shown(w.run(command, line, error="Exit code 1")).of("error_retry") == []


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("rtk bun run test", "error: unrecognized subcommand 'bun'"),
        ("go build ./...", "e2e/env.go:561:22: undefined: getTestBinary"),
        ("docker compose up", "Error: port 5432 is in use"),
        ("npm install", "npm error peer dependency conflict"),
        ("./开始", "无法连接到数据库 服务器 没有响应"),
    ],
)
def test_a_line_that_says_what_went_wrong_is_one(command: str, line: str) -> None:
    assert is_informative(line, command=command)


@pytest.mark.parametrize(
    "said",
    [
        "The user doesn't want to proceed with this tool use. The user said: oh wait, not now",
        "[Request interrupted by user for tool use]",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "Permission to use Bash has been denied.",
    ],
)
def test_what_a_person_or_the_client_stopped_says_nothing_about_the_command(said: str) -> None:
    w = Work()
    sheet = Shown(w.run("npm run deploy", error=said), w.run("pytest -q", error=said))
    assert (sheet.of("error_retry"), sheet.task.proofs) == ([], ())


def test_what_git_says_of_the_moment_is_no_error_of_the_project() -> None:
    w = Work()
    conflict = "Automatic merge failed; fix conflicts and then commit the result."
    assert (
        Shown(w.run("git merge origin/main", conflict, error="Exit code 1")).of("error_retry") == []
    )
    rejected = "error: failed to push some refs to 'example.org:shop.git'"
    assert Shown(w.run("git -C /src push", rejected, error="Exit code 1")).of("error_retry") == []


def test_a_failure_is_told_by_its_way_out_alone(engine: Engine) -> None:
    for day in (1, 2, 3):
        w = Work(day)
        failed = w.run("rtk npm run gen", error="error: unrecognized subcommand 'npm'")
        learn(engine, [w.prompt("Go"), w.change("a.py"), failed, w.change("a.py", mark="x"),
                       w.run("npm run gen"), w.tests_pass(), w.end()])  # fmt: skip
    assert learned(engine, kind=MemoryType.ERROR_PATTERN) == []
    ((memory, way_out),) = stored_way_outs(engine, project=PROJECT)
    assert (way_out.worked, len(set(memory.provenance_sessions))) == ("npm run gen", 3)


BUSY = "Error: listen EADDRINUSE: address already in use :::3001"


def test_an_edit_made_while_a_port_was_taken_is_not_its_remedy(engine: Engine) -> None:
    for day in (1, 2, 3):
        w = Work(day)
        failed = [w.run("PORT=3001 npm run dev", BUSY, error="Exit code 1") for _ in range(2)]
        events = [w.prompt("Go"), *failed, w.change("src/channels.ts"), w.change("src/app.ts"),
                  w.run("lsof -ti :3001"), w.run("PORT=3001 npm run dev"), w.tests_pass(),
                  w.end()]  # fmt: skip
        learn(engine, events)
    everything = engine.store.list(Filter(project=PROJECT), limit=200).items
    assert not [m.content for m in everything if "channels" in m.content and "EADDR" in m.content]


# -- Dead ends ------------------------------------------------------------------------------------


def _long_try(w: Work, *, fail: bool = True) -> list[Event]:
    looks = [w.tests_fail() if fail else w.run("ls") for _ in range(thresholds.DEAD_END_STEPS)]
    return [w.change("a.py"), *looks]


def test_work_that_is_set_aside_is_given_up_only_when_it_is_thrown_away() -> None:
    w = Work()
    looked = w.run("git stash && pytest -q; git stash pop", "3 failed")
    assert Shown(*_long_try(w), looked).task.dead_ends == ()
    w = Work()
    assert Shown(*_long_try(w), w.run("git stash"), w.run("git stash pop")).task.dead_ends == ()
    w = Work()
    popped = [w.run("git stash"), w.run("git stash pop"), w.run("git stash drop")]
    assert Shown(*_long_try(w), *popped).task.dead_ends == ()
    w = Work()
    gone = Shown(*_long_try(w), w.run("git stash"), w.run("git stash drop")).task.dead_ends
    assert [end.files for end in gone] == [("a.py",)]


def test_one_edit_taken_back_among_others_is_no_dead_end() -> None:
    w = Work()
    tries = [w.edit("a.py", "x = 1", "x = log()"), *_long_try(w)]
    assert Shown(*tries, w.edit("a.py", "x = log()", "x = 1")).task.dead_ends == ()


def test_undoing_without_a_reason_is_no_dead_end_and_neither_is_a_slip() -> None:
    w = Work()
    assert Shown(*_long_try(w, fail=False), w.run("git checkout -- a.py")).task.dead_ends == ()
    w = Work()
    slip = w.run("go build ./...", "a.go:3:1: undefined: Settings", error="Exit code 1")
    events = [*_long_try(w, fail=False), slip, w.run("git checkout -- a.py")]
    assert Shown(*events).task.dead_ends == ()


def test_a_persons_words_are_why_something_was_taken_back() -> None:
    w = Work()
    first = w.edit("a.py", "run()", "run_in_sequence()  # avoids rate limits")
    second = w.edit("b.py", "run()", "run_in_sequence()")
    events = [first, second, *(w.run("ls") for _ in range(thresholds.DEAD_END_STEPS))]
    asked = w.prompt("It is fine to run them in parallel, can you revert that?")
    back = [w.edit("a.py", "run_in_sequence()  # avoids rate limits", "run()"),
            w.edit("b.py", "run_in_sequence()", "run()")]  # fmt: skip
    (end,) = Shown(w.prompt("Make it steady"), *events, asked, *back).task.dead_ends
    assert end.files == ("a.py", "b.py")
    assert end.why == "“It is fine to run them in parallel, can you revert that?”"
    assert end.approach == "Make it steady"


# -- Going back and reading again -----------------------------------------------------------------


def _fail_and_mend(w: Work, failure: str) -> list[Event]:
    return [
        w.edit("a.py", "x = 1", "total = add(1)"),
        w.run("run-it", failure, error="Exit code 1"),
        w.edit("a.py", "total = add(1)", "total = add(2)"),
    ]


def test_what_came_back_is_counted_and_nothing_is_said_of_it(engine: Engine) -> None:
    for day in (1, 2, 3):
        w = Work(day)
        failed = _fail_and_mend(w, "ValueError: amount must not be negative")
        learn(engine, [w.prompt("Go"), *failed, w.tests_pass(), w.end()])
    known = project_statistics(engine.store, PROJECT, methodology="native")
    (error,), (redone,) = known.errors, known.redone
    assert (error.what, error.sessions, error.count) == ("run-it", 3, 3)
    assert error.cause == "ValueError: amount must not be negative"
    assert (redone.what, redone.cause, redone.count) == ("a.py", "wrong_assumption", 3)
    assert learned(engine, kind=MemoryType.GOTCHA) == []
    assert learned(engine, kind=MemoryType.ERROR_PATTERN) == []


def _read_part(w: Work, path: str, part: int) -> Event:
    return w.call("Read", ToolKind.READ, files=(path,), input=f'{{"offset": {part}}}')


def test_going_through_a_long_file_is_one_reading() -> None:
    w = Work()
    paged = Shown(*(_read_part(w, "long.py", n * 200) for n in range(8)))
    assert paged.of("time_anomaly") == []
    w = Work()
    again = Shown(*(_read_part(w, "long.py", 200) for _ in range(4)))
    assert [a.number("reads") for a in again.of("time_anomaly")] == [4]


def test_reading_again_after_a_compaction_is_no_sign_of_anything() -> None:
    w = Work()
    events = [w.read("a.py"), w.compacted(), w.read("a.py"), w.compacted(), w.read("a.py")]
    assert Shown(*events).of("time_anomaly") == []


# -- What names and prompts say -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("src/explain.go", "src/explain_test.go", True),
        ("src/gen.ts", "src/gen.test.ts", True),
        ("app/cart.py", "tests/test_cart.py", True),
        ("src/Cart.java", "test/CartTest.java", True),
        ("src/pool.c", "src/pool.h", True),
        ("httpx/_multipart.py", "tests/test_multipart.py", True),
        ("src/index.ts", "web/index.ts", False),
        ("src/rewind.go", "src/strategy/manual_rewind.go", False),
        ("tests/test_a.py", "tests/test_b.py", False),
    ],
)
def test_a_source_and_its_test_need_nobody_to_say_so(one: str, other: str, told: bool) -> None:
    assert is_obvious_pair(one, other) is told
    assert is_obvious_pair(other, one) is told


def test_a_prompt_that_leads_to_a_document_is_called_by_its_title() -> None:
    said = "Implement the following plan:\n\n# Plan: Sort the cart\n\n## Context\n…"
    assert request_of(said) == "Sort the cart"
    assert request_of("can you fix:\n1. the total") == "can you fix:"
    assert request_of("# A heading\nand more") == "A heading"
