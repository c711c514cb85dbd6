"""TodoWrite: the agent's list of what to do, shown to the person and kept over compaction."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Protocol

from pydantic import Field

from wellkept.core.records import replace
from wellkept.core.session.events import Answer
from wellkept.core.text import counted
from wellkept_agent.control import RunEnd
from wellkept_agent.events import TodosChanged
from wellkept_agent.permissions import Option, Question
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool

STATE_KEY = "session:todos"
_MARKS = {"pending": "☐", "in_progress": "▶", "completed": "☑"}


class _TodoStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class _TodoItem(Arguments):
    content: Annotated[str, Field(min_length=1, max_length=1_000)]
    status: Annotated[_TodoStatus, Field()]
    active_form: Annotated[
        str, Field(alias="activeForm", description="The same while it is done: Running tests.")
    ] = ""


class _TodoWriteArguments(Arguments):
    todos: Annotated[list[_TodoItem], Field(max_length=200)]


class TodoWrite(TypedTool[_TodoWriteArguments]):
    """Replaces the session's list."""

    name = "TodoWrite"
    description = (
        "Keep a list of what to do, for work of three steps or more. Give the whole list each time."
        " Have one item in progress; mark an item completed as soon as it is."
    )

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """A list needs no permission."""

    async def run(self, context: ToolContext, arguments: _TodoWriteArguments) -> ToolOutput:
        """Take over the list."""
        session = context.session
        todos = tuple((item.content, item.status.value) for item in arguments.todos)
        session.todos = todos
        session.state.set(STATE_KEY, [list(item) for item in todos])
        session.emit(TodosChanged(todos))
        left = [text for text, status in todos if status != "completed"]
        active = [text for text, status in todos if status == "in_progress"]
        content = f"The list has {counted(len(todos), 'item')}, {len(left)} to do."
        if len(active) > 1:
            content += f" {len(active)} are in progress: work on one at a time."
        elif left and not active:
            content += " None is in progress: mark the one that you work on."
        display = "\n".join(f"{_MARKS[status]} {text}" for text, status in todos)
        return ToolOutput(content=content, display=display)


# -- AskUserQuestion: ask the person, with options to choose from ---------------------------------


class _AskedOption(Arguments):
    label: Annotated[str, Field(min_length=1, max_length=200, description="One to five words.")]
    description: Annotated[str, Field(description="What choosing it means.")] = ""


class _AskedQuestion(Arguments):
    question: Annotated[str, Field(min_length=1)]
    header: Annotated[str, Field(description="Its topic in a word or two.")] = ""
    options: Annotated[
        list[_AskedOption],
        Field(max_length=8, description="Two to four answers; the person may write another."),
    ]
    several: Annotated[bool, Field(alias="multiSelect")] = False


class _AskUserQuestionArguments(Arguments):
    questions: Annotated[list[_AskedQuestion], Field(min_length=1, max_length=4)]


class AskUserQuestion(TypedTool[_AskUserQuestionArguments]):
    """Asks the person. When nobody answers now, the turn ends and the question stands."""

    name = "AskUserQuestion"
    description = (
        "Ask the person one to four questions with options, when their answer decides what to do"
        " and nothing else tells it. They may answer in their own words."
    )
    is_long_running = True

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Asking needs no permission."""

    async def run(self, context: ToolContext, arguments: _AskUserQuestionArguments) -> ToolOutput:
        """Ask and wait."""
        asked = tuple(_question(one) for one in arguments.questions)
        answers = await context.session.person.answer(asked)
        if answers is None:
            text = "\n".join(f"- {one.text}" for one in asked)
            return ToolOutput(
                content=f"Nobody answers now. The turn ends; the person sees:\n{text}",
                display=text,
                ends_turn=RunEnd.QUESTION,
            )
        recorded = tuple(
            _recorded(question, answer) for question, answer in zip(asked, answers, strict=False)
        )
        lines = [f"{one.question}\n-> {one.answer or '(no answer)'}" for one in recorded]
        return ToolOutput(
            content="\n".join(lines) or "The person gave no answer.",
            answers=tuple(one for one in recorded if one.answer.strip()),
        )


def _question(asked: _AskedQuestion) -> Question:
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


# -- Skill: use one of the skills that the session knows ------------------------------------------


class SkillUse(Protocol):
    """Runs skills: inserts their text, or lets a sub-agent follow it. Refuses unknown names."""

    async def use(self, context: ToolContext, name: str, arguments: str) -> ToolOutput: ...


class _SkillArguments(Arguments):
    skill: Annotated[str, Field(min_length=1, description="The skill's name, without a slash.")]
    args: Annotated[str, Field(description="What comes after the name, if anything.")] = ""


class Skill(TypedTool[_SkillArguments]):
    """Uses a skill."""

    name = "Skill"
    description = "Use a skill by its name: its instructions come back and apply from then on."
    is_long_running = True

    def __init__(self, skills: SkillUse) -> None:
        self._skills = skills

    def subject(self, context: ToolContext, arguments: Mapping[str, object]) -> str:
        """The skill's name, for rules such as `Skill(deploy)`."""
        return str(arguments.get("skill", "")).removeprefix("/")

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Text needs no permission; what it makes the agent do asks for itself."""

    async def run(self, context: ToolContext, arguments: _SkillArguments) -> ToolOutput:
        """Use the skill."""
        name = arguments.skill.strip().removeprefix("/")
        output = await self._skills.use(context, name, arguments.args)
        return replace(output, query=output.query or name)
