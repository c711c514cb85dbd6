"""`wellkept status --model`: status, choose, test."""

from __future__ import annotations

import os

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept.api.maintenance.text_model_health import text_model_health
from wellkept.api.wiring.text_model_choice import (
    NAMES,
    cost_note,
    model_choices,
    save_choice,
    try_model,
)


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def model(ctx: click.Context, *, as_json: bool) -> None:
    """Show, choose and test the model that reads sessions."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(status, as_json=as_json)


@model.command()
@options.json_option
def status(*, as_json: bool = False) -> None:
    """Show the model in use, what it took today, and what could be chosen."""
    choices = model_choices(os.environ)
    with options.open_wellkept(reads=True) as wk:
        health = text_model_health(wk.services)
        cost = cost_note(wk.settings)
    if as_json:
        output.print_json({"model": health, "choices": choices, "cost": cost})
        return
    facts = health.facts() or {"text model": "none; rules alone read sessions"}
    output.print_table(("", ""), list(facts.items()))
    for warning in health.warnings():
        click.secho(output.one_line(warning), fg="yellow")
    rows = [(one.name, "yes" if one.available else "no", one.reason) for one in choices]
    output.print_table(("choice", "usable", "why"), rows)
    output.note(cost)


@model.command()
@click.argument("name", type=click.Choice(NAMES))
@options.json_option
def choose(*, name: str, as_json: bool) -> None:
    """Write the model to your settings; `none` turns it off."""
    path = save_choice(name, os.environ)
    if as_json:
        output.print_json({"provider": name, "path": str(path)})
        return
    output.note(f"text_model.provider is {name} in {path}")
    if name != "none":
        output.note("Run `wellkept admin models test` to try it.")


@model.command()
@options.json_option
def test(*, as_json: bool) -> None:
    """Ask the model one short question, even if it should wait after failures."""
    with options.open_wellkept() as wk:
        trial = try_model(wk.services)
    if as_json:
        output.print_json(trial)
        return
    click.echo(
        f"{trial.model_id} answered in {trial.seconds:g} s"
        f" ({trial.input_tokens or '?'} tokens in, {trial.output_tokens or '?'} out)."
    )
