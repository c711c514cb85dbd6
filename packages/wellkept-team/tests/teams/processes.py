"""A team's server as a process of its own, and machines of people: real commands, hooks and HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.crash_scene import wait_until
from tests.clients.hooking import Machine
from wellkept.core.records import record

WAIT_S = 120
_URL = "https://github.com/acme/shop.git"


@contextmanager
def serving(url: str, folder: Path, *, port: int = 0, log: Path | None = None) -> Generator[str]:
    """`wellkept serve --database`, ended by SIGTERM; yields its address. With `log`, it logs JSON
    into that file."""
    folder.mkdir(parents=True, exist_ok=True)
    told = log or folder / "said.txt"
    at = port or free_port()
    command = [
        sys.executable,
        "-m",
        "wellkept.cli",
        "serve",
        "--port",
        str(at),
        "--database",
        url,
    ]
    with (
        told.open("w") as said,
        subprocess.Popen(
            [*command, *(("--log", "json") if log else ())],
            env={
                **os.environ,
                "WELLKEPT_HOME": str(folder),
                "WELLKEPT_EMBEDDING_PROVIDER": "none",
                "PYTHONUNBUFFERED": "1",
            },
            stdout=said,
            stderr=said,
            cwd=folder,
        ) as process,
    ):
        try:
            wait_until(
                lambda: process.poll() is not None or "http://" in told.read_text(),
                "the start of a server",
            )
            assert process.poll() is None, told.read_text()
            yield f"http://127.0.0.1:{at}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT_S)


@record(kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Desk:
    """One person's machine: a checkout, a home, the command line and the hook."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.checkout = folder / name / "shop"
        _clone(folder / "shop.git", self.checkout, name)
        self.machine = Machine(
            folder / name / "home",
            self.checkout,
            extra={"WELLKEPT_EMBEDDING_PROVIDER": "none", "HOME": str(folder / name)},
        )

    def run(self, *arguments: str, given: str = "") -> Done:
        """Run one command of `wellkept`."""
        ended = subprocess.run(
            [sys.executable, "-m", "wellkept.cli", *arguments],
            input=given,
            capture_output=True,
            text=True,
            env=self.machine.environment,
            cwd=self.checkout,
            timeout=WAIT_S,
            check=False,
        )
        return Done(code=ended.returncode, out=ended.stdout, err=ended.stderr)

    def done(self, *arguments: str, given: str = "") -> str:
        """The same, which must work."""
        ended = self.run(*arguments, given=given)
        assert ended.code == 0, ended.err or ended.out
        return ended.out

    def state(self) -> dict[str, Any]:
        """`wellkept status --remote`."""
        return self.run("remote", "status", "--json").json["state"]

    def contents(self) -> set[str]:
        """What holds on this machine."""
        return {one["content"] for one in self.run("list", "--json").json["items"]}

    def session_start(self) -> str:
        """What an agent is told at the start of a session."""
        payload = self.machine.payload(source="startup")
        return self.machine.hook("claude-code", "SessionStart", "both", payload=payload).context


def _clone(origin: Path, checkout: Path, name: str) -> None:
    """A checkout of the team's repository, which has one commit."""
    if not origin.exists():
        _git("init", "-q", "--bare", "-b", "main", str(origin))
        first = origin.with_name("first")
        _git("clone", "-q", str(origin), str(first))
        (first / "README.md").write_text("# Shop\n")
        _git("-C", str(first), "add", ".")
        _git("-C", str(first), "commit", "-q", "-m", "Begin")
        _git("-C", str(first), "push", "-q", "origin", "HEAD:main")
    _git("clone", "-q", str(origin), str(checkout))
    _git("-C", str(checkout), "remote", "set-url", "origin", _URL)
    _git("-C", str(checkout), "config", "user.name", name)


def _git(*words: str) -> None:
    who = ("-c", "user.name=first", "-c", "user.email=first@example.org")
    subprocess.run(["git", *who, *words], check=True, capture_output=True)


class Line:
    """A proxy on loopback that remembers every byte that a client sent."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self.sent = bytearray()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
                server = socket.create_connection(self._target)
            except OSError:
                return
            for source, target, kept in ((caller, server, True), (server, caller, False)):
                threading.Thread(
                    target=self._carry, args=(source, target, kept), daemon=True
                ).start()

    def _carry(self, source: socket.socket, target: socket.socket, kept: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if kept:
                    with self._lock:
                        self.sent += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
