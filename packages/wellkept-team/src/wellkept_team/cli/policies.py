"""`wellkept team policy`, `skill` and `retain`: what an organisation decides for its projects."""

from __future__ import annotations

from pathlib import Path

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept.core.errors import UsageError
from wellkept.core.team.records import TeamPolicy, policy_to_json, read_types
from wellkept.core.text import counted
from wellkept_team.cli.common import opened_team, team_options
from wellkept_team.people.policies import policy_of

_project_option = click.option(
    "--project", default="", metavar="ID", help="One project. Default: the organisation."
)


@click.group(cls=Group)
def policy() -> None:
    """Show and set what holds for a project, or for all."""


@policy.command("show")
@_project_option
@team_options
@options.json_option
def show(*, project: str, database: str | None, org: str | None, as_json: bool) -> None:
    """Show the policy that holds."""
    with opened_team(database, org) as team:
        found = policy_of(team.store, project)
    if as_json:
        output.print_json(policy_to_json(found))
        return
    types = "as usual" if found.injected_types is None else ", ".join(found.injected_types)
    click.echo(f"Types told to agents unasked: {types}")
    days = found.retention_days
    click.echo(f"Retention: {'kept for good' if days is None else f'{days} days without use'}")
    kept = found.audit_days
    click.echo(f"Audit log: {'kept for good' if kept is None else f'{kept} days'}")


@policy.command("set")
@_project_option
@click.option(
    "--injected-types", metavar="TYPES", help="Separated by commas; 'usual' removes the limit."
)
@click.option("--retention-days", type=click.IntRange(0), help="0 keeps memories for good.")
@click.option(
    "--audit-days",
    type=click.IntRange(0),
    help="How long the organisation keeps its audit log. 0 keeps it for good, as usual.",
)
@team_options
@options.json_option
def put(
    *,
    project: str,
    injected_types: str | None,
    retention_days: int | None,
    audit_days: int | None,
    database: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Set the policy; what is not named stays as it is."""
    with opened_team(database, org) as team:
        old = team.store.policy(project) or TeamPolicy()
        types = old.injected_types
        if injected_types is not None:
            names = [name for name in injected_types.split(",") if name.strip()]
            types = None if injected_types == "usual" else read_types(names)
        days = old.retention_days if retention_days is None else retention_days or None
        kept = old.audit_days if audit_days is None else audit_days or None
        if project and kept is not None:
            raise UsageError(
                "The audit log is the organisation's, not a project's.",
                hint="Leave out --project.",
            )
        new = TeamPolicy(injected_types=types, retention_days=days, audit_days=kept)
        team.store.put_policy(project, new)
    if as_json:
        output.print_json(policy_to_json(new))
        return
    click.echo("Set; it holds from the next request on.")


@click.group(cls=Group)
def skill() -> None:
    """Skills that the organisation gives to everybody."""


@skill.command("put")
@click.argument("name")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@team_options
@options.json_option
def put_skill(
    *, name: str, file: Path, database: str | None, org: str | None, as_json: bool
) -> None:
    """Give everybody the skill in a SKILL.md, or replace it."""
    with opened_team(database, org) as team:
        team.put_skill(name, file.read_text("utf-8"))
    if as_json:
        output.print_json({"skill": name, "given": True})
        return
    click.echo(f"Everybody gets {name}.")


@skill.command("list")
@team_options
@options.json_option
def list_skills(*, database: str | None, org: str | None, as_json: bool) -> None:
    """List the organisation's skills."""
    with opened_team(database, org) as team:
        found = team.store.managed_skills()
    if as_json:
        output.print_json({"items": list(found)})
        return
    rows = [(one.name, f"{one.updated_at:%Y-%m-%d}", one.updated_by) for one in found]
    output.print_table(("skill", "changed", "by"), rows)


@skill.command("remove")
@click.argument("name")
@team_options
@options.json_option
def remove_skill(*, name: str, database: str | None, org: str | None, as_json: bool) -> None:
    """Take a skill away."""
    with opened_team(database, org) as team:
        team.store.remove_managed_skill(name)
    if as_json:
        output.print_json({"skill": name, "given": False})
        return
    click.echo(f"{name} is no longer given to anybody.")


@click.command()
@options.dry_run_option
@team_options
@options.json_option
def retain(*, dry_run: bool, database: str | None, org: str | None, as_json: bool) -> None:
    """Delete what policies keep no longer: memories, and old entries of the audit log.

    A running server does it by itself; this does it now. With --dry-run, each memory is named.
    """
    with opened_team(database, org) as team:
        found = team.store.upkeep(dry_run=dry_run)
    if as_json:
        output.print_json(found)
        return
    for one in found.projects:
        click.echo(f"{one.project}: {len(one.ids)} would go ({one.days} days without use)")
    said = "would go" if dry_run else "deleted"
    click.echo(f"{counted(found.memories, 'memory', 'memories')} {said}.")
    click.echo(f"{counted(found.audit_entries, 'entry', 'entries')} of the audit log {said}.")
