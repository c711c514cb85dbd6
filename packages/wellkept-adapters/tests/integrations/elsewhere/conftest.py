"""Tests that run in the environment of `scripts/test-integrations`: no network, no telemetry."""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from wellkept import Wellkept

os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    MEM0_TELEMETRY="False",
    OTEL_SDK_DISABLED="true",
)


def _refuse_outside(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and address:
        host = str(address[0])  # pyright: ignore[reportUnknownArgumentType]
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            raise ConnectionRefusedError(f"Tests may only talk to loopback, not {host}.")


sys.addaudithook(_refuse_outside)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test, for Wellkept, CrewAI and Mem0."""
    for name in ("HOME", "WELLKEPT_HOME", "MEM0_DIR", "CREWAI_STORAGE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def wk(tmp_path: Path) -> Iterator[Wellkept]:
    with wellkept.open(tmp_path / "memory.db", project="shop", cwd=tmp_path) as opened:
        yield opened
