"""The plugin alone, and installed in a real Wellkept."""

import subprocess
from pathlib import Path

import pytest
from wellkept_workshop import WORKSHOP

import wellkept
from wellkept.core.memory import WorkUnitRef
from wellkept.core.types import Phase
from wellkept.observe.methodology.protocol import WorkContext


def test_a_job_is_found_in_the_branch_name() -> None:
    unit = WORKSHOP.work_unit(WorkContext(branch="job-17/new-hinge"))
    assert isinstance(unit, WorkUnitRef)
    assert unit.hierarchy == ("job_17",)


def test_every_stage_has_a_phase_and_hands_on_to_a_stage_that_exists() -> None:
    assert WORKSHOP.phases["bench"] is Phase.IMPLEMENT
    for relay in WORKSHOP.relays:
        assert {relay.source, relay.target} <= set(WORKSHOP.phases)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WELLKEPT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WELLKEPT_METHODOLOGY", "workshop")
    monkeypatch.setenv("WELLKEPT_EMBEDDING_PROVIDER", "none")
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "job-17"], cwd=folder, check=True)
    return folder


def test_wellkept_uses_it(project: Path) -> None:
    with wellkept.open(cwd=project) as wk:
        assert wk.methodology.active.id == "workshop"
        unit = wk.methodology.work_unit(branch="job-17")
        assert isinstance(unit, WorkUnitRef)
        wk.remember("The hinge opens to 110 degrees", type="tolerance", work_unit=unit)
        _, text = wk.methodology.relay("bench", unit=unit)
        assert "110 degrees" in text
