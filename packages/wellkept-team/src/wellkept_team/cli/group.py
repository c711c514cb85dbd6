"""`wellkept team`: set a team up, and look into its audit log."""

from __future__ import annotations

import secrets

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept.core.errors import UsageError
from wellkept.core.team.people import Role, require_tenant
from wellkept.core.team.records import AuditFilter
from wellkept_team.cli import policies, tokens, users
from wellkept_team.cli.common import database_option, opened, opened_team, team_options
from wellkept_team.people.administration import Team

SERVER_ROLE = "wellkept_server"


@click.group(cls=Group)
def team() -> None:
    """Run Wellkept for a team on PostgreSQL: organisations, people, tokens, audit, policies.

    These commands work on the database as its owner. Administrators of an organisation do the same
    over HTTP, for their own people (`/api/team`).
    """


@team.command()
@database_option
@click.option(
    "--server-role",
    default=SERVER_ROLE,
    show_default=True,
    metavar="NAME",
    help="Role that servers connect with; made when it is not there.",
)
@options.json_option
def init(*, database: str | None, server_role: str, as_json: bool) -> None:
    """Prepare a database: schema, rules, and the role that servers connect with.

    Run it as the owner, once, and again after an upgrade. A new role's password is shown once.
    """
    if not server_role.replace("_", "").isalnum():
        raise UsageError(f"{server_role!r} cannot name a role.", hint="Use letters, digits and _.")
    password = secrets.token_urlsafe(24)
    with opened(database) as teams:
        is_new = teams.set_up_server_role(server_role, password=password)
    if as_json:
        shown = password if is_new else None
        output.print_json({"role": server_role, "is_new": is_new, "password": shown})
        return
    click.echo(f"The database is ready; servers connect as {server_role}.")
    if is_new:
        click.echo(f"Its password, shown this once: {password}")
        output.note(
            f"Next: wellkept team org create NAME --admin YOU, then"
            f" wellkept serve --database postgresql://{server_role}@HOST/DATABASE"
        )


@team.group(cls=Group)
def org() -> None:
    """Make and list organisations."""


@org.command("create")
@click.argument("name")
@click.option("--admin", metavar="PERSON", required=True, help="Its first administrator.")
@click.option("--title", metavar="TEXT", help="How it is shown. Default: its name.")
@database_option
@options.json_option
def create(
    *, name: str, admin: str, title: str | None, database: str | None, as_json: bool
) -> None:
    """Make an organisation with its first administrator; prints the administrator's token."""
    tenant = require_tenant(name)
    with opened(database) as teams:
        store = teams.operator(tenant)
        store.create_organisation(title or name)
        store.put_person(admin, Role.ADMIN)
        issued = Team(store, tenant=tenant).issue_token(admin, label="first")
    if as_json:
        output.print_json({"org": tenant, "admin": admin, "token": issued.token})
        return
    click.echo(f"{tenant} is there; {admin} is its administrator.")
    tokens.print_issued(issued)


@org.command("list")
@database_option
@options.json_option
def listed(*, database: str | None, as_json: bool) -> None:
    """List organisations."""
    with opened(database) as teams:
        found = list(teams.organisations())
    if as_json:
        output.print_json({"items": list(found)})
        return
    rows = [(one.tenant, one.title, f"{one.created_at:%Y-%m-%d}") for one in found]
    output.print_table(("organisation", "title", "since"), rows)


@team.command()
@click.option("--user", metavar="NAME", help="Only of this person.")
@click.option("--action", metavar="TEXT", help="How the action begins, such as 'memory read'.")
@click.option("--subject", metavar="ID", help="Only about this memory (full id), person or token.")
@click.option("--before", type=int, metavar="NUMBER", help="Only older than this entry.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="Most entries to list.",
)
@team_options
@options.json_option
def audit(
    *,
    user: str | None,
    action: str | None,
    subject: str | None,
    before: int | None,
    limit: int,
    database: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """List what was changed and which memories of others were read, newest first."""
    wanted = AuditFilter(person=user, action=action, subject=subject, before=before, limit=limit)
    with opened_team(database, org) as known:
        found = known.store.audit(wanted)
    if as_json:
        output.print_json({"items": list(found)})
        return
    rows = [
        (
            str(one.number),
            f"{one.at:%Y-%m-%d %H:%M:%S}",
            one.person,
            one.action,
            one.project,
            ", ".join(one.subjects[:3]) + (" …" if len(one.subjects) > 3 else ""),
        )
        for one in found
    ]
    output.print_table(("number", "when", "who", "what", "project", "about"), rows)


team.add_command(users.user)
team.add_command(tokens.token)
team.add_command(policies.policy)
team.add_command(policies.skill)
team.add_command(policies.retain)
