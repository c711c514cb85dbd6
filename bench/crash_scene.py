"""The machine that the crash benchmark breaks: a home of its own, and the processes on it.

Everything runs below one temporary folder and talks over pipes and loopback. Only processes that
were started from here are ever killed, each by its own id; a detached drain, which is nobody's
child, is held by a descriptor and checked to belong to this home before it is.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, Protocol
from urllib.parse import urlsplit
from zlib import crc32

import wellkept
from tests.support.samples import Samples
from wellkept.api.server.token_file import TOKEN_NAME
from wellkept.clients import detached_drain, hook
from wellkept.core.codec import Json, record_to_json
from wellkept.memory.exchange.jsonl import FORMAT, VERSION

# Long: with many times as many processes as cores, a command takes minutes.
PATIENCE_S = 600.0
_LOOK_AGAIN_S = 0.005
_BLOCK_BYTES = 512
CLI = (sys.executable, "-P", "-m", "wellkept.cli")
# The program that the hook starts notes its own id before it becomes the drain.
_NOTED = ("/bin/sh", "-c", 'echo $$ >> "$0"; exec "$@"')


class GaveUpError(RuntimeError):
    """Something that was waited for did not come."""


def wait_until(done: Callable[[], bool], what: str, *, limit_s: float = PATIENCE_S) -> None:
    """Wait for another process; one that never comes is an error and not a hang."""
    pause, deadline_s = threading.Event(), monotonic() + limit_s
    while not done():
        if monotonic() > deadline_s:
            raise GaveUpError(f"{what} did not happen within {limit_s:g} s")
        pause.wait(_LOOK_AGAIN_S)


@dataclass(frozen=True, slots=True)
class Done:
    """How a process ended, and what it said."""

    code: int
    out: bytes
    errors: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A home, a project folder, and how programs are started on them.

    `package` is a folder with another build of `wellkept`, which is run in place of this one.
    """

    root: Path
    package: Path | None = None

    @classmethod
    def set_up(cls, root: Path, *, package: Path | None = None) -> Scene:
        """Make the folders, and tell hooks which program drains."""
        made = cls(root, package)
        root.mkdir(exist_ok=True)
        made.home.mkdir(mode=0o700)
        made.work.mkdir()
        made.backups.mkdir()
        words = (*_NOTED, str(made.noted), *CLI, "spool", "drain")
        detached_drain.record_command(str(made.home), words)
        return made

    @property
    def home(self) -> Path:
        """Where Wellkept keeps everything."""
        return self.root / "home"

    @property
    def work(self) -> Path:
        """The project that the clients work in."""
        return self.root / "a project"

    @property
    def backups(self) -> Path:
        """Where copies of the memory go."""
        return self.root / "backups"

    @property
    def noted(self) -> Path:
        """The ids of all detached drains, one on a line."""
        return self.root / "drains"

    @property
    def environment(self) -> dict[str, str]:
        """What every process here sees; nothing of the person who runs the benchmark."""
        own = {} if self.package is None else {"PYTHONPATH": str(self.package)}
        return {
            **own,
            "WELLKEPT_HOME": str(self.home),
            "WELLKEPT_EMBEDDING_PROVIDER": "none",
            # A hook that could not keep its event says so on stderr.
            "WELLKEPT_DEBUG": "1",
            "HOME": str(self.root),
            "PATH": os.environ.get("PATH", ""),
            "PYTHONUNBUFFERED": "1",
        }

    def start(self, *words: str, stdin: int | IO[bytes] = subprocess.DEVNULL) -> Process:
        """Start a program in the project folder."""
        return subprocess.Popen(
            words,
            cwd=self.work,
            env=self.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def start_hook(self, client: str, event: str, payload: bytes) -> Process:
        """Start the hook as a client does; the payload waits in a file, so nobody has to write."""
        with tempfile.TemporaryFile() as file:
            file.write(payload)
            file.seek(0)
            return self.start(*self.hook_words, client, event, stdin=file)

    @property
    def hook_words(self) -> tuple[str, ...]:
        """The program that clients start at every event."""
        program = Path(hook.__file__)
        if self.package is not None:
            program = self.package / "wellkept" / "clients" / program.name
        return (sys.executable, "-I", "-S", str(program))

    def start_cli(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> Process:
        """Start a `wellkept` command."""
        return self.start(*CLI, *arguments, stdin=stdin)

    def cli(self, *arguments: str) -> Done:
        """Run a `wellkept` command to its end."""
        return finished(self.start_cli(*arguments))


Process = subprocess.Popen[bytes]


def finished(process: Process) -> Done:
    """Wait for the end of a process; one that does not end in good time is killed."""
    try:
        out, errors = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise GaveUpError(f"{process.args} did not end within {PATIENCE_S:g} s") from None
    return Done(process.returncode, out, errors.decode("utf-8", "replace"))


def write_export(path: Path, statements: Iterable[str]) -> None:
    """A file that `wellkept admin import` takes in."""
    samples = Samples(seed=crc32(path.name.encode()), project="shop")
    records = [record_to_json(samples.memory(one)) for one in statements]
    header: dict[str, Json] = {"format": FORMAT, "version": VERSION}
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (header, *records)), "utf-8")


# -- Detached drains ------------------------------------------------------------------------------


def drains_running(scene: Scene) -> list[int]:
    """The ids of detached drains that are alive."""
    return [pid for pid in drains_started(scene) if _is_ours(pid, scene)]


def drains_started(scene: Scene) -> list[int]:
    """The ids of all detached drains so far."""
    try:
        return [int(line) for line in scene.noted.read_text("ascii").split()]
    except FileNotFoundError:
        return []


def kill_drain(pid: int, scene: Scene) -> bool:
    """Kill a detached drain and wait for its end; False when it had ended before."""
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        # From here on the id cannot come to mean another process unnoticed.
        if _has_ended(held) or not _is_ours(pid, scene):
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
        wait_until(lambda: _has_ended(held), "the end of a killed drain")
        return True
    finally:
        os.close(held)


def _has_ended(held: int) -> bool:
    return bool(select.select([held], [], [], 0)[0])


def _is_ours(pid: int, scene: Scene) -> bool:
    """Whether the process belongs to this home; the dead have no environment."""
    try:
        seen = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return os.fsencode(f"WELLKEPT_HOME={scene.home}\0") in seen


# -- Servers --------------------------------------------------------------------------------------


class Keeper(Protocol):
    """A server that can be asked to keep a statement, and killed; `complaint` is what it said
    when it did not do what it was asked last."""

    process: Process
    complaint: str

    def keep(self, statement: str) -> bool:
        """Whether it said that the statement is kept; OSError when it died meanwhile."""
        ...

    def find(self, words: str) -> bool:
        """Whether it answered a question, whatever the answer."""
        ...


def end_server(server: Keeper, *, kill: bool) -> int:
    """End a server and wait for it; returns its exit code."""
    if kill:
        server.process.kill()
    else:
        server.process.terminate()
    return finished(server.process).code


def changed_build(folder: Path, module: str, before: str, after: str) -> Path:
    """A build of Wellkept with one place changed."""
    package = Path(wellkept.__file__).parent
    shutil.copytree(package, folder / "wellkept", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "wellkept" / module
    text = path.read_text("utf-8")
    if text.count(before) != 1:
        raise RuntimeError(f"the line to change in {module} has moved: {before}")
    path.write_text(text.replace(before, after), "utf-8")
    return folder


class HttpServer:
    """`wellkept serve` on a free port of loopback."""

    def __init__(self, scene: Scene, *, max_file_bytes: int | None = None) -> None:
        words = (*CLI, "serve", "--port", "0")
        if max_file_bytes is not None:
            limit = f'ulimit -f {max_file_bytes // _BLOCK_BYTES}; exec "$@"'
            words = ("/bin/sh", "-c", limit, "sh", *words)
        self.process = scene.start(*words)
        self.complaint = ""
        line = _first_line(self.process, b"http://")
        self._host = urlsplit(line.split()[-1].decode("ascii")).netloc
        self._token = (scene.home / TOKEN_NAME).read_text("ascii").strip()
        if self.ask("GET", "/api/health")[0] != http.HTTPStatus.OK:
            raise GaveUpError("the HTTP server is not well")

    def keep(self, statement: str) -> bool:
        return self._is_well(*self.ask("POST", "/api/memory_store", {"content": statement}))

    def find(self, words: str) -> bool:
        return self._is_well(*self.ask("POST", "/api/search", {"query": words}))

    def _is_well(self, status: int, text: str) -> bool:
        well = status == http.HTTPStatus.OK
        self.complaint = "" if well else text
        return well

    def ask(self, method: str, path: str, body: Json = None) -> tuple[int, str]:
        """Status and text of the answer to one request, on a line of its own."""
        line = http.client.HTTPConnection(self._host, timeout=PATIENCE_S)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            return answer.status, answer.read().decode("utf-8")
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            line.close()


class McpServer:
    """`wellkept mcp` on its standard streams; one caller at a time."""

    def __init__(self, scene: Scene) -> None:
        self.process = scene.start_cli("mcp", stdin=subprocess.PIPE)
        self.complaint = ""
        self._number = 0
        client: Json = {"name": "crash", "version": "1"}
        hello: Json = {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
        }  # fmt: skip
        self._ask("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def keep(self, statement: str) -> bool:
        return self._call("memory_store", {"content": statement})

    def find(self, words: str) -> bool:
        return self._call("search", {"query": words})

    def _call(self, tool: str, arguments: Json) -> bool:
        told = self._ask("tools/call", {"name": tool, "arguments": arguments})
        well = isinstance(told, dict) and not told.get("isError")
        self.complaint = "" if well else json.dumps(told)
        return well

    def _ask(self, method: str, params: Json) -> Json:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        for line in _lines(self.process):
            told = json.loads(line)
            if told.get("id") == self._number:
                return told.get("result")
        raise ConnectionError("the MCP server closed its output")

    def _send(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


def _lines(process: Process) -> Iterator[bytes]:
    assert process.stdout is not None
    return iter(process.stdout.readline, b"")


def _first_line(process: Process, part: bytes) -> bytes:
    for line in _lines(process):
        if part in line:
            return line
    raise GaveUpError(f"{process.args} ended: {finished(process).errors[-800:]}")
