"""AskUserQuestion: ask the person, with options to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from wellkept.core.session.events import Answer
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool
from wellkept_agent.tools.context import ToolContext
from wellkept_agent.user import Option, Question


class AskedOption(Arguments):
    """One possible answer."""

    label: Annotated[str, Field(min_length=1, max_length=200, description="One to five words.")]
    description: Annotated[str, Field(description="What choosing it means.")] = ""


class AskedQuestion(Arguments):
    """One question."""

    question: Annotated[str, Field(min_length=1, description="The whole question.")]
    header: Annotated[str, Field(description="Its topic in a word or two.")] = ""
    options: Annotated[
        list[AskedOption],
        Field(max_length=8, description="Two to four answers; the person may write another."),
    ]
    several: Annotated[
        bool, Field(alias="multiSelect", description="Whether more than one may be chosen.")
    ] = False


class AskUserQuestionArguments(Arguments):
    """Arguments of AskUserQuestion."""

    questions: Annotated[list[AskedQuestion], Field(min_length=1, max_length=4)]


class AskUserQuestion(TypedTool[AskUserQuestionArguments]):
    """Asks the person. When nobody answers now, the turn ends and the question stands."""

    name = "AskUserQuestion"
    description = (
        "Ask the person one to four questions with options, when their answer decides what to do"
        " and nothing else tells it. They may answer in their own words."
    )
    is_long_running = True

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Asking needs no permission."""

    async def run(self, context: ToolContext, arguments: AskUserQuestionArguments) -> ToolOutput:
        """Ask and wait."""
        asked = tuple(_question(one) for one in arguments.questions)
        answers = await context.session.person.answer(asked)
        if answers is None:
            text = "\n".join(f"- {one.text}" for one in asked)
            return ToolOutput(
                content=f"Nobody answers now. The turn ends; the person sees:\n{text}",
                display=text,
                ends_turn=True,
            )
        recorded = tuple(
            _recorded(question, answer) for question, answer in zip(asked, answers, strict=False)
        )
        lines = [f"{one.question}\n-> {one.answer or '(no answer)'}" for one in recorded]
        return ToolOutput(
            content="\n".join(lines) or "The person gave no answer.",
            answers=tuple(one for one in recorded if one.answer.strip()),
        )


def _question(asked: AskedQuestion) -> Question:
    return Question(
        text=asked.question,
        header=asked.header,
        options=tuple(Option(one.label, one.description) for one in asked.options),
        several=asked.several,
    )


def _recorded(question: Question, answer: str) -> Answer:
    chosen = next((one for one in question.options if one.label == answer.strip()), None)
    return Answer(
        question.text,
        answer.strip(),
        is_choice=chosen is not None,
        meaning=chosen.description if chosen else "",
        topic=question.header,
    )
