"""Library and command line on a store in PostgreSQL: the same calls, only the address differs."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.cli.conftest import Cli
from wellkept.core import doors
from wellkept.core.errors import StoreError, UsageError


@pytest.mark.feature("A1")
def test_an_address_opens_the_same_memory_as_a_file_would(
    empty_postgres_url: str, home: Path
) -> None:
    with wellkept.open(empty_postgres_url, project="demo", embedder="static") as wk:
        kept = wk.remember("Deploys go through the staging cluster first")
        wk.remember("The parser skips a torn last line")
        wk.remember("I prefer tabs", scope="user")
    with wellkept.open(empty_postgres_url, project="demo", embedder="static") as wk:
        (best, *_) = wk.recall("how do we deploy?")
        assert best.memory.id == kept.memory.id
        assert wk.stats().total == 3
        assert wk.doctor().healthy
        assert wk.doctor().facts["engine"] == "PostgreSQL"
        wk.forget(kept.memory.short)
        assert all(hit.memory.id != kept.memory.id for hit in wk.recall("how do we deploy?"))
    assert not (home / "data" / "memory.db").exists()


@pytest.mark.feature("A1")
def test_a_memory_moves_between_engines_by_export(empty_postgres_url: str, tmp_path: Path) -> None:
    with (
        wellkept.open(tmp_path / "local.db", project="demo", embedder="none") as local,
        wellkept.open(empty_postgres_url, project="demo", embedder="none") as server,
    ):
        for number in range(5):
            local.remember(f"Fact number {number} about the build", tags=("t",))
        here, there = tmp_path / "here.jsonl", tmp_path / "there.jsonl"
        local.export(here)
        server.import_jsonl(here)
        server.export(there)
        assert here.read_text() == there.read_text()


@pytest.mark.feature("A1")
def test_the_command_line_takes_the_address_from_the_settings(
    cli: Cli, empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WELLKEPT_STORE_URL", empty_postgres_url)
    assert cli("remember", "Integration tests need Redis on port 6380").code == 0
    assert "6380" in cli("recall", "redis port").out
    health = cli("doctor")
    assert health.code == 0
    assert "PostgreSQL" in health.out
    assert cli("maintain").code == 0
    refused = cli("restore", "some.db", "--yes")
    assert refused.code != 0
    monkeypatch.delenv("WELLKEPT_STORE_URL")
    assert "6380" not in cli("recall", "redis port").out
    assert "6380" in cli("--store", empty_postgres_url, "recall", "redis port").out


@pytest.mark.feature("A1")
def test_a_server_that_is_away_is_one_clear_line_without_the_password(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg_pool")
    url = "postgresql://robin:pa55word@127.0.0.1:1/none"
    monkeypatch.setenv("WELLKEPT_STORE_URL", url)
    said = cli("recall", "anything")
    assert said.code != 0
    assert "cannot be reached" in said.err
    shown = said.err + said.out + cli("doctor").out + cli("config").out
    assert "pa55word" not in shown
    with wellkept.open(url, project="demo", embedder="none") as wk, pytest.raises(StoreError):
        wk.stats()


@pytest.mark.feature("A1")
def test_without_the_distribution_the_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(doors.DISTRIBUTIONS, "team", "wellkept_absent")
    doors.find_plugin.cache_clear()
    with (
        wellkept.open("postgresql://localhost/x", project="p", embedder="none") as wk,
        pytest.raises(UsageError, match=r"wellkept\[team\]"),
    ):
        wk.stats()
    doors.find_plugin.cache_clear()
