"""Runs one shell command of a hook with limits.

Invariants: the command and its process group end by the timeout; at most `MAX_OUTPUT_BYTES` of each
stream are stored; the environment is an allow list; nothing raises because of what the command
does. Does not check trust: the caller has.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from wellkept.core.records import record

MAX_OUTPUT_BYTES: Final = 64 << 10
_CHUNK_BYTES: Final = 1 << 16
_DRAIN_TIMEOUT_S: Final = 1.0
_ALLOWED_VARIABLES = re.compile(
    r"""PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|TMPDIR|XDG_RUNTIME_DIR
    |SYSTEMROOT|SYSTEMDRIVE|COMSPEC|PATHEXT|WINDIR|TEMP|TMP|USERPROFILE|APPDATA|LOCALAPPDATA""",
    re.VERBOSE,
)


@record(kw_only=True)
class HookRun:
    """How a command ended. Exactly one of `exit_code`, `timed_out` and `problem` is set."""

    exit_code: int | None = None
    timed_out: bool = False
    problem: str | None = None
    stdout: str = ""
    stderr: str = ""
    is_cut: bool = False


def filtered_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a hook sees: no keys, tokens or settings of ours."""
    return {
        name: text
        for name, text in environment.items()
        if _ALLOWED_VARIABLES.fullmatch(name.upper())
    }


def run_command(
    command: str, *, cwd: Path, environment: Mapping[str, str], stdin: bytes, timeout_s: float
) -> HookRun:
    """Run a shell command in a folder until it ends or times out."""
    with TemporaryFile() as input_file:
        # From a file: a command that does not read would block the writer of a pipe.
        input_file.write(stdin)
        input_file.seek(0)
        try:
            process = subprocess.Popen(
                command,
                shell=True,
                cwd=cwd,
                env=dict(environment),
                stdin=input_file,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=sys.platform != "win32",
            )
        except (OSError, ValueError) as error:
            return HookRun(problem=_start_problem(error))
    return _wait(process, timeout_s)


def _start_problem(error: OSError | ValueError) -> str:
    if not isinstance(error, OSError):
        return f"it could not be started: {error}"
    where = f" ({error.filename})" if error.filename else ""
    return f"it could not be started: {error.strerror or error}{where}"


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> HookRun:
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _StreamReader(process.stdout), _StreamReader(process.stderr)
    try:
        exit_code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        exit_code = None
    finally:
        # Ends what the command left running; otherwise it would hold the streams open.
        _end_group(process)
    is_cut = out.finish() | err.finish()
    return HookRun(
        exit_code=exit_code,
        timed_out=exit_code is None,
        stdout=out.text,
        stderr=err.text,
        is_cut=is_cut,
    )


def _end_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        if process.poll() is None:
            tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(tree, capture_output=True, check=False)
    else:
        # The group may be gone, or belong to another user.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
        process.wait()


class _StreamReader:
    """Reads a stream to its end in a thread, and stores its beginning."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._data = bytearray()
        self._is_cut = False
        self._thread = threading.Thread(target=self._read, name="wellkept-hook", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), _CHUNK_BYTES):
                room = MAX_OUTPUT_BYTES - len(self._data)
                self._data += chunk[: max(0, room)]
                self._is_cut |= len(chunk) > room

    def finish(self) -> bool:
        """Wait for the end, but not for a detached process that holds the stream; returns whether
        output was cut."""
        self._thread.join(_DRAIN_TIMEOUT_S)
        return self._is_cut or self._thread.is_alive()

    @property
    def text(self) -> str:
        """The stored output as text."""
        return bytes(self._data).decode("utf-8", "replace").replace("\0", "\ufffd")
