"""Finding which literals stand in a text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.text.literal_matcher import Literals, SharedLiterals

pytestmark = pytest.mark.feature("A10")
_TEXTS = st.text(alphabet="skant-_.é", max_size=40)


@given(st.sets(st.text(alphabet="skant-_.", min_size=2, max_size=5), min_size=1), _TEXTS)
def test_every_literal_that_a_search_would_find_is_found_and_no_other(
    literals: set[str], text: str
) -> None:
    assert Literals(literals).present(text) == {one for one in literals if one in text}


@given(st.sets(st.text(alphabet="skant-_.", min_size=2, max_size=5), min_size=1), _TEXTS)
def test_opening_literals_are_those_that_follow_no_letter_or_digit(
    literals: set[str], text: str
) -> None:
    opened = {
        one for one in literals if re.search(rf"(?<![A-Za-z0-9]){re.escape(one)}", text) is not None
    }
    assert Literals(literals, opening=True).present(text) == opened


@given(st.sets(st.text(alphabet="skant-_.", min_size=1, max_size=5)), _TEXTS)
def test_literals_that_share_a_part_are_found_as_if_each_was_searched_for(
    literals: set[str], text: str
) -> None:
    found = SharedLiterals(literals, parts=("ka", "s", "n")).present(text)
    assert found == {one for one in literals if one in text}


def test_a_single_sign_counts_as_present() -> None:
    assert Literals([".", "key-"]).present("nothing") == {"."}
