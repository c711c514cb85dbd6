"""Date expressions: "8 May 2023", "last week" or "三天前" to a span, relative to a day.

Every reader makes a span of local time from the named groups of a match, or none when they are not
a date. A date without a year is the latest one that has begun: memories are of the past. The
phrases are data (`data/dates.toml`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from wellkept.core.records import record
from wellkept.text.rule_data import read_rules

Unit: TypeAlias = Literal["hour", "day", "week", "weekend", "month", "year"]
Modifier: TypeAlias = Literal["since", "after", "before", "until"]
_TABLES = (
    "month",
    "weekday",
    "cjk_weekday",
    "season",
    "quarter",
    "half",
    "part",
    "unit",
    "cjk_unit",
    "n",
)
_ROLLING_DAYS: Mapping[str, int] = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_EARLIEST_YEAR, _LATEST_YEAR = 1900, 2199


@record
class Span:
    """A half-open span of local time."""

    since: datetime
    until: datetime


@record
class Phrase:
    """A pattern that is compiled only for a text with one of each set of words."""

    source: str
    needs: tuple[tuple[str, ...], ...]

    def may_be_in(self, low: str) -> bool:
        """Whether the lower-case text holds the words without which there is no match."""
        return all(any(word in low for word in words) for words in self.needs)

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return _compiled(self.source)


@record
class AtomRule:
    """One form of a date expression."""

    read: str
    phrase: Phrase
    certainty: float
    bare: bool
    fixed: Mapping[str, str]


@record
class _ModifierRule:
    """Words before or after an expression that change its span ("since", "before")."""

    modifier: Modifier
    before: Phrase
    after: Phrase


@record
class DateRules:
    """The content of `data/dates.toml`."""

    atoms: tuple[AtomRule, ...]
    pairs: tuple[Phrase, ...]
    bare_before: Phrase
    verbs: frozenset[str]
    verb_before: Phrase
    sides: tuple[_ModifierRule, ...]
    offsets: tuple[Phrase, ...]
    names: Mapping[str, Mapping[str, int | str]]


@record
class DateParts:
    """The named groups of a match, with word lists to look them up."""

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
    """The span of a match; None when it is not a real date."""
    parts = {k: v.lower() for k, v in match.groupdict().items() if v is not None}
    found = DateParts({**rule.fixed, **parts}, load_date_rules().names)
    try:
        return _READERS[rule.read](found, now)
    except (ValueError, OverflowError):
        # 31 February, or a count that leaves the calendar: not a time.
        return None


def midnight(moment: datetime) -> datetime:
    """The start of the moment's day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def shifted(unit: Unit, n: int, *, now: datetime) -> Span:
    """The whole unit, n units before the current one."""
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


def _date(parts: DateParts, now: datetime) -> Span:
    day, month, year = parts.number("day") or 0, parts.number("month") or 0, parts.number("year")
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


def _month(parts: DateParts, now: datetime) -> Span:
    month, year = parts.number("month") or 0, parts.number("year")
    first = midnight(now).replace(day=1)
    if year is None:
        year = now.year if month <= now.month else now.year - 1
    return _months(first.replace(year=year, month=month), 0, 1)


def _year(parts: DateParts, now: datetime) -> Span:
    year = parts.number("year") or now.year
    return _months(midnight(now).replace(year=year, month=1, day=1), 0, 12)


def _year_start(parts: DateParts, now: datetime) -> Span:
    back = parts.number("n") or 0
    return _months(midnight(now).replace(month=1, day=1), -12 * back, 3)


def _quarter(parts: DateParts, now: datetime) -> Span:
    return _share_of_year(parts, parts.number("quarter") or 1, 3, now)


def _half(parts: DateParts, now: datetime) -> Span:
    return _share_of_year(parts, parts.number("half") or 1, 6, now)


def _year_part(parts: DateParts, now: datetime) -> Span:
    return _share_of_year(parts, (parts.number("part") or 0) + 1, 4, now)


def _share_of_year(parts: DateParts, place: int, months: int, now: datetime) -> Span:
    """The first, second, … so many months of the year; without a year the latest that began."""
    first = midnight(now).replace(year=parts.number("year") or now.year, month=1, day=1)
    span = _months(first, (place - 1) * months, months)
    began = parts.number("year") is not None or span.since <= now
    return span if began else _months(first, (place - 1) * months - 12, months)


def _last_quarter(_parts: DateParts, now: datetime) -> Span:
    first = midnight(now).replace(month=3 * ((now.month - 1) // 3) + 1, day=1)
    return _months(first, -3, 3)


def _season(parts: DateParts, now: datetime) -> Span:
    year = parts.number("year")
    if year is not None:
        return _season_of(parts, year, now)
    span = _season_of(parts, now.year, now)
    return span if span.since <= now else _season_of(parts, now.year - 1, now)


def _past_season(parts: DateParts, now: datetime) -> Span:
    span = _season(parts, now)
    return span if span.until <= now else _season_of(parts, span.since.year - 1, now)


def _last_year_season(parts: DateParts, now: datetime) -> Span:
    return _season_of(parts, now.year - 1, now)


def _season_of(parts: DateParts, year: int, now: datetime) -> Span:
    month = next(filter(None, map(parts.number, ("season", "saison", "estacion"))), 6)
    return _months(midnight(now).replace(year=year, month=month, day=1), 0, 3)


def _shift(parts: DateParts, now: datetime) -> Span:
    return shifted(parts.unit(), parts.number("n") or 0, now=now)


def _rolling(parts: DateParts, now: datetime) -> Span:
    unit, n = parts.unit(), parts.number("n") or 1
    tomorrow = midnight(now) + timedelta(days=1)
    if unit == "hour":
        return Span(now - timedelta(hours=n), tomorrow)
    return Span(midnight(now) - timedelta(days=n * _ROLLING_DAYS[unit]), tomorrow)


def _weekday(parts: DateParts, now: datetime) -> Span:
    back = (now.weekday() - (parts.number("weekday") or 0) - 1) % 7 + 1
    return _days(midnight(now) - timedelta(days=back), 1)


def _this_weekday(parts: DateParts, now: datetime) -> Span:
    week = shifted("week", 0, now=now)
    return _days(week.since + timedelta(days=parts.number("weekday") or 0), 1)


def _last_week_day(parts: DateParts, now: datetime) -> Span:
    week = shifted("week", 1, now=now)
    return _days(week.since + timedelta(days=parts.number("cjk_weekday") or 0), 1)


def _day_of_month(parts: DateParts, now: datetime) -> Span:
    day = parts.number("day") or 0
    first = midnight(now).replace(day=1)
    for back in range(13):
        month = _months(first, -back, 1)
        start = month.since + timedelta(days=day - 1)
        if start < month.until and start <= now:
            return _days(start, 1)
    raise ValueError("no such day")


def _night(_parts: DateParts, now: datetime) -> Span:
    today = midnight(now)
    return Span(today - timedelta(hours=6), today + timedelta(hours=6))


_READERS: Mapping[str, Callable[[DateParts, datetime], Span]] = {
    "date": _date,
    "month": _month,
    "year": _year,
    "quarter": _quarter,
    "last_quarter": _last_quarter,
    "half": _half,
    "year_part": _year_part,
    "season": _season,
    "year_start": _year_start,
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


@lru_cache(maxsize=256)
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)


@lru_cache(maxsize=1)
def load_date_rules() -> DateRules:
    """The ways to name a time, read once."""
    raw = read_rules("dates")
    names: dict[str, Mapping[str, int | str]] = {name: raw["names"][name] for name in _TABLES}
    names["saison"] = names["estacion"] = names["season"]
    phrase = _Phrasing(names).phrase
    bare = raw["bare"]
    return DateRules(
        atoms=tuple(_atom(entry, phrase) for entry in raw["atom"]),
        pairs=tuple(phrase(entry["pattern"], entry["needs"]) for entry in raw["pair"]),
        bare_before=phrase(bare["before"]),
        verbs=frozenset(bare["verbs"]),
        verb_before=phrase(bare["verb_before"]),
        sides=tuple(
            _ModifierRule(side["bend"], phrase(side["before"]), phrase(side["after"]))
            for side in raw["side"]
        ),
        offsets=tuple(phrase(entry["pattern"]) for entry in raw["offset"]),
        names=names,
    )


class _Phrasing:
    """Puts the tables of names into patterns."""

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        self._words = {name: tuple(words) for name, words in names.items()}
        self._fragments = {
            name: "(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + ")"
            for name, words in self._words.items()
        }

    def phrase(self, pattern: str, needs: Iterable[str] = ()) -> Phrase:
        """The pattern with its tables put in; it needs a word of each (numbers can be digits)."""
        needed = [tuple(needs)] if needs else []
        for name, fragment in self._fragments.items():
            macro = "{" + name + "}"
            if macro in pattern:
                pattern = pattern.replace(macro, fragment)
                needed += [self._words[name]] if name != "n" else []
        return Phrase(pattern, tuple(needed))


def _atom(entry: dict[str, Any], phrase: Callable[[str, Iterable[str]], Phrase]) -> AtomRule:
    fixed = {part: str(entry[part]) for part in ("n", "unit") if part in entry}
    return AtomRule(
        read=entry["read"],
        phrase=phrase(entry["pattern"], entry.get("needs", ())),
        certainty=entry["certainty"],
        bare=entry.get("bare", False),
        fixed=fixed,
    )
