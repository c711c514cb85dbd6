"""The demo: made through the capture path, every view alive, alike for one seed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import wellkept
from tests.cli.conftest import Cli
from wellkept.api.cli.demo.replay import DemoReport, demo_sessions, make_demo
from wellkept.core.types import MemoryType

pytestmark = pytest.mark.feature("H1", "H4")
NOW = datetime(2026, 6, 15, 16, tzinfo=UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> DemoReport:
    return make_demo(tmp_path_factory.mktemp("demo") / "d", now=NOW)


def test_every_view_has_something_to_show(made: DemoReport) -> None:
    with wellkept.open(
        cwd=made.project, environment={"WELLKEPT_HOME": str(made.home)}, clock=lambda: NOW
    ) as wk:
        view = wk.health()
        review = wk.review()
        session = wk.session.show(view.sessions[1].id)
        kinds = {memory.type for memory in wk.iterate()}
        spans = wk.injected.list(limit=500).items
    assert view.totals.total > 20
    assert view.health.score is not None
    assert view.modules is not None
    assert len(view.modules) >= 5
    assert sum(day.memories > 0 for day in view.growth) > 8
    assert sum(day.used > 0 for day in view.recall) > 1
    assert review.applied
    assert review.new
    assert review.auto_confirmed
    assert {"given", "prompt", "observation"} <= {one.kind.value for one in session.entries}
    assert {
        MemoryType.WORKFLOW_RECIPE,
        MemoryType.E2E_OBSERVATION,
        MemoryType.ERROR_PATTERN,
        MemoryType.DECISION,
        MemoryType.DEAD_END,
    } <= kinds
    assert any(line.score for one in spans for line in one.lines)
    assert len({one.at.date() for one in spans}) > 10


def test_nothing_waits_and_the_last_session_is_still_open(made: DemoReport) -> None:
    with wellkept.open(
        cwd=made.project, environment={"WELLKEPT_HOME": str(made.home)}, clock=lambda: NOW
    ) as wk:
        spool = wk.health().spool
        latest = wk.engine.store.sessions(project=wk.project, limit=50)
    assert spool is not None
    assert (spool.waiting_bytes, spool.dropped_events, spool.set_aside) == (0, 0, 0)
    assert [one.is_open for one in latest].count(True) == 1
    assert len(latest) == made.sessions


def test_one_seed_tells_one_story() -> None:
    assert demo_sessions(seed=3) == demo_sessions(seed=3)
    assert demo_sessions(seed=3) != demo_sessions(seed=4)


def test_a_folder_with_something_in_it_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("keep")
    assert cli("demo", "--keep", str(tmp_path / "mine"), "--no-serve").code == 2
    assert cli("demo", "--no-serve").code == 2
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["letter"]
