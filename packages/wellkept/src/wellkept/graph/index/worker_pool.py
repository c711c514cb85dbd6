"""Parses many files in worker processes, which may crash or hang without harm.

Each worker gets a batch of files and answers file by file. A thread per worker reads the answers,
because not every system can wait for several pipes. If a worker dies or times out, its current file
is reported as failed and the rest of the batch goes to a new worker. Results come in any order.
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

from wellkept.core.errors import UsageError
from wellkept.core.graph import FileState
from wellkept.graph.index.parse_file import ParsedFile
from wellkept.graph.index.worker import LENGTH, send

FILE_TIMEOUT_S = 20.0
_BATCH = 16
_MAX_WORKERS = 8
_MAX_DEATHS = 20
"""This many deaths in a row without an answer are not caused by a file."""


def worker_count(file_count: int) -> int:
    """Number of workers worth starting."""
    return max(1, min(os.cpu_count() or 1, _MAX_WORKERS, file_count // _BATCH + 1))


class _Message(NamedTuple):
    """An answer of a worker; None when it ended."""

    worker: _Worker
    answer: ParsedFile | None


class WorkerPool:
    """Worker processes for one tree, as a context manager. They run `module`."""

    def __init__(
        self,
        root: Path,
        *,
        workers: int,
        timeout_s: float = FILE_TIMEOUT_S,
        module: str = "wellkept.graph.index.worker",
    ) -> None:
        self._root = str(root)
        self._module = module
        self._workers = workers
        self._timeout_s = timeout_s
        self._running: list[_Worker] = []
        self._deaths = 0
        self._messages: SimpleQueue[_Message] = SimpleQueue()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._running:
            worker.stop()
        self._running.clear()

    def parse(self, paths: Sequence[str]) -> Iterator[ParsedFile]:
        """Parse files; yields exactly one result per path."""
        waiting = deque(paths)
        for _ in range(min(self._workers, len(paths))):
            self._start(waiting)
        while self._running:
            try:
                message = self._messages.get(timeout=self._wait_s())
            except Empty:
                now = time.monotonic()
                for worker in [w for w in self._running if now - w.since >= self._timeout_s]:
                    reason = f"parsing took longer than {self._timeout_s:g} s"
                    yield from self._replace(worker, waiting, reason)
                continue
            if message.worker in self._running:  # not one that was replaced meanwhile
                yield from self._on_message(message, waiting)

    def _start(self, waiting: deque[str]) -> None:
        worker = _Worker(self._module, self._messages)
        self._running.append(worker)
        worker.assign(self._root, _next_batch(waiting))

    def _wait_s(self) -> float:
        return max(0.0, min(w.since + self._timeout_s for w in self._running) - time.monotonic())

    def _on_message(self, message: _Message, waiting: deque[str]) -> Iterator[ParsedFile]:
        worker = message.worker
        if message.answer is None:
            yield from self._replace(worker, waiting, "the parser crashed")
            return
        worker.finish_file()
        self._deaths = 0
        yield message.answer
        if not worker.batch and waiting:
            worker.assign(self._root, _next_batch(waiting))
        elif not worker.batch:
            self._end(worker)

    def _replace(self, worker: _Worker, waiting: deque[str], reason: str) -> Iterator[ParsedFile]:
        """Report a worker's current file as failed, and start another for the rest."""
        rest = list(worker.batch)
        self._end(worker)
        self._deaths += 1
        if self._deaths >= _MAX_DEATHS:
            raise UsageError(
                f"{self._deaths} parser processes in a row ended without parsing a file.",
                hint=f"To see the error, run: {sys.executable} -m {self._module} </dev/null",
            )
        waiting.extendleft(reversed(rest[1:]))
        if rest:
            yield ParsedFile(rest[0], "", FileState.FAILED.value, reason)
        if waiting:
            self._start(waiting)

    def _end(self, worker: _Worker) -> None:
        self._running.remove(worker)
        worker.stop()


def _next_batch(waiting: deque[str]) -> list[str]:
    return [waiting.popleft() for _ in range(min(_BATCH, len(waiting)))]


class _Worker:
    """One child process, the thread that reads its output, and its unfinished files."""

    def __init__(self, module: str, messages: SimpleQueue[_Message]) -> None:
        self._process = subprocess.Popen(
            (sys.executable, "-m", module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        self.batch: deque[str] = deque()
        self.since = time.monotonic()
        self._listener = threading.Thread(target=self._listen, args=(messages,), daemon=True)
        self._listener.start()

    def assign(self, root: str, paths: Sequence[str]) -> None:
        """Send the next files."""
        self.batch = deque(paths)
        self.since = time.monotonic()
        try:
            send(cast("BinaryIO", self._process.stdin), (root, list(paths)))
        except OSError:  # it is dead; the listener reports that
            return

    def finish_file(self) -> None:
        """Remove the finished file from the batch."""
        self.batch.popleft()
        self.since = time.monotonic()

    def _listen(self, messages: SimpleQueue[_Message]) -> None:
        """Queue the answers of the process until it ends."""
        output = cast("BinaryIO", self._process.stdout)
        while len(head := output.read(LENGTH.size)) == LENGTH.size:
            length = LENGTH.unpack(head)[0]
            data = output.read(length)
            if len(data) < length:
                break
            messages.put(_Message(self, ParsedFile(*pickle.loads(data))))
        messages.put(_Message(self, None))

    def stop(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue
