"""What people lay down in plain speech, on messages that the reader has not learned from."""

from __future__ import annotations

import pytest

from bench import speech as bench
from wellkept.core.types import MemoryType
from wellkept.text.memory_commands.detect import Remember, detect_commands

pytestmark = pytest.mark.feature("C13")
UNSEEN = bench.load([bench.FOLDER / "heldout.jsonl"])


def test_most_of_what_people_lay_down_is_kept_and_little_else() -> None:
    said = [one for one in UNSEEN if one.kind != "none"]
    others = [one for one in UNSEEN if one.kind == "none"]
    assert sum(map(bench.keeps, said)) * 100 >= len(said) * 70
    assert sum(map(bench.keeps, others)) * 100 <= len(others) * 4


def test_what_is_kept_is_quoted() -> None:
    for one in UNSEEN:
        for found in detect_commands(one.prompt):
            if isinstance(found, Remember):
                assert found.content in one.prompt


def test_an_answer_in_few_words_is_kept_with_its_question() -> None:
    asked = "I can store the sessions in Redis or in Postgres. Which database should hold them?"
    (found,) = detect_commands("Postgres, we run it anyway", answers_to=asked)
    assert isinstance(found, Remember)
    assert found.type is MemoryType.DECISION
    assert found.content.endswith("Which database should hold them? Postgres, we run it anyway")
