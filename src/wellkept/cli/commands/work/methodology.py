"""`wellkept methodology`: list, show, use, relay."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from wellkept.cli import options, output
from wellkept.cli.groups import Group

if TYPE_CHECKING:
    from wellkept.observe.methodology.protocol import Methodology


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def methodology(ctx: click.Context, *, as_json: bool) -> None:
    """Show and choose the way of working.

    It says what phases are called, how units of work are recognised and what one stage hands on
    to the next. Switching keeps every memory.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=as_json)


@methodology.command("list")
@options.json_option
def list_(*, as_json: bool = False) -> None:
    """List the ways of working that are installed."""
    with options.opened() as wk:
        plugins, chosen = wk.methodology.plugins, wk.settings.methodology
    if as_json:
        items = [
            {"id": m.id, "title": m.title, "from": plugins.origins[m.id], "in_use": m.id == chosen}
            for m in plugins.methodologies.values()
        ]
        output.print_json({"items": items, "problems": plugins.problems})
        return
    rows = [
        ("→" if m.id == chosen else "", m.id, m.title, plugins.origins[m.id])
        for m in plugins.methodologies.values()
    ]
    output.print_table(("", "id", "title", "from"), rows)
    if chosen not in plugins.methodologies:
        output.note(f"The settings name {chosen!r}, which is not installed; native stands in.")
    for problem in plugins.problems:
        output.note(problem)


@methodology.command()
@click.argument("id", required=False)
@options.json_option
def show(*, id: str | None, as_json: bool) -> None:
    """Show one: its phases, what is handed on, and its own types. Without ID the one in use."""
    with options.opened() as wk:
        one = wk.methodology.plugins.methodology(id) if id else wk.methodology.active
    if as_json:
        output.print_json(_told(one))
        return
    click.echo(f"{one.id}: {one.title}")
    output.print_table(("its name", "phase"), [(n, p.value) for n, p in one.phases.items()])
    for relay in one.relays:
        only = f" ({', '.join(relay.types)})" if relay.types else ""
        click.echo(f"{relay.source} hands on to {relay.target}{only}")
    for custom in one.custom_types:
        click.echo(f"type {custom.name}, kept as {custom.kept_as.value}: {custom.doc}")


def _told(one: Methodology) -> dict[str, object]:
    return {
        "id": one.id,
        "title": one.title,
        "phases": dict(one.phases),
        "relays": list(one.relays),
        "custom_types": list(one.custom_types),
    }


@methodology.command()
@click.argument("id")
@click.option("--project-file", is_flag=True, help="For everyone who works in this project.")
@options.json_option
def use(*, id: str, project_file: bool, as_json: bool) -> None:
    """Choose the way of working; every memory stays and is found as before."""
    from wellkept.app.projects.resolver import resolve_project
    from wellkept.app.settings import paths
    from wellkept.app.settings.sources import SettingSources, inspect_settings
    from wellkept.app.settings.toml_file import write_entry

    with options.opened() as wk:
        one = wk.methodology.plugins.methodology(id)
    folder = paths.current_folder()
    sources = SettingSources.of(os.environ, cwd=folder)
    path = sources.user_file
    if project_file:
        path = sources.project_file or resolve_project(folder).root / paths.PROJECT_FILE
    write_entry(path, "methodology", one.id)
    known, _ = inspect_settings(SettingSources.of(os.environ, cwd=folder))
    if as_json:
        output.print_json({"id": one.id, "file": str(path), "in_use": known.methodology})
        return
    output.note(f"{one.title} is set in {path}")
    if known.methodology != one.id:
        output.note(f"But {known.origin('methodology')} says otherwise, and that counts more.")


@methodology.command()
@click.argument("stage")
@click.option("--unit", "units", multiple=True, help="Only of this unit of work, outermost first.")
@options.project_option
@options.json_option
def relay(*, stage: str, units: tuple[str, ...], project: str | None, as_json: bool) -> None:
    """Show what the stages before hand on to STAGE."""
    from wellkept.core.memory import WorkUnitRef

    with options.opened(project) as wk:
        unit = WorkUnitRef(wk.methodology.active.id, units, units[-1]) if units else None
        memories, text = wk.methodology.relay(stage, unit=unit)
    if as_json:
        output.print_json({"text": text, "items": memories})
    elif text:
        click.echo(output.safe(text))
    else:
        output.note("Nothing is handed on.")
