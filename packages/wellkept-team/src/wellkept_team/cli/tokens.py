"""`wellkept team token`: tokens of people."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept_team.cli.common import opened_team, team_options
from wellkept_team.people.administration import MAX_DAYS, USUAL_DAYS, IssuedToken


@click.group(cls=Group)
def token() -> None:
    """Issue, rotate, revoke and list tokens. A token is shown once and kept as a hash."""


@token.command("issue")
@click.argument("person")
@click.option("--label", default="", metavar="TEXT", help="What it is for, such as a laptop.")
@click.option(
    "--days",
    type=click.IntRange(0, MAX_DAYS),
    default=USUAL_DAYS,
    show_default=True,
    help="How long it is valid; 0 means until it is revoked.",
)
@team_options
@options.json_option
def issue(
    *,
    person: str,
    label: str,
    days: int,
    database: str | None,
    org: str | None,
    as_json: bool,
) -> None:
    """Issue a token to a person."""
    with opened_team(database, org) as team:
        issued = team.issue_token(person, label=label, days=days or None)
    output.print_json(issued) if as_json else print_issued(issued)


@token.command("rotate")
@click.argument("id")
@team_options
@options.json_option
def rotate(*, id: str, database: str | None, org: str | None, as_json: bool) -> None:
    """Replace a token by one that lasts as long; the old one ends at once."""
    with opened_team(database, org) as team:
        issued = team.rotate_token(id)
    output.print_json(issued) if as_json else print_issued(issued)


@token.command("revoke")
@click.argument("id")
@team_options
@options.json_option
def revoke(*, id: str, database: str | None, org: str | None, as_json: bool) -> None:
    """End a token at once, also in sessions that are open."""
    with opened_team(database, org) as team:
        team.store.revoke_token(id)
    if as_json:
        output.print_json({"id": id, "revoked": True})
        return
    click.echo(f"{id} is no longer valid.")


@token.command("list")
@team_options
@options.json_option
def listed(*, database: str | None, org: str | None, as_json: bool) -> None:
    """List tokens, newest first."""
    with opened_team(database, org) as team:
        found = team.store.tokens()
    if as_json:
        output.print_json({"items": list(found)})
        return
    now = datetime.now(UTC)
    rows = [
        (
            one.id,
            one.person,
            one.label,
            one.state(now),
            f"{one.expires_at:%Y-%m-%d}" if one.expires_at else "never",
        )
        for one in found
    ]
    output.print_table(("token", "person", "for", "state", "expires"), rows)


def print_issued(issued: IssuedToken) -> None:
    """Show a token, once."""
    until = f"{issued.expires_at:%Y-%m-%d}" if issued.expires_at else "it is revoked"
    click.echo(f"Token {issued.id} of {issued.person}, valid until {until}:")
    click.echo(f"  {issued.token}")
    output.note("It is shown this once. Send it as `Authorization: Bearer TOKEN`.")
