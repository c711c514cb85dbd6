"""`wellkept projects`: list, merge and join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept.api.cli.names import PROJECT
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.project.join import JoinPreview


@click.group(cls=Group, invoke_without_command=True)
@options.json_option
@click.pass_context
def projects(ctx: click.Context, *, as_json: bool) -> None:
    """List, merge and join projects."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, as_json=as_json)


@projects.command("list")
@options.json_option
def list_(*, as_json: bool = False) -> None:
    """List projects with memories."""
    with options.open_wellkept() as wk:
        found, here, note = wk.projects(), wk.project, wk.project_note
    if as_json:
        items = [
            {"project": name, "memories": count, "here": name == here} for name, count in found
        ]
        output.print_json({"items": items, "here": here, "note": note})
        return
    rows = [("→" if name == here else "", name, str(count)) for name, count in found]
    output.print_table(("", "project", "memories"), rows, empty="No projects yet.")
    if note:
        output.note(note)


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


@projects.command()
@click.argument("name", metavar="[PROJECT]", required=False, type=PROJECT)
@options.dry_run_option
@options.yes_option
@options.json_option
def join(*, name: str | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Let this folder use the memory of another project.

    For a clone without common history, a fork, or a folder that was moved or restored. Shows what
    the folder would see, then asks. Without PROJECT: the one this folder is kept apart from, or was
    in before it was moved.
    """
    with options.open_wellkept() as wk:
        preview = wk.preview_join(name)
        if not as_json:
            _print_preview(preview)
        if not dry_run:
            output.confirm(f"Let {preview.folder} read and write {preview.project}?", yes=yes)
        moved = preview.moving if dry_run else wk.join_project(preview.project)
    if as_json:
        output.print_json({**_preview_json(preview), "moved": moved, "dry_run": dry_run})
        return
    verb = "Would join" if dry_run else "Joined"
    click.echo(f"{verb} {preview.project}, with {counted(moved, 'memory', 'memories')} from here")


def _print_preview(preview: JoinPreview) -> None:
    click.echo(f"{preview.project} ({preview.reason})")
    memories = counted(preview.memories, "memory", "memories")
    click.echo(f"  {memories}, {counted(preview.sessions, 'session')}")
    for folder in preview.folders:
        click.echo(f"  folder {output.one_line(folder)}")
    for memory in preview.newest:
        output.print_memory_line(memory, mark="  ")
    if preview.folders:
        moving = counted(preview.moving, "memory", "memories")
        click.echo(f"These folders will read what this one keeps, and the {moving} from here.")


def _preview_json(preview: JoinPreview) -> dict[str, object]:
    return {
        "folder": preview.folder,
        "own_project": preview.own_project,
        "project": preview.project,
        "reason": preview.reason,
        "memories": preview.memories,
        "sessions": preview.sessions,
        "newest": list(preview.newest),
        "folders": list(preview.folders),
    }
