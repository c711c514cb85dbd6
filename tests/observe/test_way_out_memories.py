"""Ways out as memories: kept once, confirmed, replaced, closed, and found at the same failure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.observe.learning_steps import PROJECT
from wellkept.core.query import Filter, Validity
from wellkept.core.records import replace
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.confirmation import may_be_injected
from wellkept.memory.remember import RememberOutcome
from wellkept.observe.failures.command_records import CommandRun
from wellkept.observe.failures.intent import Change
from wellkept.observe.failures.lessons import (
    close_disproved,
    find_way_outs,
    save_way_out,
    stored_way_outs,
    told_text,
)
from wellkept.observe.failures.way_out import Attempt, WayOut, compare
from wellkept.text.shell.reader import main_command, parse_command

pytestmark = pytest.mark.feature("D11")

DAY = datetime(2026, 2, 17, 21, 22, tzinfo=UTC)
RTK = "error: unrecognized subcommand 'bun'"


def lesson(failed: str, cause: str, worked: str) -> WayOut:
    before, after = (main_command(parse_command(line)) for line in (failed, worked))
    assert before is not None
    assert after is not None
    found = compare(Attempt(command=before, cause=cause), Attempt(command=after), edited=False)
    assert found is not None
    return replace(found, lines=(worked,))


def save(
    engine: Engine, way_out: WayOut, session: str = "s1", days: int = 0
) -> RememberOutcome | None:
    at = DAY + timedelta(days=days)
    saved = save_way_out(engine, way_out, project=PROJECT, session_id=session, at=at)
    return saved.outcome if saved is not None else None


def test_one_success_is_enough_to_be_offered_at_the_same_failure(engine: Engine) -> None:
    save(engine, lesson("rtk bun run test", RTK, "bun run test"))
    (known,) = find_way_outs(engine, project=PROJECT, command="rtk bun run lint 2>&1", cause=RTK)
    assert (known.sessions, known.worked_at) == (1, DAY)
    assert told_text(known) == "Worked here: `bun run test` (from the project's root, 2026-02-17)"
    assert not may_be_injected(known.memory)


def test_a_second_session_confirms_it_and_lets_it_stand(engine: Engine) -> None:
    way_out = lesson("rtk bun run test", RTK, "bun run test")
    assert save(engine, way_out) is RememberOutcome.INSERTED
    assert save(engine, way_out, "s2", days=1) is RememberOutcome.UNCHANGED
    (known,) = find_way_outs(engine, project=PROJECT, command="rtk bun run test", cause=RTK)
    assert (known.sessions, known.worked_at) == (2, DAY + timedelta(days=1))
    assert told_text(known).startswith("Worked after the same error: `bun run test` (from")
    assert may_be_injected(known.memory)


def test_the_newest_success_wins_and_history_stays(engine: Engine) -> None:
    cause = "SHIP_REGION is not set"
    save(engine, lesson("make ship", cause, "SHIP_REGION=eu-west make ship"))
    save(engine, lesson("make ship", cause, "SHIP_REGION=us-east make ship"), "s2", days=2)
    (known,) = find_way_outs(engine, project=PROJECT, command="make ship", cause=cause)
    assert known.way_out.lines == ("SHIP_REGION=us-east make ship",)
    older = lesson("make ship", cause, "SHIP_REGION=moon make ship")
    assert save(engine, older, "s3", days=-5) is None
    every = Filter(project=PROJECT, types=(MemoryType.ERROR_PATTERN,), validity=Validity.ANY)
    assert len(engine.store.list(every, limit=9).items) == 2


def ran(line: str, *, ok: bool = True, cause: str | None = None, days: int = 1) -> CommandRun:
    command = main_command(parse_command(line))
    assert command is not None
    at = DAY + timedelta(days=days)
    return CommandRun(line=line, command=command, at=at, ok=ok, cause=cause)


def test_a_remedy_that_fails_and_a_form_that_works_again_close_the_lesson(engine: Engine) -> None:
    cause = "SHIP_REGION is not set"
    way_out = lesson("make ship", cause, "SHIP_REGION=eu-west make ship")
    for run, closes in (
        (ran("SHIP_REGION=mars make ship", ok=False, cause=cause), False),
        (ran("SHIP_REGION=eu-west make ship", ok=False, cause=cause, days=-1), False),
        (ran("SHIP_REGION=eu-west make ship", ok=False, cause=cause), True),
        (ran("make ship | tail"), False),
        (ran("make ship"), True),
    ):
        save(engine, way_out)
        closed = close_disproved(engine, [run], project=PROJECT)
        assert bool(closed) is closes
        assert bool(list(stored_way_outs(engine, project=PROJECT))) is not closes


def test_words_that_work_after_a_step_do_not_close_its_lesson(engine: Engine) -> None:
    cause = "Error: Cannot find module 'left-pad'"
    setup = WayOut(
        failed="npm test",
        cause=cause,
        worked="npm test",
        change=Change.SETUP,
        new=("npm install",),
        lines=("npm install", "npm test"),
    )
    save(engine, setup)
    assert close_disproved(engine, [ran("npm test")], project=PROJECT) == []
    (known,) = find_way_outs(engine, project=PROJECT, command="npm test", cause=cause)
    assert "`npm install`, then `npm test`" in told_text(known)


def test_nothing_is_offered_for_other_failures_or_other_projects(engine: Engine) -> None:
    save(engine, lesson("rtk bun run test", RTK, "bun run test"))
    for command, cause, project in (
        ("bun run test", "expected 1 to be 2", PROJECT),
        ("rtk bun run test", "connection refused", PROJECT),
        ("ls", RTK, PROJECT),
        ("rtk bun run test", RTK, "git:elsewhere"),
    ):
        assert list(find_way_outs(engine, project=project, command=command, cause=cause)) == []


def test_another_target_of_the_same_failure_confirms_the_lesson(engine: Engine) -> None:
    save(engine, lesson("rtk bun run test", RTK, "bun run test"))
    save(engine, lesson("rtk bun run lint", RTK, "bun run lint"), "s2", days=1)
    ((memory, _),) = stored_way_outs(engine, project=PROJECT)
    assert len(set(memory.provenance_sessions)) == 2


def test_all_values_that_failed_behind_one_name_are_one_lesson(engine: Engine) -> None:
    def wrong(owner: str) -> WayOut:
        cause = f"Could not resolve to a Repository with the name '{owner}/shop'."
        return lesson(f"gh pr view 1 --repo {owner}/shop", cause, "gh pr view 1 --repo me/shop")

    save(engine, wrong("them"))
    save(engine, wrong("you"), "s2", days=1)
    ((_, way_out),) = stored_way_outs(engine, project=PROJECT)
    assert way_out.old == ("--repo", "them/shop", "you/shop")
    command = "gh pr view 2 --repo them/shop | python3 -m json.tool"
    (known,) = find_way_outs(engine, project=PROJECT, command=command, cause="Extra data")
    assert known.way_out.lines == ("gh pr view 1 --repo me/shop",)


def test_a_folder_is_not_offered_to_a_command_that_ran_there(engine: Engine) -> None:
    cause = 'error: Script not found "lint"'
    before, after = (main_command(parse_command("bun run lint")) for _ in range(2))
    assert before is not None
    assert after is not None
    found = compare(
        Attempt(command=before, folder="web", cause=cause),
        Attempt(command=after, folder=""),
        edited=False,
    )
    assert found is not None
    save(engine, replace(found, lines=("bun run lint",)))
    for folder, offers in (("web", 1), ("", 0)):
        known = find_way_outs(
            engine, project=PROJECT, command="bun run lint", cause=cause, folder=folder
        )
        assert len(list(known)) == offers
