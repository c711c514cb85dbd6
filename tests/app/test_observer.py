"""`wk.observer`, the operations and the commands: verdicts, why, status (D3, D4, D7)."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

import wellkept
from tests.observe.learning_steps import PROJECT, START, Work, pad_of, take
from wellkept.api.wellkept import Wellkept
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.query import Filter
from wellkept.core.session.scratchpad import QaIssue, ScratchpadStatus
from wellkept.core.types import MemoryType, Source
from wellkept.observe.thresholds import MAX_TASKS
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("D3", "D4", "D7")


@pytest.fixture
def wk(tmp_path: Path) -> Wellkept:
    clock = ManualClock(START + timedelta(days=9))
    return wellkept.open(
        tmp_path / "memory.db", project=PROJECT, cwd=tmp_path, embedder="none", clock=clock
    )


def worked(wk: Wellkept, *numbers: int, proof: bool = True) -> list[str]:
    """Sessions on two files that belong together."""
    names: list[str] = []
    for number in numbers:
        w = Work(number)
        events = [w.prompt("Add a rate"), w.change("src/cart.py"), w.change("src/tax.py")]
        take(wk.engine, [*events, *([w.tests_pass()] if proof else []), w.end()])
        names.append(w.session_id)
    return names


def test_learning_goes_over_all_sessions_and_what_was_left_behind(wk: Wellkept) -> None:
    worked(wk, 1, 2, 3)
    learned = wk.observer.learn([])
    assert len(learned.reports) == 3
    assert len(learned.promoted) == 1
    assert wk.observer.learn(["session-001", "unknown"]).reports == ()


def test_scratchpads_of_settled_work_go_after_a_week(wk: Wellkept) -> None:
    worked(wk, 1)
    worked(wk, 8, proof=False)
    wk.observer.learn([])
    left = wk.engine.store.scratchpads(project=None)
    assert [(pad.session_id, pad.state) for pad in left] == [
        ("session-008", ScratchpadStatus.WAITING)
    ]


def test_why_tells_rule_sessions_signals_and_score(wk: Wellkept) -> None:
    worked(wk, 1, 2, 3)
    (memory_id,) = wk.observer.learn([]).promoted
    reason = wk.observer.why(wk.get(memory_id))
    assert reason.explanation is not None
    assert reason.explanation.rule == "co_dependence"
    told = wk.why(reason.memory.short).as_text()
    assert "rule: co_dependence, validated by test: pytest -q" in told
    assert "sessions: session-001, session-002, session-003" in told
    assert "evidence: session session-001" not in told
    taught = wk.remember("Use tabs", source="user_taught")
    assert wk.why(taught.memory.id).explanation is None


def test_status_lists_scratchpads_counts_and_conclusions(wk: Wellkept) -> None:
    worked(wk, 3, 4, 5)
    wk.observer.learn([])
    status = wk.observer.status()
    assert [one.validation.status for one in status.sessions] == ["passed"] * 3
    assert dict(status.signals)["co_access"] == 3
    assert "co_dependence" in {one.rule for one in status.latest}
    assert wk.observer.status(project="name:other").sessions == ()


def test_a_verdict_with_issues_is_kept(wk: Wellkept) -> None:
    worked(wk, 1, proof=False)
    issue = QaIssue("Totals are rounded twice", file="src/cart.py")
    failed = wk.session.verdict("failed", issues=(issue,))
    assert (failed.session, failed.discarded, len(failed.error_patterns)) == ("session-001", 1, 1)
    (memory,) = wk.list(types=["error_pattern"]).items
    assert memory.source is Source.QA_AUTO
    assert memory.work_unit is not None
    why = wk.observer.why(memory).explanation
    assert why is not None
    assert (why.rule, why.sessions) == ("qa_failure", ("session-001",))
    assert why.signals == ("session-001: high: Totals are rounded twice",)
    # QA says what it found on purpose, so whoever opens the file next is told.
    (wk.root / "src").mkdir()
    (wk.root / "src" / "cart.py").write_text("")
    assert [item.memory.id for item in wk.context(files=["src/cart.py"]).items] == [memory.id]
    with pytest.raises(NotFoundError):
        wk.session.verdict("passed", "nowhere")
    with pytest.raises(UsageError):
        wk.session.verdict(cast("Any", "maybe"))


def test_a_verdict_tells_why_something_was_not_promoted(wk: Wellkept) -> None:
    (memory_id,) = wk.observer.learn(worked(wk, 1, 2, 3)).promoted
    wk.forget(memory_id)
    worked(wk, 4, proof=False)
    told = wk.session.verdict("passed", "session-004")
    (skipped,) = told.skipped
    assert (skipped.rule, skipped.reason) == ("co_dependence", "it was removed before")
    assert "src/cart.py" in skipped.subject
    assert "not promoted (co_dependence): it was removed before" in told.as_text()


def test_a_verdict_that_nothing_can_follow_from_yet_says_so(wk: Wellkept) -> None:
    worked(wk, 1, proof=False)
    told = wk.session.verdict("passed", "session-001", task="the rate")
    assert "a verdict on one sub-task counts once the whole session has one" in told.as_text()
    assert told.note in told.as_text()
    assert wk.session.verdict("passed", "session-001").note == ""


def test_a_verdict_without_any_session_says_what_to_do(wk: Wellkept) -> None:
    with pytest.raises(NotFoundError, match="No session"):
        wk.session.verdict("passed")
    with pytest.raises(NotFoundError):
        wk.observer.verdict("nowhere", "passed")


def test_a_verdict_holds_no_secret_and_names_no_more_tasks_than_fit(wk: Wellkept) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (name,) = worked(wk, 1, proof=False)
    wk.observer.verdict(name, "failed", detail=f"login with {secret}", task=f"use {secret}")
    assert secret not in str(pad_of(wk.engine, name))
    room = MAX_TASKS + 1 - len(pad_of(wk.engine, name).tasks)
    for number in range(room):
        wk.observer.verdict(name, "passed", task=f"t{number}")
    with pytest.raises(UsageError, match="sub-tasks"):
        wk.observer.verdict(name, "passed", task="one too many")


def test_a_verdict_of_passed_promotes_at_once(wk: Wellkept) -> None:
    for name in worked(wk, 1, 2, 3, proof=False):
        given = wk.observer.verdict(
            name, "passed", detail="tried by hand", issues=[QaIssue("x", "low")]
        )
        assert given.report is not None
    found = wk.engine.store.list(
        Filter(project=PROJECT, types=(MemoryType.CAUSAL_DEPENDENCY,)), limit=5
    )
    assert len(found.items) == 1
    assert pad_of(wk.engine, "session-003").state is ScratchpadStatus.PROMOTED
    with pytest.raises(UsageError, match="complexity"):
        wk.observer.verdict("session-001", "passed", complexity="huge")


def test_the_commands_show_the_same(wk: Wellkept, tmp_path: Path) -> None:
    from wellkept.api.cli.root import root

    worked(wk, 3, 4, 5)
    (memory_id,) = wk.observer.learn([]).promoted
    wk.close()
    store = ["--store", str(tmp_path / "memory.db")]

    def ran(*words: str) -> str:
        done = CliRunner().invoke(root, [*store, *words, "--project", PROJECT])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "co_dependence" in ran("why", memory_id)
    assert json.loads(ran("why", memory_id, "--json"))["explanation"]["threshold"] == 0.6
    assert "co_dependence" in ran("status", "--learning")
    assert len(json.loads(ran("status", "--learning", "--json"))["sessions"]) == 3
    assert "discarded" in ran("session", "verdict", "failed", "session-003")


def test_every_record_of_the_observer_can_be_explained(wk: Wellkept) -> None:
    wk.observer.learn(worked(wk, 1, 2, 3, 4))
    said = (MemoryType.OBSERVATION, MemoryType.PROMPT, MemoryType.TIMELINE)
    made = [m for m in wk.iterate() if m.type not in said]
    told = {m.type: wk.observer.why(m).explanation for m in made}
    kinds = {MemoryType.CAUSAL_DEPENDENCY, MemoryType.WORK_UNIT_OUTCOME}
    assert kinds <= set(told)
    for reason in told.values():
        assert reason is not None
        assert reason.rule
        assert reason.sessions
        assert reason.signals


def test_a_memory_that_is_seen_again_is_not_compared_with_itself(wk: Wellkept) -> None:
    wk.observer.learn(worked(wk, 1, 2, 3))
    wk.observer.learn(worked(wk, 4))
    (pair,) = [m for m in wk.iterate() if m.type is MemoryType.CAUSAL_DEPENDENCY]
    reason = wk.observer.why(pair).explanation
    assert reason is not None
    assert reason.novelty > 0.5
    assert reason.score > reason.threshold
