"""Fifty scripted histories: nothing that is told of a command says more than how it ran."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.observe.learning_steps import PROJECT, Work, take
from wellkept.context.prompt_policy import after_failure
from wellkept.core.query import Filter
from wellkept.core.session.events import Event
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.observe.failures.command_records import working_commands
from wellkept.observe.failures.lessons import known_to_fail, told_text
from wellkept.observe.settled import AGREED_TAG

pytestmark = pytest.mark.feature("D13", "D11")

# A failing form, its error, and a form that works.
FORMS = (
    ("make ship", "SHIP_REGION is not set", "SHIP_REGION=eu-west make ship"),
    ("rtk bun run test", "error: unrecognized subcommand 'bun'", "bun run test"),
    ("go test ./...", "bash: go: command not found", 'PATH="$PATH:/opt/go/bin" go test ./...'),
    ("pytest -q", "bash: pytest: command not found", "uv run pytest -q"),
    (
        "cargo test",
        "error: could not find `Cargo.toml` in `/home/dev/shop`",
        "cd core && cargo test",
    ),
    (
        "gh pr view 3 --repo them/shop",
        "Could not resolve to a Repository with the name 'them/shop'.",
        "gh pr view 3 --repo me/shop",
    ),
    ("npm test", "Error: Cannot find module 'left-pad'", "npm install && npm test"),
    ("python x.py", "bash: python: command not found", "python3 x.py"),
    (
        "pnpm --filter api test -- otp",
        "No tests found, exiting with code 0",
        "cd apps/api && npx jest otp",
    ),
    ("export A=1; make it", "B is not set", "export A=1 B=2; make it"),
)
FATES = ("stays", "works again", "remedy fails", "red after all", "other session")


def history(fate: str, failing: str, cause: str, worked: str) -> Iterator[list[Event]]:
    w = Work(1)
    bad, good = w.run(failing, cause, error="Exit code 1"), w.run(worked, "done")
    match fate:
        case "works again":
            yield [bad, good]
            yield [Work(2).run(failing, "done")]
        case "remedy fails":
            yield [bad, good]
            yield [Work(2).run(worked, cause, error="Exit code 1")]
        case "red after all":
            yield [bad, w.run(worked, "E assert 3 == 4\n1 failed in 0.1s", error="Exit code 1")]
        case "other session":
            yield [bad]
            yield [Work(2).run(worked, "done")]
        case _:
            yield [bad, good]
            yield [Work(2).run(failing, cause, error="Exit code 1"), Work(2).run(worked, "done")]


def told(engine: Engine, failing: str, cause: str) -> list[str]:
    found = after_failure(engine, project=PROJECT, command=failing, output=cause)
    lines = [one.text or "" for one in found]
    lines += [told_text(one) for one in known_to_fail(engine, project=PROJECT, command=failing)]
    return [*lines, *(one.text for one in working_commands(engine.store, PROJECT))]


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize(("failing", "cause", "worked"), FORMS)
def test_only_what_ran_with_success_last_is_told(
    engine: Engine, fate: str, failing: str, cause: str, worked: str
) -> None:
    last: dict[str, bool] = {}
    for events in history(fate, failing, cause, worked):
        take(engine, events)
        last |= {e.command: e.error is None for e in events}  # type: ignore[union-attr]
    text = told(engine, failing, cause)
    commands = [line for one in text for line in re.findall(r"`([^`]+)`", one)]
    assert all(last[line] for line in commands)
    assert not any(words in one for one in text for words in ("never", "not installed", "X"))


def test_most_of_them_are_offered_at_the_next_same_failure(engine: Engine) -> None:
    for number, (failing, cause, worked) in enumerate(FORMS, start=1):
        w = Work(number)
        take(engine, [w.run(failing, cause, error="Exit code 1"), w.run(worked, "done")])
    offered = [
        next(after_failure(engine, project=PROJECT, command=failing, output=cause), None)
        for failing, cause, _ in FORMS
    ]
    right = [
        one is not None and f"`{worked}`" in (one.text or "")
        for one, (_, _, worked) in zip(offered, FORMS, strict=True)
    ]
    assert sum(right) >= 9
    assert all(ok or one is None for ok, one in zip(right, offered, strict=True))


# What a failing run prints, behind a pipe that hides its exit code.
RED = (
    ("go test ./...", "FAIL\tshop/cart [build failed]\nFAIL"),
    ("go test ./...", "FAIL\t./cart/... [setup failed]\nFAIL"),
    ("npx jest cart", "FAIL src/cart.test.ts\n  Test suite failed to run"),
    ("npx vitest run", " FAIL  src/cart.test.ts > cart adds up"),
    ("./gradlew test", "FAILURE: Build failed with an exception."),
    ("cargo test", "error[E0425]: cannot find value `cart` in this scope"),
    ("pytest -q", "FAILED tests/test_cart.py::test_sum - assert 3 == 4"),
    ("make build", "make: *** [Makefile:3: build] Error 2\nerror: cart.c:3"),
)


@pytest.mark.parametrize(("command", "output"), RED)
@pytest.mark.parametrize("pipe", [" 2>&1 | head -40", " 2>&1 | tail -5"])
def test_a_failure_that_a_pipe_hides_is_never_told_as_a_success(
    engine: Engine, command: str, output: str, pipe: str
) -> None:
    w = Work(1)
    missing = f"bash: {command.split(maxsplit=1)[0]}: command not found"
    take(
        engine,
        [
            w.run(command, missing, error="Exit code 127"),
            w.run(f"PATH=/opt/bin:$PATH {command}{pipe}", output),
        ],
    )
    assert told(engine, command, missing) == []


@pytest.mark.parametrize("works", [False, True])
def test_what_an_agent_says_after_work_is_a_report_and_no_decision(
    engine: Engine, works: bool
) -> None:
    w = Work(1)
    rule = "The importer must drop exactly the keys it wrote, never others."
    done = [w.change("src/importer.py")] if works else []
    said = w.turn_end("Agreed: the importer drops exactly the keys it wrote.")
    take(engine, [w.prompt(rule), *done, said])
    where = Filter(project=PROJECT, types=(MemoryType.DECISION,), tags=(AGREED_TAG,))
    assert engine.store.stats(where).total == (0 if works else 1)
