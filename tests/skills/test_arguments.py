"""What is typed after a slash: names, words, and their places in a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.errors import UsageError
from wellkept.skills.commands.rendering import (
    MAX_ARGUMENT_CHARS,
    Arguments,
    join_words,
    read_command,
    split_words,
    substitute,
)

pytestmark = pytest.mark.feature("F5")

_TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("   ", ()),
        ("one two", ("one", "two")),
        ('fix "the login page" now', ("fix", "the login page", "now")),
        ("'a b' c", ("a b", "c")),
        ('"say \\"hi\\"" x', ('say "hi"', "x")),
        ("don't stop, it's fine", ("don't", "stop,", "it's", "fine")),
        ('an "open quote', ("an", '"open', "quote")),
        ('"a"b c', ('"a"b', "c")),
        (r"C:\new\table", (r"C:\new\table",)),
        ("line one\nline two", ("line", "one", "line", "two")),
        ('""', ("",)),
        ("修复 登录", ("修复", "登录")),
    ],
)
def test_words_are_parted_as_people_mean_them(text: str, words: tuple[str, ...]) -> None:
    assert split_words(text) == words


@given(st.lists(_TEXTS, max_size=6))
def test_joined_words_are_split_into_the_same_words(words: list[str]) -> None:
    assert split_words(join_words(words)) == tuple(words)


@given(_TEXTS)
def test_no_text_is_too_odd_to_be_split(text: str) -> None:
    assert all(isinstance(word, str) for word in split_words(text))


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("/commit", "commit", ""),
        ("  /commit -m 'a b' ", "commit", "-m 'a b'"),
        ("/plugin:deploy now", "plugin:deploy", "now"),
        ("/fix\nthe bug", "fix", "the bug"),
    ],
)
def test_a_command_is_a_slash_a_name_and_the_rest(text: str, name: str, rest: str) -> None:
    typed = read_command(text)
    assert typed is not None
    assert (typed.name, typed.arguments.text) == (name, rest)


@pytest.mark.parametrize("text", ["", "commit", "/", "/ x", "//x", "a /commit", f"/{'x' * 201}"])
def test_what_is_no_command_is_not_taken_for_one(text: str) -> None:
    assert read_command(text) is None


def test_a_document_is_no_argument() -> None:
    with pytest.raises(UsageError, match="1,000,000 characters"):
        Arguments.of("x" * 1_000_000)
    with pytest.raises(UsageError):
        Arguments.of_words(["x" * (MAX_ARGUMENT_CHARS + 1)])
    assert Arguments.of("x" * MAX_ARGUMENT_CHARS).words


def test_nul_and_lone_surrogates_become_a_visible_mark() -> None:
    given = Arguments.of("a\0b \ud800")
    assert given.text == "a\ufffdb \ufffd"
    assert given.words == ("a\ufffdb", "\ufffd")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Do $ARGUMENTS.", "Do one 'b c'."),
        ("$1, then $2, then $3|", "one, then b c, then |"),
        ("$ARGUMENTS[1] $ARGUMENTS[0] $ARGUMENTS[7]|", "b c one |"),
        (r"keep \$1 and \$ARGUMENTS", "keep $1 and $ARGUMENTS"),
        ("costs $100, $1.50, $5,000 or $1a", "costs $100, $1.50, $5,000 or $1a"),
        ("$ARGUMENTS_FILE stays, $0 too", "$ARGUMENTS_FILE stays, $0 too"),
        ("in ${base_dir}/x and ${unknown}", "in /skills/a/x and ${unknown}"),
    ],
)
def test_places_are_filled(body: str, expected: str) -> None:
    done = substitute(body, Arguments.of("one 'b c'"), names={"base_dir": "/skills/a"})
    assert done.text == expected


def test_without_arguments_a_shell_command_in_the_text_stays_whole() -> None:
    body = "awk '{print $1}' file"
    assert substitute(body, Arguments(), names={}).text == body
    assert substitute("On $ARGUMENTS|", Arguments(), names={}).text == "On |"


@given(_TEXTS, st.lists(_TEXTS, min_size=1, max_size=3))
def test_what_was_typed_is_never_expanded_again(before: str, words: list[str]) -> None:
    tricky = [f"$ARGUMENTS $1 ${{base_dir}} \\$1 {word}" for word in words]
    arguments = Arguments.of_words(tricky)
    prefix = before.replace("$", "").replace("\\", "")
    done = substitute(f"{prefix}|$1|$ARGUMENTS|", arguments, names={"base_dir": "$ARGUMENTS"})
    assert done.text == f"{prefix}|{arguments.words[0]}|{arguments.text}|"
    assert done.used


def test_a_folder_named_like_a_place_is_not_expanded() -> None:
    done = substitute("${base_dir}", Arguments.of("x"), names={"base_dir": "/tmp/$ARGUMENTS/$1"})
    assert done.text == "/tmp/$ARGUMENTS/$1"
