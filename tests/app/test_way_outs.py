"""The way out of a failure, end to end: learned from one session, offered in the next."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.observe.learning_steps import Work
from tests.observe.telling import ROOT
from wellkept.context.packing import render_context
from wellkept.core.session.events import Event
from wellkept.core.settings.model import Settings
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.text.shell.environment import Environment, ProjectLocation

pytestmark = pytest.mark.feature("D11", "B9")

CAUSE = "Makefile:3: SHIP_REGION is not set\nmake: *** [ship] Error 3"


def take(wk: wellkept.Wellkept, events: list[Event]) -> None:
    location = ProjectLocation(wk.project, (ROOT,))
    world = Environment(
        locate=lambda cwd: location,
        git=lambda folder: None,
        read_file=lambda path: None,
        commit_files=lambda folder, sha: (),
    )
    EventIngester(wk.engine, world).commit(events, [])


def shipping(number: int, *, worked: str = "SHIP_REGION=eu-west make ship") -> list[Event]:
    w = Work(number)
    return [
        w.prompt("Ship it"),
        w.run("make ship", error=f"Exit code 2\n{CAUSE}"),
        w.run(worked),
        w.end(),
    ]


def at_failure(wk: wellkept.Wellkept, command: str, output: str) -> str:
    return render_context(wk.context(command, moment="failure", output=output))


@pytest.fixture
def wk(tmp_path: Path) -> wellkept.Wellkept:
    return wellkept.open(cwd=tmp_path, settings=Settings(embedding_provider="none"))


def test_one_success_is_offered_at_the_next_failure(wk: wellkept.Wellkept) -> None:
    assert at_failure(wk, "make ship", CAUSE) == ""
    take(wk, shipping(1))
    text = at_failure(wk, "make ship", CAUSE)
    assert "`SHIP_REGION=eu-west make ship`" in text
    assert "[m:" in text


def test_nothing_is_offered_for_another_failure(wk: wellkept.Wellkept) -> None:
    take(wk, shipping(1))
    assert at_failure(wk, "make ship", "disk is full, error") == ""
    assert at_failure(wk, "make test", CAUSE) == ""
    assert at_failure(wk, "ls -la", CAUSE) == ""


def test_before_it_runs_only_what_two_sessions_have_shown(wk: wellkept.Wellkept) -> None:
    take(wk, shipping(1))
    assert wk.context("make ship", moment="command").items == ()
    take(wk, shipping(2))
    assert "SHIP_REGION=eu-west make ship" in render_context(
        wk.context("make ship", moment="command")
    )
    ready = wk.context("SHIP_REGION=eu-west make ship", moment="command")
    assert ready.items == ()


def test_the_newest_success_is_the_one_that_is_told(wk: wellkept.Wellkept) -> None:
    take(wk, shipping(1))
    take(wk, shipping(2, worked="SHIP_REGION=us-east make ship"))
    text = at_failure(wk, "make ship", CAUSE)
    assert "us-east" in text
    assert "eu-west" not in text


def test_a_permission_is_never_a_way_out(wk: wellkept.Wellkept) -> None:
    w = Work(1)
    error = "husky - pre-commit: command not found: lint"
    events: list[Event] = [
        w.run("git commit -m x", error=error),
        w.run("git commit --no-verify -m x"),
        w.end(),
    ]
    take(wk, events)
    assert at_failure(wk, "git commit -m y", error) == ""


def test_taking_the_same_events_twice_changes_nothing(wk: wellkept.Wellkept) -> None:
    events = shipping(1)
    take(wk, events)
    before = at_failure(wk, "make ship", CAUSE)
    take(wk, events)
    assert at_failure(wk, "make ship", CAUSE) == before


def test_the_command_that_helped_is_not_warned_of(wk: wellkept.Wellkept) -> None:
    learned = "`rtk make ship` keeps failing. What helped: `make ship` instead."
    wk.remember(learned, type="error_pattern", source="agent_explicit", confidence=0.9)
    assert wk.context("make ship", moment="command").items == ()
    assert len(wk.context("rtk make ship", moment="command").items) == 1


OUTSIDE = "pattern ./{0}/...: directory prefix {0} does not contain main module or its selected"


def test_a_path_that_has_to_be_named_from_another_folder(wk: wellkept.Wellkept) -> None:
    w = Work(1)
    error = f"{OUTSIDE.format('e2e')}\nFAIL\t./e2e/... [setup failed]\nFAIL"
    take(
        wk,
        [
            w.prompt("Check it"),
            w.run("go vet ./e2e/...", error=f"Exit code 1\n{error}"),
            w.run("cd e2e && go vet ./..."),
            w.end(),
        ],
    )
    # Another command of the program fails for the same folder; one elsewhere does not.
    test = "go test -count=1 ./{}/..."
    told = at_failure(wk, test.format("e2e/ui"), OUTSIDE.format("e2e/ui"))
    assert "Worked here: `cd e2e && go vet ./...`" in told
    assert at_failure(wk, test.format("agents"), OUTSIDE.format("agents")) == ""
    assert at_failure(wk, "go vet ./...", "pattern ./...: cannot find main module") == ""
