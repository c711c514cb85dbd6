"""Shared by all tests: a temporary home, no network but loopback, reports that cannot crash."""

from __future__ import annotations

import ipaddress
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres_server import empty_postgres_url, postgres_server, postgres_url
from tests.postgres_team import new_team, owner, server, server_url, team
from tests.report_guard import guard_ast_parse, pytest_runtest_makereport
from tests.support.real_requests import VARIABLE, forbid_real_requests
from wellkept.clients.known import KNOWN

__all__ = [
    "empty_postgres_url",
    "new_team",
    "owner",
    "postgres_server",
    "postgres_url",
    "pytest_runtest_makereport",
    "server",
    "server_url",
    "team",
]

guard_ast_parse()

settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


def _refuse_outside(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and address:
        host = str(address[0])  # pyright: ignore[reportUnknownArgumentType]
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            raise ConnectionRefusedError(f"Tests may only talk to loopback, not {host}.")


# What a test must not see: keys of the person, traces that are switched on or off elsewhere, the
# marks of the `make` that started the tests, and those of an agent that runs them.
_LEFT_OUT = {
    *(mark for one in KNOWN.values() for mark in one.shell_marks),
    "OPENAI_API_KEY",
    "OLLAMA_HOST",
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
}

sys.addaudithook(_refuse_outside)
forbid_real_requests()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate home for each test; no file of the person running the tests is read."""
    folder = tmp_path / "wellkept-home"
    for name in [*os.environ]:
        if name.startswith(("WELLKEPT_", "OTEL_")) or name in _LEFT_OUT:
            monkeypatch.delenv(name)
    monkeypatch.setenv("WELLKEPT_HOME", str(folder))
    monkeypatch.setenv(VARIABLE, "1")
    return folder
