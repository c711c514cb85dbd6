"""A drain whose surroundings misbehave: the clock, the store's lock, the embedder, a dead hook."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import wellkept
from bench.crash_scene import wait_until
from tests.observe.spooling import Spooler, translate
from tests.observe.telling import START, Teller, world
from wellkept.api.background import BackgroundWorker, WorkerIntervals
from wellkept.api.maintenance.reindex import vector_coverage
from wellkept.api.wiring import services
from wellkept.clients.registry import translate_spooled
from wellkept.core.errors import ProviderError, StoreBusyError
from wellkept.core.ports.models import Vector
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.settings.model import Settings
from wellkept.core.types import MemoryType
from wellkept.observe.ingest.drain import DrainRules, drain
from wellkept.observe.observer.drain import drain_spool, summarize_and_learn
from wellkept.observe.observer.spool_folder import SpoolFolder
from wellkept.store import spool
from wellkept.testing.fakes import WordEmbedder

pytestmark = pytest.mark.feature("C2")


class Home:
    """A home with a memory, whose writers do not wait long for each other."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self.environment = {"WELLKEPT_HOME": str(folder / "home")}
        self.spool = SpoolFolder.of(self.environment)

    def open_in(self, folder: Path) -> wellkept.Wellkept:
        return wellkept.open(
            cwd=folder, embedder="none", settings=Settings(), environment=self.environment
        )

    def catch(self, text: str, *, session: str = "session-1") -> None:
        body = {"session_id": session, "cwd": str(self.work), "prompt": text}
        spool.append(
            str(self.spool.folder),
            client="claude-code",
            session=session,
            event="UserPromptSubmit",
            payload=json.dumps(body).encode(),
            now_ms=1_790_000_000_000,
        )

    def prompts(self) -> list[str]:
        with self.open_in(self.work) as wk:
            where = Filter(project=None, types=(MemoryType.PROMPT,), archived=None)
            return sorted(memory.content for memory in wk.engine.store.iterate(where))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    with made.open_in(made.work) as wk:
        wk.remember("Makes the database")
    return made


class ClockThatGoesBack:
    """Every look at it shows an earlier time than the one before."""

    def __init__(self) -> None:
        self.now = START + timedelta(days=90)

    def __call__(self) -> datetime:
        self.now -= timedelta(hours=3)
        return self.now


def test_a_clock_that_goes_back_during_a_drain_changes_nothing(tmp_path: Path) -> None:
    spooler, clock = Spooler(tmp_path / "spool"), ClockThatGoesBack()
    with wellkept.open(tmp_path / "memory.db", embedder="none", settings=Settings()) as wk:
        engine = replace(wk.engine, clock=clock)
        for round_number in range(3):
            for name in ("left", "right"):
                say = Teller(f"{name}-{round_number}")
                edit = say.edit("cart.py", "", f"def {name}():\n    return {round_number}\n")
                spooler.catch(say.prompt(f"Look {name} {round_number}"), edit, say.turn_end("Done"))
            report = drain(engine, spooler.spool, translate=translate, environment=world())
            assert (report.events, report.set_aside) == (6, ())
        again = drain(engine, spooler.spool, translate=translate, environment=world())
        assert (again.events, again.repeated) == (0, 0)
        sessions = engine.store.sessions(project=None)
        assert [(one.prompt_count, one.turn_count) for one in sessions] == [(1, 1)] * 6
        assert engine.store.check(deep=True) == []


@pytest.fixture
def locked(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Another process that keeps the store locked for as long as it likes."""
    monkeypatch.setattr(services, "BUSY_TIMEOUT_MS", 10)
    path = Path(home.environment["WELLKEPT_HOME"]) / "memory.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def test_a_live_process_that_finds_the_store_locked_goes_on_when_it_is_free(
    home: Home, locked: sqlite3.Connection
) -> None:
    told: list[Exception] = []
    heard = threading.Event()

    def note(error: Exception) -> None:
        told.append(error)
        heard.set()

    home.catch("While it is locked")
    with BackgroundWorker(
        home.open_in,
        folder=home.work,
        translate=translate_spooled,
        environment=home.environment,
        pace=WorkerIntervals(look_every_s=0.01, drain_every_s=0.05),
        on_error=note,
    ):
        assert heard.wait(60)
        home.catch("And this")
        locked.execute("ROLLBACK")
        wait_until(lambda: len(home.prompts()) == 2, "the drain after the lock")
    assert home.prompts() == ["And this", "While it is locked"]
    assert {type(error) for error in told} == {StoreBusyError}


def test_a_drain_of_a_locked_store_tells_who_is_in_the_way_and_sets_nothing_aside(
    home: Home, locked: sqlite3.Connection
) -> None:
    home.catch("Kept for later")
    with home.open_in(home.work) as wk:
        with pytest.raises(StoreBusyError, match="locked by another process"):
            drain_spool(
                wk.engine, wk.settings, translate=translate_spooled, environment=home.environment
            )
        locked.execute("ROLLBACK")
        report = drain_spool(
            wk.engine, wk.settings, translate=translate_spooled, environment=home.environment
        )
    assert (report.prompts, report.set_aside, report.busy) == (1, (), False)


def test_an_embedder_that_is_down_is_asked_once_in_a_drain(home: Home) -> None:
    class Down(WordEmbedder):
        asked = 0

        def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
            Down.asked += 1
            raise ProviderError(f"No answer for {len(texts)} texts.")

    for number in range(5):
        home.catch(f"Look at part {number} of it", session=f"session-{number}")
    with wellkept.open(
        cwd=home.work, embedder=Down(), settings=Settings(), environment=home.environment
    ) as wk:
        report = drain_spool(
            wk.engine, wk.settings, translate=translate_spooled, environment=home.environment
        )
    assert (report.prompts, report.set_aside) == (5, ())
    assert Down.asked == 1


class Stuck(WordEmbedder):
    """An embedder that gives no answer until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.free.wait()
        return super().embed_documents(texts)


def test_an_embedder_that_hangs_holds_no_drain_up_and_gives_its_vectors_afterwards(
    home: Home,
) -> None:
    stuck = Stuck()
    with wellkept.open(
        cwd=home.work, embedder=stuck, settings=Settings(), environment=home.environment
    ) as wk:
        for number in range(3):
            home.catch(f"Look at part {number} of it", session=f"session-{number}")
        report = drain_spool(
            wk.engine,
            wk.settings,
            translate=translate_spooled,
            environment=home.environment,
            embedding_s=0.01,
        )
        assert (report.prompts, report.set_aside, report.vectors_due) == (3, (), True)
        assert wk.embedding_problem == f"{stuck.model_id} was not done within 0.01 s."
        with home.spool.draining() as free:
            assert free
        stuck.free.set()
        assert summarize_and_learn(wk, report).problems == ()
        assert wk.embedding_problem is None
        there, wanted = vector_coverage(wk.engine.store, stuck.model_id)
        assert there == wanted
        assert wk.fill_vectors() == 0


def test_what_a_hook_left_that_died_before_its_first_write_goes_when_it_is_old(
    tmp_path: Path,
) -> None:
    spooler = Spooler(tmp_path / "spool")
    spooler.spool.folder.mkdir()
    empty = spooler.spool.folder / "claude-code-dead.spool"
    empty.touch()
    with wellkept.open(tmp_path / "memory.db", embedder="none", settings=Settings()) as wk:
        rules = DrainRules(idle_minutes=10)
        drain(wk.engine, spooler.spool, translate=translate, environment=world(), rules=rules)
        assert empty.exists()
        spooler.quiet_since(START)
        report = drain(
            wk.engine, spooler.spool, translate=translate, environment=world(), rules=rules
        )
    assert report.removed == 1
    assert not empty.exists()
