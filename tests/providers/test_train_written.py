"""The text that was written to train the default embedder: whole lines, and none that measures."""

from __future__ import annotations

import pytest

from bench.notes_data import DEVELOPMENT, HELD_OUT, load_notes, load_pairs_of_questions
from scripts.train_embedder.written import FOLDER, written_pairs

pytestmark = pytest.mark.feature("B10")


def test_every_line_has_the_form_of_its_file() -> None:
    for file in FOLDER.glob("*.pairs"):
        for line in file.read_text("utf-8").splitlines():
            note, question = line.split("\t")
            assert all(side.strip() for side in (note, question)), (file.name, line)
    for file in FOLDER.glob("*.phrases"):
        for line in file.read_text("utf-8").splitlines():
            said = [each.strip() for each in line.split("|")]
            assert all(said), (file.name, line)
            assert 3 <= len(said) == len(set(said)), (file.name, line)


def test_pairs_are_the_same_at_every_reading() -> None:
    pairs = written_pairs()
    assert pairs == written_pairs()
    assert len(pairs["phrase"]) > 50_000
    assert len(pairs["written"]) > 6_000
    assert all(left != right for some in pairs.values() for left, right in some)


def test_no_note_or_question_that_measures_is_in_it() -> None:
    sets = [
        *(load_notes(path) for path in (DEVELOPMENT, HELD_OUT)),
        *(load_pairs_of_questions(split) for split in ("development", "held_out")),
    ]
    measuring = {text.casefold() for each in sets for _, text in each.notes}
    measuring |= {asked.text.casefold() for each in sets for asked in each.questions}
    taught = {
        text.casefold() for some in written_pairs().values() for pair in some for text in pair
    }
    assert not taught & measuring
