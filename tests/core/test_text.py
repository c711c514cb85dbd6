from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core import text

pytestmark = pytest.mark.feature("B1")

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=200)


@given(ANY_TEXT)
def test_clean_text_can_always_be_stored_and_cleaning_twice_changes_nothing(raw: str) -> None:
    cleaned = text.clean(raw)
    assert "\x00" not in cleaned
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert text.clean(cleaned) == cleaned


@given(ANY_TEXT)
def test_any_text_gives_terms_without_blanks(raw: str) -> None:
    terms = text.query_terms(raw)
    assert all(term.strip() for term in terms)
    assert len(terms) == len(set(terms))


def test_stop_words_go_but_a_query_of_only_stop_words_keeps_them() -> None:
    assert text.content_words("How do we deploy the app?") == ["deploy", "app"]
    assert text.content_words("to be or not to be") == ["to", "be", "or", "not", "to", "be"]


def test_chinese_and_japanese_become_character_pairs() -> None:
    assert text.words("数据库迁移") == ["数据", "据库", "库迁", "迁移"]
    assert text.words("v2配置") == ["v2", "配置"]
    assert text.words("猫") == ["猫"]


def test_identifiers_are_looked_up_whole_and_in_parts() -> None:
    terms = text.query_terms("where is getUserName in app/http_server.py")
    assert {"getusername", "get", "user", "name", "http", "server"} <= set(terms)


def test_words_joined_by_a_slash_are_no_identifier_when_they_say_nothing() -> None:
    assert text.query_terms("retries and/or timeouts he/she set") == ["retries", "timeouts", "set"]


def test_ordinary_words_are_not_identifiers() -> None:
    assert text.identifiers("We deploy on Friday, Always.") == []


def test_a_quoted_phrase_is_one_term() -> None:
    assert "connection reset by peer" in text.query_terms('why "Connection reset by peer"?')


@given(st.text(max_size=300), st.integers(min_value=1, max_value=80))
def test_shortened_text_fits_and_is_marked(raw: str, limit: int) -> None:
    short = text.shorten(raw, limit=limit)
    assert len(short) <= limit
    assert short == raw or short.endswith("…")


@given(st.text(max_size=200), st.text(max_size=200))
def test_token_estimates_grow_with_the_text(left: str, right: str) -> None:
    assert text.estimate_tokens(left + right) >= text.estimate_tokens(left)


def test_chinese_costs_about_a_token_a_character() -> None:
    assert text.estimate_tokens("数据库") == 3
    assert text.estimate_tokens("database") == 2


def test_jaccard_of_nothing_is_zero() -> None:
    assert text.jaccard([], []) == 0
    assert text.jaccard("ab", "bc") == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("gives", "give"),
        ("caching", "cache"),
        ("retries", "retry"),
        ("applied", "apply"),
        ("running", "runs"),
    ],
)
def test_forms_of_one_word_have_one_stem(left: str, right: str) -> None:
    assert text.stem(left) == text.stem(right)


def test_different_words_keep_different_stems() -> None:
    assert len({text.stem(word) for word in ("port", "parse", "pnpm", "npm", "process")}) == 5


@pytest.mark.feature("B9")
@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("plain text\nof two lines", "plain text\nof two lines"),
        ("a\u202eb\u2066c\u200bd\ufeff", "abcd"),
        ("x" + "".join(chr(0xE0000 + ord(letter)) for letter in "obey"), "x"),
        ("\x1b[31mred\x07\x00", "[31mred"),
        ("👩\u200d🚀 می\u200cخواهم 日本語", "👩\u200d🚀 می\u200cخواهم 日本語"),
    ],
)
def test_what_nobody_sees_is_taken_out_and_what_joins_letters_stays(given: str, seen: str) -> None:
    assert text.strip_invisible(given) == seen
