"""A person's words, apart from what clients put into prompts."""

from __future__ import annotations

import pytest

from tests.observe.telling import Teller, folded, observations
from wellkept.core.types import MemoryType
from wellkept.text.own_words import agent_task, own_words, slash_command

pytestmark = pytest.mark.feature("C1")


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("<ide_opened_file>The user opened a.py</ide_opened_file>Fix the login", "Fix the login"),
        ("Fix it <system-reminder>be brief</system-reminder>", "Fix it"),
        ("<local-command-stdout>ok</local-command-stdout>", ""),
        (
            "<task-notification>x</task-notification>\nRead the output file to retrieve the result: /t",
            "",
        ),
        ("<command-name>/go</command-name><command-args>to town</command-args>", "to town"),
        ("[Request interrupted by user]", ""),
        ("[Image #1] why is this red?", "why is this red?"),
        (
            "use Promise<void> and <skill-name> in the path",
            "use Promise<void> and <skill-name> in the path",
        ),
        ("<b>bold</b> words stay", "<b>bold</b> words stay"),
        ("<user_query>Fix it</user_query>", "Fix it"),
        ("<system-reminder>cut off", ""),
    ],
)
def test_only_what_a_person_typed_is_left(prompt: str, words: str) -> None:
    assert own_words(prompt) == words


def test_the_task_of_another_agent_and_a_slash_command_name_a_session() -> None:
    sent = '<teammate-message teammate_id="lead">Write the tests for login</teammate-message>'
    assert agent_task(sent) == "Write the tests for login"
    say = Teller()
    assert folded([say.prompt(sent)]).session.title == "Write the tests for login"
    typed = "<command-name>/plan</command-name><command-args>14</command-args>"
    assert slash_command(typed) == "/plan 14"


def test_a_session_is_named_by_its_first_request_that_says_something() -> None:
    say = Teller()
    result = folded([say.prompt("y"), say.prompt("Fix the login bug"), say.prompt("Add a footer")])
    assert result.session.title == "Fix the login bug"


def test_an_edit_with_a_passing_test_after_fix_is_a_bugfix() -> None:
    say = Teller()
    (seen,) = observations(
        folded(
            [
                say.prompt("Fix the login bug"),
                say.edit("login.py", "def login():\n    pass\n", "def login():\n    return 1\n"),
                say.run("pytest", "3 passed in 0.1s"),
                say.prompt("yes"),
                say.turn_end("Done."),
            ]
        )
    )
    assert seen.kind == "bugfix"
    assert seen.subtitle == "Fix the login bug"
    assert seen.narrative is None


def test_edits_of_which_only_lines_are_known_are_one_record_named_by_the_files() -> None:
    say = Teller()
    seen = observations(
        folded(
            [
                say.prompt("Mark the impact of evaluations in the page"),
                say.edit("a.css", "x", "y"),
                say.edit("b.css", "x", "y"),
                say.turn_end("Done."),
            ]
        )
    )
    assert [one.title for one in seen] == ["a.css, b.css"]
    assert seen[0].files_modified == ("a.css", "b.css")


def test_short_prompts_are_kept_in_order() -> None:
    say = Teller()
    result = folded([say.prompt("Fix the login bug"), say.prompt("6")])
    kept = [d.content for d in result.drafts if d.type is MemoryType.PROMPT]
    assert kept == ["Fix the login bug", "6"]
