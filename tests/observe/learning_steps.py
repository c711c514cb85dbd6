"""Sessions of an imaginary shop, written down shortly, taken in through the real door."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

from tests.observe.telling import START, Teller, world
from wellkept.core.changes import PutScratchpad
from wellkept.core.records import replace
from wellkept.core.session.events import Event, Origin, ToolKind
from wellkept.core.session.scratchpad import AgentNote, Scratchpad, SessionSignal, SignalKind
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.ingest import EventIngester
from wellkept.observe.learning.promote import PromotionReport, PromotionRules, promote
from wellkept.observe.session.reducer import apply_events
from wellkept.observe.signals.fold import session_signals
from wellkept.observe.signals.work import Task, work_of

PROJECT = "git:example.org/shop"
PASSED = "===== 12 passed in 0.40s ====="
FAILED = (
    "FAILED tests/test_cart.py::test_total - AssertionError: 3 != 4\n===== 1 failed in 0.1s ====="
)


class Work(Teller):
    """A teller whose sessions lie a day apart."""

    def __init__(self, number: int = 1, *, name: str = "session") -> None:
        super().__init__(f"{name}-{number:03}")
        self.day = number

    def origin(self, *, agent: str | None = None) -> Origin:
        made = super().origin(agent=agent)
        return replace(made, at=made.at + timedelta(days=self.day))

    def tests_pass(self) -> Event:
        return self.run("pytest -q", PASSED)

    def tests_fail(self) -> Event:
        return self.run("pytest -q", FAILED, error="Exit code 1")

    def change(self, path: str, *, mark: str = "") -> Event:
        return self.edit(path, f"old {path} {mark}", f"new {path} {mark}{self.day}")


def eleven_parts(w: Work, *beside: str) -> list[Event]:
    """A plan of eleven parts, each with a file of its own and the same files beside it."""
    events: list[Event] = []
    for number in range(11):
        todos = [{"content": f"part {n}", "status": "pending"} for n in range(11)]
        todos[number]["status"] = "in_progress"
        events.append(w.call("TodoWrite", ToolKind.OTHER, input=json.dumps({"todos": todos})))
        events += [w.change(path) for path in (f"src/p{number}.py", *beside)]
    return events


def take(engine: Engine, events: Sequence[Event], *, batch: int = 100) -> EventIngester:
    """Take events in as a drain does."""
    taker = EventIngester(engine, world())
    for start in range(0, len(events), batch):
        taker.commit(list(events[start : start + batch]), [])
    return taker


def learn(engine: Engine, events: Sequence[Event]) -> PromotionReport | None:
    """Take the events of one session in, and promote what held up."""
    take(engine, events)
    return promote(engine, events[0].origin.session_id, rules=PromotionRules())


class Shown:
    """The work that some events of a session show, and its signals."""

    def __init__(self, *events: Event) -> None:
        update = apply_events(None, list(events), environment=world())
        assert update.pad is not None
        self.pad = update.pad
        self.work = work_of(update.session, update.pad)

    def of(self, kind: str) -> list[SessionSignal]:
        return [*session_signals(self.work, self.work.tasks, kinds=(SignalKind(kind),))]

    @property
    def task(self) -> Task:
        (task,) = self.work.tasks
        return task


def note(engine: Engine, session_id: str, note: AgentNote, *, task: str | None = None) -> None:
    """Put a note on the sheet of a sub-task."""
    pad = pad_of(engine, session_id)
    sheet = pad.for_task(task)
    noted = replace(sheet, notes=(*sheet.notes, note))
    engine.store.apply([PutScratchpad(pad.with_task(noted))])


def pad_of(engine: Engine, session_id: str) -> Scratchpad:
    pad = engine.store.scratchpad(session_id)
    assert pad is not None
    return pad


__all__ = [
    "FAILED",
    "PASSED",
    "PROJECT",
    "START",
    "Shown",
    "Work",
    "learn",
    "note",
    "pad_of",
    "take",
]
