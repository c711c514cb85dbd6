"""A session start tells where work was left off: open ends first, nothing when there was none."""

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

pytestmark = pytest.mark.feature("C9", "B9")


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
        w.run("git commit -m 'Fix rounding'", error=signing),
        w.run("git commit -m 'Fix rounding'", error=signing),
        w.run("git commit -m 'Fix rounding'", error=signing),
        w.end(),
    ]


def test_open_ends_are_told_at_the_next_start(wk: wellkept.Wellkept) -> None:
    assert start(wk) == ""
    take(wk, unfinished(1))
    assert "src/ledger.py" not in start(wk)  # it was deleted since
    (wk.root / "src").mkdir()
    (wk.root / "src/ledger.py").touch()
    text = start(wk)
    assert "Where we left off" in text
    assert "Fix the rounding of refunds" in text
    assert "Edited, no commit seen: src/ledger.py" in text
    assert "Failed 3x and never worked: `git commit`: error: gpg failed to sign" in text
    assert "Checks: `pytest tests/test_ledger.py` passed" in text


def test_what_was_committed_is_no_open_end(wk: wellkept.Wellkept) -> None:
    w = Work(1)
    events: list[Event] = [
        w.prompt("Fix the rounding of refunds in the ledger"),
        w.change("src/ledger.py"),
        w.run(
            "git commit -am 'Fix rounding'", output="[main 0c0ffee] Fix rounding\n 1 file changed"
        ),
        w.run("git push"),
        w.end(),
    ]
    take(wk, events)
    text = start(wk)
    assert "Fix rounding" in text
    assert "Edited after" not in text
    assert "no push seen" not in text


def test_commit_and_push_in_one_line_leave_no_open_end(wk: wellkept.Wellkept) -> None:
    w = Work(1)
    line = "git add -A && git commit -m 'Fix rounding' && git push"
    events: list[Event] = [
        w.prompt("Fix the rounding of refunds in the ledger"),
        w.change("src/ledger.py"),
        w.run(line, output="[main 0c0ffee] Fix rounding\n 1 file changed"),
        w.end(),
    ]
    take(wk, events)
    text = start(wk)
    assert "Fix rounding" in text
    assert "Edited after" not in text
    assert "no push seen" not in text


def test_looking_around_leaves_nothing_to_tell(wk: wellkept.Wellkept) -> None:
    w = Work(1)
    take(wk, [w.prompt("What does the ledger do?"), w.end()])
    assert start(wk) == ""


def test_a_session_is_not_told_its_own_work_and_a_question_gets_none(
    wk: wellkept.Wellkept,
) -> None:
    events = unfinished(1)
    take(wk, events)
    assert start(wk, session=events[0].origin.session_id) == ""
    assert "left off" not in render_context(wk.context("ledger rounding", moment="prompt"))


def test_the_budget_holds(wk: wellkept.Wellkept) -> None:
    take(wk, unfinished(1))
    pack = wk.context(moment="session", budget_tokens=80)
    assert pack.used_tokens <= 80
    assert wk.context(moment="session", budget_tokens=0).used_tokens == 0
