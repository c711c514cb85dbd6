"""Refresh, decay and archive as one job, safe to start twice; nothing is deleted."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path

import pytest

from tests.memory.workshop import PROJECT, Workshop, open_workshop
from wellkept.core.changes import Mark, PutSession
from wellkept.core.memory import Memory
from wellkept.core.payloads import RecipeStep, WorkflowRecipe
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import MemoryType, Scope
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.maintenance import maintenance_due, run_maintenance
from wellkept.memory.lifecycle.report import MaintenanceAction, MaintenanceReport
from wellkept.memory.state import State

pytestmark = pytest.mark.feature("A6")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "here.py").write_text("pass\n")
    return folder


def furnish(shop: Workshop) -> dict[str, Memory]:
    """One memory for each thing the job may do; then time passes."""
    made = {
        "stale": shop.keep("About a file", files=("gone.py",)),
        "current": shop.keep("About another file", files=("here.py",)),
        "fading": shop.keep("Hardly matters", importance=0.105),
        "session": shop.keep("Look here next", scope=Scope.SESSION),
        "pinned": shop.keep("Never forget", importance=0.01, pinned=True),
    }
    shop.clock.advance(days=10)
    return made


def test_the_job_refreshes_decays_and_archives(shop: Workshop, root: Path) -> None:
    made = furnish(shop)
    report = run_maintenance(shop.engine, project=PROJECT, root=root)
    assert report.action is MaintenanceAction.MAINTAIN
    assert report.counts == {"file gone": 1, "decayed": 4, "session over": 1}
    assert report.removed == ()
    left = shop.all()
    assert set(left) == {memory.id for memory in made.values()}
    archived = [one.id for one in left.values() if one.archived_at == shop.clock.now]
    assert archived == [made["session"].id]
    assert left[made["stale"].id].stale_at == shop.clock.now
    assert left[made["current"].id].importance < 0.5


def test_disuse_for_years_neither_archives_nor_deletes(shop: Workshop, root: Path) -> None:
    made = shop.keep("Deploys go through staging")
    for _ in range(40):
        shop.clock.advance(days=30)
        run_maintenance(shop.engine, project=PROJECT, root=root)
    after = shop.read(made)
    assert after.importance < 0.01
    assert after.archived_at is None


def test_what_a_person_brought_back_is_not_archived_again(shop: Workshop, root: Path) -> None:
    undone, restored = (shop.keep(f"Note {n}", scope=Scope.SESSION) for n in range(2))
    shop.clock.advance(days=8)
    run_maintenance(shop.engine, project=PROJECT, root=root)
    (step,) = shop.store.undo_steps(project=PROJECT, limit=9)
    shop.store.apply([Mark(restored.id, "archived", None)])
    shop.store.undo(step.id, project=PROJECT)
    assert shop.read(undone).archived_at is None
    shop.clock.advance(days=400)
    preview = run_maintenance(shop.engine, project=PROJECT, root=root, dry_run=True)
    run_maintenance(shop.engine, project=PROJECT, root=root)
    assert "session over" not in preview.counts
    assert not any(shop.read(one).archived_at for one in (undone, restored))


def test_a_preview_of_the_job_changes_nothing(shop: Workshop, root: Path) -> None:
    furnish(shop)
    before = shop.all()
    preview = run_maintenance(shop.engine, project=PROJECT, root=root, dry_run=True)
    assert shop.all() == before
    assert maintenance_due(shop.engine, project=PROJECT)
    done = run_maintenance(shop.engine, project=PROJECT, root=root)
    assert done.items == preview.items


def test_the_job_is_due_at_first_then_daily_or_every_twenty_sessions(
    shop: Workshop, root: Path
) -> None:
    assert maintenance_due(shop.engine, project=PROJECT, session_count=100)
    run_maintenance(shop.engine, project=PROJECT, root=root, session_count=100)
    assert not maintenance_due(shop.engine, project=PROJECT, session_count=119)
    assert maintenance_due(shop.engine, project=PROJECT, session_count=120)
    assert not maintenance_due(shop.engine, project=PROJECT)
    assert maintenance_due(shop.engine, project="git:example.org/other", session_count=119)
    shop.clock.advance(days=1)
    assert maintenance_due(shop.engine, project=PROJECT, session_count=100)


def test_without_a_count_the_recorded_sessions_since_the_last_run_are_counted(
    shop: Workshop, root: Path
) -> None:
    def record(number: int) -> None:
        now = shop.clock()
        session = SessionRecord(
            id=f"s{number}", client="test", project=PROJECT, started_at=now, last_event_at=now
        )
        shop.store.apply([PutSession(session)])

    record(0)
    shop.clock.advance(seconds=60)
    run_maintenance(shop.engine, project=PROJECT, root=root)
    for number in range(1, 20):
        record(number)
    assert not maintenance_due(shop.engine, project=PROJECT)
    record(20)
    assert maintenance_due(shop.engine, project=PROJECT)


def test_running_it_again_changes_nothing(shop: Workshop, root: Path) -> None:
    furnish(shop)
    run_maintenance(shop.engine, project=PROJECT, root=root)
    once = shop.all()
    assert run_maintenance(shop.engine, project=PROJECT, root=root).items == ()
    assert shop.all() == once


def test_two_that_start_at_once_leave_what_one_would(tmp_path: Path, root: Path) -> None:
    outcomes: list[dict[str, Memory]] = []
    for name, workers in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        shop = open_workshop(tmp_path / name)
        furnish(shop)
        for number in range(300):
            shop.keep(f"Fact {number}", importance=number / 300)
        shop.clock.advance(days=30)
        run_together([shop.beside() for _ in range(workers)], root)
        outcomes.append(shop.all())
        shop.store.close()
    assert outcomes[0] == outcomes[1]


def run_together(engines: list[Engine], root: Path) -> None:
    start = threading.Barrier(len(engines))
    reports: list[MaintenanceReport] = []

    def work(engine: Engine) -> None:
        start.wait()
        reports.append(run_maintenance(engine, project=PROJECT, root=root))
        engine.store.close()

    threads = [threading.Thread(target=work, args=(engine,)) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == len(engines)


def test_recipes_become_stale_when_the_job_can_tell_what_changed(
    shop: Workshop, root: Path
) -> None:
    recipe = WorkflowRecipe("add an endpoint", (RecipeStep("Add the route", "here.py"),))
    memory = shop.keep("How to", type=MemoryType.WORKFLOW_RECIPE, payload=recipe)

    def changed_since(path: str, moment: datetime) -> bool:
        return path == "here.py" and moment == memory.created_at

    report = run_maintenance(shop.engine, project=PROJECT, root=root, changed_since=changed_since)
    assert report.counts == {"file changed": 1}
    assert shop.read(memory).stale_at is not None


@pytest.mark.feature("A9")
def test_the_job_clears_the_state_of_sessions_that_never_ended(shop: Workshop, root: Path) -> None:
    State(shop.engine, project=PROJECT, session_id="left").put("session:x", 1)
    shop.clock.advance(days=8)
    run_maintenance(shop.engine, project=PROJECT, root=root)
    assert State(shop.engine, project=PROJECT, session_id="left").get("session:x") is None
