"""The command record: lines as typed, with the folder before the call and how they ended."""

from __future__ import annotations

import pytest

from tests.observe.learning_steps import PROJECT, Work, take
from tests.observe.telling import ROOT, world
from wellkept.core.records import replace
from wellkept.core.session.events import Event
from wellkept.memory.engine import Engine
from wellkept.observe.failures.command_records import (
    read_records,
    record_runs,
    working_commands,
)
from wellkept.observe.session.reducer import apply_events
from wellkept.observe.session.state import load_state

pytestmark = pytest.mark.feature("D13", "D11")


def moved(event: Event, folder: str) -> Event:
    """An event whose client names the folder that the call led to."""
    return replace(event, origin=replace(event.origin, cwd=f"{ROOT}/{folder}".rstrip("/")))


def lines(engine: Engine) -> list[str]:
    return [one.line for one in working_commands(engine.store, PROJECT)]


def test_the_folder_is_the_one_before_the_call() -> None:
    w = Work(1)
    events = [
        w.prompt("run the tests"),
        moved(w.run("cd src && go test ./...", "ok shop 0.1s"), "src"),
        moved(w.run("go vet ./...", "ok"), "src"),
        moved(w.run("cd ../web && npm test", "3 passed"), "web"),
    ]
    steps = load_state(apply_events(None, events, environment=world()).session.work).steps
    assert [(one.began, one.folder, one.from_root) for one in steps if one.is_act] == [
        ("", "src", "cd src && go test ./..."),
        ("src", "src", "cd src && go vet ./..."),
        ("src", "web", "cd src && cd ../web && npm test"),
    ]


def test_a_line_is_recorded_as_typed_with_its_variables_and_outcomes(engine: Engine) -> None:
    w = Work(1)
    line = 'PATH="$PATH:/opt/go/bin" && go test ./... 2>&1 | tail -3'
    take(engine, [w.run(line, "ok shop 0.1s"), w.run(line, "FAIL shop", error="Exit code 1")])
    (known,) = read_records(engine.store, PROJECT)
    assert (known.line, known.passed, known.failed) == (line, 1, 1)
    assert not known.works
    take(engine, [Work(2).run(line, "ok shop 0.1s")])
    assert lines(engine) == [line]
    (known,) = working_commands(engine.store, PROJECT)
    assert known.sessions == ("session-001", "session-002")
    assert known.text == f"`{line}` (passed 2x, last 2026-04-03, failed 1x)"


def test_a_failure_that_only_the_output_tells_is_a_failure(engine: Engine) -> None:
    take(engine, [Work(1).run("npx jest shares | tail -3", "No tests found, exiting with code 0")])
    assert lines(engine) == []


def test_looks_commits_scripts_and_secrets_are_not_recorded(engine: Engine) -> None:
    w = Work(1)
    take(
        engine,
        [
            w.run("ls -la src", "a"),
            w.run("git commit -m 'x'", "[main 0c0ffee] x"),
            w.run("make a\nmake b", "done"),
            w.run(f"make {'x' * 400}", "done"),
            w.run("make deploy --force", "done"),
        ],
    )
    assert lines(engine) == []


def test_the_most_used_come_first_and_the_record_is_bounded(engine: Engine) -> None:
    for number in (1, 2):
        take(engine, [Work(number).run("make test", "3 passed")])
    w = Work(3)
    take(engine, [w.run(f"make target-{number}", "done") for number in range(320)])
    assert len(read_records(engine.store, PROJECT)) == 300
    take(engine, [Work(4).run("make test", "3 passed"), Work(5).run("make test", "3 passed")])
    assert lines(engine)[0] == "make test"


def test_a_run_that_is_taken_again_counts_once(engine: Engine) -> None:
    w = Work(1)
    events = [w.run("make test", "ok"), w.run("make test", "FAIL", error="Exit code 1")]
    runs = apply_events(None, events, environment=world()).runs
    for _ in range(3):
        record_runs(engine.store, runs, project=PROJECT, session_id=w.session_id)
    record_runs(engine.store, runs, project=PROJECT, session_id="another")
    (known,) = read_records(engine.store, PROJECT)
    assert (known.passed, known.failed) == (2, 2)
