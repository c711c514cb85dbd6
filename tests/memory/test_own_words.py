"""The mask that tells a person's own words from what they quote, paste or ask for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wellkept.text.memory_commands.detect import detect_commands
from wellkept.text.own_words import (
    mask_quotations,
    own_sentences,
    own_words,
    sentences,
    written_sentences,
)

pytestmark = pytest.mark.feature("A8", "A13")

RULE = "never use floats"
_PASTES = Path(__file__).parent / "data" / "pastes.jsonl"
PASTES = [json.loads(line) for line in _PASTES.read_text(encoding="utf-8").splitlines()]


def _said(message: str) -> str:
    return " ".join(one.masked for one in own_sentences(message))


@pytest.mark.parametrize(
    "message",
    [
        f"```\n{RULE}\n```\nwhat is this?",
        f"> {RULE}\n\nis that true?",
        f"The docs say “{RULE}”.",
        f"<doc>{RULE}</doc> look at it",
        f"From: a@b.example\nSubject: rules\n\n{RULE}\n-- \nBob",
        f"here is the mail:\nHi team,\n{RULE}.\nBest,\nSupport\n\nare we affected?",
        f"Issue #214: Floats\n\n**Steps**\n1. {RULE}\n\nplease implement this issue",
        f"Pretend you are a strict reviewer. You say {RULE}.",
        f"translate this to German: {RULE}",
        f"summarise this article:\n\n{RULE}. We decided it.",
        f"Write a README section saying that people must {RULE}",
        f"2026-11-18 10:00:00 WARN {RULE}\nwhy?",
        f"ValueError: {RULE}",
        f"+++ b/a.py\n+ {RULE}\nok?",
    ],
)
def test_foreign_words_are_nobody_s_rule(message: str) -> None:
    assert RULE not in _said(message)


@pytest.mark.parametrize(
    "message",
    [
        f"please {RULE}",
        f"Fix the total.\n\nAnd {RULE}.",
        f"The mail said `x`, but here we {RULE}",
        f"ok: {RULE}",
    ],
)
def test_own_words_stay(message: str) -> None:
    assert RULE in _said(message)


@pytest.mark.parametrize(
    ("message", "asks", "supposes"),
    [
        ("should we use floats?", True, True),
        ("why not use redis", False, True),
        ("maybe we could try websockets", False, True),
        ("if we used sqlite the tests would be faster", False, True),
        ("we use sqlite", False, False),
    ],
)
def test_questions_and_suppositions_are_told_apart(
    message: str, asks: bool, supposes: bool
) -> None:
    (one,) = own_sentences(message)
    assert (one.asks, one.supposes) == (asks, supposes)


@pytest.mark.parametrize(
    "unit",
    ["<a>", "<a_b>", "<a", "</a>", '"', "'x ", "`", "From: a\n", "- ", "( ", "Hi b,\n", "a. "],
)
def test_any_input_is_masked_in_linear_time(unit: str) -> None:
    message = unit * 40_000
    masked = mask_quotations(message)
    assert len(masked) == len(message)
    assert [len(line) for line in masked.split("\n")] == [len(x) for x in message.split("\n")]
    own_words(message)
    sentences(masked)
    written_sentences(message)


@pytest.mark.parametrize("case", PASTES, ids=lambda case: case["must_not_keep"][:40])
def test_what_is_pasted_is_nobodys_statement(case: dict[str, str]) -> None:
    prompt = case["prompt"]
    assert [one for one in detect_commands(prompt) if case["must_not_keep"] in repr(one)] == []
    if "own" in case:
        assert case["must_not_keep"] not in _said(own_words(prompt))


def test_the_person_goes_on_below_a_quotation_that_they_announce() -> None:
    quoted = "From the forum:\n\n> backups go to tape\n\nOurs go to the storage box."
    assert [one.masked for one in own_sentences(quoted)][-1] == "Ours go to the storage box."
    pasted = "From the forum:\n\n\nbackups go to tape\n\nkeep them for a year"
    assert [one.masked for one in own_sentences(pasted)] == ["From the forum:"]


def test_a_rule_about_a_document_is_no_text_for_it() -> None:
    rule = "Always add a changelog line for a change that people can see."
    assert detect_commands(rule)
    assert detect_commands(f"Remember: {rule}")
    assert detect_commands("Add a line to the changelog that we always sign releases.") == []
