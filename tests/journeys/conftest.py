"""An installation for each journey: the one environment of the tests, a home of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.product import Installation, installed


@pytest.fixture
def here(home: Path, tmp_path: Path) -> Installation:
    """A home without anything in it, and a repository with one commit."""
    return installed(home, tmp_path / "person", tmp_path / "widget")
