"""`wellkept apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.cli import exit_codes, options, output

if TYPE_CHECKING:
    from wellkept.memory.commands.execute import CommandResult


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="MESSAGE...")
@click.option("--author", help="Who wrote the message.")
@click.option("--session", help="The session it was written in.")
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
    """Carry out the memory commands in a message.

    "Remember that ...", "never ...", "forget ..." and "what do you remember about ..." are acted
    upon, in several languages; any other message changes nothing and exits with 1.
    """
    with options.opened(project) as wk:
        done = wk.apply_commands(
            output.read_input(words, what="message"), author=author, session=session
        )
    if as_json:
        output.print_json({"done": [_shape(item) for item in done]})
    else:
        for item in done:
            _print(item)
        if not done:
            output.note("The message asks nothing of memory.")
    return exit_codes.OK if done else exit_codes.NOTHING


def _shape(item: CommandResult) -> dict[str, object]:
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
        _print_open_question(item)


def _print_open_question(item: CommandResult) -> None:
    from wellkept.memory.commands.detect import Forget

    if not item.choices:
        output.note("Nothing like that is known.")
    elif isinstance(item.command, Forget):
        output.note("Nothing was forgotten: `wellkept forget ID` says which one is meant.")
