"""Fifty scripted sessions: however their events arrive, the folded result is the same."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

import wellkept
from tests.observe.learning_steps import take
from tests.observe.telling import ROOT, Teller, world
from wellkept.core.records import replace
from wellkept.core.session.events import Event, ToolKind
from wellkept.core.session.scratchpad import Scratchpad, SignalKind
from wellkept.core.session.sessions import SessionRecord
from wellkept.observe.session.digest import digest_of
from wellkept.observe.session.reducer import apply_events
from wellkept.observe.signals.fold import FOLDED, session_signals
from wellkept.observe.signals.work import Work, work_of

pytestmark = pytest.mark.feature("C1", "C12", "D1", "D3", "D13")
FILES = ("src/cart.py", "src/tax.py", "tests/test_cart.py", "README.md")
LINES = ("pytest -q", "cd src && go test ./...", "CI=1 npm test", "make build", "ls", "git stash")
SAID = (
    "The cart keeps its totals in cents.",
    "I tried caching the totals, but it failed because entries went stale.",
    "We decided to use SQLite because it needs no server.",
    "",
)
PLAN = ("Read the cart", "Change the totals", "Check it")


def history(seed: int) -> list[Event]:
    """A session made by chance: prompts, reads, edits, runs, plans, commits, sub-agents."""
    dice, say = Random(seed), Teller(f"history-{seed}")
    events: list[Event] = [say.start(), say.prompt("Make the cart add up")]
    texts = dict.fromkeys(FILES, "def f():\n    return 0\n")
    for number in range(dice.randint(20, 90)):
        agent = dice.choice((None, None, None, "a1"))
        file = dice.choice(FILES)
        match dice.randint(0, 9):
            case 0:
                events.append(say.prompt(f"Please go on with part {number} of the cart"))
            case 1 | 2:
                events.append(say.read(f"{ROOT}/{file}"))
            case 3 | 4:
                now = f"def f():\n    return {dice.randint(0, 2)}\n"
                events.append(say.edit(f"{ROOT}/{file}", texts[file], now))
                texts[file] = now
            case 5 | 6:
                line = dice.choice(LINES)
                error = dice.choice((None, None, "Exit code 1\nValueError: totals differ by 3"))
                events.append(say.run(line, "3 passed", error=error, agent=agent))
            case 7:
                told = {"todos": [{"content": one, "status": "in_progress"} for one in PLAN]}
                told["todos"] = told["todos"][dice.randint(0, 2) :]
                events.append(say.call("TodoWrite", ToolKind.OTHER, input=json.dumps(told)))
            case 8:
                made = f"[main {number:07x}] Keep cents in {file}"
                events.append(say.run(f"git commit -am 'Keep cents in {file}'", made))
            case _:
                events.append(say.turn_end(dice.choice(SAID)))
        if dice.random() < 0.05:
            missing = "Exit code 127\nbash: python: command not found"
            events.append(say.run("python seed.py", error=missing))
            events.append(say.run("python3 seed.py", "seeded"))
        if dice.random() < 0.05:
            events.append(events[-1])
        if dice.random() < 0.03:
            events.append(say.compacted("The story so far: totals are kept in cents."))
    return [*events, say.turn_end("All totals of the cart are in cents now."), say.end()]


def fold(events: list[Event], *, parts: list[int]) -> tuple[object, ...]:
    """The result of the events in parts of these sizes. Between two parts another process goes on:
    only what is stored is handed over, through JSON."""
    session: SessionRecord | None = None
    pad: Scratchpad | None = None
    drafts: list[object] = []
    runs: list[object] = []
    outs: list[object] = []
    at = 0
    for size in parts:
        update = apply_events(session, events[at : at + size], environment=world(), pad=pad)
        session = replace(update.session, work=json.loads(json.dumps(update.session.work)))
        pad = update.pad or pad
        drafts += [replace(one, seq=None) for one in update.drafts]
        runs += update.runs
        outs += update.way_outs
        at += size
    assert session is not None
    # A summary takes a number and a mark of its own each time that one is due.
    plain = replace(session, work=None, summarised_at=None, summarised_turn=0)
    assert pad is not None
    return digest_of(session), plain, pad, drafts, runs, outs, work_of(session, pad)


@pytest.mark.parametrize("seed", range(50))
def test_a_history_gives_the_same_at_once_step_by_step_and_after_a_restart(seed: int) -> None:
    events = history(seed)
    whole = fold(events, parts=[len(events)])
    middle = Random(seed).randint(1, len(events) - 1)
    assert fold(events, parts=[middle, len(events) - middle]) == whole
    assert fold(events, parts=[1] * len(events)) == whole


@pytest.mark.parametrize("seed", range(3))
def test_a_store_that_is_opened_again_in_the_middle_holds_the_same(
    seed: int, tmp_path: Path
) -> None:
    events = history(seed)
    middle = len(events) // 2
    held: list[object] = []
    for name, parts in (("once", [events]), ("twice", [events[:middle], events[middle:]])):
        for part in parts:
            with wellkept.open(
                tmp_path / f"{name}.db", project="shop", cwd=tmp_path, embedder="none"
            ) as wk:
                take(wk.engine, part)
        with wellkept.open(
            tmp_path / f"{name}.db", project="shop", cwd=tmp_path, embedder="none"
        ) as wk:
            session = wk.engine.store.get_session(events[0].origin.session_id)
            assert session is not None
            pad = wk.engine.store.scratchpad(session.id)
            assert pad is not None
            held.append((digest_of(session), replace(pad, revision=0)))
    assert held[0] == held[1]


def test_the_histories_show_what_is_folded() -> None:
    found = [fold(events, parts=[len(events)]) for events in map(history, range(50))]
    works = [one[6] for one in found if isinstance(one[6], Work)]
    shown = {one.kind for work in works for one in session_signals(work, work.tasks)}
    # Nobody notes anything here, finishes a plan, or reads a page four times.
    unseen = {SignalKind.NOTE, SignalKind.CALIBRATION, SignalKind.TIME_ANOMALY}
    assert shown == {*FOLDED} - unseen
    proofs = [proof for work in works for task in work.tasks for proof in task.proofs]
    assert {proof.by for proof in proofs} >= {"test", "commit"}
    assert len({task.review.name for work in works for task in work.tasks}) == 4
    assert any(one[5] for one in found), "ways out"
