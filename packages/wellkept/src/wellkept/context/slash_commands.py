"""Built-in slash commands: /help, /remember, /recall, /forget, /memory, /plan and /skills.

They are in the same table as skills. /remember, /recall and /forget use the same code as commands
in a prompt (`memory.commands`). Answers are text; memory content in them is data, with ids to cite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

from wellkept.context.packing import render_context
from wellkept.core.errors import UsageError
from wellkept.core.text import first_line
from wellkept.memory.workspace import OpenMemory
from wellkept.skills.commands.table import Command, CommandCall, Invoker

if TYPE_CHECKING:
    from wellkept.context.packing import ContextPack
    from wellkept.core.query import Stats
    from wellkept.skills.library.api import Skills

LINE_CHARS: Final = 200
_SHOWN: Final = 40


class MemoryAccess(OpenMemory, Protocol):
    """The methods of `Wellkept` that built-in commands call."""

    def stats(self) -> Stats: ...

    def context(
        self, query: str = "", *, moment: str | None = None, session: str | None = None
    ) -> ContextPack: ...


class SlashCommands:
    """The built-in commands of one project."""

    def __init__(self, memory: MemoryAccess, skills: Skills) -> None:
        self._memory = memory
        self._skills = skills

    def all(self) -> tuple[Command, ...]:
        """The commands for the table."""
        return (
            _own("help", "List commands, or show how to use one", self.help, "[name]"),
            _own(
                "remember",
                "Store a statement in memory",
                self.apply("remember"),
                "<statement>",
                for_models=False,
            ),
            _own(
                "recall",
                "Search memory",
                self.apply("recall"),
                "[question]",
                aliases=("memories",),
            ),
            _own(
                "forget",
                "Close the memory that clearly matches a description",
                self.apply("forget"),
                "<description>",
                for_models=False,
            ),
            _own("memory", "Show memory counts and the session context", self.memory),
            _own("plan", "Collect memories for a plan", self.plan, "<task>"),
            _own("skills", "List skills, or those that match a query", self.skills, "[query]"),
        )

    def help(self, call: CommandCall) -> str:
        """Every command in a line, the most used first; or one in full."""
        if call.arguments.words:
            return "\n".join(
                _in_full(self._skills.commands.get(call.arguments.words[0], by=call.by))
            )
        listed = self._skills.commands.list(by=call.by)
        return "\n".join(f"{one.usage}: {_line(one.description)}" for one in listed)

    def apply(self, verb: str) -> Callable[[CommandCall], str]:
        """The command for a verb that also works in plain prompts."""

        def answer(call: CommandCall) -> str:
            text = call.arguments.text
            if not text and verb != "recall":
                raise UsageError(f"/{verb} needs a text.", hint=f"Type /{verb} followed by a text.")
            from wellkept.observe.verbs import apply

            return apply(self._memory, f"/{verb} {text}", session=call.session).as_text()

        return answer

    def memory(self, _: CommandCall) -> str:
        """Counts, and the context at the start of a session."""
        stats = self._memory.stats()
        by_type = ", ".join(f"{count} {name}" for name, count in stats.by_type.items())
        head = f"{self._memory.project_name}: {stats.total} memories" + (
            f" ({by_type})" if by_type else ""
        )
        return "\n".join(filter(None, (head, render_context(self._memory.context()))))

    def plan(self, call: CommandCall) -> str:
        """Memory context for a plan."""
        if not call.arguments.text:
            raise UsageError("/plan needs a task.", hint="Type /plan followed by the task.")
        pack = self._memory.context(call.arguments.text, moment="plan", session=call.session)
        return render_context(pack) or "No memory is relevant to this plan."

    def skills(self, call: CommandCall) -> str:
        """Skills by name, or those that match a query."""
        if call.arguments.text:
            chosen = self._skills.search(call.arguments.text).choices
            return "\n".join(_skill(c.skill.name, c.skill.description) for c in chosen) or (
                "No skill matches."
            )
        listed = [one for one in self._skills.commands.list(by=call.by) if one.skill is not None]
        lines = [_skill(one.name, one.description) for one in listed[:_SHOWN]]
        if len(listed) > _SHOWN:
            lines.append(f"({len(listed) - _SHOWN} more: /skills QUERY finds them)")
        return "\n".join(lines) or "No skills found."


def _own(
    name: str,
    description: str,
    answer: Callable[[CommandCall], str],
    hint: str | None = None,
    *,
    aliases: tuple[str, ...] = (),
    for_models: bool = True,
) -> Command:
    return Command(
        name=name,
        description=description,
        aliases=aliases,
        argument_hint=hint,
        for_models=for_models,
        answer=answer,
    )


def _in_full(command: Command) -> Iterator[str]:
    yield command.usage
    yield _line(command.description)
    if command.aliases:
        yield f"Also: {', '.join('/' + alias for alias in command.aliases)}"
    if not command.open_to(Invoker.MODEL):
        yield "Only for users."
    if command.skill is None:
        return
    yield f"From: {command.source}"
    how = command.skill.invocation
    if how.allowed_tools:
        yield f"Tools: {', '.join(how.allowed_tools)}"
    if command.skill.path:
        yield f"File: {command.skill.path}"


def _skill(name: str, description: str) -> str:
    return f"/{name}: {_line(description)}"


def _line(text: str) -> str:
    return first_line(" ".join(text.split()), limit=LINE_CHARS)
