"""Check and act in one step, whoever does the same at that moment."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import wellkept
from wellkept.api.processes import FOLDER_NAME, RunningProcess, announced
from wellkept.core.errors import ConflictError
from wellkept.core.query import Filter, Validity
from wellkept.core.settings.model import Settings
from wellkept.store import open_store

_THREADS = 8


def at_once(work: Callable[[int], None]) -> None:
    """Let threads that each have a store of their own begin at the same moment."""
    ready = threading.Barrier(_THREADS)

    def run(number: int) -> None:
        ready.wait()
        work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.feature("C8")
def test_processes_that_draw_on_one_budget_never_go_above_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_store(path).close()
    granted: list[int] = []

    def draw(number: int) -> None:
        store = open_store(path)
        for _ in range(10):
            if store.try_increment("tokens", "today", 7, limit=100):
                granted.append(number)
        store.close()

    at_once(draw)
    store = open_store(path)
    assert store.get_value("tokens", "today") == 7 * len(granted) == 98
    store.close()


_SENTENCES = 25
_REMEMBER = """
import sys
import wellkept
from wellkept.core.settings.model import Settings

path, folder, count = sys.argv[1:]
with wellkept.open(path, cwd=folder, embedder="none", settings=Settings()) as wk:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(count)):
        wk.remember(f"Service {number} answers on the inner network only")
"""


@pytest.mark.feature("A4")
def test_processes_that_say_the_same_at_once_keep_it_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    open_store(path).close()
    command = [sys.executable, "-c", _REMEMBER, str(path), str(tmp_path), str(_SENTENCES)]
    speakers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for speaker in speakers:
        assert speaker.stdout is not None
        assert speaker.stdout.readline() == "ready\n"
    for speaker in speakers:
        assert speaker.stdin is not None
        speaker.stdin.write("go\n")
        speaker.stdin.flush()
    assert [speaker.communicate()[0] or speaker.returncode for speaker in speakers] == [0, 0, 0]
    store = open_store(path)
    kept = Counter(m.content for m in store.iterate(Filter(project=None, validity=Validity.ANY)))
    store.close()
    assert len(kept) == _SENTENCES
    assert set(kept.values()) == {1}


@pytest.mark.feature("A3")
@pytest.mark.parametrize("change", ["content", "importance"])
def test_of_those_who_change_what_they_read_one_wins_and_the_others_are_told(
    tmp_path: Path, change: str
) -> None:
    def opened() -> wellkept.Wellkept:
        return wellkept.open(
            tmp_path / "memory.db", cwd=tmp_path, embedder="none", settings=Settings()
        )

    with opened() as wk:
        first = wk.remember("The shop opens at nine").memory
    outcomes: list[str] = []

    def edit(number: int) -> None:
        with opened() as mine:
            try:
                if change == "content":
                    text = f"The shop opens at {number}"
                    mine.edit(first.id, content=text, if_updated_at=first.updated_at)
                else:
                    mine.edit(first.id, importance=number / 10, if_updated_at=first.updated_at)
            except ConflictError:
                outcomes.append("told")
            else:
                outcomes.append("won")

    at_once(edit)
    assert sorted(outcomes) == [*["told"] * (_THREADS - 1), "won"]
    with opened() as wk:
        everything = Filter(project=None, validity=Validity.ANY, archived=None)
        kept = list(wk.engine.store.iterate(everything))
        assert len(kept) == (2 if change == "content" else 1)
        assert sum(memory.is_open for memory in kept) == 1


@pytest.mark.feature("C5")
def test_a_new_process_clears_what_killed_ones_left(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER_NAME
    folder.mkdir()
    for name in ("999999.json", ".999998", ".999997"):
        (folder / name).write_text("{}")
    os.utime(folder / ".999998", (1, 1))
    me = RunningProcess(kind="serve", pid=os.getpid(), started_at="2026-01-01", version="1")
    with announced(tmp_path, me):
        assert {path.name for path in folder.iterdir()} == {f"{os.getpid()}.json", ".999997"}
