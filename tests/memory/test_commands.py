"""Explicit memory commands: what counts as one, and above all what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import commands as bench
from wellkept.core.types import MemoryType
from wellkept.text.memory_commands.detect import (
    DOCUMENT_CHARS,
    Ask,
    Forget,
    MemoryCommand,
    Remember,
    detect_commands,
    infer_type,
)

pytestmark = pytest.mark.feature("A8")

MESSAGES = bench.load()
FIGURES = bench.measure(MESSAGES, bench.explicit)


def one(message: str) -> MemoryCommand:
    """The only command in a message."""
    (found,) = detect_commands(message)
    return found


def test_the_corpus_is_large_and_at_least_half_of_it_is_tempting_negatives() -> None:
    negatives = [m for m in MESSAGES if not m.expect]
    assert len(MESSAGES) >= 400
    assert len(negatives) * 2 >= len(MESSAGES)
    assert {"en", "zh", "zh-Hant", "ja", "fr"} <= {m.lang for m in MESSAGES}


@pytest.mark.parametrize("part", sorted(FIGURES))
def test_commands_are_found_precisely_in_every_language_and_on_messages_not_tuned_on(
    part: str,
) -> None:
    figures = FIGURES[part]
    assert figures["precision"] >= 0.98
    assert figures["recall"] >= 0.9
    assert figures["type_accuracy"] >= 0.95
    assert figures["content_accuracy"] >= 0.95


def test_command_words_are_stripped_where_that_reads_right() -> None:
    assert one("remember that the API is on port 8080") == Remember(
        "the API is on port 8080", MemoryType.FACT
    )
    assert one("Always use pnpm") == Remember("Always use pnpm", MemoryType.CONVENTION)


def test_a_request_after_the_rule_is_not_part_of_it() -> None:
    message = "Always use pnpm. Now fix the build."
    assert detect_commands(message) == [Remember("Always use pnpm", MemoryType.CONVENTION)]


def test_several_commands_in_one_message_come_in_order() -> None:
    message = "Remember that we use Redis. Forget that we use Memcached. What do you remember?"
    assert detect_commands(message) == [
        Remember("we use Redis", MemoryType.FACT),
        Forget("we use Memcached"),
        Ask(""),
    ]


def test_a_command_behind_a_semicolon_or_an_and_is_heard_and_ends_the_one_before_it() -> None:
    both = [Remember("we use Redis", MemoryType.FACT), Forget("we use Memcached")]
    for joint in ("; ", "; please ", ", and ", ";and also "):
        message = f"Remember that we use Redis{joint}forget that we use Memcached."
        assert detect_commands(message) == both, message
    assert detect_commands("Fix the build and remember that CI uses Node 20") == [
        Remember("CI uses Node 20", MemoryType.FACT)
    ]


def test_a_semicolon_inside_a_rule_stays_in_the_rule() -> None:
    rule = "Always run the formatter; fix warnings before you push"
    assert detect_commands(rule) == [Remember(rule, MemoryType.CONVENTION)]


def test_work_asked_for_behind_a_rule_is_no_part_of_it() -> None:
    for joint in ("; now ", "; please ", ", and now "):
        message = f"Always use pnpm{joint}fix the build."
        assert detect_commands(message) == [Remember("Always use pnpm", MemoryType.CONVENTION)]


@pytest.mark.parametrize(
    "story",
    [
        "People sign in and forget that they have two accounts",
        "The manual says to open the panel; remember that it is hidden by default",
        "Explain how browsers store cookies and remember that a user logged in",
        "Write a scheduler that wakes up and remember that jobs may overlap",
        "We close the tab, and forget that it was open",
    ],
)
def test_a_command_word_in_the_middle_of_a_story_is_none(story: str) -> None:
    assert detect_commands(story) == []


def test_a_list_under_remember_becomes_one_memory_for_each_item() -> None:
    found = detect_commands("Remember:\n- always use ruff\n- prod is in Frankfurt\n\nThen run it.")
    assert found == [
        Remember("always use ruff", MemoryType.CONVENTION),
        Remember("prod is in Frankfurt", MemoryType.FACT),
    ]


def test_a_sentence_that_points_back_keeps_the_one_before_it() -> None:
    assert detect_commands("Our main branch is called trunk. Remember that.") == [
        Remember("Our main branch is called trunk", MemoryType.FACT)
    ]
    assert detect_commands("Is trunk the main branch? Remember that.") == []


def test_slash_forms_take_the_whole_rest_of_the_message() -> None:
    assert one("/remember prod is in eu-west-1\nand in us-east-2") == Remember(
        "prod is in eu-west-1\nand in us-east-2", MemoryType.FACT
    )
    assert one("/forget prod region") == Forget("prod region")
    assert one("/recall prod region") == Ask("prod region")
    assert detect_commands("/remember") == []


def test_quoted_material_after_a_task_is_never_a_rule() -> None:
    assert detect_commands("Translate this: hello.\nAlways use pnpm.") == []
    assert detect_commands("Review these rules:\n- Always use tabs") == []


def test_code_keeps_its_place_inside_a_rule() -> None:
    assert one("Always use `git pull --rebase`, never a merge") == Remember(
        "Always use `git pull --rebase`, never a merge", MemoryType.CONVENTION
    )


def test_a_pasted_document_is_not_a_set_of_orders_but_its_edges_are_read() -> None:
    document = "\n\n".join(f"Section {n}. Always check the seal number {n}." for n in range(60))
    assert len(document) > DOCUMENT_CHARS
    body = "Read this.\n\n" + document + "\n\nThat was it."
    assert detect_commands(body) == []
    assert detect_commands(body + "\n\nRemember that the seal vendor is Acme.") == [
        Remember("the seal vendor is Acme", MemoryType.FACT)
    ]


def test_note_that_beside_a_request_is_context_for_it() -> None:
    assert detect_commands("Note that staging is reset every night.")
    assert detect_commands("Note that staging is reset every night. Fix the seed script.") == []


def test_a_correction_is_told_by_the_contradiction() -> None:
    assert infer_type("don't use npm, use pnpm") is MemoryType.CORRECTION
    found = one("No, we use poetry here, not pip.")
    assert isinstance(found, Remember)
    assert found.type is MemoryType.CORRECTION


@given(st.text(max_size=400))
def test_any_text_can_be_read(message: str) -> None:
    for command in detect_commands(message):
        assert bench.text_of(command) in message


_LINES = st.sampled_from(
    ["Always use pnpm", "remember that x is 5", "never push to main", "forget that we use npm"]
)


@given(
    _LINES, st.sampled_from(["```\n{}\n```", "> {}", "`{}`", '"{}"', "    {}", "// {}", "「{}」"])
)
def test_what_is_quoted_is_never_a_command(line: str, frame: str) -> None:
    assert detect_commands(frame.format(line)) == []
    assert detect_commands("What about this?\n" + frame.format(line)) == []


@pytest.mark.parametrize(
    "unit", ["remember ", "a. ", "`", "'x ", "\n> ", "never, ", "「", "¿", "please "]
)
def test_a_megabyte_of_hostile_text_is_read_to_the_end(unit: str) -> None:
    assert len(detect_commands(unit * (1_000_000 // len(unit)))) <= 1
