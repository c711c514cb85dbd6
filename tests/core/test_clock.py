from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.clock import days_between, from_ms, parse_moment, to_ms, whole_ms
from wellkept.core.errors import UsageError

pytestmark = pytest.mark.feature("A1", "B6")

MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 2),
    max_value=datetime(9999, 12, 30),
    timezones=st.just(UTC),
)


@given(MOMENTS)
def test_a_moment_survives_storage_exactly(moment: datetime) -> None:
    kept = whole_ms(moment)
    assert from_ms(to_ms(kept)) == kept
    assert timedelta(0) <= moment - kept < timedelta(milliseconds=1)


def test_a_time_without_a_zone_is_refused_with_advice() -> None:
    with pytest.raises(UsageError, match=r"no time zone.*\+00:00"):
        whole_ms(datetime(2026, 1, 1))


def test_other_zones_become_utc() -> None:
    east = datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    assert whole_ms(east) == datetime(2026, 1, 1, tzinfo=UTC)


def test_days_are_never_negative() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)
    assert days_between(early, late) == 2
    assert days_between(late, early) == 0


@pytest.mark.parametrize("text", ["", "yesterday-ish", "2026-13-01", "12/31/2026"])
def test_an_unreadable_date_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="ISO 8601"):
        parse_moment(text)


def test_a_bare_date_is_its_midnight() -> None:
    assert parse_moment("2026-05-31") == datetime(2026, 5, 31, tzinfo=UTC)
    assert parse_moment("2026-05-31T09:00+02:00") == datetime(2026, 5, 31, 7, tzinfo=UTC)
