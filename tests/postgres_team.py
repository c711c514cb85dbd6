"""An organisation on the test server, with one person of each role."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import pytest

from wellkept.core.clock import system_clock
from wellkept.core.team.people import Principal, Role, Token, new_token

if TYPE_CHECKING:
    from wellkept_team.postgres.team.team_database import PostgresTeams


class Team:
    """One organisation: its name, and a token of each role."""

    def __init__(self, teams: PostgresTeams, server: PostgresTeams, tenant: str) -> None:
        self.teams = teams
        self.server = server
        self.tenant = tenant
        self.operator = teams.operator(tenant)
        self.operator.create_organisation(tenant.title())
        self.tokens = {role: self.join(role.value, role) for role in Role}

    def join(self, name: str, role: Role) -> Token:
        """A new member's token."""
        self.operator.put_person(name, role)
        token = new_token(self.tenant)
        self.operator.add_token(token, person=name, label="laptop", expires=None)
        return token

    def person(self, role: Role) -> Principal:
        """The member of a role, as a server knows them."""
        found = self.server.authenticate(self.tokens[role].text)
        assert found is not None
        return found


@pytest.fixture(scope="session")
def owner(postgres_url: str) -> Iterator[PostgresTeams]:
    """The database as its owner opens it."""
    from wellkept_team.postgres.team.team_database import PostgresTeams

    opened = PostgresTeams(postgres_url, clock=system_clock, large_project=300)
    opened.set_up_server_role(_role(postgres_url), password=None)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def server_url(postgres_url: str, owner: PostgresTeams) -> str:
    """The same database for the role of servers, who does not own it."""
    from psycopg.conninfo import conninfo_to_dict

    assert owner
    known = conninfo_to_dict(postgres_url)
    return f"postgresql://{_role(postgres_url)}@/{known['dbname']}?host={known['host']}"


def _role(postgres_url: str) -> str:
    """Roles belong to the whole server, so each worker has its own."""
    from psycopg.conninfo import conninfo_to_dict

    return f"{conninfo_to_dict(postgres_url)['dbname']}_server"


@pytest.fixture(scope="session")
def server(server_url: str, owner: PostgresTeams) -> Iterator[PostgresTeams]:
    """The database as a team's server opens it."""
    from wellkept_team.postgres.team.team_database import PostgresTeams

    assert owner
    opened = PostgresTeams(server_url, clock=system_clock, large_project=300)
    yield opened
    opened.close()


NewTeam: TypeAlias = Callable[[], Team]


@pytest.fixture
def new_team(owner: PostgresTeams, server: PostgresTeams) -> NewTeam:
    """Makes organisations."""
    return lambda: Team(owner, server, f"org-{secrets.token_hex(4)}")


@pytest.fixture
def team(new_team: NewTeam) -> Team:
    return new_team()
