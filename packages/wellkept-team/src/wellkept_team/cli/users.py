"""`wellkept team user`: members, their roles, and their data."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept.core.team.people import Role
from wellkept_team.cli.common import ROLE, opened_team, team_options


@click.group(cls=Group)
def user() -> None:
    """Add, change, remove, list, export and erase people."""


@user.command("add")
@click.argument("name")
@click.option(
    "--role", type=ROLE, default=Role.WRITER.value, show_default=True, help="What they may do."
)
@team_options
@options.json_option
def add(*, name: str, role: str, database: str | None, org: str | None, as_json: bool) -> None:
    """Add a person."""
    with opened_team(database, org) as team:
        team.store.put_person(name, Role(role))
    if as_json:
        output.print_json({"person": name, "role": role})
        return
    click.echo(f"{name} is {role}.")
    output.note(f"Next: wellkept team token issue {name}")


@user.command("role")
@click.argument("name")
@click.argument("role", type=ROLE)
@team_options
@options.json_option
def change_role(
    *, name: str, role: str, database: str | None, org: str | None, as_json: bool
) -> None:
    """Change the role of a person; holds from the next request on."""
    with opened_team(database, org) as team:
        team.store.put_person(name, Role(role))
    if as_json:
        output.print_json({"person": name, "role": role})
        return
    click.echo(f"{name} is {role}.")


@user.command("remove")
@click.argument("name")
@options.dry_run_option
@team_options
@options.json_option
def remove(
    *, name: str, dry_run: bool, database: str | None, org: str | None, as_json: bool
) -> None:
    """End a membership and all tokens of the person; what they wrote stays."""
    with opened_team(database, org) as team:
        held = [one for one in team.store.tokens() if one.person == name and not one.revoked_at]
        if not dry_run:
            team.store.remove_person(name)
    if as_json:
        output.print_json({"person": name, "tokens": len(held), "dry_run": dry_run})
        return
    said = "would be removed" if dry_run else "was removed"
    click.echo(f"{name} {said}, with {len(held)} valid tokens.")


@user.command("list")
@team_options
@options.json_option
def listed(*, database: str | None, org: str | None, as_json: bool) -> None:
    """List people."""
    with opened_team(database, org) as team:
        found = team.store.people()
    if as_json:
        output.print_json({"items": list(found)})
        return
    rows = [
        (
            one.name,
            one.role.value,
            f"{one.created_at:%Y-%m-%d}",
            f"removed {one.removed_at:%Y-%m-%d}" if one.removed_at else "",
        )
        for one in found
    ]
    output.print_table(("person", "role", "since", ""), rows)


@user.command("export")
@click.argument("name")
@click.option(
    "--output", "-o", "file", type=click.Path(path_type=Path), help="File. Default: stdout."
)
@team_options
@options.json_option
def export(
    *, name: str, file: Path | None, database: str | None, org: str | None, as_json: bool
) -> None:
    """Write everything a person wrote as JSON lines, personal memories too.

    With --json and a file the count is printed as a document.
    """
    with opened_team(database, org) as team:
        if file is None:
            team.export_person(name, sys.stdout)
            return
        from wellkept.memory.exchange.atomic_file import new_file

        with new_file(file) as out:
            count = team.export_person(name, out)
    if as_json:
        output.print_json({"person": name, "file": file, "memories": count})
        return
    click.echo(f"{count} memories of {name} in {file}")


@user.command("erase")
@click.argument("name")
@options.dry_run_option
@options.yes_option
@team_options
@options.json_option
def erase(
    *,
    name: str,
    dry_run: bool,
    yes: bool,
    database: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Delete everything a person wrote and every trace of the name, for good.

    Shows first what would go. The audit log keeps what was done, without the name. Backups are
    yours to clear.
    """
    with opened_team(database, org) as team:
        report = team.store.erase(name, dry_run=True)
        if not as_json:
            click.echo(
                f"{name}: {report.memories} memories, {report.mentions} more name them as author,"
                f" {report.tokens} tokens, {report.audit_entries} entries of the audit log,"
                f" {report.undo_steps} undo steps"
            )
        if not dry_run and (yes or click.confirm("Erase all of it?")):
            report = team.store.erase(name, dry_run=False)
    if as_json:
        output.print_json(report)
    elif not report.is_dry_run:
        click.echo("Erased; a second look found nothing left." if report.is_verified else "Erased.")
