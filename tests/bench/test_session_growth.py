"""Sessions pile up: what tools print is not kept, and the store stays small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import session_growth
from bench.session_growth import Point, Writer

pytestmark = pytest.mark.feature("A6")


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Point]]:
    root = tmp_path_factory.mktemp("growth")
    return root, session_growth.measure(root, sessions=4, events=80, output_bytes=20_000)


def test_what_tools_print_is_not_kept(grown: tuple[Path, list[Point]]) -> None:
    root, points = grown
    assert points[-1].printed_mb > 3
    kept = b"".join(path.read_bytes() for path in (root / "home").glob("memory.db*"))
    # Each printed line ends in a number of its own.
    lines = set(re.findall(rb"(?:[a-z]+ ){8}\d{5,}", kept))
    assert len(lines) < 60
    assert points[-1].database_mb < points[-1].printed_mb / 2


def test_the_log_and_maintenance_stay_bounded(grown: tuple[Path, list[Point]]) -> None:
    _, points = grown
    assert all(point.log_mb < 64 for point in points)
    assert [point.sessions for point in points] == [1, 2, 3, 4]


def test_a_writer_makes_the_events_it_was_asked_for(tmp_path: Path) -> None:
    writer = Writer(tmp_path, tmp_path, events=30, output_bytes=1_000)
    writer.session(1)
    (spooled,) = (tmp_path / "spool").glob("*.spool")
    assert spooled.read_bytes().count(b"hook_event_name") == 30
