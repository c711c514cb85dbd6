"""Times named in a question, as half-open UTC windows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.clock import date_words
from wellkept.text.dates import parse_window

pytestmark = pytest.mark.feature("B6")

# A Wednesday afternoon.
NOW = datetime(2023, 6, 14, 15, 30, tzinfo=UTC)


def window(text: str, now: datetime = NOW) -> tuple[str, str] | None:
    found = parse_window(text, now=now)
    return found and (f"{found.since:%Y-%m-%d}", f"{found.until:%Y-%m-%d}")


MEANT = {
    # dates
    "What happened on 8 May 2023?": ("2023-05-08", "2023-05-09"),
    "May 8, 2023": ("2023-05-08", "2023-05-09"),
    "on December 1,2022": ("2022-12-01", "2022-12-02"),
    "as of May 2023": ("2023-05-01", "2023-06-01"),
    "on the 8th of May, 2023": ("2023-05-08", "2023-05-09"),
    "What did Gina find on 1 February, 2023?": ("2023-02-01", "2023-02-02"),
    "notes from 2023-05-08": ("2023-05-08", "2023-05-09"),
    "2023/05/08": ("2023-05-08", "2023-05-09"),
    "deployed 2023-05": ("2023-05-01", "2023-06-01"),
    "on March 5 we shipped": ("2023-03-05", "2023-03-06"),
    "12 July": ("2022-07-12", "2022-07-13"),
    "29 February": ("2020-02-29", "2020-03-01"),
    "on the 5th": ("2023-06-05", "2023-06-06"),
    "on the 20th": ("2023-05-20", "2023-05-21"),
    "on the 31st": ("2023-05-31", "2023-06-01"),
    # months, quarters, seasons, years
    "in May 2023": ("2023-05-01", "2023-06-01"),
    "in June": ("2023-06-01", "2023-07-01"),
    "in July": ("2022-07-01", "2022-08-01"),
    "what broke in may": ("2023-05-01", "2023-06-01"),
    "in 2022": ("2022-01-01", "2023-01-01"),
    "during Q2 2023": ("2023-04-01", "2023-07-01"),
    "this summer": ("2023-06-01", "2023-09-01"),
    "last summer": ("2022-06-01", "2022-09-01"),
    "in summer 2021": ("2021-06-01", "2021-09-01"),
    "last winter": ("2022-12-01", "2023-03-01"),
    "early last year": ("2022-01-01", "2022-04-01"),
    "at the beginning of the year": ("2023-01-01", "2023-04-01"),
    "since the start of this year": ("2023-01-01", "2023-06-15"),
    "back in Q1": ("2023-01-01", "2023-04-01"),
    "in Q3": ("2022-07-01", "2022-10-01"),
    "the third quarter of 2022": ("2022-07-01", "2022-10-01"),
    "last quarter": ("2023-01-01", "2023-04-01"),
    "H1 2022": ("2022-01-01", "2022-07-01"),
    "in the second half of 2022": ("2022-07-01", "2023-01-01"),
    "in early 2022": ("2022-01-01", "2022-05-01"),
    "mid-2022": ("2022-05-01", "2022-09-01"),
    "at the end of 2022": ("2022-09-01", "2023-01-01"),
    "in spring": ("2023-03-01", "2023-06-01"),
    "half a year ago": ("2022-12-01", "2023-01-01"),
    # German and Spanish
    "Anfang 2022": ("2022-01-01", "2022-05-01"),
    "im Frühjahr": ("2023-03-01", "2023-06-01"),
    "letzten Sommer": ("2022-06-01", "2022-09-01"),
    "im ersten Quartal 2022": ("2022-01-01", "2022-04-01"),
    "a finales de 2022": ("2022-09-01", "2023-01-01"),
    "el verano pasado": ("2022-06-01", "2022-09-01"),
    "was galt im März 2022": ("2022-03-01", "2022-04-01"),
    "letztes Jahr": ("2022-01-01", "2023-01-01"),
    "vor drei Tagen": ("2023-06-11", "2023-06-12"),
    "was haben wir gestern gemacht": ("2023-06-13", "2023-06-14"),
    "en marzo de 2022": ("2022-03-01", "2022-04-01"),
    "el mes pasado": ("2023-05-01", "2023-06-01"),
    "hace 2 semanas": ("2023-05-29", "2023-06-05"),
    # counted from now
    "today": ("2023-06-14", "2023-06-15"),
    "what did we do yesterday": ("2023-06-13", "2023-06-14"),
    "the day before yesterday": ("2023-06-12", "2023-06-13"),
    "three days ago": ("2023-06-11", "2023-06-12"),
    "2 weeks ago": ("2023-05-29", "2023-06-05"),
    "a couple of months ago": ("2023-04-01", "2023-05-01"),
    "4 years ago": ("2019-01-01", "2020-01-01"),
    "last week": ("2023-06-05", "2023-06-12"),
    "this week": ("2023-06-12", "2023-06-19"),
    "last month": ("2023-05-01", "2023-06-01"),
    "last year": ("2022-01-01", "2023-01-01"),
    "last weekend": ("2023-06-10", "2023-06-12"),
    "two weekends ago": ("2023-06-03", "2023-06-05"),
    "last Friday": ("2023-06-09", "2023-06-10"),
    "last Wednesday": ("2023-06-07", "2023-06-08"),
    "on Monday": ("2023-06-12", "2023-06-13"),
    "this Friday": ("2023-06-16", "2023-06-17"),
    "in the last 7 days": ("2023-06-07", "2023-06-15"),
    "over the past week": ("2023-06-07", "2023-06-15"),
    "past two months": ("2023-04-15", "2023-06-15"),
    # bent
    "since March": ("2023-03-01", "2023-06-15"),
    "since 3 May 2023": ("2023-05-03", "2023-06-15"),
    "before June 2023": ("1970-01-01", "2023-06-01"),
    "after May 2023": ("2023-06-01", "2023-06-15"),
    "until yesterday": ("1970-01-01", "2023-06-14"),
    "between May and July": ("2023-05-01", "2023-08-01"),
    "between May and July 2022": ("2022-05-01", "2022-08-01"),
    "between November and February": ("2022-11-01", "2023-03-01"),
    "from 3 May to 5 May": ("2023-05-03", "2023-05-06"),
    "between Monday and Friday": ("2023-06-12", "2023-06-17"),
    "the week before August 3, 2023": ("2023-07-27", "2023-08-03"),
    "two weeks before August 11, 2023": ("2023-07-28", "2023-08-04"),
    "last weekend before April 10, 2023": ("2023-04-08", "2023-04-10"),
    # Chinese, Japanese, French
    "2023年5月8日发布了什么": ("2023-05-08", "2023-05-09"),
    "5月3日": ("2023-05-03", "2023-05-04"),
    "昨天": ("2023-06-13", "2023-06-14"),
    "三天前": ("2023-06-11", "2023-06-12"),
    "上周五": ("2023-06-09", "2023-06-10"),
    "上個月": ("2023-05-01", "2023-06-01"),
    "最近7天": ("2023-06-07", "2023-06-15"),
    "2023年5月以来": ("2023-05-01", "2023-06-15"),
    "5月到7月": ("2023-05-01", "2023-08-01"),
    "去年夏天": ("2022-06-01", "2022-09-01"),
    "先週の金曜日に": ("2023-06-09", "2023-06-10"),
    "3日前": ("2023-06-11", "2023-06-12"),
    "先月のリリース": ("2023-05-01", "2023-06-01"),
    "hier": ("2023-06-13", "2023-06-14"),
    "il y a trois jours": ("2023-06-11", "2023-06-12"),
    "la semaine dernière": ("2023-06-05", "2023-06-12"),
    "le 8 mai 2023": ("2023-05-08", "2023-05-09"),
    "en mai 2023": ("2023-05-01", "2023-06-01"),
    "vendredi dernier": ("2023-06-09", "2023-06-10"),
    "les 7 derniers jours": ("2023-06-07", "2023-06-15"),
    "depuis mars": ("2023-03-01", "2023-06-15"),
    "avant juin 2023": ("1970-01-01", "2023-06-01"),
    "entre mai et juillet": ("2023-05-01", "2023-08-01"),
    "l'été dernier": ("2022-06-01", "2022-09-01"),
}


@pytest.mark.parametrize("text", MEANT)
def test_a_time_becomes_its_window(text: str) -> None:
    assert window(text) == MEANT[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version 1.2.3",
        "release v2023.5.1",
        "upgrade to 1.2.3 or 10.4",
        "listens on port 2023",
        "reads 2048 tokens of 2048 bytes",
        "in 2000 files",
        "you may want to check",
        "this may fail",
        "which of these may break",
        "8 may differ",
        "May I ask?",
        "march through the list",
        "wait a second",
        "on the second line",
        "on the 5th line",
        "in Spring Boot",
        "how are beans wired in Spring",
        "the first half of the file",
        "see Q3 of the survey",
        "fall back to the default",
        "the last 7 commits",
        "last line of the file",
        "in 5 minutes",
        "between you and me",
        "from left to right",
        "the sun is out",
        "the build that runs on Fridays",
        "commit 20230508",
        "10.0.0.8:8080",
        "id 2023-05-08-build",
        "我们用什么数据库",
        "データベースは何ですか",
        "quelle base de données",
    ],
)
def test_what_is_no_time_is_left_alone(text: str) -> None:
    assert parse_window(text, now=NOW) is None


def test_a_date_that_does_not_exist_is_not_invented() -> None:
    assert parse_window("on 31 April", now=NOW) is None
    assert parse_window("2023-02-30", now=NOW) is None


def test_last_night_spans_midnight() -> None:
    found = parse_window("what failed last night?", now=NOW)
    assert found
    assert (found.since, found.until) == (
        datetime(2023, 6, 13, 18, tzinfo=UTC),
        datetime(2023, 6, 14, 6, tzinfo=UTC),
    )


def test_days_are_those_of_the_askers_zone() -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    found = parse_window("yesterday", now=tokyo)
    assert found
    assert found.since == datetime(2023, 6, 13, 15, tzinfo=UTC)
    assert found.until - found.since == timedelta(days=1)


def test_the_surest_time_wins_and_says_what_it_was_read_from() -> None:
    found = parse_window("What did she finish last Friday on 23 January, 2022?", now=NOW)
    assert found
    assert (found.span_text, found.certainty) == ("23 January, 2022", 1.0)


def test_certainty_falls_with_what_had_to_be_guessed() -> None:
    said = ["8 May 2023", "May 2023", "last Friday", "in May", "this summer"]
    found = [parse_window(text, now=NOW) for text in said]
    certainties = [w.certainty for w in found if w]
    assert len(certainties) == len(said)
    assert certainties == sorted(certainties, reverse=True)


days = st.dates(date(1980, 1, 1), date(2090, 12, 31))
moments = st.datetimes(
    datetime(1990, 1, 1),
    datetime(2080, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-7))]),
)
FORMS = ["%Y-%m-%d", "%-d %B %Y", "%B %-d, %Y", "%-d %b %Y", "%Y年%-m月%-d日"]


@given(days, st.sampled_from(FORMS), moments)
def test_a_full_date_is_its_day_whenever_it_is_asked(day: date, form: str, now: datetime) -> None:
    found = parse_window(f"what happened on {day.strftime(form)}?", now=now)
    assert found
    start = datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)
    assert (found.since, found.until) == (start, start + timedelta(days=1))


@given(days)
def test_the_words_that_index_a_day_name_that_day(day: date) -> None:
    moment = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    found = parse_window(date_words(moment), now=NOW)
    assert found
    assert found.since <= moment < found.until


@given(st.integers(0, 900), st.sampled_from(["days", "weeks", "months", "weekends"]), moments)
def test_a_time_ago_lies_in_the_past_and_further_with_the_count(
    n: int, unit: str, now: datetime
) -> None:
    near = parse_window(f"{n} {unit} ago", now=now)
    far = parse_window(f"{n + 1} {unit} ago", now=now)
    if near and far:
        assert far.until <= near.since or far.since < near.since
        assert near.since <= now or n == 0


@given(moments, st.sampled_from(sorted(MEANT)))
def test_every_window_is_forward_in_utc_and_names_its_words(now: datetime, text: str) -> None:
    found = parse_window(text, now=now)
    if found:
        assert found.since < found.until
        assert found.since.tzinfo is UTC
        assert found.span_text in text
        assert 0 < found.certainty <= 1


@given(st.text(max_size=200), moments)
def test_any_text_can_be_read(text: str, now: datetime) -> None:
    parse_window(text, now=now)


@pytest.mark.parametrize(
    "unit", ["between May ", "last ", "8 May 2023 ", "since ", "2023-", "三", "from a to "]
)
def test_a_megabyte_of_hostile_text_is_read_to_the_end(unit: str) -> None:
    parse_window(unit * (1_000_000 // len(unit)), now=NOW)
