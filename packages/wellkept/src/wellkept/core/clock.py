"""Time as aware UTC datetimes in whole milliseconds.

Engines store milliseconds since the epoch, so a round trip is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from wellkept.core.errors import UsageError

Clock = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def system_clock() -> datetime:
    """The current time in whole milliseconds."""
    return whole_ms(datetime.now(UTC))


def whole_ms(moment: datetime) -> datetime:
    """The same moment in UTC, truncated to milliseconds."""
    if moment.tzinfo is None:
        raise UsageError(
            f"The time {moment.isoformat()} has no time zone.", hint="Add one, e.g. +00:00."
        )
    try:
        moment = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(
            f"The time {moment.isoformat()} is out of range.",
            hint="Use a time within the years 1 to 9999 in UTC.",
        ) from None
    rest_us = moment.microsecond % 1000
    return moment.replace(microsecond=moment.microsecond - rest_us) if rest_us else moment


def to_ms(moment: datetime) -> int:
    """Milliseconds since the epoch."""
    return (whole_ms(moment) - _EPOCH) // _MS


def from_ms(value: int) -> datetime:
    """The moment that many milliseconds after the epoch."""
    return _EPOCH + value * _MS


def days_between(earlier: datetime, later: datetime) -> float:
    """Days from one moment to another; never negative, even if a clock was set back."""
    return max(0.0, (later - earlier).total_seconds() / 86_400)


def parse_moment(text: str) -> datetime:
    """Read an ISO 8601 date or time; a bare date is its midnight in UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is not a date or time.",
            hint="Use ISO 8601, e.g. 2026-05-31 or 2026-05-31T09:00Z.",
        ) from None
    return whole_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def format_moment(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, always of the same length."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


def date_words(moment: datetime) -> str:
    """A date as searchable words, the same in every locale: 8 may 2023 monday 2023-05-08."""
    day = moment.astimezone(UTC)
    name = f"{day.day} {_MONTHS[day.month - 1]} {day.year} {_DAYS[day.weekday()]}"
    return f"{name} {day:%Y-%m-%d}"
