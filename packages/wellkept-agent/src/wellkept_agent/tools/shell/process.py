"""One shell command as a process group of its own, with bounded memory for its output.

Threads read the output, so that a process lives on between turns whatever event loop runs them.
Invariant: after `end` nothing of the group is left running.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from wellkept.core.errors import NotFoundError, UsageError

_CHUNK_BYTES: Final = 1 << 16
_POLL_S: Final = 0.1
_DRAIN_S: Final = 0.3
_GRACE_S: Final = 0.5
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN: Final = re.compile(r"[^\n]*\r(?!\n)")
_KEEP_FOLDER: Final = (
    '__wellkept_file=$1 __wellkept_command=$2; shift 2; eval "$__wellkept_command"; '
    '__wellkept_status=$?; pwd -P > "$__wellkept_file"; exit "$__wellkept_status"'
)
"""Runs a command and writes down the folder in which it ended."""


class OutputBuffer:
    """The beginning and the end of a stream; what is between them is counted and dropped."""

    def __init__(self, max_chars: int) -> None:
        self._head_room = max_chars // 5
        self._tail_room = max_chars - self._head_room
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._lock = threading.Lock()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take in more of the stream."""
        with self._lock:
            self.total += len(data)
            room = self._head_room - len(self._head)
            if room > 0:
                self._head += data[:room]
                data = data[room:]
            if data:
                self._tail.append(data)
                self._tail_bytes += len(data)
            while self._tail and self._tail_bytes - len(self._tail[0]) >= self._tail_room:
                self._tail_bytes -= len(self._tail.popleft())

    def text(self) -> str:
        """What is kept, readable: no escape codes, no overwritten progress lines."""
        with self._lock:
            head, tail, total = bytes(self._head), b"".join(self._tail), self.total
        tail = tail[-self._tail_room :] if len(tail) > self._tail_room else tail
        left_out = total - len(head) - len(tail)
        if left_out <= 0:
            return readable(head + tail)
        tail = tail[tail.find(b"\n") + 1 :] if b"\n" in tail[:1000] else tail
        mark = f"\n[… {total - len(head) - len(tail):,} bytes left out …]\n"
        return readable(head) + mark + readable(tail)

    def since(self, position: int) -> tuple[str, int]:
        """What came after a position, as far as it is kept, and the position after it."""
        with self._lock:
            everything = bytes(self._head) + b"".join(self._tail)
            total = self.total
        wanted = total - position
        if wanted <= len(everything):
            return readable(everything[len(everything) - wanted :] if wanted else b""), total
        missing = wanted - len(everything)
        return f"[… {missing:,} bytes left out …]\n{readable(everything)}", total


def readable(data: bytes) -> str:
    """Output as text."""
    text = data.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = _OVERWRITTEN.sub("", text).replace("\r\n", "\n")
    return text.replace("\0", "\ufffd")


class ShellProcess:
    """A running command. `folder_file` is where the shell leaves the folder it ended in."""

    def __init__(
        self,
        command: str,
        *,
        folder: Path,
        environment: Mapping[str, str],
        max_chars: int,
        folder_file: Path | None = None,
    ) -> None:
        self.command = command
        self.output = OutputBuffer(max_chars)
        self.was_ended = False
        self._lock = threading.Lock()
        try:
            self._process = subprocess.Popen(
                _arguments(command, folder_file),
                cwd=folder,
                env={**environment, "WELLKEPT_AGENT": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=sys.platform != "win32",
            )
        except (OSError, ValueError) as error:
            raise UsageError(f"The command could not be started: {error}.") from error
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), name="wellkept-shell", daemon=True
        )
        self._reader.start()

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 + n after signal n, as shells say it."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    @property
    def pid(self) -> int:
        """The process, which is also its group."""
        return self._process.pid

    async def wait(self, timeout_s: float, progress: Callable[[str], None] | None = None) -> bool:
        """Wait for the end; False when it did not come in time. Reports new output meanwhile."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        position, pause = 0, 0.005
        while self._process.poll() is None:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await asyncio.sleep(min(pause, left))
            pause = min(_POLL_S, pause * 1.5)
            if progress is not None and self.output.total > position:
                text, position = self.output.since(position)
                progress(text)
        return True

    async def drain(self) -> bool:
        """Wait shortly for the last output; False when something still holds the stream open."""
        await asyncio.to_thread(self._reader.join, _DRAIN_S)
        return not self._reader.is_alive()

    def end(self) -> None:
        """End the whole group: first politely, then not."""
        with self._lock:
            if self._process.poll() is not None and not self._reader.is_alive():
                return  # long gone: the number may be another group's by now
            self.was_ended |= self._process.poll() is None
            if sys.platform == "win32":
                if self._process.poll() is None:
                    tree = ["taskkill", "/F", "/T", "/PID", str(self._process.pid)]
                    subprocess.run(tree, capture_output=True, check=False)
            else:
                self._signal_group(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE_S)
                self._signal_group(signal.SIGKILL)
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()

    def end_leftovers(self) -> bool:
        """End what a command has just left running behind it; whether there was anything."""
        if sys.platform == "win32":
            return False
        try:
            os.killpg(self._process.pid, signal.SIGTERM)
        except (ProcessLookupError, PermissionError):
            return False
        self._reader.join(_DRAIN_S)
        self._signal_group(signal.SIGKILL)
        return True

    def _signal_group(self, number: int) -> None:
        # The group may be gone, or belong to another user.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _read(self, stream: IO[bytes]) -> None:
        with suppress(OSError, ValueError), stream:
            while chunk := os.read(stream.fileno(), _CHUNK_BYTES):
                self.output.add(chunk)


def _arguments(command: str, folder_file: Path | None) -> list[str]:
    bash = shutil.which("bash")
    if bash is not None and folder_file is not None:
        return [bash, "-c", _KEEP_FOLDER, "bash", str(folder_file), command]
    if bash is not None:
        return [bash, "-c", command]
    if sys.platform == "win32":
        return [os.environ.get("COMSPEC", "cmd.exe"), "/c", command]
    return ["/bin/sh", "-c", command]


# -- Commands that run in the background of a session, by id. All end with the session ------------


MAX_JOBS = 16


class _ShellJob:
    """One background command and how far its output was read."""

    def __init__(self, job_id: str, process: ShellProcess) -> None:
        self.id = job_id
        self.process = process
        self.position = 0

    def unread(self) -> str:
        """Output since the last look."""
        text, self.position = self.process.output.since(self.position)
        return text

    @property
    def status(self) -> str:
        """Running, or how it ended."""
        code = self.process.exit_code
        if self.process.was_ended:
            return "ended"
        return "running" if code is None else f"exited with code {code}"


class ShellJobs:
    """The background commands of a session and its sub-agents."""

    def __init__(self) -> None:
        self._jobs: dict[str, _ShellJob] = {}
        self._count = 0
        _open.add(self)

    def add(self, process: ShellProcess) -> _ShellJob:
        """Keep a command that runs on."""
        self._count += 1
        job = _ShellJob(f"bash_{self._count}", process)
        self._jobs[job.id] = job
        return job

    def check_room(self) -> None:
        """A UsageError when too many run already."""
        running = [one.id for one in self._jobs.values() if one.process.exit_code is None]
        if len(running) >= MAX_JOBS:
            raise UsageError(
                f"{len(running)} commands run in the background already.",
                hint=f"End one with KillShell: {', '.join(running)}.",
            )

    def get(self, job_id: str) -> _ShellJob:
        """A job by its id."""
        job = self._jobs.get(job_id)
        if job is None:
            known = ", ".join(f"{one.id} ({one.status})" for one in self._jobs.values())
            raise NotFoundError(
                f"There is no background command {job_id!r}.",
                hint=f"There are: {known}." if known else "None was started in this session.",
            )
        return job

    def all(self) -> list[_ShellJob]:
        """Every job of the session, ended ones too."""
        return list(self._jobs.values())

    async def close(self) -> None:
        """End whatever still runs."""
        await asyncio.to_thread(self.end_all)

    def end_all(self) -> None:
        """End whatever still runs, without an event loop."""
        for job in self._jobs.values():
            job.process.end()
        self._jobs.clear()


_open: weakref.WeakSet[ShellJobs] = weakref.WeakSet()


@atexit.register
def _end_open_jobs() -> None:
    for jobs in list(_open):
        jobs.end_all()
