"""`wellkept projects`: list and merge."""

from __future__ import annotations

import click

from wellkept.cli import options, output
from wellkept.cli.groups import Group
from wellkept.core.text import counted


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def projects(ctx: click.Context, *, as_json: bool) -> None:
    """List and merge projects."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=as_json)


@projects.command("list")
@options.json_option
def list_(*, as_json: bool = False) -> None:
    """List projects with memories."""
    with options.open_wellkept() as wk:
        found, here = wk.projects(), wk.project
    if as_json:
        items = [
            {"project": name, "memories": count, "here": name == here} for name, count in found
        ]
        output.print_json({"items": items, "here": here})
        return
    rows = [("→" if name == here else "", name, str(count)) for name, count in found]
    output.print_table(("", "project", "memories"), rows, empty="No projects yet.")


@projects.command()
@click.argument("alias")
@click.option(
    "--into", metavar="PROJECT", help="Target project. Default: the project of this folder."
)
@options.dry_run_option
@options.yes_option
@options.json_option
def merge(*, alias: str, into: str | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Make ALIAS another name of a project and move its memories there.

    Both are project names, or project IDs from `wellkept projects`.
    """
    with options.open_wellkept() as wk:
        target = into or wk.project
        if not dry_run:
            output.confirm(f"Move all memories of {alias} to {target}?", yes=yes)
        moved = wk.merge_project(alias, into=target, dry_run=dry_run)
    if as_json:
        output.print_json({"alias": alias, "into": target, "moved": moved, "dry_run": dry_run})
        return
    verb = "Would move" if dry_run else "Moved"
    click.echo(f"{verb} {counted(moved, 'memory', 'memories')} to {target}")
    if not moved:
        output.note(f"No memories in {alias}. List projects with `wellkept projects`.")
