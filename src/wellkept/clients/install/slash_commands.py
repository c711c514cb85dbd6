"""The slash commands /remember, /recall, /forget, /run-skill and /memory, as each client wants.

One text for all, in `data/commands`; a client adds its head and its word for the arguments.
Where a client has a command of its own called /memory, ours is /wellkept-memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final

from wellkept.clients.hook_spec import InstallPart, Programs, Shell
from wellkept.clients.install.command_lines import command_line
from wellkept.clients.install.target import OwnFile
from wellkept.core.records import record

PROGRAM_MARK: Final = "__WELLKEPT__"
_ARGUMENTS_MARK: Final = "__ARGUMENTS__"
_MEMORY: Final = "memory"


@record
class SlashCommand:
    """What a command says about itself. `runs` are the subcommands it needs no permission for."""

    name: str
    description: str
    hint: str = ""
    runs: tuple[str, ...] = ()

    def body(self, program: str, arguments: str) -> str:
        """What the model is told."""
        text = (files("wellkept.clients") / "data" / "commands" / f"{self.name}.md").read_text(
            "utf-8"
        )
        return text.replace(PROGRAM_MARK, program).replace(_ARGUMENTS_MARK, arguments)


COMMANDS: Final = (
    SlashCommand("remember", "Keep a statement in Wellkept's memory", "<statement>", ("remember",)),
    SlashCommand(
        "recall",
        "Find what Wellkept's memory knows about something",
        "<question>",
        ("recall", "show"),
    ),
    SlashCommand(
        "forget",
        "Delete a memory from Wellkept, after a look at it",
        "<id or description>",
        ("recall", "show"),
    ),
    SlashCommand(
        # Not "skill": Claude Code takes a folder that holds a skill.md for one skill, and then
        # knows none of the commands in it.
        "run-skill",
        "Run a skill that Wellkept knows, or find one",
        "<name> [arguments]",
        ("skill run --as model", "skill search"),  # never all of `skill`: it also agrees to hooks
    ),
    SlashCommand(
        _MEMORY, "Show what Wellkept knows about this project", "", ("stats", "context", "status")
    ),
)


def claude_code_form(command: SlashCommand, program: str) -> str:
    """Markdown whose head says what it may run unasked."""
    tools = ", ".join(f"Bash({program} {run}:*)" for run in command.runs)
    head = {"description": command.description, "argument-hint": command.hint}
    return _headed(head | {"allowed-tools": tools}, command.body(program, "$ARGUMENTS"))


def opencode_form(command: SlashCommand, program: str) -> str:
    """Markdown with a description."""
    return _headed({"description": command.description}, command.body(program, "$ARGUMENTS"))


def gemini_form(command: SlashCommand, program: str) -> str:
    """TOML; what the person typed takes the place of `{{args}}`."""
    body = json.dumps(command.body(program, "{{args}}"), ensure_ascii=False)
    return f"description = {json.dumps(command.description)}\nprompt = {body}\n"


def cursor_form(command: SlashCommand, program: str) -> str:
    """Plain Markdown; what the person typed follows it."""
    return f"# {command.description}\n\n{command.body(program, '').rstrip()}\n"


def _headed(head: dict[str, str], body: str) -> str:
    lines = [f"{name}: {value}" for name, value in head.items() if value]
    return "\n".join(["---", *lines, "---", body])


def command_files(
    folder: Path,
    form: Callable[[SlashCommand, str], str],
    *,
    ending: str = ".md",
    has_own_memory: bool = False,
) -> Iterator[OwnFile]:
    """The commands as files of a client's folder; a person's own of that name stays."""
    for command in COMMANDS:
        taken = has_own_memory and command.name == _MEMORY
        name = f"wellkept-{command.name}" if taken else command.name
        make = partial(_made, command, form)
        path = folder / f"{name}{ending}"
        yield OwnFile(InstallPart.COMMANDS, path, command.description, make, yields=True)


def _made(
    command: SlashCommand, form: Callable[[SlashCommand, str], str], programs: Programs
) -> str | None:
    return form(command, program_line(programs.wellkept)) if programs.wellkept else None


def program_line(words: Sequence[str]) -> str:
    """How a model is told to call Wellkept; clients' models write for a POSIX shell."""
    return command_line(words, Shell.SH)
