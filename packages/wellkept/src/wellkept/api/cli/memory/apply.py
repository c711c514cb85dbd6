"""`wellkept apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.api.cli.names import SESSION

if TYPE_CHECKING:
    from wellkept.memory.commands.execute import CommandResult


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="MESSAGE...")
@click.option("--author", help="Author of the message.")
@click.option("--session", type=SESSION, help="Session of the message.")
@options.project_option
@options.json_option
def apply(
    *,
    words: tuple[str, ...],
    author: str | None,
    session: str | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Execute the memory commands in a message.

    Understands "remember that ...", "never ...", "forget ..." and "what do you remember about ..."
    in several languages. Exits with 1 when the message contains no command.
    """
    with options.open_wellkept(project) as wk:
        results = wk.apply_commands(
            output.read_input(words, what="message"), author=author, session=session
        )
    if as_json:
        output.print_json({"done": [_plain(item) for item in results]})
    else:
        for item in results:
            _print(item)
        if not results:
            output.note("No memory command in this message.")
    return exit_codes.OK if results else exit_codes.NOTHING


def _plain(item: CommandResult) -> dict[str, object]:
    return {
        "command": type(item.command).__name__.lower(),
        "kept": item.kept,
        "forgotten": item.forgotten,
        "choices": item.choices,
    }


def _print(item: CommandResult) -> None:
    if item.kept is not None:
        output.print_memory_line(item.kept.memory, mark=f"{item.kept.outcome.value} ")
    for memory in item.forgotten:
        output.print_memory_line(memory, mark="closed ")
    for memory in item.choices:
        output.print_memory_line(memory)
    if item.kept is None and not item.forgotten:
        _print_unresolved(item)


def _print_unresolved(item: CommandResult) -> None:
    from wellkept.text.memory_commands.detect import Forget

    if not item.choices:
        output.note("No matching memory.")
    elif isinstance(item.command, Forget):
        output.note("Nothing was forgotten. Choose one: `wellkept forget ID`.")
