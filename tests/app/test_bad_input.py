"""What a caller may say that makes no sense: a clear refusal, and nothing kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from holdfast.core.errors import UsageError
from tests.app.opening import open_in

pytestmark = pytest.mark.feature("A1")

_FAR_EAST = timezone(timedelta(hours=14))
_FAR_WEST = timezone(timedelta(hours=-12))


@pytest.mark.parametrize(
    "when",
    [
        datetime(1, 1, 1, tzinfo=_FAR_EAST),
        datetime(9999, 12, 31, 23, 59, tzinfo=_FAR_WEST),
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:59:59-12:00",
    ],
)
def test_a_moment_that_no_calendar_holds_in_utc_is_refused(
    tmp_path: Path, when: datetime | str
) -> None:
    with open_in(tmp_path) as memory:
        with pytest.raises(UsageError, match="out of range"):
            memory.remember("The year is out of bounds", at=when)
        with pytest.raises(UsageError, match="out of range"):
            memory.list(as_of=when)
        assert memory.stats().total == 0


@pytest.mark.parametrize("year", [1, 9999])
def test_the_first_and_the_last_year_can_be_kept_and_asked_for(tmp_path: Path, year: int) -> None:
    when = datetime(year, 6, 1, tzinfo=UTC)
    with open_in(tmp_path) as memory:
        kept = memory.remember(f"A comet passed in the year {year}", at=when).memory
        assert memory.get(kept.id).valid_from == when
        assert [hit.memory.id for hit in memory.recall("comet", mode="words")] == [kept.id]
        memory.upkeep()


@pytest.mark.parametrize(
    "path",
    ["x\ud800y.py", "a" * 5_000, "deep/" * 2_000 + "x.py", "dir\\" * 2_000 + "x.py"],
    ids=["lone surrogate", "long name", "long path", "long Windows path"],
)
def test_a_path_that_no_file_can_have_is_refused_and_keeps_nothing(
    tmp_path: Path, path: str
) -> None:
    with open_in(tmp_path) as memory:
        with pytest.raises(UsageError):
            memory.remember("The parser is slow", files=[path])
        assert memory.stats().total == 0


@pytest.mark.parametrize("number", [10**400, -(10**400), float("inf"), float("nan")])
@pytest.mark.parametrize("field", ["importance", "confidence", "half_life_days"])
def test_a_number_that_is_no_share_or_span_is_refused(
    tmp_path: Path, field: str, number: float
) -> None:
    with open_in(tmp_path) as memory:
        with pytest.raises(UsageError):
            memory.remember("The parser is slow", **{field: number})  # type: ignore[arg-type]
        assert memory.stats().total == 0
