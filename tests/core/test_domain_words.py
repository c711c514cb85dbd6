"""docs/domain.md names real things."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "domain.md"
ROWS = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines() if "|" in line][2:]
PLACES = [match[1] for row in ROWS if (match := re.search(r"`([\w.]+)`", row[-1]))]


@pytest.mark.feature("A1")
@pytest.mark.parametrize("place", PLACES)
def test_the_place_of_every_word_is_there(place: str) -> None:
    whole = place if place.startswith("wellkept_") else f"wellkept.{place}"
    module, _, name = whole.rpartition(".")
    try:
        import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        assert hasattr(import_module(module), name)


@pytest.mark.feature("A1")
def test_no_word_is_listed_twice() -> None:
    words = [word.strip() for row in ROWS for word in row[0].split(",")]
    assert len(words) == len(set(words))
    assert len(words) > 30
