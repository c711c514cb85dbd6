"""Draining under real processes: killed at any point, and several at once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.observe.spooling import Spooler, translate
from tests.observe.telling import Teller, world
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import drain

pytestmark = [
    pytest.mark.feature("C2"),
    pytest.mark.skipif(os.name != "posix", reason="killing processes of POSIX systems"),
]
_SESSIONS, _TURNS = 4, 60
_ROOT = Path(__file__).resolve().parents[2]
_DRAIN = """
import sys
from pathlib import Path
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import drain
from wellkept.store import open_store
from tests.observe.spooling import Spooler, translate
from tests.observe.telling import world

def told(entry, redact):
    print("entry", flush=True)
    return translate(entry)

spool = Spooler(Path(sys.argv[2])).spool
engine = Engine(store=open_store(Path(sys.argv[1])))
with spool.draining() as mine:
    if mine:
        drain(engine, spool, translate=told, environment=world())
engine.store.close()
"""


def start(tmp_path: Path, spooler: Spooler) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _DRAIN, str(tmp_path / "memory.db"), str(spooler.spool.folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT)


def fill(spooler: Spooler) -> set[str]:
    said: set[str] = set()
    for number in range(_SESSIONS):
        say = Teller(f"session-{number}")
        for turn in range(_TURNS):
            text = f"Session {number} wants thing {turn}"
            spooler.catch(say.prompt(text), say.turn_end("Done."))
            said.add(text)
    return said


def check(engine: Engine, said: set[str]) -> None:
    where = Filter(project=None, types=(MemoryType.PROMPT,))
    assert Counter(m.content for m in engine.store.iterate(where)) == Counter(
        dict.fromkeys(said, 1)
    )
    sessions = engine.store.sessions(project=None)
    assert [(s.prompt_count, s.turn_count) for s in sessions] == [(_TURNS, _TURNS)] * _SESSIONS
    assert engine.store.check(deep=True) == []


def test_a_drain_that_is_killed_again_and_again_takes_each_event_once(
    tmp_path: Path, engine: Engine, spooler: Spooler
) -> None:
    said = fill(spooler)
    chance = random.Random(3)
    for _ in range(8):
        process = start(tmp_path, spooler)
        assert process.stdout is not None
        for _ in range(chance.randrange(1, 130)):
            if not process.stdout.readline():
                break
        process.kill()
        process.communicate()
    drain(engine, spooler.spool, translate=translate, environment=world())
    check(engine, said)


def test_drains_that_start_at_once_do_not_get_in_each_others_way(
    tmp_path: Path, engine: Engine, spooler: Spooler
) -> None:
    said = fill(spooler)
    processes = [start(tmp_path, spooler) for _ in range(3)]
    assert [process.communicate()[1] or process.returncode for process in processes] == [0, 0, 0]
    drain(engine, spooler.spool, translate=translate, environment=world())
    check(engine, said)


def test_even_without_a_lock_an_event_is_taken_once(
    engine: Engine, spooler: Spooler, tmp_path: Path
) -> None:
    """A reader that holds an old view of the file meets the record of what was taken."""
    say = Teller()
    spooler.catch(say.prompt("Only once"))
    copy = Spooler(tmp_path / "copy")
    copy.spool.folder.mkdir()
    source = spooler.spool.sources()[0]
    (copy.spool.folder / f"other-{source}").write_bytes(
        (spooler.spool.folder / source).read_bytes()
    )
    drain(engine, spooler.spool, translate=translate, environment=world())
    report = drain(engine, copy.spool, translate=translate, environment=world())
    assert (report.events, report.repeated) == (0, 1)
