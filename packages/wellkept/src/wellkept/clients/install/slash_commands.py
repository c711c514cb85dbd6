"""The slash commands of Wellkept in each client's format.

The texts are in `data/commands`; each client adds its header and its placeholder for arguments.
In a client with its own /memory, ours is /wellkept-memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final

from wellkept.clients.hook_spec import InstallPart, Programs, Shell
from wellkept.clients.install.files import WholeFile
from wellkept.clients.install.hook_entries import command_line
from wellkept.core.records import record

PROGRAM_MARK: Final = "__WELLKEPT__"
_ARGUMENTS_MARK: Final = "__ARGUMENTS__"
_MEMORY: Final = "memory"


@record
class SlashCommand:
    """A command's header. `runs` lists the subcommands it may run without asking."""

    name: str
    description: str
    hint: str = ""
    runs: tuple[str, ...] = ()

    def body(self, program: str, arguments: str) -> str:
        """The prompt for the model."""
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
        # Not "skill": Claude Code takes a folder with a skill.md for one skill and ignores the
        # commands in it.
        "run-skill",
        "Run a skill that Wellkept knows, or find one",
        "<name> [arguments]",
        ("skill run --as model", "skill search"),  # never all of `skill`: it can also trust hooks
    ),
    SlashCommand(
        # Not "review": clients have a /review of code.
        "review-memory",
        "Judge what Wellkept learned and nobody has confirmed yet",
        "",
        ("review",),
    ),
    SlashCommand(
        "flag", "Say that a line from memory is wrong", "<id> [why]", ("edit --action flag",)
    ),
    SlashCommand(_MEMORY, "Show what Wellkept knows about this project", "", ("context", "status")),
)


def claude_code_format(command: SlashCommand, program: str) -> str:
    """Markdown with a header that allows its subcommands."""
    tools = ", ".join(f"Bash({program} {run}:*)" for run in command.runs)
    head = {"description": command.description, "argument-hint": command.hint}
    return _with_header(head | {"allowed-tools": tools}, command.body(program, "$ARGUMENTS"))


def opencode_format(command: SlashCommand, program: str) -> str:
    """Markdown with a description."""
    return _with_header({"description": command.description}, command.body(program, "$ARGUMENTS"))


def qwen_format(command: SlashCommand, program: str) -> str:
    """Markdown with a description; the client replaces `{{args}}`."""
    return _with_header({"description": command.description}, command.body(program, "{{args}}"))


def gemini_format(command: SlashCommand, program: str) -> str:
    """TOML; the client replaces `{{args}}`."""
    body = json.dumps(command.body(program, "{{args}}"), ensure_ascii=False)
    return f"description = {json.dumps(command.description)}\nprompt = {body}\n"


def cursor_format(command: SlashCommand, program: str) -> str:
    """Plain Markdown; the client appends the arguments."""
    return f"# {command.description}\n\n{command.body(program, '').rstrip()}\n"


def _with_header(head: dict[str, str], body: str) -> str:
    lines = [f"{name}: {value}" for name, value in head.items() if value]
    return "\n".join(["---", *lines, "---", body])


def command_files(
    folder: Path,
    form: Callable[[SlashCommand, str], str],
    *,
    ending: str = ".md",
    has_memory_command: bool = False,
) -> Iterator[WholeFile]:
    """The commands as files in a client's folder; an existing file of the same name is kept."""
    for command in COMMANDS:
        is_taken = has_memory_command and command.name == _MEMORY
        name = f"wellkept-{command.name}" if is_taken else command.name
        make = partial(_content, command, form)
        path = folder / f"{name}{ending}"
        yield WholeFile(InstallPart.COMMANDS, path, command.description, make, keep_existing=True)


def _content(
    command: SlashCommand, form: Callable[[SlashCommand, str], str], programs: Programs
) -> str | None:
    return form(command, program_line(programs.wellkept)) if programs.wellkept else None


def program_line(words: Sequence[str]) -> str:
    """The program as a command line; models write for a POSIX shell."""
    return command_line(words, Shell.SH)
