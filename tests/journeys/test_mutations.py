"""The list of mutations is sound, and a sample of it is tried; `make test-journeys` tries all."""

from __future__ import annotations

import pytest

from scripts.features import read_rows
from tests.journeys.mutate import FOLDER, ROOT, caught, copied, mutations

pytestmark = pytest.mark.repository


def test_each_line_names_text_that_is_there_once_and_a_journey() -> None:
    journeys = "".join(file.read_text("utf-8") for file in FOLDER.glob("test_*.py"))
    for one in mutations():
        text = (ROOT / one.file).read_text("utf-8")
        assert text.count(one.old) == 1, one.row
        assert f"def {one.journey}" in journeys, one.row


def test_each_row_has_a_line() -> None:
    assert {row.id for row in read_rows()} == {one.row for one in mutations()}


@pytest.mark.parametrize("row", ["A9", "D11", "F10"])
def test_what_is_taken_away_is_missed(row: str) -> None:
    (one,) = [one for one in mutations() if one.row == row]
    with copied() as copy:
        assert caught(one, copy), f"{one.journey} does not notice that {one.row} is broken"
