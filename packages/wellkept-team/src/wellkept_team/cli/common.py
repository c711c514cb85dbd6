"""What the commands of a team share: which database, which organisation."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.settings.paths import current_folder
from wellkept.core.settings.sources import SettingSources, load_settings
from wellkept.core.team.people import Role
from wellkept_team.people.administration import Team
from wellkept_team.people.open import open_team_database

if TYPE_CHECKING:
    from wellkept.core.ports.team import TeamDatabase

Command: TypeAlias = Callable[..., Any]

database_option = click.option(
    "--database",
    metavar="URL",
    help="The team's PostgreSQL database, as its owner. Default: the setting team.database.",
)
_org_option = click.option(
    "--org", metavar="NAME", help="The organisation. Default: the only one there is."
)
ROLE = click.Choice([role.value for role in Role])


def team_options(command: Command) -> Command:
    """`--database` and `--org`."""
    return database_option(_org_option(command))


@contextmanager
def opened(database: str | None) -> Generator[TeamDatabase]:
    """The database, closed at the end."""
    settings = load_settings(SettingSources.of(os.environ, cwd=current_folder()))
    teams = open_team_database(database, settings)
    try:
        yield teams
    finally:
        teams.close()


@contextmanager
def opened_team(database: str | None, org: str | None) -> Generator[Team]:
    """An organisation, as whoever owns the database."""
    with opened(database) as teams:
        name = org or _only(teams)
        store = teams.operator(name)
        if store.organisation() is None:
            raise NotFoundError(
                f"There is no organisation {name!r}.", hint="Make it: wellkept team org create."
            )
        yield Team(store, tenant=name)


def _only(teams: TeamDatabase) -> str:
    known = [one.tenant for one in teams.organisations()]
    if len(known) == 1:
        return known[0]
    if not known:
        raise UsageError("There is no organisation yet.", hint="wellkept team org create NAME")
    raise UsageError(
        f"There are {len(known)} organisations.", hint=f"Give --org: {', '.join(known[:10])}."
    )
