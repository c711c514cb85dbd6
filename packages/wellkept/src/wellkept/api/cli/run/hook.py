"""`wellkept hook`: the documented door for clients without an installer.

`wellkept hook EVENT` itself is answered before click is loaded (`api.cli.hook_entry`); this is its
help, and what a person who writes a client needs.
"""

from __future__ import annotations

import json
import os
import shlex
import sys

import click

from wellkept.api.cli import exit_codes, options, output
from wellkept.clients import generic
from wellkept.core.errors import UsageError


@click.command()
@click.argument("event", type=click.Choice(list(generic.PROTOCOL)), required=False)
@click.option("--check", is_flag=True, help="Say what is wrong with the payload; keep nothing.")
@click.option("--command", "show", is_flag=True, help="Print the faster command line for EVENT.")
@options.json_option
def hook(*, event: str | None, check: bool, show: bool, as_json: bool) -> int:
    """Take one event of any coding client as JSON on standard input, and print context for it.

    Always exits with 0 and prints one JSON object or nothing, whatever goes wrong. See
    docs/reference/hook-protocol.md.
    """
    if show:
        _print_command(event, as_json=as_json)
        return exit_codes.OK
    if event is None:
        raise UsageError("Name an event.", hint=f"One of: {', '.join(generic.PROTOCOL)}.")
    if not check:
        from wellkept.api.cli.hook_entry import run_hook

        run_hook(event)
        return exit_codes.OK
    found = _problems(event, sys.stdin.buffer.read())
    if as_json:
        output.print_json({"event": event, "problems": found})
    for problem in () if as_json else found:
        click.echo(output.safe(problem))
    return exit_codes.NOTHING if found else exit_codes.OK


def _problems(event: str, raw: bytes) -> list[str]:
    try:
        payload: object = json.loads(raw)
    except ValueError as error:
        return [f"Not JSON: {error}."]
    if not isinstance(payload, dict):
        return ["The payload must be a JSON object."]
    return list(generic.problems(event, payload))  # pyright: ignore[reportUnknownArgumentType]


def _print_command(event: str | None, *, as_json: bool) -> None:
    """The hook program itself: no command line is parsed, and it starts several times faster."""
    from wellkept.api.cli.run.install import hook_command, record_drain_command

    record_drain_command(os.environ)
    words = [*hook_command(), generic.CLIENT, *([event] if event else [])]
    words += ["both"] if event in generic.ANSWERED else []
    if as_json:
        output.print_json({"command": words})
    else:
        click.echo(shlex.join(words))
