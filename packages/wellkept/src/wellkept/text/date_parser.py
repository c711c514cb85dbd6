"""Finds a time window in a text; the implementation of `dates.parse_window`.

Imported only for texts that may contain a date, because the rules take time to load.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from wellkept.core.records import record
from wellkept.text.date_rules import (
    AtomRule,
    DateParts,
    DateRules,
    Modifier,
    Phrase,
    Span,
    load_date_rules,
    midnight,
    read_atom,
    shifted,
)
from wellkept.text.dates import BEGINNING, DateWindow

_LOOK_BACK_CHARS = 40
_MODIFIED = 0.9


@record
class _Reading:
    span: Span
    start: int
    end: int
    certainty: float
    has_year: bool


def read_window(text: str, *, now: datetime) -> DateWindow | None:
    """The most certain window in the text; `now` has a time zone."""
    pairs = list(_pairs(text, now))
    atoms = [a for a in _outermost(_atoms(text, now)) if not any(_within(a, p) for p in pairs)]
    readings = [*pairs, *(_offset(text, a) or _with_modifier(text, a, now) or a for a in atoms)]
    if not readings:
        return None
    best = max(readings, key=lambda r: (r.certainty, r.end - r.start, -r.start))
    return DateWindow(
        since=best.span.since.astimezone(UTC),
        until=best.span.until.astimezone(UTC),
        span_text=text[best.start : best.end].strip(),
        certainty=round(best.certainty, 3),
    )


# ------------------------------------------------------------------ atoms


def _atoms(text: str, now: datetime) -> Iterator[_Reading]:
    rules, low = load_date_rules(), text.lower()
    for rule in rules.atoms:
        for match in _matches(rule.phrase, text, low):
            reading = _reading(rule, match, now)
            if reading and _is_time(rule, match, rules):
                yield reading


def _matches(phrase: Phrase, text: str, low: str) -> Iterator[re.Match[str]]:
    if phrase.may_be_in(low):
        yield from phrase.pattern.finditer(text)


def _outermost(atoms: Iterable[_Reading]) -> list[_Reading]:
    """Without those inside a longer one: who says "8 May 2023" does not mean "May 2023"."""
    every = list(atoms)
    return [a for a in every if not any(_within(a, b) and b != a for b in every)]


def _within(inner: _Reading, outer: _Reading) -> bool:
    shorter = inner.end - inner.start < outer.end - outer.start
    return shorter and outer.start <= inner.start and inner.end <= outer.end


def _reading(rule: AtomRule, match: re.Match[str], now: datetime) -> _Reading | None:
    span = read_atom(rule, match, now=now)
    if span is None:
        return None
    has_year = match.groupdict().get("year") is not None
    return _Reading(span, match.start(), match.end(), rule.certainty, has_year)


def _is_time(rule: AtomRule, match: re.Match[str], rules: DateRules) -> bool:
    """Whether the words around it make it a time rather than a word that looks like one."""
    before = _before(match.string, match.start())
    parts = match.groupdict()
    if parts.get("month") in rules.verbs and not parts.get("year"):
        return rules.verb_before.pattern.search(before) is not None
    return not rule.bare or rules.bare_before.pattern.search(before) is not None


def _before(text: str, start: int) -> str:
    return text[max(0, start - _LOOK_BACK_CHARS) : start]


# ------------------------------------------------------------------ since, before, two weeks after


def _offset(text: str, atom: _Reading) -> _Reading | None:
    before = _before(text, atom.start)
    rules, low = load_date_rules(), before.lower()
    for phrase in rules.offsets:
        match = phrase.pattern.search(before) if phrase.may_be_in(low) else None
        if match:
            parts = DateParts(
                {k: v.lower() for k, v in match.groupdict().items() if v}, rules.names
            )
            span = _shifted_span(parts, atom.span, forward=match["way"].lower() == "after")
            start = atom.start - (len(before) - match.start())
            return _Reading(span, start, atom.end, atom.certainty * _MODIFIED, atom.has_year)
    return None


def _shifted_span(parts: DateParts, anchor: Span, *, forward: bool) -> Span:
    """The span of one unit, n units before or after the anchor."""
    unit, n = parts.unit(), parts.number("n") or 1
    if unit == "weekend":
        return shifted("weekend", -n if forward else n, now=anchor.since)
    size = timedelta(days={"hour": 1, "day": 1, "week": 7, "month": 30, "year": 365}[unit])
    if forward:
        return Span(anchor.until + (n - 1) * size, anchor.until + n * size)
    return Span(anchor.since - n * size, anchor.since - (n - 1) * size)


def _with_modifier(text: str, atom: _Reading, now: datetime) -> _Reading | None:
    before, after = _before(text, atom.start), text[atom.end : atom.end + 8]
    for side in load_date_rules().sides:
        left, right = side.before.pattern.search(before), side.after.pattern.search(after)
        span = _modified(side.modifier, atom.span, now) if left or right else None
        if span:
            start = atom.start - (len(before) - left.start()) if left else atom.start
            end = atom.end + (right.end() if right else 0)
            return _Reading(span, start, end, atom.certainty * _MODIFIED, atom.has_year)
    return None


def _modified(modifier: Modifier, span: Span, now: datetime) -> Span | None:
    tomorrow = midnight(now) + timedelta(days=1)
    match modifier:
        case "since":
            window = Span(span.since, max(tomorrow, span.until))
        case "after":
            window = Span(span.until, tomorrow)
        case "before":
            window = Span(BEGINNING, span.since)
        case "until":
            window = Span(BEGINNING, span.until)
    return window if window.since < window.until else None


# ------------------------------------------------------------------ between one and another


def _pairs(text: str, now: datetime) -> Iterator[_Reading]:
    low = text.lower()
    for phrase in load_date_rules().pairs:
        for match in _matches(phrase, text, low):
            ends = _ends(match["left"], match["right"], now)
            if ends:
                left, right = ends
                span = Span(left.span.since, right.span.until)
                # Two ends that agree are more certain than either alone.
                certainty = min(1.0, min(left.certainty, right.certainty) + 0.1)
                yield _Reading(span, match.start(), match.end(), certainty, right.has_year)


def _ends(left_text: str, right_text: str, now: datetime) -> tuple[_Reading, _Reading] | None:
    """Both ends in order; one that names no year is read from the other's."""
    left, right = _whole(left_text, now), _whole(right_text, now)
    if left and right and right.has_year and not left.has_year:
        left = _whole(left_text, right.span.until - timedelta(days=1))
    for days in (6, 364):
        # Read from now, the right end came out before the left: it is the one that follows it.
        if left and right and left.span.since >= right.span.until and not right.has_year:
            right = _whole(right_text, left.span.since + timedelta(days=days))
    if not left or not right or left.span.since >= right.span.until:
        return None
    return left, right


def _whole(text: str, now: datetime) -> _Reading | None:
    """The time that the whole text names; here a bare month or year is enough."""
    text, low = text.strip(), text.lower()
    for rule in load_date_rules().atoms:
        match = rule.phrase.pattern.fullmatch(text) if rule.phrase.may_be_in(low) else None
        reading = _reading(rule, match, now) if match else None
        if reading:
            return reading
    return None
