"""A session entry by entry, and the log of lines given with their scores."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.app.opening import open_in
from tests.app.test_injected import given
from tests.server.http_serving import served_in
from tests.support.samples import START
from wellkept.core.changes import PutInjection
from wellkept.core.errors import NotFoundError
from wellkept.core.payloads import Observation
from wellkept.core.ports.injections import InjectedLine, Injection, LineOutcome, LineScore
from wellkept.core.records import replace
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("H4", "C11")


def test_a_session_is_told_in_order_with_what_it_was_given(tmp_path: Path) -> None:
    clock = ManualClock(START + timedelta(days=2))
    with open_in(tmp_path, clock=clock) as wk:
        memory = wk.remember("The gateway times out after three retries", type="gotcha").memory
        given(wk, memory, 3, outcome=LineOutcome.USED)
        at = START + timedelta(days=3)
        wk.remember("Fix the payments", type="prompt", session="session-3", at=at)
        seen = Observation(
            kind="bugfix",
            title="Raised the limit",
            files_read=("src/a.py", "src/b.py"),
            files_modified=("src/b.py",),
        )
        wk.remember(
            "Raised the limit",
            type="observation",
            payload=seen,
            session="session-3",
            at=at + timedelta(minutes=1),
        )
        wk.remember("Retries back off by two", session="session-3", at=at + timedelta(minutes=2))
        found = wk.session.show("session-3")
        with pytest.raises(NotFoundError):
            wk.session.show("session-9")
    assert [one.kind.value for one in found.entries] == [
        "given",
        "prompt",
        "observation",
        "learned",
    ]
    assert [(one.path, one.read, one.changed) for one in found.files] == [
        ("src/b.py", 1, 1),
        ("src/a.py", 1, 0),
    ]
    assert (found.given.moments, found.given.lines, found.given.used) == (1, 2, 1)
    assert (found.learned, found.truncated) == (1, False)
    assert "Retries back off" in found.as_text(timeline=True)


def test_lines_given_are_listed_with_score_trigger_and_outcome_and_told_live(
    tmp_path: Path,
) -> None:
    line = InjectedLine(
        line_id="l1",
        kind="gotcha",
        text="- a line",
        memory_id=None,
        tokens=7,
        score=LineScore(3.4, 0.5, 0.8),
    )
    moment = Injection(
        id="i1",
        at=START,
        project="",
        client="claude-code",
        session_id="s1",
        moment="file",
        trigger="src/a.py",
        tokens=9,
        lines=(line, InjectedLine(line_id="l2", kind="left_off", text="- asked", tokens=2)),
    )
    with served_in(tmp_path) as web, web.events() as events:
        with web.memories.of("") as wk:
            wk.engine.store.apply([PutInjection(replace(moment, project=wk.project))])
        kind, _, told = events.next()
        assert (kind, told["subject"], told["session_id"]) == ("lines_given", "i1", "s1")
        (one,) = web.get("lines_given", limit=5)["items"]
    assert (one["moment"], one["trigger"], one["tokens"]) == ("file", "src/a.py", 9)
    first, second = one["lines"]
    assert first["score"] == {"score": 3.4, "importance": 0.5, "confidence": 0.8}
    assert (second["score"], second["outcome"]) == (None, "open")
