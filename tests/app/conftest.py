"""A desk to work at, and its memory, which looks for no skills by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from tests.app.working import QUIET, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def wk(desk: Desk) -> Iterator[wellkept.Wellkept]:
    with desk.open(settings=QUIET) as opened:
        yield opened
