"""A session start quotes the last work: no composed line, nothing when there was none."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.app.test_way_outs import take
from tests.observe.learning_steps import Work
from wellkept.context.packing import render_context
from wellkept.core.session.events import Event
from wellkept.core.settings.model import Settings
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("C9", "C12", "B9")
REPORT = "Refunds are rounded half up. The commit failed: gpg could not sign. Shall I try again?"


@pytest.fixture
def wk(tmp_path: Path) -> wellkept.Wellkept:
    clock = ManualClock(Work(2).prompt("x").origin.at)
    return wellkept.open(cwd=tmp_path, settings=Settings(embedding_provider="none"), clock=clock)


def start(wk: wellkept.Wellkept, **options: object) -> str:
    return render_context(wk.context(moment="session", **options))  # type: ignore[arg-type]


def unfinished(number: int) -> list[Event]:
    w = Work(number)
    signing = "error: gpg failed to sign the data\nfatal: failed to write commit object"
    return [
        w.prompt("Fix the rounding of refunds in the ledger"),
        w.change("src/ledger.py"),
        w.run("pytest tests/test_ledger.py", output="3 passed in 0.1s"),
        *(w.run("git commit -m 'Fix rounding'", error=signing) for _ in range(3)),
        w.turn_end(REPORT),
        w.end(),
    ]


def test_the_closing_report_is_told_at_the_next_start_as_it_stands(wk: wellkept.Wellkept) -> None:
    assert start(wk) == ""
    take(wk, unfinished(1))
    lines = start(wk).splitlines()
    assert lines[2:] == [
        "Last work (2026-04-02 09:00 UTC, test-client), in the agent's words:",
        f"- {REPORT}",
        "</wellkept-memory>",
    ]


def test_no_line_is_composed_from_what_was_run(wk: wellkept.Wellkept) -> None:
    for number in (1, 2, 3):
        take(wk, unfinished(number))
    text = start(wk)
    for words in ("passed", "Checks", "never worked", "Asked", "pytest", "no push seen", "Failed"):
        assert words not in text


def test_what_the_agent_stored_about_its_session_is_told_instead(wk: wellkept.Wellkept) -> None:
    events = unfinished(1)
    take(wk, events)
    session = events[0].origin.session_id
    own = "Rounding is done in src, signing is broken on this machine."
    wk.remember(own, type="event", source="agent_explicit", session=session)
    text = start(wk)
    assert own in text
    assert "gpg could not sign" not in text


def test_the_page_and_the_list_of_sessions_have_the_same_words(wk: wellkept.Wellkept) -> None:
    events = unfinished(1)
    take(wk, events)
    view = wk.session.show(events[0].origin.session_id)
    assert view.summary is not None
    assert REPORT in view.summary.content


def test_looking_around_leaves_nothing_to_tell(wk: wellkept.Wellkept) -> None:
    w = Work(1)
    take(wk, [w.prompt("What does the ledger do?"), w.turn_end("It counts."), w.end()])
    assert start(wk) == ""


def test_a_session_is_not_told_its_own_work_and_a_question_gets_none(
    wk: wellkept.Wellkept,
) -> None:
    events = unfinished(1)
    take(wk, events)
    assert start(wk, session=events[0].origin.session_id) == ""
    assert "Last work" not in render_context(wk.context("ledger rounding", moment="prompt"))


def test_the_budget_holds(wk: wellkept.Wellkept) -> None:
    take(wk, unfinished(1))
    assert wk.context(moment="session").used_tokens <= 250
    assert wk.context(moment="session", budget_tokens=80).used_tokens <= 80
    assert wk.context(moment="session", budget_tokens=0).used_tokens == 0
