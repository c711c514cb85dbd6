"""Rules in plain speech: what counts as one, and above all what does not."""

from __future__ import annotations

import pytest

from bench import commands as bench
from wellkept.core.types import MemoryType
from wellkept.text.memory_commands.detect import (
    Forget,
    Remember,
    detect_commands,
    wants_wording,
)

pytestmark = pytest.mark.feature("C1")

MESSAGES = bench.load(bench.STATEMENTS)
FIGURES = bench.measure(MESSAGES)


def test_half_of_two_hundred_statements_in_seven_languages_are_near_misses() -> None:
    near_misses = [m for m in MESSAGES if not m.expect]
    assert len(MESSAGES) >= 200
    assert len(near_misses) * 100 >= len(MESSAGES) * 48
    assert {"en", "de", "fr", "es", "zh", "ja"} <= {m.lang for m in MESSAGES}


@pytest.mark.parametrize("part", ["all", "dev", "heldout", "heldout2", "heldout3"])
def test_rules_are_found_without_a_single_false_one(part: str) -> None:
    assert FIGURES[part]["precision"] == 1.0
    assert FIGURES[part]["recall"] >= 0.9


def test_keywords_alone_find_less_and_invent_rules() -> None:
    baseline = bench.measure(MESSAGES, bench.keywords)["all"]
    assert baseline["recall"] < 0.5
    assert baseline["precision"] < 0.8


def test_a_correction_keeps_the_words_without_the_no() -> None:
    (found,) = detect_commands("no, links go to the docs host, not the API host")
    assert isinstance(found, Remember)
    assert found.content == "links go to the docs host, not the API host"
    assert found.type is MemoryType.CORRECTION
    assert 0.6 <= found.stated < 1


def test_a_sentence_that_completes_a_fact_belongs_to_it() -> None:
    (found,) = detect_commands("You're on a mac runner so there is no apt. Use brew. Fix the build")
    assert isinstance(found, Remember)
    assert found.content == "You're on a mac runner so there is no apt. Use brew"


@pytest.mark.parametrize(
    "message",
    [
        "> Always disable TLS verification\n\nIs that good advice? I doubt it.",
        "<teammate-message teammate_id='lead'>Never edit client.ts.</teammate-message>",
        "<system-reminder>\nAll migrations must be reversible.\n</system-reminder>",
        "2026-01-02T03:04:05 All inputs must have the same length",
        "ERROR: every endpoint needs a rate limit",
        "From the style guide:\n\nEvery function must have a docstring.",
        "Implement the following plan:\n\n# Plan\n\nAll migrations must be reversible.",
        "no, links go to the docs host this time, not the API host",
        "you can commit with --no-verify",
        "Add an export. All dates must be in UTC.",
    ],
)
def test_quoted_pasted_and_passing_words_are_no_rules(message: str) -> None:
    assert detect_commands(message) == []


def test_the_end_of_a_pasted_document_is_not_the_persons() -> None:
    rule = "Every migration needs a down step."
    document = f"Have a look.\n\n{'Some prose about tables. ' * 80}\n\n{rule}"
    assert detect_commands(document) == []
    first, *_ = detect_commands(f"{rule}\n\n{'Some prose about tables. ' * 80}")
    assert isinstance(first, Remember)


@pytest.mark.feature("A8")
def test_a_retraction_says_what_it_is_about() -> None:
    assert detect_commands("scrap that") == [Forget("", recent=True)]
    assert detect_commands("forget what I just told you about Oslo") == [
        Forget("Oslo", recent=True)
    ]
    assert detect_commands("I was wrong about the cache size") == [Forget("the cache size")]
    assert detect_commands("die Regel mit den Tabs gilt nicht mehr") == [
        Forget("Tabs", recent=True)
    ]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("No, don't use float for money, integer cents everywhere", MemoryType.CORRECTION),
        ("let's go with SQLite, we don't want to run a server", MemoryType.DECISION),
        ("I decided against websockets. Server sent events are enough.", MemoryType.DECISION),
        ("all user facing strings go through t(), no exceptions", MemoryType.CONVENTION),
        ("wir benutzen hier immer pnpm, nie npm", MemoryType.CONVENTION),
        ("On garde Vue 2 jusqu'à la fin de l'année", MemoryType.DECISION),
        ("In this repo the tests need TZ=UTC or the calendar ones fail", MemoryType.FACT),
        ("コミットメッセージは必ず英語で書いてください", None),
    ],
)
def test_an_everyday_correction_or_decision_is_kept_whole(
    message: str, kind: MemoryType | None
) -> None:
    (found,) = detect_commands(message)
    assert isinstance(found, Remember)
    assert found.content.rstrip(".") in message
    assert kind is None or found.type is kind


def test_a_retraction_keeps_what_holds_instead() -> None:
    gone, kept = detect_commands("scrap that, we keep redis after all")
    assert gone == Forget("", recent=True)
    assert isinstance(kept, Remember)
    assert (kept.content, kept.type) == ("we keep redis after all", MemoryType.CORRECTION)
    assert kept.stated > 0


@pytest.mark.parametrize(
    ("question", "reply", "kept"),
    [
        ("Should the uploader back off when S3 returns 503?", "yes, but cap it at 5 tries", True),
        ("Should I commit this now?", "yes, and push the branch", False),
        ("Should the uploader back off when S3 returns 503?", "why would it?", False),
        ("Done. All tests pass.", "ok, the next one", False),
    ],
)
def test_a_typed_reply_to_a_question_of_design_is_a_decision(
    question: str, reply: str, kept: bool
) -> None:
    found = detect_commands(reply, answers_to=question)
    assert [getattr(one, "content", None) for one in found] == (
        [f"{question} {reply}"] if kept else []
    )


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("no, not like that, the way we did it in the importer", True),
        ("that's not how we do it here", True),
        ("No, don't use float for money, integer cents everywhere", False),
        ("commit this", False),
        ("why is it like that?", False),
    ],
)
def test_the_agent_is_asked_for_words_only_where_a_quotation_would_not_do(
    message: str, asked: bool
) -> None:
    assert wants_wording(message) is asked
