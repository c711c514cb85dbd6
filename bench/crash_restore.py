"""Killing `wellkept admin restore`: the memory is what it was, or of the backup, never a mix.

Restoring takes back what was kept since the backup, so it runs on a home of its own, one at a time:
a few statements are kept, a restore is started and killed, and the memory is held against both.
A copy of the former memory that a restore has finished must hold exactly that.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import wellkept
from bench.crash_scene import (
    GaveUpError,
    Process,
    Scene,
    finished,
    wait_until,
    write_export,
)
from wellkept.core.query import Filter, Validity
from wellkept.core.settings.model import Settings
from wellkept.core.types import Severity
from wellkept.store import open_store

STATEMENTS = 600
_KILLED = -9
_TRIES = 60
_EVERYTHING = Filter(project=None, validity=Validity.ANY, archived=None)


@dataclass(slots=True)
class RestoreKills:
    """What became of the memory."""

    killed: int = 0
    missed: int = 0
    replaced: int = 0
    complaints: list[str] = field(default_factory=list[str])


class RestoreKiller:
    """Kills restores on a home of its own."""

    def __init__(self, root: Path) -> None:
        self._scene = Scene.set_up(root)
        self._number = 0
        self._path = self._scene.home / "memory.db"
        self._backup = self._scene.backups / "base.db"
        self._fill()
        self._base = self._contents(self._path)
        self._life_s = self._measure()

    def run(self, moments: Sequence[float], *, deadline_s: float) -> RestoreKills:
        """Kill a restore at each moment: the first half of them from its start, the others from
        when it began to write."""
        told = RestoreKills()
        for number, moment in enumerate(moments):
            if monotonic() > deadline_s:
                break
            for tries in range(_TRIES):
                if self._kill(moment * 0.7**tries, told, from_start=number % 2 == 0):
                    told.killed += 1
                    break
                told.missed += 1
            else:
                raise GaveUpError(f"no restore could be killed in {_TRIES} tries")
        return told

    def _kill(self, moment: float, told: RestoreKills, *, from_start: bool) -> bool:
        self._keep(3)
        before = self._contents(self._path)
        process = self._scene.start_cli("restore", str(self._backup), "--yes")
        if not from_start:
            wait_until(lambda: bool(self._copies()) or process.poll() is not None, "a restore")
        started, writing = self._life_s
        threading.Event().wait(moment * (started + writing if from_start else writing))
        code = self._end(process)
        after = self._contents(self._path)
        if after not in (before, self._base):
            told.complaints.append(f"a mix: {len(before)} before, {len(after)} after")
        if code not in (0, _KILLED):
            told.complaints.append(f"restore ended with {code}")
        if code == 0 and after != self._base:
            told.complaints.append("restore said that it was done, and was not")
        told.replaced += after == self._base
        self._look_at_copies(before, told)
        return code == _KILLED

    def _end(self, process: Process) -> int:
        process.kill()
        return finished(process).code

    def _look_at_copies(self, before: frozenset[str], told: RestoreKills) -> None:
        for copy in self._scene.home.glob("memory.db.before-restore-*"):
            if ".partial" not in copy.name and self._contents(copy) != before:
                told.complaints.append(f"{copy.name} is not what was there before")
            copy.unlink()
        for partial in self._copies():
            partial.unlink()
        with closing(open_store(self._path)) as store:
            wrong = [f.message for f in store.check(deep=True) if f.severity is Severity.ERROR]
        told.complaints.extend(wrong)

    def _copies(self) -> list[Path]:
        named = (".before-restore-", ".partial")
        return [
            one for one in self._scene.home.iterdir() if any(part in one.name for part in named)
        ]

    def _contents(self, path: Path) -> frozenset[str]:
        with closing(open_store(path)) as store:
            return frozenset(memory.content for memory in store.iterate(_EVERYTHING))

    def _fill(self) -> None:
        source = self._scene.root / "statements.jsonl"
        write_export(source, [self._next() for _ in range(STATEMENTS)])
        for words in (("import", str(source)), ("backup", str(self._backup))):
            done = self._scene.cli(*words)
            if done.code:
                raise GaveUpError(f"{words[0]} failed: {done.errors[-400:]}")

    def _keep(self, count: int) -> None:
        with wellkept.open(
            self._path,
            cwd=self._scene.work,
            embedder="none",
            settings=Settings(),
            environment=self._scene.environment,
        ) as wk:
            for _ in range(count):
                wk.remember(self._next(), merge_similar=False)

    def _next(self) -> str:
        self._number += 1
        return f"The service s{self._number:07} of the shop listens at its own port."

    def _measure(self) -> tuple[float, float]:
        """How long a restore starts up and how long it writes, here and now."""
        began_s = monotonic()
        process = self._scene.start_cli("restore", str(self._backup), "--yes")
        wait_until(lambda: bool(self._copies()) or process.poll() is not None, "a restore")
        wrote_s = monotonic()
        if (done := finished(process)).code:
            raise GaveUpError(f"a restore failed: {done.errors[-400:]}")
        for copy in self._copies():
            copy.unlink()
        return wrote_s - began_s, monotonic() - wrote_s
