"""The page speaks four languages: each has every text, with the same numbers and names in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

pytestmark = pytest.mark.feature("H7")

LOCALES: Final = Path(__file__).parents[2] / "web" / "src" / "locales"
OTHERS: Final = ("zh", "ja", "fr")
_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")


def texts(code: str) -> dict[str, str]:
    return dict(_flat(json.loads((LOCALES / f"{code}.json").read_text("utf-8"))))


def _flat(tree: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in tree.items():
        if isinstance(value, str):
            yield before + name, value
        else:
            yield from _flat(value, f"{before}{name}.")


@pytest.mark.parametrize("code", OTHERS)
def test_every_text_is_there_in_each_language(code: str) -> None:
    assert texts(code).keys() == texts("en").keys()


@pytest.mark.parametrize("code", OTHERS)
def test_numbers_and_names_stand_in_each_text(code: str) -> None:
    own = texts(code)
    for name, text in texts("en").items():
        # "One memory" needs no number, "1 件" has one.
        assert set(_PLACE.findall(own[name])) - {"count"} == set(_PLACE.findall(text)) - {
            "count"
        }, name


def test_notices_are_worded_for_what_clients_bring() -> None:
    for code in ("en", *OTHERS):
        known = texts(code)
        assert "{{count}}" in known["notice.learned_other"]
        assert "{{names}}" in known["notice.skills"]
        assert "{{names}}" in known["notice.skill"]
