"""The doctor: looks without touching, names what is wrong, mends what is derived."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import holdfast
from holdfast.app.settings.model import Settings
from holdfast.core.query import Severity
from holdfast.observe.model.session_summaries import take_tokens
from holdfast.testing.fakes import WordEmbedder
from tests.app.opening import FailingEmbedder, open_in

pytestmark = pytest.mark.feature("B4")


def test_looking_at_nothing_makes_nothing(tmp_path: Path) -> None:
    with open_in(tmp_path) as hf:
        health = hf.doctor()
    assert health.healthy
    assert "not there yet" in health.facts["state"]
    assert list(tmp_path.iterdir()) == []


def test_every_tier_is_named_with_a_reason(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder="static") as hf:
        hf.remember("x")
        health = hf.doctor(deep=True)
    assert [tier.name for tier in health.tiers] == ["ollama", "openai", "minilm", "static"]
    assert all(tier.reason for tier in health.tiers)
    assert health.model is not None
    assert (health.model.vectors, health.model.wanted) == (1, 1)
    assert health.findings == ()
    assert health.facts["engine"] == "SQLite"


def test_missing_vectors_and_another_model_are_warnings_that_name_the_cure(
    tmp_path: Path,
) -> None:
    with open_in(tmp_path, embedder=WordEmbedder(model_id="old")) as hf:
        hf.remember("the vault holds the key")
    with open_in(tmp_path, embedder=WordEmbedder(model_id="new")) as hf:
        health = hf.doctor()
        assert health.healthy
        assert {f.check for f in health.findings} == {"model", "vectors"}
        assert all("holdfast reindex" in f.message for f in health.findings)
        hf.reindex()
        assert hf.doctor().findings == ()


def test_an_embedder_that_failed_is_reported(tmp_path: Path) -> None:
    with open_in(tmp_path, embedder=FailingEmbedder(texts=0)) as hf:
        hf.remember("x")
        assert any("went away" in f.message for f in hf.doctor().findings)


@pytest.mark.feature("A3")
def test_drift_between_rows_and_indexes_is_found_and_mended(tmp_path: Path) -> None:
    with open_in(tmp_path) as hf:
        hf.remember("findable by zebra")
        path = hf.path
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
    with open_in(tmp_path) as hf:
        assert not hf.doctor(deep=True).healthy
        mended = hf.doctor(repair=True)
        assert mended.mended
        assert mended.healthy
        assert hf.doctor(deep=True).healthy


@pytest.mark.feature("A3")
def test_a_file_that_is_no_database_is_an_error_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "memory.db").write_bytes(b"not a database at all" * 100)
    with open_in(tmp_path) as hf:
        health = hf.doctor()
    assert not health.healthy
    assert [f.severity for f in health.findings if f.check == "store"] == [Severity.ERROR]


@pytest.mark.feature("A3")
def test_others_being_able_to_read_the_file_is_a_warning(tmp_path: Path) -> None:
    with open_in(tmp_path) as hf:
        hf.remember("x")
        hf.path.chmod(0o644)
        assert [f.check for f in hf.doctor().findings] == ["permissions"]


@pytest.mark.feature("A3")
def test_bad_settings_are_findings(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[recall]\nlimit = 0\n", encoding="utf-8")
    environment = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_RECAL": "1"}
    with holdfast.open(cwd=tmp_path, environment=environment, settings=Settings()) as hf:
        findings = hf.doctor().findings
    assert [(f.check, f.severity) for f in findings] == [
        ("settings", Severity.ERROR),
        ("settings", Severity.WARNING),
    ]


@pytest.mark.feature("E2")
def test_damaged_newer_and_foreign_code_files_are_named_with_their_cure(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def take_pool():\n    pass\n", "utf-8")
    with open_in(tmp_path) as hf:
        hf.remember("x")
        hf.graph.build(workers=1)
        hf.code.find("take pool")
        graph, words = hf.graph.path, hf.code.path
        assert hf.doctor(deep=True).findings == ()
    with sqlite3.connect(graph) as db:
        db.execute("INSERT INTO schema_steps VALUES (999, 'later', 0)")
    words.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with open_in(tmp_path) as hf:
        found = {finding.check: finding for finding in hf.doctor().findings}
        assert "schema version 999" in found["memory.graph.db"].message
        assert "holdfast graph build" in found["memory.graph.db"].message
        assert "delete it" in found["memory.words.db"].message
        assert hf.doctor().healthy
    for path in (graph, words):
        for beside in path.parent.glob(f"{path.name}*"):
            beside.unlink()
    with open_in(tmp_path) as hf:
        hf.graph.build(workers=1)
        assert hf.code.find("take pool")
        assert hf.doctor(deep=True).findings == ()


def test_what_a_text_model_took_today_is_shown_where_there_is_one(tmp_path: Path) -> None:
    with open_in(tmp_path) as hf:
        hf.remember("x")
        assert "model tokens" not in hf.doctor().facts
    named = Settings(text_model_name="some-model", capture_daily_model_tokens=5_000)
    with open_in(tmp_path, settings=named) as hf:
        assert take_tokens(hf.engine, 1_200, daily_tokens=5_000)
        assert hf.doctor().facts["model tokens"] == "1,200 of 5,000 today"
