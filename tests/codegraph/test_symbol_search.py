"""A question finds functions with their lines, by name, signature, description and body."""

from __future__ import annotations

import pytest

from wellkept.graph.search.symbol_search import (
    MAX_SOURCE_CHARS,
    FoundSymbol,
    find_symbols,
    read_symbols,
)

pytestmark = pytest.mark.feature("E5")

POOL = '''class Pool:
    """Connections that are shared."""

    def take(self, timeout_s: float):
        """Wait until a connection is free."""
        return self.queue.get(timeout_s)

    def give_back(self, connection):
        self.queue.put(connection)
'''
GO = """package main

// Retry calls again with growing pauses.
func Retry(call func() error) error {
	return call()
}
"""
SOURCES = {"src/pool.py": POOL, "src/retry.go": GO, "README.md": "# Pool\n"}


def found(
    question: str, *, limit: int = 5, sources: dict[str, str] | None = None
) -> list[FoundSymbol]:
    files = SOURCES | (sources or {})
    return find_symbols(question, title=question, texts=read_symbols(files), limit=limit)


def test_a_question_in_the_words_of_a_docstring_finds_the_function() -> None:
    best = found("where do we wait for a free connection")[0]
    assert (best.path, best.name, best.line, best.end_line) == ("src/pool.py", "Pool.take", 4, 6)
    assert best.summary == "Wait until a connection is free."
    assert best.signature == "def take(self, timeout_s: float)"
    assert best.id == "src/pool.py::Pool.take"


def test_a_comment_above_a_function_describes_it() -> None:
    best = found("what makes growing pauses")[0]
    assert (best.name, best.line, best.summary) == (
        "Retry",
        4,
        "Retry calls again with growing pauses.",
    )


def test_nothing_is_found_where_no_word_matches_or_nothing_can_be_read() -> None:
    assert found("zebra") == []
    assert find_symbols("pool", title="pool", texts=read_symbols({"empty.py": ""}), limit=3) == []
    assert found("") == []


def test_a_huge_or_broken_file_costs_nothing_and_breaks_nothing() -> None:
    huge = {"big.py": "x = 1\n" * MAX_SOURCE_CHARS}
    assert all(symbol.path != "big.py" for symbol in found("x pool take", sources=huge))
    broken = {"bad.py": "def take(:\n  ((("}
    assert found("wait for a free connection", sources=broken)[0].name == "Pool.take"


def test_the_limit_holds() -> None:
    assert len(found("pool connection queue", limit=1)) == 1


def test_among_functions_with_the_same_words_the_one_of_like_meaning_comes_first() -> None:
    source = "def first(connection):\n    pass\n\n\ndef second(connection):\n    pass\n"
    texts = read_symbols({"a.py": source})

    def ranked(similar: str) -> list[str]:
        found = find_symbols(
            "connection",
            title="connection",
            texts=texts,
            limit=5,
            similarities=lambda _, said: [float(similar in text) for text in said],
        )
        return [symbol.name for symbol in found]

    assert ranked("first") == ["first", "second"]
    assert ranked("second") == ["second", "first"]


def test_functions_of_tests_are_read_when_tests_are_asked_for() -> None:
    files = {"tests/test_pool.py": "def test_pool_is_shared():\n    pass\n"}
    assert read_symbols(files) == []
    assert [t.symbol.qualname for t in read_symbols(files, with_tests=True)] == [
        "test_pool_is_shared"
    ]
