"""A request finds the files it is about, by their words and by what history says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.clock import system_clock
from wellkept.core.ports.code_search import CommitText, FileText
from wellkept.graph.search.file_search import (
    MAX_REQUEST_CHARS,
    SIGNALS,
    WEIGHTS,
    WITHOUT_HISTORY,
    YOUNG_COMMITS,
    CandidateSignals,
    FileSearch,
)
from wellkept.graph.search.request_signals import (
    HALF,
    RequestLength,
    RequestSignals,
    file_names,
    headline,
    with_short_forms,
)
from wellkept.graph.search.term_index import words
from wellkept.store.sqlite.code_search import SqliteCodeSearch

pytestmark = pytest.mark.feature("E5")

FILES = {
    "src/pool.py": "class ConnectionPool: def take(self): wait for a free connection",
    "src/urls.py": "def parse_url(text): split scheme host and path",
    "src/retry.py": "def with_backoff(call): sleep longer after each failure",
    "docs/guide.md": "how to install and run",
    "tests/test_urls.py": "def test_parse_url_keeps_the_port(): pass",
}


def terms(text: str) -> str:
    return " ".join(words(text))


@pytest.fixture
def texts(tmp_path: Path) -> Iterator[SqliteCodeSearch]:
    store = SqliteCodeSearch.open(tmp_path / "words.db", busy_timeout_ms=1000, clock=system_clock)
    store.put_texts(
        "t",
        [
            FileText(
                path=path,
                stamp="1",
                path_words=terms(path),
                symbol_words="",
                body_words=terms(body),
            )
            for path, body in FILES.items()
        ],
    )
    yield store
    store.close()


def finder(texts: SqliteCodeSearch) -> FileSearch:
    return FileSearch(texts, "t")


def past(texts: SqliteCodeSearch, *commits: tuple[str, tuple[str, ...]]) -> None:
    texts.put_commits(
        "t",
        [
            CommitText(
                sha=f"s{i}", order=i, subject=message, message_words=terms(message), files=files
            )
            for i, (message, files) in enumerate(commits, start=1)
        ],
    )


def test_a_file_is_found_by_its_text(texts: SqliteCodeSearch) -> None:
    assert finder(texts).find("free connections are leaked")[0].path == "src/pool.py"


def test_an_identifier_matches_its_words(texts: SqliteCodeSearch) -> None:
    assert finder(texts).find("parsing of urls")[0].path in ("src/urls.py", "tests/test_urls.py")


def test_similar_commits_vote_for_the_files_they_changed(
    texts: SqliteCodeSearch,
) -> None:
    past(texts, ("Handle flaky upstream", ("src/retry.py",)), ("Typos", ("docs/guide.md",)))
    first = finder(texts).find("upstream is flaky again")[0]
    assert first.path == "src/retry.py"
    assert "changed by similar commits" in first.reasons
    assert 'as in s1 "Handle flaky upstream"' in first.reasons
    assert first.commits == ("s1",)


def test_a_file_that_changes_with_a_likely_one_is_a_candidate(
    texts: SqliteCodeSearch,
) -> None:
    past(texts, *[("Tune", ("src/pool.py", "docs/guide.md"))] * 4)
    named = [found.path for found in finder(texts).find("connection pool")]
    assert "docs/guide.md" in named


def test_a_deleted_file_is_not_found(texts: SqliteCodeSearch) -> None:
    past(texts, ("Handle flaky upstream", ("src/gone.py",)))
    assert "src/gone.py" not in [f.path for f in finder(texts).find("flaky upstream")]


def test_without_a_history_words_alone_decide(texts: SqliteCodeSearch) -> None:
    """Weights that lean on votes would let a file that says nothing of it win by its shortness."""
    bm25 = [hit.path for hit in texts.search_texts("t", words("sleep after failure"), limit=9)]
    assert [found.path for found in finder(texts).find("sleep after failure")] == bm25


@pytest.mark.parametrize("request_text", ["", "   ", "the of and", "!!!", "\x00", "zzzz qqqq"])
def test_a_request_without_known_words_finds_nothing(
    texts: SqliteCodeSearch, request_text: str
) -> None:
    assert finder(texts).find(request_text) == []


def signal(candidates: CandidateSignals, path: str, name: str) -> float:
    return candidates.table[candidates.paths.index(path)][SIGNALS.index(name)]


LOG = "".join(f"\nunrelated log line {i:x}z about install and run of {i}" for i in range(100, 190))


def test_the_first_line_of_a_report_counts_as_much_as_the_rest(texts: SqliteCodeSearch) -> None:
    title = "Backoff sleeps too long"
    alone = finder(texts).candidates(title)
    whole = finder(texts).candidates(title + LOG)
    assert signal(alone, "src/retry.py", "words") == 1
    assert signal(whole, "src/retry.py", "words") >= 0.5
    assert finder(texts).find(title + LOG)[0].path == "src/retry.py"


def test_a_long_report_wants_code_rather_than_tests(texts: SqliteCodeSearch) -> None:
    past(texts, *[("Speed", ("src/pool.py",))] * YOUNG_COMMITS)
    short, long = "parse_url keeps the port", "parse_url keeps the port" + LOG
    assert finder(texts).find(short)[0].path == "tests/test_urls.py"
    assert signal(finder(texts).candidates(short), "tests/test_urls.py", "test, unasked") == 0
    assert signal(finder(texts).candidates(long), "tests/test_urls.py", "test, unasked") == 1
    named = [found.path for found in finder(texts).find(long)]
    assert named.index("src/urls.py") < named.index("tests/test_urls.py")


def test_the_kind_of_code_asked_for_is_not_looked_for_as_a_word(texts: SqliteCodeSearch) -> None:
    body = terms("class FunctionPool: function function function")
    text = FileText(
        path="src/function_pool.py", stamp="1", path_words="", symbol_words="", body_words=body
    )
    texts.put_texts("t", [text])
    found = finder(texts).find("which function splits the host")
    assert [file.path for file in found] == ["src/urls.py"]


@pytest.mark.parametrize("asked", ["which function", "what method", "Which class"])
def test_a_question_for_a_function_is_about_code(asked: str) -> None:
    about = RequestLength.of(f"{asked} keeps the port").about_code
    assert about == 1.0 > RequestLength.of("where is the port kept").about_code


@pytest.mark.parametrize(
    "symptom",
    ["panic: wildcard conflicts", "the pool timeout is ignored", "KeyError on an empty url"],
)
def test_a_symptom_in_few_words_is_about_code(symptom: str) -> None:
    assert RequestLength.of(symptom).about_code == HALF
    assert RequestLength.of("keep the port").about_code == 0.0


def test_with_fewer_words_recent_changes_count_more(texts: SqliteCodeSearch) -> None:
    past(texts, ("Speed", ("src/pool.py",)))
    requests = ("run", "how to run", "how to install and run after each failure")
    few = [
        signal(finder(texts).candidates(text), "src/pool.py", "changed just now, few words")
        for text in requests
    ]
    assert 1 > few[0] > few[1] > few[2] > 0


def test_a_name_shared_by_several_files_counts_for_each(texts: SqliteCodeSearch) -> None:
    more = ("a/index.js", "b/index.js")
    texts.put_texts("t", [FileText(path=p, stamp="1", path_words="index js", symbol_words="",
                                   body_words="index") for p in more])  # fmt: skip
    shared = finder(texts).candidates("crash in index.js")
    assert [signal(shared, path, "named in request") for path in more] == [0.5, 0.5]
    found = finder(texts).candidates(r'File "C:\x\b\index.js", line 3')
    assert [signal(found, path, "named in request") for path in more] == [0.5, 1]


@pytest.mark.parametrize(
    ("request_text", "name", "is_named"),
    [
        ("see src/urls.py.", "urls.py", True),
        ('File "/lib/site-packages/src/urls.py", line 3', "src/urls.py", True),
        ("`urls.py:12`", "urls.py", True),
        ("in curls.py", "urls.py", False),
        ("urls.pyc", "urls.py", False),
        ("See Makefile", "makefile", True),
    ],
)
def test_names_of_files_are_taken_whole(request_text: str, name: str, is_named: bool) -> None:
    assert (name in file_names(request_text)) is is_named


@pytest.mark.parametrize(
    ("request_text", "first"),
    [
        ("Mend urls\n\nThey broke.", "Mend urls"),
        ("\n  \n Mend urls \n", "Mend urls"),
        ("### Describe the bug\r\n<!-- be kind -->\r\nUrls break.\r\nMore.", "Urls break."),
        ("- [x] I have searched\n**Bug**\n```\nurls()\n```\nUrls break.", "urls()"),
        ("# Urls\n## Break", "# Urls\n## Break"),
        ("", ""),
    ],
)
def test_the_headline_is_the_first_line_that_is_no_heading(request_text: str, first: str) -> None:
    assert headline(request_text) == first


def test_a_huge_request_is_read_as_far_as_it_goes(texts: SqliteCodeSearch) -> None:
    assert finder(texts).find("pool " + "x" * MAX_REQUEST_CHARS + " urls")[0].path == "src/pool.py"
    assert finder(texts).find(" " * MAX_REQUEST_CHARS + "pool")[0].path == "src/pool.py"
    assert finder(texts).find("x" * MAX_REQUEST_CHARS + " pool") == []


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
def test_other_languages_match_too(request_text: str, body: str) -> None:
    assert set(words(request_text)) & set(words(body))


def test_a_question_finds_what_code_shortens(texts: SqliteCodeSearch) -> None:
    def put(path: str, body: str) -> FileText:
        return FileText(
            path=path,
            stamp="1",
            path_words=terms(path),
            symbol_words="",
            body_words=terms(body),
        )

    texts.put_texts("t", [put("src/env.py", "def load_env(cmd): pass"), put("src/x.py", "x")])
    search = FileSearch(texts, "t")
    assert search.find("where is the environment loaded?")[0].path == "src/env.py"
    assert search.find("what runs a command?")[0].path == "src/env.py"
    assert search.find("environment") == []


def test_the_forms_of_a_word_are_added_once_and_both_ways() -> None:
    assert with_short_forms(["env", "pool"]) == ["env", "pool", *words("environment")]
    assert with_short_forms(words("environment env")) == [*words("environment"), "env"]
    assert with_short_forms([]) == []


def test_of_several_files_of_a_kind_the_outermost_is_meant() -> None:
    asked = RequestSignals("which node version is required", [], now=0)
    at = SIGNALS.index("kind asked for") - SIGNALS.index("change count")
    outer, inner = (
        asked.signals(path, None, similarity=0.0)[at]
        for path in ("package.json", "packages/a/package.json")
    )
    assert outer > inner > 0
