"""A request finds the files it is about, by their words and by what history says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.codegraph.code_words import words
from holdfast.codegraph.finding import SIGNALS, WEIGHTS, WITHOUT_HISTORY, Finder
from holdfast.core.clock import system_clock
from holdfast.core.code_texts import CommitText, FileText
from holdfast.store.sqlite.code_texts import SqliteCodeTexts

pytestmark = pytest.mark.feature("E5")

FILES = {
    "src/pool.py": "class ConnectionPool: def take(self): wait for a free connection",
    "src/urls.py": "def parse_url(text): split scheme host and path",
    "src/retry.py": "def with_backoff(call): sleep longer after each failure",
    "docs/guide.md": "how to install and run",
    "tests/test_urls.py": "def test_parse_url_keeps_the_port(): pass",
}


def said(text: str) -> str:
    return " ".join(words(text))


@pytest.fixture
def texts(tmp_path: Path) -> Iterator[SqliteCodeTexts]:
    store = SqliteCodeTexts.open(tmp_path / "words.db", busy_timeout_ms=1000, clock=system_clock)
    store.put_texts(
        "t",
        [
            FileText(
                path=path,
                stamp="1",
                path_words=said(path),
                symbol_words="",
                body_words=said(body),
            )
            for path, body in FILES.items()
        ],
    )
    yield store
    store.close()


def finder(texts: SqliteCodeTexts) -> Finder:
    return Finder(texts, "t")


def past(texts: SqliteCodeTexts, *commits: tuple[str, tuple[str, ...]]) -> None:
    texts.put_commits(
        "t",
        [
            CommitText(
                sha=f"s{i}", order=i, subject=message, message_words=said(message), files=files
            )
            for i, (message, files) in enumerate(commits, start=1)
        ],
    )


def test_a_file_is_found_by_what_it_says(texts: SqliteCodeTexts) -> None:
    assert finder(texts).find("free connections are leaked")[0].path == "src/pool.py"


def test_an_identifier_meets_words_about_it(texts: SqliteCodeTexts) -> None:
    assert finder(texts).find("parsing of urls")[0].path in ("src/urls.py", "tests/test_urls.py")


def test_similar_commits_of_the_past_speak_for_the_files_they_touched(
    texts: SqliteCodeTexts,
) -> None:
    past(texts, ("Handle flaky upstream", ("src/retry.py",)), ("Typos", ("docs/guide.md",)))
    first = finder(texts).find("upstream is flaky again")[0]
    assert first.path == "src/retry.py"
    assert "touched by similar commits" in first.reasons
    assert 'as in s1 "Handle flaky upstream"' in first.reasons
    assert first.commits == ("s1",)


def test_a_file_that_changes_along_with_a_likely_one_is_a_candidate(texts: SqliteCodeTexts) -> None:
    past(texts, *[("Tune", ("src/pool.py", "docs/guide.md"))] * 4)
    named = [found.path for found in finder(texts).find("connection pool")]
    assert "docs/guide.md" in named


def test_a_file_that_is_gone_is_not_named_whatever_history_says(texts: SqliteCodeTexts) -> None:
    past(texts, ("Handle flaky upstream", ("src/gone.py",)))
    assert "src/gone.py" not in [f.path for f in finder(texts).find("flaky upstream")]


def test_without_a_history_words_alone_decide(texts: SqliteCodeTexts) -> None:
    """Weights that lean on votes would let a file that says nothing of it win by its shortness."""
    bm25 = [hit.path for hit in texts.search_texts("t", words("sleep after failure"), limit=9)]
    assert [found.path for found in finder(texts).find("sleep after failure")] == bm25


@pytest.mark.parametrize("request_text", ["", "   ", "the of and", "!!!", "\x00", "zzzz qqqq"])
def test_a_request_that_says_nothing_finds_nothing(
    texts: SqliteCodeTexts, request_text: str
) -> None:
    assert finder(texts).find(request_text) == []


def test_every_signal_has_a_weight() -> None:
    assert len(SIGNALS) == len(WEIGHTS) == len(WITHOUT_HISTORY)


@given(st.text(max_size=200))
def test_words_of_any_text_are_short_and_lower_case(text: str) -> None:
    for word in words(text):
        assert word
        assert " " not in word
        assert word == word.lower()


def test_identifiers_give_themselves_and_their_parts() -> None:
    assert words("parseHTTPUrl") == ["parsehttpurl", "pars", "http", "url"]
    assert words("retry_count") == ["retry_count", "retry", "count"]


@pytest.mark.parametrize(
    ("request_text", "body"),
    [
        ("les donnees sont perdues", "# Données"),
        ("Données", "# Donne\u0301es"),
        ("连接池泄漏", "# 连接池"),
        ("セッションが切れる", "# セッション"),
        ("конфигурация", "# Конфигурация"),
    ],
)
def test_other_languages_meet_too(request_text: str, body: str) -> None:
    assert set(words(request_text)) & set(words(body))
