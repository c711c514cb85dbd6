"""What a person answered, as the clients report it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellkept.clients import claude_code, codex, gemini, opencode
from wellkept.clients.tool_calls import read_answers
from wellkept.core.session.events import Answer, ToolCalled

pytestmark = pytest.mark.feature("C1")

OPTIONS = [
    {"label": "Cents", "description": "Whole numbers"},
    {"label": "Euros", "description": "Decimals"},
]
ASKED = {"questions": [{"question": "How is money stored?", "id": "money", "options": OPTIONS}]}
CHOSEN = Answer("How is money stored?", "Cents", is_choice=True, meaning="Whole numbers")


def called(client: object, event: str, name: str, response: object) -> ToolCalled:
    payload = {
        "session_id": "s",
        "tool_name": name,
        "tool_input": ASKED,
        "tool_response": response,
        "tool_use_id": "call",
    }
    (found,) = client.events(event, payload, event_id="e", at=datetime.now(UTC))  # type: ignore[attr-defined]
    assert isinstance(found, ToolCalled)
    return found


@pytest.mark.parametrize(
    ("client", "event", "name", "response"),
    [
        (
            claude_code,
            "PostToolUse",
            "AskUserQuestion",
            {**ASKED, "answers": {"How is money stored?": "Cents"}},
        ),
        (
            claude_code,
            "PostToolUse",
            "AskUserQuestion",
            'User has answered your questions: "How is money stored?"="Cents". You can now continue'
            " with the user's answers in mind.",
        ),
        (codex, "PostToolUse", "request_user_input", '{"answers":{"money":{"answers":["Cents"]}}}'),
        (
            opencode,
            "PostToolUse",
            "question",
            'User has answered your questions: "How is money stored?"="Cents". You can now continue',
        ),
        (gemini, "AfterTool", "ask_user", {"llmContent": '{"answers":{"0":"Cents"}}'}),
    ],
)
def test_the_answer_is_read_from_every_client(
    client: object, event: str, name: str, response: object
) -> None:
    assert called(client, event, name, response).answers == (CHOSEN,)


def test_an_answer_that_is_no_option_is_the_persons_own() -> None:
    (answer,) = read_answers(ASKED, '{"answers":{"How is money stored?":"In cents, always"}}')
    assert answer == Answer("How is money stored?", "In cents, always")


@pytest.mark.parametrize("output", ["", "{}", "[1]", '{"answers":7}', '"', "a\nb", "User declined"])
def test_a_result_without_an_answer_gives_none(output: str) -> None:
    assert read_answers(ASKED, output) == ()


def test_a_quotation_mark_in_the_question_does_not_hide_the_answer() -> None:
    question = 'Should the list show the "current" one too?'
    asked = {"questions": [{"question": question, "options": [{"label": "Past only"}]}]}
    output = f'User has answered your questions: "{question}"="Past only". You can now continue'
    (answer,) = read_answers(asked, output)
    assert (answer.question, answer.answer, answer.is_choice) == (question, "Past only", True)
