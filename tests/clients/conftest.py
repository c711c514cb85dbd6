"""A machine of its own for each test, with the hook in Python and with the native one before it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.clients.hooking import Machine
from wellkept.clients.install.native_hook import native_hook


@pytest.fixture(scope="session")
def native(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The native hook; skipped where there is no compiler."""
    state = tmp_path_factory.mktemp("native")
    program = native_hook({**os.environ, "WELLKEPT_HOME": str(state)}, build=True)
    if program is None:
        pytest.skip("no C compiler")
    return str(program)


@pytest.fixture(params=["python", "native"])
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    """A home that does not exist yet and an empty project."""
    project = tmp_path / "project"
    project.mkdir()
    before = (request.getfixturevalue("native"),) if request.param == "native" else ()
    return Machine(tmp_path / "home", project, native=before)
