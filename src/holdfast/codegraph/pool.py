"""Parses many files in worker processes that may crash or hang without harm.

Each worker has one portion of files at a time and answers file by file. When it dies or is silent
for too long, the file it was at is reported as failed, the rest of its portion goes to a new
worker. Answers come as they are ready, in no fixed order.
"""

from __future__ import annotations

import os
import pickle
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, BinaryIO, cast

from holdfast.codegraph.parsing import Parsed
from holdfast.codegraph.worker import LENGTH, send
from holdfast.core.graph import FileState

FILE_TIMEOUT_S = 20.0
_PORTION = 16
_MOST_WORKERS = 8


def worker_count(file_count: int) -> int:
    """How many workers are worth starting."""
    return max(1, min(os.cpu_count() or 1, _MOST_WORKERS, file_count // _PORTION + 1))


class Pool:
    """Worker processes for one tree; use it as a context manager. `module` is what they run."""

    def __init__(
        self,
        root: Path,
        *,
        workers: int,
        timeout_s: float = FILE_TIMEOUT_S,
        module: str = "holdfast.codegraph.worker",
    ) -> None:
        self._root = str(root)
        self._module = module
        self._workers = workers
        self._timeout_s = timeout_s
        self._running: list[_Worker] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._running:
            worker.stop()

    def parse(self, paths: Sequence[str]) -> Iterator[Parsed]:
        """What becomes of each file, exactly once."""
        waiting = deque(paths)
        with selectors.DefaultSelector() as ready:
            for _ in range(min(self._workers, len(paths))):
                self._start(ready, waiting)
            while self._running:
                events = ready.select(timeout=self._wait_s())
                for found, _ in events:
                    yield from self._heard(cast("_Worker", found.data), ready, waiting)
                yield from self._silent(ready, waiting)

    def _start(self, ready: selectors.BaseSelector, waiting: deque[str]) -> None:
        worker = _Worker(self._module)
        self._running.append(worker)
        ready.register(worker.output, selectors.EVENT_READ, worker)
        worker.give(self._root, _portion(waiting))

    def _wait_s(self) -> float:
        return max(0.0, min(w.since + self._timeout_s for w in self._running) - time.monotonic())

    def _heard(
        self, worker: _Worker, ready: selectors.BaseSelector, waiting: deque[str]
    ) -> Iterator[Parsed]:
        answers, ended = worker.read()
        yield from answers
        if ended:
            yield from self._replace(worker, ready, waiting, "the parser crashed")
        elif not worker.portion:
            if waiting:
                worker.give(self._root, _portion(waiting))
            else:
                self._end(worker, ready)

    def _silent(self, ready: selectors.BaseSelector, waiting: deque[str]) -> Iterator[Parsed]:
        now = time.monotonic()
        for worker in [w for w in self._running if now - w.since >= self._timeout_s]:
            reason = f"parsing took longer than {self._timeout_s:g} s"
            yield from self._replace(worker, ready, waiting, reason)

    def _replace(
        self, worker: _Worker, ready: selectors.BaseSelector, waiting: deque[str], reason: str
    ) -> Iterator[Parsed]:
        """Give up the file a worker was at, and let another go on with the rest."""
        rest = list(worker.portion)
        self._end(worker, ready)
        waiting.extendleft(reversed(rest[1:]))
        if rest:
            yield Parsed(rest[0], "", FileState.FAILED.value, reason)
        if waiting:
            self._start(ready, waiting)

    def _end(self, worker: _Worker, ready: selectors.BaseSelector) -> None:
        ready.unregister(worker.output)
        self._running.remove(worker)
        worker.stop()


def _portion(waiting: deque[str]) -> list[str]:
    return [waiting.popleft() for _ in range(min(_PORTION, len(waiting)))]


class _Worker:
    """One child process and the files it still owes."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            (sys.executable, "-m", module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        self.output = cast("IO[bytes]", self._process.stdout)
        self.portion: deque[str] = deque()
        self.since = time.monotonic()
        self._buffer = b""

    def give(self, root: str, paths: Sequence[str]) -> None:
        """Hand over the next files."""
        self.portion = deque(paths)
        self.since = time.monotonic()
        try:
            send(cast("BinaryIO", self._process.stdin), (root, list(paths)))
        except BrokenPipeError:  # it is dead, which reading will tell
            return

    def read(self) -> tuple[list[Parsed], bool]:
        """The answers that have come, and whether the process has ended."""
        data = os.read(self.output.fileno(), 1 << 20)
        self._buffer += data
        answers: list[Parsed] = []
        place = 0
        while len(self._buffer) - place >= LENGTH.size:
            length = LENGTH.unpack_from(self._buffer, place)[0]
            if len(self._buffer) - place - LENGTH.size < length:
                break
            start = place + LENGTH.size
            answers.append(Parsed(*pickle.loads(self._buffer[start : start + length])))
            place = start + length
            self.portion.popleft()
            self.since = time.monotonic()
        self._buffer = self._buffer[place:]
        return answers, not data

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
