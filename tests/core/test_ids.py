from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.ids import IdSource, is_full_id, normalise_short, short_id

pytestmark = pytest.mark.feature("A1")


def test_ids_are_valid_version_7_uuids() -> None:
    made = uuid.UUID(IdSource(lambda: 1_700_000_000_000)())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)


@given(st.lists(st.integers(min_value=0, max_value=2**47), min_size=2, max_size=50))
def test_ids_never_go_backwards_even_when_the_clock_does(times: list[int]) -> None:
    clock = iter(times)
    source = IdSource(lambda: next(clock))
    made = [source() for _ in times]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_many_ids_in_one_millisecond_stay_ordered_and_distinct() -> None:
    source = IdSource(lambda: 5)
    made = [source() for _ in range(10_000)]
    assert made == sorted(set(made))


@given(st.uuids())
def test_a_short_id_has_eight_unambiguous_characters(full: uuid.UUID) -> None:
    short = short_id(str(full))
    assert len(short) == 8
    assert not set(short) & set("ilou")
    assert normalise_short(f"m:{short.upper()}") == short


@pytest.mark.parametrize("text", ["", "abc", "g" * 36, "0" * 32, "0" * 36])
def test_what_is_not_a_uuid_is_not_a_full_id(text: str) -> None:
    assert not is_full_id(text)
