"""`wellkept skill run`, `commands` and `remind`: skills as commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import SESSION, SKILL
from wellkept.core.text import shorten
from wellkept.skills.commands.table import Invoker
from wellkept.skills.selection.reminders import ReminderLevel

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.skills.commands.table import Command
    from wellkept.skills.library.commands import CommandResult

_side_option = click.option(
    "--as",
    "by",
    type=click.Choice([side.value for side in Invoker]),
    default=Invoker.PERSON.value,
    show_default=True,
    help="Caller: some commands are for people only, others for models only.",
)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("name", type=SKILL)
@click.argument("words", nargs=-1, metavar="[ARGS]...", type=click.UNPROCESSED)
@_side_option
@click.option("--session", type=SESSION, help="Session; activates the hooks of the skill in it.")
@click.option(
    "--max-chars", type=click.IntRange(min=200), help="Maximum prompt length in characters."
)
@click.option("--max-tokens", type=click.IntRange(min=50), help="Maximum prompt length in tokens.")
@options.project_option
@options.json_option
def run(
    *,
    name: str,
    words: tuple[str, ...],
    by: str,
    session: str | None,
    max_chars: int | None,
    max_tokens: int | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Run a skill or a built-in command, such as remember or help.

    A skill prints its prompt for the model, with ARGS replacing $ARGUMENTS and $1 to $9. A built-in
    command prints its result. Options must precede NAME; everything after it is an argument. A
    single - reads the arguments from standard input.
    """
    arguments: str | tuple[str, ...] = words
    if words == ("-",):
        arguments = output.read_input(words, what="arguments")
    with options.open_wellkept(project) as wk:
        result = wk.skills.commands.run(
            name, arguments, by=by, session=session, max_chars=max_chars, max_tokens=max_tokens
        )
    if as_json:
        output.print_json(_plain_result(result))
        return
    click.echo(output.safe(result.text))
    if result.prompt is not None and result.prompt.is_cut:
        output.note(f"Truncated: {result.prompt.lines_left_out} lines omitted.")


def _plain_result(result: CommandResult) -> dict[str, Json]:
    plain: dict[str, Json] = {
        "command": result.command.name,
        "kind": result.kind.value,
        "source": result.command.source,
        "arguments": result.arguments.text,
        "words": [*result.arguments.words],
        "text": result.text,
    }
    prompt = result.prompt
    if prompt is not None:
        plain["prompt"] = {
            "skill_id": prompt.skill.id,
            "tokens": prompt.tokens,
            "is_cut": prompt.is_cut,
            "lines_left_out": prompt.lines_left_out,
            "allowed_tools": [*prompt.allowed_tools],
            "model": prompt.model,
            "context": prompt.context.value,
            "agent": prompt.agent,
        }
    return plain


@click.command()
@_side_option
@click.option("--all", "show_all", is_flag=True, help="Include hidden and disabled commands.")
@options.project_option
@options.json_option
def commands(*, by: str, show_all: bool, project: str | None, as_json: bool) -> None:
    """List slash commands, most used first, and name clashes."""
    with options.open_wellkept(project) as wk:
        table = wk.skills.commands
        listed = [*table.table] if show_all else table.list(by=by)
        scores, clashes = table.scores(), table.clashes()
    if as_json:
        items = [_plain_command(one, scores.get(one.key, 0.0)) for one in listed]
        plain_clashes = [
            {
                "name": clash.name,
                "winner": clash.winner.source,
                "covered": [one.source for one in clash.covered],
            }
            for clash in clashes
        ]
        output.print_json({"items": items, "clashes": plain_clashes})
        return
    rows = [
        (one.usage, one.source, f"{scores.get(one.key, 0.0):.2f}", _description(one))
        for one in listed
    ]
    output.print_table(("command", "source", "use", "description"), rows)
    for clash in clashes:
        covered = ", ".join(one.source for one in clash.covered)
        output.note(f"/{clash.name} comes from {clash.winner.source} and hides {covered}.")


def _description(command: Command) -> str:
    skill = command.skill
    is_off = skill is not None and not skill.enabled
    marks = [*(["off"] if is_off else []), *(["hidden"] if command.is_hidden else [])]
    text = shorten(" ".join(command.description.split()), limit=80)
    return f"({', '.join(marks)}) {text}" if marks else text


def _plain_command(command: Command, score: float) -> dict[str, Json]:
    skill = command.skill
    return {
        "name": command.name,
        "kind": command.kind.value,
        "source": command.source,
        "description": command.description,
        "aliases": [*command.aliases],
        "argument_hint": command.argument_hint,
        "for_people": command.for_people,
        "for_models": command.for_models,
        "hidden": command.is_hidden,
        "enabled": skill is None or skill.enabled,
        "use_score": round(score, 4),
    }


@click.command()
@click.argument("names", nargs=-1, required=True, type=SKILL, metavar="NAME...")
@click.option(
    "--level",
    type=click.Choice([level.value for level in ReminderLevel]),
    default=ReminderLevel.NORMAL.value,
    show_default=True,
    help="Length of the reminder.",
)
@options.project_option
@options.json_option
def remind(*, names: tuple[str, ...], level: str, project: str | None, as_json: bool) -> None:
    """Print the reminder an agent gets while these skills are in use."""
    with options.open_wellkept(project) as wk:
        text = wk.skills.reminders(*names, level=level)
    if as_json:
        output.print_json({"level": level, "names": [*names], "text": text})
    else:
        click.echo(output.safe(text))
