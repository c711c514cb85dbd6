"""Literals without which a pattern cannot match."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.literals import change_literals, required_literals
from wellkept.text.contradictions.cues import folded_pattern
from wellkept.text.contradictions.statement import raw

pytestmark = pytest.mark.feature("A4")

_PATTERNS = tuple(folded_pattern(entry["pattern"]) for entry in raw()["cue"])
_LITERALS: list[list[str]] = json.loads(change_literals())


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
    text = data.draw(st.from_regex(re.compile(_PATTERNS[number])))
    needed = _LITERALS[number]
    assert not needed or any(one in text for one in needed)


def test_most_signs_are_not_searched_in_a_plain_statement() -> None:
    text = "the invoice worker uses three queues for export"
    possible = [n for n in _LITERALS if not n or any(one in text for one in n)]
    assert len(possible) < len(_PATTERNS) / 10
