"""Literals without which a pattern cannot match."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wellkept.text
from wellkept.text.contradictions.cues import Prefilter, required_literals

pytestmark = pytest.mark.feature("A4")

_DATA = Path(wellkept.text.__file__).parent / "data" / "changes.toml"
_PATTERNS = tuple(
    re.compile(entry["pattern"].replace("ß", "ss"))
    for entry in tomllib.loads(_DATA.read_text("utf-8"))["cue"]
)
_FILTER = Prefilter([(pattern, str(number)) for number, pattern in enumerate(_PATTERNS)])


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        ("abc", frozenset({"abc"})),
        (r"\babc\d+defg", frozenset({"defg"})),
        ("(?:one|two)+x", frozenset({"one", "two"})),
        ("(?:one|two)*x", frozenset({"x"})),
        ("(?:one|[a-z])", frozenset[str]()),
        ("a?", frozenset[str]()),
        ("(?i)abc", frozenset[str]()),
        ("(?P<old>[^,]+?) is no longer", frozenset({" is no longer"})),
    ],
)
def test_the_longest_sure_literal_is_taken(pattern: str, needed: frozenset[str]) -> None:
    assert required_literals(pattern) == needed


@settings(max_examples=60)
@given(st.data())
def test_a_text_that_matches_a_sign_of_change_is_never_left_out(data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(_PATTERNS) - 1))
    matching = cast("st.SearchStrategy[str]", st.from_regex(_PATTERNS[number].pattern))
    text = data.draw(matching)
    possible = [which for _, which in _FILTER.possible(text)]
    assert str(number) in possible


def test_most_signs_are_not_searched_in_a_plain_statement() -> None:
    text = "the invoice worker uses three queues for export"
    assert len(_FILTER.possible(text)) < len(_PATTERNS) / 10
