"""Releasing: tag, version and change log agree; the workflows hold no secret and name real steps."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts import hash_pins, release_check
from scripts.dist import DISTRIBUTIONS, ROOT, project, version

pytestmark = pytest.mark.feature("I3")

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
LOG = "# Changelog\n\n## Unreleased\n\nx\n\n## 0.2.0 (2026-12-01)\n\n- New.\n\n## 0.1.0 (unreleased)\n\n- First.\n"


def steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def test_a_tag_must_be_the_version_and_have_a_dated_section() -> None:
    assert release_check.problems("v0.2.0", version="0.2.0", changelog=LOG) == []
    (wrong,) = release_check.problems("v0.2.1", version="0.2.0", changelog=LOG)
    assert "v0.2.1" in wrong
    (undated,) = release_check.problems("v0.1.0", version="0.1.0", changelog=LOG)
    assert "unreleased" in undated
    (missing,) = release_check.problems("v0.3.0", version="0.3.0", changelog=LOG)
    assert "## 0.3.0" in missing


def test_the_notes_of_a_release_are_its_section_alone() -> None:
    assert release_check.notes("0.2.0", LOG) == "- New.\n"
    assert release_check.notes("0.1.0", LOG) == "- First.\n"
    with pytest.raises(SystemExit):
        release_check.notes("9.9.9", LOG)


def test_the_change_log_has_a_section_for_the_version() -> None:
    assert release_check.notes(version(), (ROOT / "CHANGELOG.md").read_text("utf-8"))


def test_all_that_the_wheels_need_to_run_is_pinned_with_hashes() -> None:
    hashed = hash_pins.read()
    assert {name: pin for name, (pin, _) in hashed.items()} == hash_pins.needed()
    text = hash_pins.HASHED.read_text("utf-8")
    assert text.count("==") == len(hashed)
    assert text.count("--hash=") == sum(len(found) for _, found in hashed.values())
    assert "://" not in text


def test_a_bill_of_materials_that_lacks_a_dependency_is_refused(tmp_path: Path) -> None:
    bill = tmp_path / "bill.json"
    parts = [{"name": name, "version": pin} for name, pin in hash_pins.needed().items()]
    bill.write_text(json.dumps({"components": parts}))
    assert hash_pins.lacking(bill) == []
    bill.write_text(json.dumps({"components": parts[1:]}))
    assert hash_pins.lacking(bill) == ["{name}=={version}".format(**parts[0])]


def test_workflows_and_forms_keep_to_their_schemas_and_to_safe_habits() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "check-workflows"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_only_what_there_is(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for step in steps(workflow):
        line = step.get("run", "")
        assert set(re.findall(r"\bmake ([a-z-]+)", line)) <= targets
        for module in re.findall(r"-m scripts\.(\w+)", line):
            assert (ROOT / "scripts" / f"{module}.py").exists()
        for script in re.findall(r"(?<![\w/])scripts/([\w.-]+)", line):
            assert (ROOT / "scripts" / script).exists()
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), "pin the commit"


def test_the_matrix_has_every_python_that_is_supported() -> None:
    said = [name.rpartition(" ")[2] for name in project()["classifiers"] if ":: 3." in name]
    matrix = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    assert matrix["jobs"]["test"]["strategy"]["matrix"]["python"] == said
    for name in DISTRIBUTIONS:
        assert project(name)["requires-python"] == f">={said[0]}"


def test_publishing_needs_no_password() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert "secrets." not in text
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] == "release"
    assert jobs["publish"]["steps"][-1]["with"]["attestations"] is True
