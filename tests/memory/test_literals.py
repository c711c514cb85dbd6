"""Finding which literals stand in a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory.wording.literals import Literals

pytestmark = pytest.mark.feature("A10")
_TEXTS = st.text(alphabet="skant-_.é", max_size=40)


@given(st.sets(st.text(alphabet="skant-_.", min_size=2, max_size=5), min_size=1), _TEXTS)
def test_every_literal_that_a_search_would_find_is_found_and_no_other(
    literals: set[str], text: str
) -> None:
    assert Literals(literals).present(text) == {one for one in literals if one in text}


def test_a_single_sign_counts_as_present() -> None:
    assert Literals([".", "key-"]).present("nothing") == {"."}
