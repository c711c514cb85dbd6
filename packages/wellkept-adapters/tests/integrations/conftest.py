"""A memory of its own for each test of an adapter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from wellkept import Wellkept

FAKE_KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def wk(tmp_path: Path) -> Iterator[Wellkept]:
    with wellkept.open(tmp_path / "memory.db", project="shop", cwd=tmp_path) as opened:
        yield opened
