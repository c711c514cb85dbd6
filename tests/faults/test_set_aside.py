"""What was set aside is tried again as often as asked, and never lost on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observe.spooling import POISON, Spooler, translate
from tests.observe.telling import Teller, world
from wellkept.core.session.events import Event
from wellkept.core.session.sessions import SpoolEntry
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import DrainReport, Translate, drain
from wellkept.store import open_store

pytestmark = pytest.mark.feature("C2")


class Bench:
    """A spool with one poisoned entry, and drains of it."""

    def __init__(self, folder: Path) -> None:
        self.spooler = Spooler(folder / "spool")
        self.engine = Engine(store=open_store(folder / "memory.db"))
        self.say = Teller()

    def poison(self) -> Event:
        event = self.say.prompt("Add f")
        self.spooler.catch_raw(POISON, event=event)
        return event

    def drain(self, read: Translate = translate) -> DrainReport:
        return drain(self.engine, self.spooler.spool, translate=read, environment=world())

    @property
    def aside(self) -> int:
        return self.spooler.spool.status(self.engine.store).aside_entries


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_an_entry_can_fail_any_number_of_times_before_it_is_understood(bench: Bench) -> None:
    event = bench.poison()
    bench.drain()
    for _ in range(3):
        assert bench.spooler.spool.bring_back() == 1
        assert len(bench.drain().set_aside) == 1
        assert bench.aside == 1
    bench.spooler.spool.bring_back()
    report = bench.drain(lambda entry, redact: [event])
    assert (report.events, report.set_aside, bench.aside) == (1, (), 0)


def test_bringing_back_twice_before_a_drain_loses_nothing(bench: Bench) -> None:
    spool = bench.spooler.spool
    bench.poison()
    bench.poison()
    (source,) = spool.sources()
    for entry in spool.read(source, offset=0):
        assert isinstance(entry, SpoolEntry)
        spool.set_aside(source, entry)
        spool.bring_back()
    (spool.folder / source).unlink()
    assert len(bench.drain().set_aside) == 2
    assert bench.aside == 2
