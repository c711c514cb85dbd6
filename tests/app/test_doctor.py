"""The doctor: looks without touching, names what is wrong, mends what is derived."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

import wellkept
from tests.app.opening import FailingEmbedder, open_in
from wellkept.core.query import Severity
from wellkept.core.settings.model import Settings
from wellkept.memory.engine import spend_tokens
from wellkept.store import spool
from wellkept.testing.fakes import WordEmbedder

pytestmark = pytest.mark.feature("B4")


def test_looking_at_nothing_makes_nothing(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        health = wk.doctor()
    assert health.healthy
    assert "not there yet" in health.facts["state"]
    assert list(tmp_path.iterdir()) == []


def test_every_tier_is_named_with_a_reason(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder="static") as wk:
        wk.remember("x")
        health = wk.doctor(deep=True)
    assert [tier.name for tier in health.tiers] == [
        "ollama",
        "openai",
        "fastembed",
        "minilm",
        "static",
    ]
    assert all(tier.reason for tier in health.tiers)
    assert health.model is not None
    assert (health.model.vectors, health.model.wanted) == (1, 1)
    assert health.findings == ()
    assert health.facts["engine"] == "SQLite"


def test_missing_vectors_and_another_model_are_warnings_that_name_the_cure(
    tmp_path: Path,
) -> None:
    with open_in(tmp_path, embedder=WordEmbedder(model_id="old")) as wk:
        wk.remember("the vault holds the key")
    with open_in(tmp_path, embedder=WordEmbedder(model_id="new")) as wk:
        health = wk.doctor()
        assert health.healthy
        assert {f.check for f in health.findings} == {"model", "vectors"}
        assert all("wellkept admin reindex" in f.message for f in health.findings)
        wk.reindex()
        assert wk.doctor().findings == ()


@pytest.mark.feature("C2")
def test_events_that_nobody_takes_in_are_told(tmp_path: Path) -> None:
    environment = {"WELLKEPT_HOME": str(tmp_path / "home")}
    folder = tmp_path / "home" / spool.FOLDER_NAME
    with wellkept.open(
        cwd=tmp_path, embedder="none", settings=Settings(), environment=environment
    ) as wk:
        wk.remember("x")
        spool.append(
            str(folder), client="codex", session="s", event="Stop", payload=b"{}", now_ms=1
        )
        assert "spool" not in {finding.check for finding in wk.doctor().findings}
        for path in folder.glob("*.spool"):
            os.utime(path, (1.0, 1.0))
        (found,) = [finding for finding in wk.doctor().findings if finding.check == "spool"]
    assert "more than an hour" in found.message
    assert "wellkept admin drain" in found.message


def test_an_embedder_that_failed_is_reported(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=FailingEmbedder(texts=0)) as wk:
        wk.remember("x")
        assert any("went away" in f.message for f in wk.doctor().findings)


@pytest.mark.feature("A3")
@pytest.mark.feature("B7")
def test_a_reranker_that_is_not_here_is_a_warning_with_its_cure(tmp_path: Path) -> None:
    with open_in(tmp_path, settings=Settings(reranker_name="no/such")) as wk:
        wk.remember("The deploy key is in the vault")
        (found,) = wk.doctor().findings
        assert (found.check, found.severity) == ("reranker", Severity.WARNING)
        assert "wellkept admin models get no/such" in found.message
        assert wk.doctor(deep=True).findings[-1].check == "reranker"


def test_drift_between_rows_and_indexes_is_found_and_mended(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("findable by zebra")
        path = wk.path
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
    with open_in(tmp_path) as wk:
        assert not wk.doctor(deep=True).healthy
        mended = wk.doctor(repair=True)
        assert mended.mended
        assert mended.healthy
        assert wk.doctor(deep=True).healthy


@pytest.mark.feature("A3")
def test_a_file_that_is_no_database_is_an_error_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "memory.db").write_bytes(b"not a database at all" * 100)
    with open_in(tmp_path) as wk:
        health = wk.doctor()
    assert not health.healthy
    assert [f.severity for f in health.findings if f.check == "store"] == [Severity.ERROR]


@pytest.mark.feature("A3")
def test_others_being_able_to_read_the_file_is_a_warning(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("x")
        wk.path.chmod(0o644)
        assert [f.check for f in wk.doctor().findings] == ["permissions"]


@pytest.mark.feature("A3")
def test_bad_settings_are_findings(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[recall]\nlimit = 0\n", encoding="utf-8")
    environment = {"WELLKEPT_HOME": str(tmp_path), "WELLKEPT_RECAL": "1"}
    with wellkept.open(cwd=tmp_path, environment=environment, settings=Settings()) as wk:
        findings = wk.doctor().findings
    assert [(f.check, f.severity) for f in findings] == [
        ("settings", Severity.ERROR),
        ("settings", Severity.WARNING),
    ]


@pytest.mark.feature("E2")
def test_damaged_newer_and_foreign_code_files_are_named_with_their_cure(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def take_pool():\n    pass\n", "utf-8")
    with open_in(tmp_path) as wk:
        wk.remember("x")
        wk.graph.build(workers=1)
        wk.code.find("take pool")
        graph, words = wk.code_graph.path, wk.code.path
        assert wk.doctor(deep=True).findings == ()
    with sqlite3.connect(graph) as db:
        db.execute("INSERT INTO schema_steps VALUES (999, 'later', 0)")
    words.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with open_in(tmp_path) as wk:
        found = {finding.check: finding for finding in wk.doctor().findings}
        assert "schema version 999" in found["memory.graph.db"].message
        assert "wellkept graph build" in found["memory.graph.db"].message
        assert "delete it" in found["memory.words.db"].message
        assert wk.doctor().healthy
    for path in (graph, words):
        for beside in path.parent.glob(f"{path.name}*"):
            beside.unlink()
    with open_in(tmp_path) as wk:
        wk.graph.build(workers=1)
        assert wk.code.find("take pool")
        assert wk.doctor(deep=True).findings == ()


def test_what_a_text_model_took_today_is_shown_where_there_is_one(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("x")
        assert "model tokens" not in wk.doctor().facts
    named = Settings(
        text_model_provider="openai", text_model_name="some-model", capture_daily_model_tokens=5_000
    )
    with open_in(tmp_path, settings=named) as wk:
        assert spend_tokens(wk.engine, 1_200, daily_tokens=5_000)
        assert wk.doctor().facts["model tokens"] == "1,200 of 5,000 today"
