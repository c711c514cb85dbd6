"""A machine of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.hooking import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A home that does not exist yet and an empty project."""
    project = tmp_path / "project"
    project.mkdir()
    return Machine(tmp_path / "home", project)
