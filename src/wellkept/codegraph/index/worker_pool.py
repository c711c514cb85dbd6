"""Parses many files in worker processes that may crash or hang without harm.

Each worker has one portion of files at a time and answers file by file; a thread of its own reads
what it says, because only some systems can wait for several pipes at once. When a worker dies or is
silent for too long, the file it was at is reported as failed, the rest of its portion goes to a new
worker. Answers come as they are ready, in no fixed order.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import BinaryIO, NamedTuple, cast

from wellkept.codegraph.index.parse_file import ParsedFile
from wellkept.codegraph.index.worker import LENGTH, send
from wellkept.core.errors import UsageError
from wellkept.core.graph import FileState

FILE_TIMEOUT_S = 20.0
_PORTION = 16
_MOST_WORKERS = 8
_MOST_DEATHS = 20
"""So many deaths without one answer between them are the fault of no file."""


def worker_count(file_count: int) -> int:
    """How many workers are worth starting."""
    return max(1, min(os.cpu_count() or 1, _MOST_WORKERS, file_count // _PORTION + 1))


class _Said(NamedTuple):
    """Something that a worker said; nothing at its end."""

    worker: _Worker
    answer: ParsedFile | None


class WorkerPool:
    """Worker processes for one tree; use it as a context manager. `module` is what they run."""

    def __init__(
        self,
        root: Path,
        *,
        workers: int,
        timeout_s: float = FILE_TIMEOUT_S,
        module: str = "wellkept.codegraph.index.worker",
    ) -> None:
        self._root = str(root)
        self._module = module
        self._workers = workers
        self._timeout_s = timeout_s
        self._running: list[_Worker] = []
        self._deaths = 0
        self._said: SimpleQueue[_Said] = SimpleQueue()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._running:
            worker.stop()
        self._running.clear()

    def parse(self, paths: Sequence[str]) -> Iterator[ParsedFile]:
        """What becomes of each file, exactly once."""
        waiting = deque(paths)
        for _ in range(min(self._workers, len(paths))):
            self._start(waiting)
        while self._running:
            try:
                said = self._said.get(timeout=self._wait_s())
            except Empty:
                yield from self._silent(waiting)
                continue
            if said.worker in self._running:  # not one that was given up meanwhile
                yield from self._heard(said, waiting)

    def _start(self, waiting: deque[str]) -> None:
        worker = _Worker(self._module, self._said)
        self._running.append(worker)
        worker.give(self._root, _portion(waiting))

    def _wait_s(self) -> float:
        return max(0.0, min(w.since + self._timeout_s for w in self._running) - time.monotonic())

    def _heard(self, said: _Said, waiting: deque[str]) -> Iterator[ParsedFile]:
        worker = said.worker
        if said.answer is None:
            yield from self._replace(worker, waiting, "the parser crashed")
            return
        worker.took()
        self._deaths = 0
        yield said.answer
        if not worker.portion and waiting:
            worker.give(self._root, _portion(waiting))
        elif not worker.portion:
            self._end(worker)

    def _silent(self, waiting: deque[str]) -> Iterator[ParsedFile]:
        now = time.monotonic()
        for worker in [w for w in self._running if now - w.since >= self._timeout_s]:
            reason = f"parsing took longer than {self._timeout_s:g} s"
            yield from self._replace(worker, waiting, reason)

    def _replace(self, worker: _Worker, waiting: deque[str], reason: str) -> Iterator[ParsedFile]:
        """Give up the file a worker was at, and let another go on with the rest."""
        rest = list(worker.portion)
        self._end(worker)
        self._deaths += 1
        if self._deaths >= _MOST_DEATHS:
            raise UsageError(
                f"{self._deaths} parser processes in a row ended before they had read a file.",
                hint=f"See why with: {sys.executable} -m {self._module} </dev/null",
            )
        waiting.extendleft(reversed(rest[1:]))
        if rest:
            yield ParsedFile(rest[0], "", FileState.FAILED.value, reason)
        if waiting:
            self._start(waiting)

    def _end(self, worker: _Worker) -> None:
        self._running.remove(worker)
        worker.stop()


def _portion(waiting: deque[str]) -> list[str]:
    return [waiting.popleft() for _ in range(min(_PORTION, len(waiting)))]


class _Worker:
    """One child process, the thread that listens to it, and the files it still owes."""

    def __init__(self, module: str, said: SimpleQueue[_Said]) -> None:
        self._process = subprocess.Popen(
            (sys.executable, "-m", module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        self.portion: deque[str] = deque()
        self.since = time.monotonic()
        self._listener = threading.Thread(target=self._listen, args=(said,), daemon=True)
        self._listener.start()

    def give(self, root: str, paths: Sequence[str]) -> None:
        """Hand over the next files."""
        self.portion = deque(paths)
        self.since = time.monotonic()
        try:
            send(cast("BinaryIO", self._process.stdin), (root, list(paths)))
        except OSError:  # it is dead, which its listener tells
            return

    def took(self) -> None:
        """Note that one file less is owed."""
        self.portion.popleft()
        self.since = time.monotonic()

    def _listen(self, said: SimpleQueue[_Said]) -> None:
        """Pass on what the process says, until it ends."""
        output = cast("BinaryIO", self._process.stdout)
        while len(head := output.read(LENGTH.size)) == LENGTH.size:
            length = LENGTH.unpack(head)[0]
            data = output.read(length)
            if len(data) < length:
                break
            said.put(_Said(self, ParsedFile(*pickle.loads(data))))
        said.put(_Said(self, None))

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue
