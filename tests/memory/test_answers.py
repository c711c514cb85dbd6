"""Answers to an agent's questions: which of them are decisions that stand."""

from __future__ import annotations

import pytest

from wellkept.core.query import Filter
from wellkept.core.session.events import Answer
from wellkept.core.types import MemoryType
from wellkept.memory.commands import Speaker, apply_answers
from wellkept.memory.engine import Engine
from wellkept.text.memory_commands.answers import decision_in

pytestmark = pytest.mark.feature("C1")
HERE = "name:here"
QUESTION = "How should devices be identified in the registry?"


def choice(question: str, answer: str, meaning: str = "") -> Answer:
    return Answer(question, answer, is_choice=True, meaning=meaning)


def test_a_chosen_option_is_a_decision_with_its_meaning() -> None:
    decided = decision_in(choice(QUESTION, "Key-derived ID (Recommended)", "Hash of the key."))
    assert decided is not None
    assert decided.content == f"{QUESTION} Key-derived ID (Hash of the key)"


def test_background_before_the_question_is_left_out_unless_the_question_points_to_it() -> None:
    plain = decision_in(choice(f"There are two ways. {QUESTION}", "Key-derived ID"))
    pointing = decision_in(
        choice("Saves come every second. How should we handle this?", "Wait a minute")
    )
    assert plain is not None
    assert plain.content == f"{QUESTION} Key-derived ID"
    assert pointing is not None
    assert pointing.content.startswith("Saves come every second.")


def test_a_question_without_a_subject_takes_its_heading_or_is_none() -> None:
    vague = Answer("Which approach?", "Hybrid", is_choice=True)
    assert decision_in(vague) is None
    headed = decision_in(Answer("Which approach?", "Hybrid", is_choice=True, topic="Sharing"))
    assert headed is not None
    assert headed.content == "Sharing: Which approach? Hybrid"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which PR should I look at first?", "#12"),
        ("Would you like me to commit this?", "Yes"),
        ("More questions about sharing, or move to the next area?", "Next area"),
        ("How should users see the history?", "You decide"),
        ("The hook fails. Can I remove the folder?", "Yes, remove it"),
        ("How should the hook be handled?", "Commit with --no-verify"),
        ("What would you like to do with this todo?", "Work on it now"),
    ],
)
def test_an_answer_that_steers_this_task_is_none(question: str, answer: str) -> None:
    assert decision_in(choice(question, answer)) is None


@pytest.mark.parametrize(
    "answer", ["what are the pros and cons?", "leaning towards the hash", "it depends on the cost"]
)
def test_free_words_that_still_weigh_are_no_decision(answer: str) -> None:
    assert decision_in(Answer(QUESTION, answer)) is None


def test_free_words_are_read_like_a_prompt(engine: Engine) -> None:
    said = Answer("Docker is missing. How to go on?", "you're in a vm so there is no docker here")
    (done,) = apply_answers(engine, [said], project=HERE, speaker=Speaker(session_id="s"))
    assert done.kept is not None
    assert done.kept.memory.type is MemoryType.CONVENTION


def test_a_later_answer_to_the_same_question_replaces_the_earlier(engine: Engine) -> None:
    for answer in ("Key-derived ID", "Random ID"):
        apply_answers(engine, [choice(QUESTION, answer)], project=HERE)
    (left,) = engine.store.list(Filter(project=HERE)).items
    assert left.type is MemoryType.DECISION
    assert left.content.endswith("Random ID")
    assert left.evidence[0].note == f"{QUESTION} Random ID"
