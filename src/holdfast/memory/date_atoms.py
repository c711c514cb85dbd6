"""Single named times: what "8 May 2023", "last week" or "三天前" stand for, seen from a day.

Every reader gives a span of whole local time from a match's named groups, or nothing when the
groups do not make a date. A time without a year is the latest one that has begun: memories lie in
the past. The ways to say it are data (`data/dates.toml`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

Unit: TypeAlias = Literal["hour", "day", "week", "weekend", "month", "year"]
Bend: TypeAlias = Literal["since", "after", "before", "until"]
_TABLES = ("month", "weekday", "cjk_weekday", "season", "unit", "cjk_unit", "n")
_ROLLING_DAYS: Mapping[str, int] = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_EARLIEST_YEAR, _LATEST_YEAR = 1900, 2199


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open stretch of local time."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class AtomRule:
    """One way to name a time."""

    read: str
    pattern: re.Pattern[str]
    certainty: float
    bare: bool
    fixed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DateBook:
    """Everything that `data/dates.toml` says, compiled."""

    atoms: tuple[AtomRule, ...]
    pairs: tuple[re.Pattern[str], ...]
    bare_before: re.Pattern[str]
    verbs: frozenset[str]
    verb_before: re.Pattern[str]
    sides: tuple[tuple[Bend, re.Pattern[str], re.Pattern[str]], ...]
    offsets: tuple[re.Pattern[str], ...]
    names: Mapping[str, Mapping[str, int | str]]


@dataclass(frozen=True, slots=True)
class Said:
    """The parts of one naming, looked up."""

    parts: Mapping[str, str]
    names: Mapping[str, Mapping[str, int | str]]

    def number(self, part: str) -> int | None:
        """A part as a number, by name or digits."""
        said = self.parts.get(part)
        if said is None:
            return None
        named = self.names.get(part, {}).get(said)
        digits = re.match(r"\d+", said)
        return int(named) if named is not None else int(digits.group()) if digits else None

    def unit(self) -> Unit:
        """The unit of time that was named."""
        said = self.parts.get("unit", "day")
        found = self.names["unit"].get(said) or self.names["cjk_unit"].get(said)
        match found:
            case "hour" | "week" | "weekend" | "month" | "year":
                return found
            case _:
                return "day"


def read_atom(rule: AtomRule, match: re.Match[str], *, now: datetime) -> Span | None:
    """The span that a match names, or nothing when it is no real date."""
    parts = {k: v.lower() for k, v in match.groupdict().items() if v is not None}
    said = Said({**rule.fixed, **parts}, date_book().names)
    try:
        return _READERS[rule.read](said, now)
    except (ValueError, OverflowError):
        # 31 February, or a count that leaves the calendar: not a time.
        return None


def midnight(moment: datetime) -> datetime:
    """The start of the moment's day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def shifted(unit: Unit, n: int, *, now: datetime) -> Span:
    """The whole unit that lies n units before the one of now."""
    today = midnight(now)
    match unit:
        case "hour":
            start = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=n)
            return Span(start, start + timedelta(hours=1))
        case "day":
            return _days(today - timedelta(days=n), 1)
        case "week":
            return _days(today - timedelta(days=today.weekday() + 7 * n), 7)
        case "weekend":
            return _days(today - timedelta(days=today.weekday() - 5 + 7 * n), 2)
        case "month":
            return _months(today.replace(day=1), -n, 1)
        case "year":
            return _months(today.replace(month=1, day=1), -12 * n, 12)


def _days(start: datetime, days: int) -> Span:
    return Span(start, start + timedelta(days=days))


def _months(first: datetime, offset: int, months: int) -> Span:
    return Span(_add_months(first, offset), _add_months(first, offset + months))


def _add_months(first: datetime, months: int) -> datetime:
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    if not _EARLIEST_YEAR <= year <= _LATEST_YEAR:
        raise ValueError("outside the calendar")
    return first.replace(year=year, month=month + 1)


def _date(said: Said, now: datetime) -> Span:
    day, month, year = said.number("day") or 0, said.number("month") or 0, said.number("year")
    if year is not None:
        return _days(midnight(now).replace(year=year, month=month, day=day), 1)
    for candidate in range(now.year, now.year - 5, -1):
        # 29 February exists in one year of four.
        if day == 29 and month == 2 and candidate % 4:
            continue
        start = midnight(now).replace(year=candidate, month=month, day=day)
        if start <= now:
            return _days(start, 1)
    raise ValueError("no such day")


def _month(said: Said, now: datetime) -> Span:
    month, year = said.number("month") or 0, said.number("year")
    first = midnight(now).replace(day=1)
    if year is None:
        year = now.year if month <= now.month else now.year - 1
    return _months(first.replace(year=year, month=month), 0, 1)


def _year(said: Said, now: datetime) -> Span:
    year = said.number("year") or now.year
    return _months(midnight(now).replace(year=year, month=1, day=1), 0, 12)


def _quarter(said: Said, now: datetime) -> Span:
    quarter = said.number("quarter") or 1
    year = said.number("year") or now.year
    return _months(midnight(now).replace(year=year, month=3 * quarter - 2, day=1), 0, 3)


def _season(said: Said, now: datetime) -> Span:
    year = said.number("year")
    if year is not None:
        return _season_of(said, year, now)
    span = _season_of(said, now.year, now)
    return span if span.since <= now else _season_of(said, now.year - 1, now)


def _past_season(said: Said, now: datetime) -> Span:
    span = _season(said, now)
    return span if span.until <= now else _season_of(said, span.since.year - 1, now)


def _last_year_season(said: Said, now: datetime) -> Span:
    return _season_of(said, now.year - 1, now)


def _season_of(said: Said, year: int, now: datetime) -> Span:
    month = said.number("season") or said.number("saison") or 6
    return _months(midnight(now).replace(year=year, month=month, day=1), 0, 3)


def _shift(said: Said, now: datetime) -> Span:
    return shifted(said.unit(), said.number("n") or 0, now=now)


def _rolling(said: Said, now: datetime) -> Span:
    unit, n = said.unit(), said.number("n") or 1
    tomorrow = midnight(now) + timedelta(days=1)
    if unit == "hour":
        return Span(now - timedelta(hours=n), tomorrow)
    return Span(midnight(now) - timedelta(days=n * _ROLLING_DAYS[unit]), tomorrow)


def _weekday(said: Said, now: datetime) -> Span:
    back = (now.weekday() - (said.number("weekday") or 0) - 1) % 7 + 1
    return _days(midnight(now) - timedelta(days=back), 1)


def _this_weekday(said: Said, now: datetime) -> Span:
    week = shifted("week", 0, now=now)
    return _days(week.since + timedelta(days=said.number("weekday") or 0), 1)


def _last_week_day(said: Said, now: datetime) -> Span:
    week = shifted("week", 1, now=now)
    return _days(week.since + timedelta(days=said.number("cjk_weekday") or 0), 1)


def _day_of_month(said: Said, now: datetime) -> Span:
    day = said.number("day") or 0
    first = midnight(now).replace(day=1)
    for back in range(13):
        month = _months(first, -back, 1)
        start = month.since + timedelta(days=day - 1)
        if start < month.until and start <= now:
            return _days(start, 1)
    raise ValueError("no such day")


def _night(_said: Said, now: datetime) -> Span:
    today = midnight(now)
    return Span(today - timedelta(hours=6), today + timedelta(hours=6))


_READERS: Mapping[str, Callable[[Said, datetime], Span]] = {
    "date": _date,
    "month": _month,
    "year": _year,
    "quarter": _quarter,
    "season": _season,
    "past_season": _past_season,
    "last_year_season": _last_year_season,
    "shift": _shift,
    "rolling": _rolling,
    "weekday": _weekday,
    "this_weekday": _this_weekday,
    "last_week_day": _last_week_day,
    "day_of_month": _day_of_month,
    "night": _night,
}


@lru_cache(maxsize=1)
def date_book() -> DateBook:
    """The ways to name a time, read once."""
    raw = tomllib.loads(
        files("holdfast.memory").joinpath("data/dates.toml").read_text(encoding="utf-8")
    )
    names: dict[str, Mapping[str, int | str]] = {name: raw["names"][name] for name in _TABLES}
    names["saison"] = names["season"]

    def compiled(pattern: str) -> re.Pattern[str]:
        for name, table in names.items():
            words = sorted(map(re.escape, table), key=len, reverse=True)
            pattern = pattern.replace("{" + name + "}", "(?:" + "|".join(words) + ")")
        return re.compile(pattern, re.IGNORECASE)

    return DateBook(
        atoms=tuple(_atom(entry, compiled) for entry in raw["atom"]),
        pairs=tuple(map(compiled, raw["pairs"]["patterns"])),
        bare_before=compiled(raw["bare"]["before"]),
        verbs=frozenset(raw["bare"]["verbs"]),
        verb_before=compiled(raw["bare"]["verb_before"]),
        sides=tuple(
            (side["bend"], compiled(side["before"]), compiled(side["after"]))
            for side in raw["side"]
        ),
        offsets=tuple(compiled(entry["pattern"]) for entry in raw["offset"]),
        names=names,
    )


def _atom(entry: dict[str, Any], compiled: Callable[[str], re.Pattern[str]]) -> AtomRule:
    fixed = {part: str(entry[part]) for part in ("n", "unit") if part in entry}
    return AtomRule(
        read=entry["read"],
        pattern=compiled(entry["pattern"]),
        certainty=entry["certainty"],
        bare=entry.get("bare", False),
        fixed=fixed,
    )
