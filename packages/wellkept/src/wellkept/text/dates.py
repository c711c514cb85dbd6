"""Time windows in queries.

Windows are half-open and in UTC; days, weeks and months are those of the time zone of `now`. Times
are in the past unless a year says otherwise. Words that only look like a time ("may" the verb, a
version, a port) are ignored. Knows nothing of search.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from wellkept.core.records import record

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_READ_CHARS = 2_000
# Cheap pre-check: a text without any of these has no time. Plain substring search, because
# compiling one large expression takes longer than scanning a query.
_TIME_STEMS = (
    "day night week month year hour morning januar februar march april august septem october novem"
    " decem octobre spring summer autumn winter janvier avril juin juillet heure jour semaine mois"
    " lundi mardi mercredi jeudi vendredi samedi dimanche automne hiver printemps l'an l’an"
    " märz oktober dezem gestern stunde woche monat jahr enero febrero marzo abril agosto septiem"
    " octubre noviem diciem semana año frühjahr frühling sommer herbst primavera verano otoño"
    " invierno quarter quartal trimest"
).split()
_TIME_WORDS = frozenset(
    "ago jan feb mar apr may jun june jul july aug sep sept oct nov dec fall hier mars mai ans"
    " juni juli ayer anteayer mayo junio julio mes meses horas días tagen q1 q2 q3 q4".split()
)
_TIME_MARKS = frozenset("éèû年月日周週天昨今去先上前近春夏秋冬末")
_TIME_NUMBER = re.compile(r"(?:19|20)\d\d|\d(?:st|nd|rd|th)\b|\d\s?an\b")
_NO_WORD = str.maketrans(dict.fromkeys("'’\"“”.,:;!?()[]/_-。、，！？", " "))


@record
class DateWindow:
    """From `since` up to, not including, `until`; `certainty` (0 to 1): how sure it is."""

    since: datetime
    until: datetime
    span_text: str
    certainty: float

    @property
    def in_words(self) -> str:
        """The window for people, with hours only where it does not begin and end with a day."""
        whole_days = self.since == BEGINNING or not (self.since.hour or self.since.minute)
        form = "%Y-%m-%d" if whole_days and not self.until.hour else "%Y-%m-%d %H:%M"
        if self.since == BEGINNING:
            return f"before {self.until.strftime(form)}"
        return f"{self.since.strftime(form)} to {self.until.strftime(form)}"


def parse_window(text: str, *, now: datetime) -> DateWindow | None:
    """The most certain window in the text; None without one."""
    text = text[:_READ_CHARS]
    if not _may_have_time(text.casefold()):
        return None
    from wellkept.text.date_parser import read_window

    return read_window(text, now=now if now.tzinfo else now.replace(tzinfo=UTC))


def _may_have_time(folded: str) -> bool:
    return (
        any(stem in folded for stem in _TIME_STEMS)
        or "un an" in folded
        or not _TIME_WORDS.isdisjoint(folded.translate(_NO_WORD).split())
        or not _TIME_MARKS.isdisjoint(folded)
        or (any(map(str.isdigit, folded)) and _TIME_NUMBER.search(folded) is not None)
    )
