"""TodoWrite: the agent's list of what to do, shown to the person and kept over compaction."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from wellkept.core.text import counted
from wellkept_agent.events import TodosChanged
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool
from wellkept_agent.tools.context import ToolContext

STATE_KEY = "session:todos"
_MARKS = {"pending": "☐", "in_progress": "▶", "completed": "☑"}


class TodoStatus(StrEnum):
    """How far an item is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class TodoItem(Arguments):
    """One thing to do."""

    content: Annotated[str, Field(min_length=1, max_length=1_000, description="What to do.")]
    status: Annotated[TodoStatus, Field(description="pending, in_progress or completed.")]
    active_form: Annotated[
        str, Field(alias="activeForm", description="The same while it is done: Running tests.")
    ] = ""


class TodoWriteArguments(Arguments):
    """Arguments of TodoWrite."""

    todos: Annotated[list[TodoItem], Field(max_length=200, description="The whole list.")]


class TodoWrite(TypedTool[TodoWriteArguments]):
    """Replaces the session's list."""

    name = "TodoWrite"
    description = (
        "Keep a list of what to do, for work of three steps or more. Give the whole list each time."
        " Have one item in progress; mark an item completed as soon as it is."
    )

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """A list needs no permission."""

    async def run(self, context: ToolContext, arguments: TodoWriteArguments) -> ToolOutput:
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
