"""`wellkept status --methodologies`: list, show, use, relay."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group

if TYPE_CHECKING:
    from wellkept.observe.methodology.protocol import Methodology


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def methodology(ctx: click.Context, *, as_json: bool) -> None:
    """Show and choose the methodology.

    A methodology defines the names of phases, how work units are recognised, and what one stage
    passes to the next. Switching keeps all memories.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=as_json)


@methodology.command("list")
@options.json_option
def list_(*, as_json: bool = False) -> None:
    """List installed methodologies."""
    with options.open_wellkept() as wk:
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
        output.note(f"Methodology {chosen!r} is not installed; using native.")
    for problem in plugins.problems:
        output.note(problem)


@methodology.command()
@click.argument("id", required=False)
@options.json_option
def show(*, id: str | None, as_json: bool) -> None:
    """Show the phases, relays and custom types of a methodology. Default: the active one."""
    with options.open_wellkept() as wk:
        one = wk.methodology.plugins.methodology(id) if id else wk.methodology.active
    if as_json:
        output.print_json(_plain(one))
        return
    click.echo(f"{one.id}: {one.title}")
    output.print_table(("name", "phase"), [(n, p.value) for n, p in one.phases.items()])
    for relay in one.relays:
        only = f" ({', '.join(relay.types)})" if relay.types else ""
        click.echo(f"{relay.source} passes to {relay.target}{only}")
    for custom in one.custom_types:
        click.echo(f"type {custom.name}, stored as {custom.kept_as.value}: {custom.doc}")


def _plain(one: Methodology) -> dict[str, object]:
    return {
        "id": one.id,
        "title": one.title,
        "phases": dict(one.phases),
        "relays": list(one.relays),
        "custom_types": list(one.custom_types),
    }


@methodology.command()
@click.argument("id")
@click.option("--project-file", is_flag=True, help="Set it in the project file, for everyone.")
@options.json_option
def use(*, id: str, project_file: bool, as_json: bool) -> None:
    """Choose the methodology. All memories are kept."""
    from wellkept.api.wiring.settings_file import write_entry
    from wellkept.core.settings import paths
    from wellkept.core.settings.sources import SettingSources, inspect_settings
    from wellkept.project.resolver import resolve_project

    with options.open_wellkept() as wk:
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
        output.note(f"Overridden by {known.origin('methodology')}.")
