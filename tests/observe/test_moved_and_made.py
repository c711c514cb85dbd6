"""Steps on the same line, and targets that are gone (D11)."""

from __future__ import annotations

import pytest

from tests.observe.learning_steps import PROJECT, Work, take
from wellkept.memory.engine import Engine
from wellkept.observe.failures.intent import Change
from wellkept.observe.failures.lessons import (
    KnownWayOut,
    find_way_outs,
    stored_way_outs,
    told_text,
)
from wellkept.observe.failures.way_out import WayOut
from wellkept.text.events.failure_cause import failure_cause, is_moved
from wellkept.text.shell.reader import parse_command

pytestmark = pytest.mark.feature("D11")

TESTS = "python3 -m unittest discover -q -s tests"
MISSING = "FileNotFoundError: [Errno 2] No such file or directory: 'gen/tables.txt'"
GONE = "moved; this target is gone\nmake: *** [Makefile:2: test] Error 2"


def learned(engine: Engine) -> list[WayOut]:
    return [way_out for _, way_out in stored_way_outs(engine, project=PROJECT)]


def known(engine: Engine, command: str, output: str) -> list[KnownWayOut]:
    cause = failure_cause(parse_command(command), output, "Exit code 1")
    assert cause is not None
    return list(find_way_outs(engine, project=PROJECT, command=command, cause=cause))


# -- Steps in front of the command, on one line ---------------------------------------------------


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        (f"sh scripts/generate.sh && {TESTS}", ("sh scripts/generate.sh",)),
        (f"cd . && ./bin/prepare.sh && {TESTS}", ("./bin/prepare.sh",)),
        (
            f"npm install && npm run generate && {TESTS} 2>&1",
            ("npm install", "npm run generate"),
        ),
    ],
)
def test_a_step_in_front_of_the_same_command_is_the_way_out(
    engine: Engine, line: str, steps: tuple[str, ...]
) -> None:
    w = Work(1)
    take(engine, [w.start(), w.run(TESTS, MISSING, error="Exit code 1"), w.run(line, "OK")])
    (way_out,) = learned(engine)
    assert (way_out.change, way_out.new) == (Change.SETUP, steps)
    (found,) = known(engine, TESTS, MISSING)
    assert told_text(found).startswith(f"Worked after the same error: `{line}` (")


@pytest.mark.parametrize(
    "line",
    [
        f"ls gen && {TESTS}",
        f"rm -rf gen && {TESTS}",
        f"git pull && {TESTS}",
        f"{TESTS} && sh scripts/report.sh",
        f"sh scripts/generate.sh || true; {TESTS}",
    ],
)
def test_what_prepares_nothing_or_comes_later_is_no_step(engine: Engine, line: str) -> None:
    w = Work(1)
    take(engine, [w.start(), w.run(TESTS, MISSING, error="Exit code 1"), w.run(line, "OK")])
    assert [one for one in learned(engine) if one.change is Change.SETUP] == []


def test_a_bug_in_the_code_is_not_mended_by_a_step(engine: Engine) -> None:
    w = Work(1)
    failed = w.run(TESTS, "AssertionError: 3 != 4", error="Exit code 1")
    take(engine, [w.start(), failed, w.run(f"sh scripts/generate.sh && {TESTS}", "OK")])
    assert learned(engine) == []


# -- Targets that are gone ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "moved; this target is gone",
        "this script was removed in 2.0",
        "DEPRECATED: the lint task has been retired",
        "`make test` is no longer supported",
    ],
)
def test_a_line_that_says_so_is_the_cause(line: str) -> None:
    output = f"{line}\nmake: *** [Makefile:2: test] Error 2"
    assert failure_cause(parse_command("make test"), output, "Exit code 2") == line
    assert is_moved(line)


@pytest.mark.parametrize(
    "line",
    ["3 files removed", "error: file moved", "warning: `foo` is deprecated", "gone fishing"],
)
def test_other_talk_of_moving_is_not(line: str) -> None:
    assert not is_moved(line)


def test_what_is_run_next_stands_in_for_a_target_that_is_gone(engine: Engine) -> None:
    w = Work(1)
    events = [
        w.start(),
        w.run("make test", GONE, error="Exit code 2"),
        w.read("tools/run.py"),
        w.run("python3 tools/run.py check --all", "OK"),
    ]
    take(engine, events)
    (way_out,) = learned(engine)
    assert way_out.worked == "python3 tools/run.py check --all"
    (found,) = known(engine, "make test", GONE)
    assert "`python3 tools/run.py check --all`" in told_text(found)
    # Another failure of the same target is another matter.
    assert known(engine, "make test", "tests.py: AssertionError: 3 != 4") == []
    assert known(engine, "make lint", GONE) == []


@pytest.mark.parametrize(
    "between",
    [
        ("python3 tools/seed.py", None),
        ("make check", "Exit code 2"),
    ],
)
def test_what_is_run_later_does_not(engine: Engine, between: tuple[str, str | None]) -> None:
    w = Work(1)
    command, error = between
    take(
        engine,
        [
            w.start(),
            w.run("make test", GONE, error="Exit code 2"),
            w.run(command, "done" if error is None else "Error: no", error=error),
            w.run("python3 tools/run.py check --all", "OK"),
        ],
    )
    assert "python3 tools/run.py check --all" not in [one.worked for one in learned(engine)]


@pytest.mark.parametrize("other", ["npm install", "git push", "python3 -c 'print(1)'", "cat a.txt"])
def test_only_a_script_of_the_project_stands_in(engine: Engine, other: str) -> None:
    w = Work(1)
    take(
        engine,
        [w.start(), w.run("make test", GONE, error="Exit code 2"), w.run(other, "done")],
    )
    assert learned(engine) == []
