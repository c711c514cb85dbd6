"""Run a program with a time limit, an output limit and no way to outlive the call; its folder.

The program gets its own process session, so that its children end with it. Standard input comes
from memory. Invariant: `run_limited` returns within the limit plus the grace period.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import IO

from wellkept.core.errors import ProviderError
from wellkept.core.records import record

GRACE_S = 3.0
MAX_OUTPUT_BYTES = 4 << 20
_WORK = "work"
_CHUNK_BYTES = 1 << 16
_LOOK_EVERY_S = 0.05


@record
class Finished:
    """How a program ended. `stopped`: we ended it because it had said what was wanted."""

    code: int
    output: bytes
    errors: bytes
    timed_out: bool = False
    too_long: bool = False
    stopped: bool = False


def run_limited(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    given: bytes = b"",
    limit_s: float,
    max_bytes: int = MAX_OUTPUT_BYTES,
    stop_after: Callable[[bytes], bool] | None = None,
) -> Finished:
    """Run a program; `stop_after` is asked about each line of output and ends it when true."""
    try:
        process = subprocess.Popen(
            list(words),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except (OSError, ValueError) as error:
        raise ProviderError(
            f"{words[0]} cannot be started: {getattr(error, 'strerror', None) or error}."
        ) from None
    return _Run(process, max_bytes=max_bytes, stop_after=stop_after).finish(given, limit_s=limit_s)


class _Run:
    """One program while it runs."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        *,
        max_bytes: int,
        stop_after: Callable[[bytes], bool] | None,
    ) -> None:
        self._process = process
        self._max_bytes = max_bytes
        self._stop_after = stop_after
        self._output, self._errors = bytearray(), bytearray()
        self._over = threading.Event()
        self._too_long = self._stopped = self._ended = False

    def finish(self, given: bytes, *, limit_s: float) -> Finished:
        """Feed the program, wait for its end, and end it if it does not."""
        # A process that exits in the middle of a call takes the program with it.
        atexit.register(self._kill)
        try:
            return self._wait(given, limit_s=limit_s)
        finally:
            atexit.unregister(self._kill)
            self._end()
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _wait(self, given: bytes, *, limit_s: float) -> Finished:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        works = (
            (self._feed, (process.stdin, given)),
            (self._read_output, (process.stdout,)),
            (self._read_errors, (process.stderr,)),
        )
        threads = [threading.Thread(target=work, args=args, daemon=True) for work, args in works]
        for thread in threads:
            thread.start()
        end = monotonic() + limit_s
        while not self._over.wait(_LOOK_EVERY_S) and process.poll() is None and monotonic() < end:
            pass
        early = self._too_long or self._stopped
        if not early:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - monotonic()))
        timed_out = not early and process.poll() is None
        self._end()
        for thread in threads[1:]:
            thread.join(1.0)
        code = process.returncode if process.returncode is not None else -1
        return Finished(
            code,
            bytes(self._output),
            bytes(self._errors),
            timed_out=timed_out,
            too_long=self._too_long,
            stopped=self._stopped,
        )

    def _feed(self, pipe: IO[bytes], given: bytes) -> None:
        with suppress(OSError, ValueError):
            pipe.write(given)
        with suppress(OSError, ValueError):
            pipe.close()

    def _read_output(self, pipe: IO[bytes]) -> None:
        line_start = 0
        try:
            while chunk := os.read(pipe.fileno(), _CHUNK_BYTES):
                self._output += chunk
                if len(self._output) > self._max_bytes:
                    self._too_long = True
                    return
                while (end := self._output.find(b"\n", line_start)) >= 0:
                    line, line_start = bytes(self._output[line_start:end]), end + 1
                    if self._stop_after is not None and self._stop_after(line):
                        self._stopped = True
                        return
        except (OSError, ValueError):
            pass
        finally:
            self._over.set()

    def _read_errors(self, pipe: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), _CHUNK_BYTES):
                self._errors += chunk[: max(0, _CHUNK_BYTES - len(self._errors))]

    def _end(self) -> None:
        """End the program and its children: ask, wait, then insist."""
        if self._ended:
            return
        self._ended = True
        if self._process.poll() is not None and self._over.is_set():
            return  # it ended by itself, and so did all that could write to its output
        if self._process.poll() is None:
            self._signal(force=False)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
        self._kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)

    def _kill(self) -> None:
        self._signal(force=True)

    if sys.platform == "win32":

        def _signal(self, *, force: bool) -> None:
            if self._process.poll() is None:
                tree = ["taskkill", "/T", "/PID", str(self._process.pid), *(["/F"] * force)]
                with suppress(OSError, subprocess.SubprocessError):
                    subprocess.run(tree, capture_output=True, check=False, timeout=GRACE_S)

    else:

        def _signal(self, *, force: bool) -> None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL if force else signal.SIGTERM)


class PrivateFolder:
    """A folder that only its owner may enter, with the files a client reads; nothing is made before
    `prepare`. A client starts in a new, empty folder below it, so that it finds no instructions,
    settings or sources of a project. Logins of the user are linked, never copied: a copy would go
    stale when the client renews its tokens."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def prepare(self) -> None:
        """Make the folder; ProviderError when others could read or replace what is in it."""
        try:
            (self.root / _WORK).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.root.chmod(0o700)
            found = self.root.lstat()
        except OSError as error:
            raise self._refused(error.strerror or "it cannot be made") from None
        if stat.S_ISLNK(found.st_mode):
            raise self._refused("it is a symbolic link")
        if sys.platform != "win32" and (found.st_uid != os.getuid() or found.st_mode & 0o077):
            raise self._refused("others may enter it")

    @contextmanager
    def empty_folder(self) -> Generator[Path]:
        """A new empty folder to start a program in; removed afterwards."""
        folder = Path(tempfile.mkdtemp(dir=self.root / _WORK))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def write(self, name: str, text: str) -> Path:
        """Write a file that only the owner may read."""
        path = self.root / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(text.encode("utf-8"))
        partial.replace(path)
        return path

    def link(self, name: str, target: Path) -> None:
        """Point a name at a file of the user; without the file, remove the name."""
        path = self.root / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            path.unlink()
        if not target.is_file():
            return
        try:
            path.symlink_to(target)
        except OSError:
            # Windows needs a privilege for symbolic links, but not for hard links.
            try:
                os.link(target, path)
            except OSError as error:
                raise ProviderError(
                    f"{path} cannot be linked to {target}: {error.strerror}."
                ) from None

    def remove(self, name: str) -> None:
        """Remove a file or folder of the client, for instance its history."""
        path = self.root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()

    def _refused(self, reason: str) -> ProviderError:
        return ProviderError(
            f"The private folder {self.root} cannot be used: {reason}.",
            hint="Remove it and try again.",
        )
