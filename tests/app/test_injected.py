"""What agents were given: asked of the library, the command line and the server."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

import wellkept
from tests.app.opening import open_in
from tests.server.http_serving import served_in
from tests.support.samples import START
from wellkept.core.changes import Change, PutInjection, PutSession, PutSilence, PutVerdicts
from wellkept.core.memory import Memory
from wellkept.core.ports.injections import (
    InjectedLine,
    Injection,
    LineOutcome,
    LineVerdict,
    SilentLine,
)
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.session.steps import SessionStep
from wellkept.core.types import Phase
from wellkept.observe.session.digest import kind_of_work, phase_of_work
from wellkept.observe.session.state import SessionState, dump_state
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("C11", "A12")

TRAP = "The payment gateway times out after three retries"


def given(
    wk: wellkept.Wellkept, memory: Memory, number: int, *, outcome: LineOutcome | None = None
) -> None:
    """An agent was given a memory in a session of its own."""
    text = f"- [WARN] {memory.content} [m:{memory.short}]"
    line = InjectedLine(
        line_id=memory.id,
        memory_id=memory.id,
        kind=memory.type.value,
        text=text,
        tokens=20,
        work_tokens=1_000,
    )
    other = InjectedLine(line_id="line:1", kind="left_off", text="- Asked: a thing", tokens=5)
    at = START + timedelta(days=number)
    session = SessionRecord(
        id=f"session-{number}",
        client="claude-code",
        project=wk.project,
        started_at=at,
        last_event_at=at,
    )
    injection = Injection(
        id=f"i{number}",
        at=at,
        project=wk.project,
        client="claude-code",
        session_id=session.id,
        moment="session",
        tokens=30,
        lines=(other, line),
    )
    changes: list[Change] = [PutSession(session), PutInjection(injection)]
    if outcome is not None:
        changes.append(PutVerdicts((LineVerdict(f"i{number}", 1, outcome, "cited", at),)))
    wk.engine.store.apply(changes)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START + timedelta(days=30))


def test_a_memory_tells_when_it_was_given_and_whether_it_was_used(
    tmp_path: Path, clock: ManualClock
) -> None:
    with open_in(tmp_path, clock=clock) as wk:
        memory = wk.remember(TRAP, type="gotcha").memory
        assert wk.injected.use_of(memory).use is None
        given(wk, memory, 1, outcome=LineOutcome.USED)
        given(wk, memory, 2, outcome=LineOutcome.IGNORED)
        known = wk.injected.use_of(memory)
        assert known.use is not None
        assert (known.use.given, known.use.used, known.use.ignored) == (2, 1, 1)
        assert known.use.saved_tokens == 1_000 - 40
        assert [one.id for one in known.latest] == ["i2", "i1"]
        assert known.latest_texts[1].endswith("session session-1: used (cited)")


def test_the_log_is_listed_by_session_moment_memory_and_outcome(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        memory = wk.remember(TRAP, type="gotcha").memory
        for number in (1, 2, 3):
            given(wk, memory, number)
        assert [one.id for one in wk.injected.list(session="session-2")] == ["i2"]
        assert wk.injected.list(moment="prompt").total == 0
        (line,) = wk.injected.list(memory=memory.short, limit=1).items[0].lines
        assert line.line_id == memory.id
        assert wk.injected.list(memory="line:1").total == 3
        assert wk.injected.list(outcome="used").total == 0
        with pytest.raises(wellkept.UsageError):
            wk.injected.list(outcome="liked")
        with pytest.raises(wellkept.NotFoundError):
            wk.injected.list(session="nobody")


def test_totals_name_share_and_saving(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        memory = wk.remember(TRAP, type="gotcha").memory
        given(wk, memory, 1, outcome=LineOutcome.USED)
        given(wk, memory, 2, outcome=LineOutcome.HARM)
        totals = wk.injected.totals()
        assert (totals.lines, totals.tokens, totals.harm) == (4, 60, 1)
        assert totals.used_share == 0.5
        assert totals.saved_tokens == 1_000 - 60


@pytest.mark.feature("H6")
def test_a_flag_silences_at_once_and_marks_where_the_damage_was_done(
    tmp_path: Path, clock: ManualClock
) -> None:
    with open_in(tmp_path, clock=clock) as wk:
        memory = wk.remember(TRAP, type="convention", source="user_taught").memory
        given(wk, memory, 1)
        given(wk, memory, 2)
        assert memory.id in wk.context(moment="session").ids
        flagged = wk.injected.flag(memory.short, reason="It is five\nretries")
        assert flagged.needs_review
        assert flagged.confidence < memory.confidence
        assert memory.id not in wk.context(moment="session").ids
        (harmed,) = wk.injected.list(outcome="harm")
        assert (harmed.id, harmed.lines[0].outcome_by) == ("i2", "flagged: It is five retries")
        (silent,) = wk.injected.silent()
        assert silent.reason.startswith("harm: flagged")
        assert [hit.memory.id for hit in wk.recall("payment gateway")] == [memory.id]
        clock.advance(seconds=1)
        wk.edit(memory.short, user_verified=True, needs_review=False)
        assert wk.injected.silent() == []
        assert memory.id in wk.context(moment="session").ids


@pytest.mark.feature("H6")
def test_a_flag_can_name_the_session(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        memory = wk.remember(TRAP, type="gotcha").memory
        given(wk, memory, 1)
        given(wk, memory, 2)
        wk.injected.flag(memory.id, session="session-1")
        assert [one.id for one in wk.injected.list(outcome="harm")] == ["i1"]


@pytest.mark.parametrize(
    ("reason", "moment", "speaks"),
    [
        ("ignored in 5 sessions", "session", False),
        ("ignored in 5 sessions", "file", True),
        ("ignored in 5 sessions", "failure", True),
        ("harm: command failed: make", "session", False),
        ("harm: command failed: make", "file", False),
        ("harm: command failed: make", "failure", False),
    ],
)
def test_what_was_ignored_still_speaks_at_its_own_file_and_failure(
    tmp_path: Path, reason: str, moment: str, speaks: bool
) -> None:
    (tmp_path / "pay.py").write_text("pass")
    kind = "convention" if moment == "session" else "gotcha"
    with open_in(tmp_path) as wk:
        memory = wk.remember(TRAP, type=kind, files=("pay.py",), source="user_taught").memory

        def told() -> bool:
            query = TRAP if moment == "failure" else ""
            files = ("pay.py",) if moment == "file" else ()
            return memory.id in wk.context(query, moment=cast("Any", moment), files=files).ids

        assert told()
        silent = SilentLine(memory.id, memory.updated_at, reason)
        wk.engine.store.apply([PutSilence(wk.project, memory.id, silent)])
        assert told() is speaks


@pytest.mark.parametrize(
    ("intent", "steps", "kind", "phase"),
    [
        ("fix", (SessionStep("edit", "a.py"),), "fix", Phase.REFINE),
        ("feature", (SessionStep("create", "a.py"),), "feature", Phase.IMPLEMENT),
        ("other", (SessionStep("edit", "a.py"),), "change", Phase.IMPLEMENT),
        ("fix", (SessionStep("run", "pytest", purpose="test"),), "check", Phase.VALIDATE),
        ("feature", (), "look", Phase.EXPLORE),
    ],
)
def test_a_session_tells_its_phase_and_kind_of_work(
    intent: str, steps: tuple[SessionStep, ...], kind: str, phase: Phase
) -> None:
    asked = SessionStep("prompt", "Work", mark="" if intent == "other" else intent)
    state = SessionState(steps=(asked, *steps))
    session = SessionRecord(
        id="s",
        client="c",
        project="p",
        started_at=START,
        last_event_at=START,
        work=dump_state(state),
    )
    assert (kind_of_work(session), phase_of_work(session)) == (kind, phase)


def test_the_server_tells_the_same(tmp_path: Path) -> None:
    with served_in(tmp_path) as web:
        short = web.remember(TRAP, type="gotcha", session="session-1")
        with web.memories.of("") as wk:
            memory = wk.get(short)
            given(wk, memory, 1, outcome=LineOutcome.USED)
        known = web.get("show", ids=short)["items"][0]["use"]
        assert known["use"]["used"] == 1
        assert known["latest"][0]["lines"][0]["outcome"] == "used"
        assert known["sessions"][0]["phase"] == "explore"
        assert web.get("why", memory=short)["total"] == 1
        assert len(web.get("why")["items"][0]["lines"]) == 2
        totals = web.get("injections/totals")
        assert (totals["used"], totals["saved_tokens"]) == (1, 970)
        assert "Estimate" in totals["how_saved_is_counted"]
        use = web.get("why", text="gateway times")["use"]["use"]
        assert (use["given"], use["used"], use["saved_tokens"]) == (1, 1, 980)
        (flagged,) = web.post("edit", ids=short, action="flag", reason="five")["memories"]
        assert flagged["needs_review"] is True
        assert web.get("why", silent=True)["silent"][0]["reason"] == "harm: flagged: five"
        assert web.get("show", ids=short)["items"][0]["use"]["silent"]["line_id"] == memory.id
