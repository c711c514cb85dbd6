"""Routes of a team's server: people, tokens, audit, policies and managed skills.

Each acts as whoever asks; what they may not do, the role refuses here and the database again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import anyio.to_thread

from wellkept.api.http.endpoints import Asked, endpoint
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import record
from wellkept.core.team.people import Role, asking
from wellkept.core.team.records import (
    MAX_KEPT_DAYS,
    AuditEntry,
    AuditFilter,
    ManagedSkill,
    Person,
    TeamPolicy,
    TokenInfo,
    UpkeepReport,
    read_types,
)
from wellkept.core.verbs import Arg
from wellkept_team.people.administration import MAX_DAYS, USUAL_DAYS, IssuedToken, Team
from wellkept_team.people.policies import policy_of
from wellkept_team.server.projects import TeamProjects

if TYPE_CHECKING:
    from wellkept.core.ports.team import TeamDatabase

NameArg = Annotated[str, Arg("A member of your organisation.")]
IdArg = Annotated[str, Arg("The id of a token.")]
DaysArg = Annotated[int | None, Arg("How many days.", 1, MAX_KEPT_DAYS)]
ProjectArg = Annotated[str, Arg("The identity of a project; empty means the organisation.")]


@record(kw_only=True)
class Me:
    """Who you are here."""

    tenant: str
    title: str
    user: str
    role: Role
    token_id: str


@record
class People:
    """Members by name."""

    items: tuple[Person, ...]


@record
class Tokens:
    """Tokens, newest first."""

    items: tuple[TokenInfo, ...]


@record
class AuditPage:
    """Entries, newest first. `next_before` is `before` of the next page."""

    items: tuple[AuditEntry, ...]
    next_before: int | None


@record
class ManagedSkills:
    """Skills for everybody, by name."""

    items: tuple[ManagedSkill, ...]


@record
class Done:
    """That it was done."""

    done: bool = True


async def _in_team(asked: Asked, work: Callable[[Team], bytes]) -> bytes:
    """Run work on the organisation of whoever asks."""
    projects = asked.server.projects
    if not isinstance(projects, TeamProjects):
        raise NotFoundError(
            "There is no team here; this is the memory of one machine.",
            hint="`wellkept serve --database` serves a team.",
        )
    teams: TeamDatabase = projects.memories.teams
    principal = asking()
    team = Team(teams.team_of(principal), tenant=principal.tenant)
    return await anyio.to_thread.run_sync(lambda: work(team))


def _team(method: str, path: str, role: Role) -> Any:
    return endpoint(method, f"/team{path}", role=role, runs=_in_team)


# -- People ---------------------------------------------------------------------------------------


@_team("GET", "/me", Role.READER)
def team_me(team: Team) -> Me:
    """Who you are, and in which organisation."""
    who, known = asking(), team.store.organisation()
    return Me(
        tenant=who.tenant,
        title=known.title if known else "",
        user=who.user,
        role=who.role,
        token_id=who.token_id,
    )


@_team("GET", "/people", Role.READER)
def team_people(team: Team) -> People:
    """Everybody, with those who were removed."""
    return People(tuple(team.store.people()))


@_team("PUT", "/people/{name}", Role.ADMIN)
def team_put_person(
    team: Team, name: NameArg, *, role: Annotated[Role, Arg("Their role.")]
) -> Done:
    """Add a person, or change their role."""
    team.store.put_person(name, Role(role))
    return Done()


@_team("DELETE", "/people/{name}", Role.ADMIN)
def team_remove_person(team: Team, name: NameArg) -> Done:
    """End a membership and all tokens of the person; what they wrote stays."""
    team.store.remove_person(name)
    return Done()


# -- Tokens ---------------------------------------------------------------------------------------


@_team("GET", "/tokens", Role.READER)
def team_tokens(team: Team) -> Tokens:
    """All tokens for an administrator, else your own."""
    return Tokens(tuple(team.store.tokens()))


@_team("POST", "/tokens", Role.ADMIN)
def team_issue_token(
    team: Team,
    *,
    person: NameArg,
    label: Annotated[str, Arg("What it is for, such as a laptop.", None, 200)] = "",
    days: Annotated[int | None, Arg("How long it lasts.", 1, MAX_DAYS)] = USUAL_DAYS,
    forever: Annotated[bool, Arg("It never expires.")] = False,
) -> IssuedToken:
    """Issue a token; it is shown this once."""
    return team.issue_token(person, label=label, days=None if forever else days)


@_team("POST", "/tokens/rotate", Role.READER)
def team_rotate_own_token(team: Team) -> IssuedToken:
    """Exchange the token that you ask with; the new one lasts no longer."""
    return team.rotate_own_token(asking())


@_team("POST", "/tokens/{id}/rotate", Role.ADMIN)
def team_rotate_token(team: Team, id: IdArg) -> IssuedToken:
    """Replace a token by one that lasts as long; the old one ends at once."""
    return team.rotate_token(id)


@_team("DELETE", "/tokens/{id}", Role.ADMIN)
def team_revoke_token(team: Team, id: IdArg) -> Done:
    """End a token at once."""
    team.store.revoke_token(id)
    return Done()


# -- Audit, policies, upkeep and skills -----------------------------------------------------------


@_team("GET", "/audit", Role.READER)
def team_audit(
    team: Team,
    *,
    person: Annotated[str, Arg("Only of this person.")] = "",
    action: Annotated[str, Arg("How the action begins: memory read.")] = "",
    subject: Annotated[str, Arg("A full id of a memory, or a name.")] = "",
    before: Annotated[int | None, Arg("next_before of the page before.")] = None,
    limit: Annotated[int, Arg("How many.", 1, 1000)] = 100,
) -> AuditPage:
    """What was changed, and which memories of others were read: all for an administrator, else what
    you did yourself."""
    wanted = AuditFilter(
        person=person or None,
        action=action or None,
        subject=subject or None,
        before=before,
        limit=limit,
    )
    found = tuple(team.store.audit(wanted))
    return AuditPage(found, found[-1].number if len(found) == limit else None)


@_team("GET", "/policy", Role.READER)
def team_policy(team: Team, *, project: ProjectArg = "") -> TeamPolicy:
    """The policy that holds for a project."""
    return policy_of(team.store, project)


@_team("PUT", "/policy", Role.ADMIN)
def team_put_policy(
    team: Team,
    *,
    project: ProjectArg = "",
    injected_types: Annotated[tuple[str, ...] | None, Arg("Types given unasked.")] = None,
    retention_days: DaysArg = None,
    audit_days: DaysArg = None,
) -> Done:
    """Set the policy of a project, or of the organisation; what is left out is as the
    organisation's, and then as usual. The audit log is the organisation's own."""
    if project and audit_days is not None:
        raise UsageError(
            "The audit log is the organisation's, not a project's.", hint="Name no project."
        )
    wanted = TeamPolicy(
        injected_types=None if injected_types is None else read_types(injected_types),
        retention_days=retention_days,
        audit_days=audit_days,
    )
    team.store.put_policy(project, wanted)
    return Done()


@_team("GET", "/upkeep", Role.ADMIN)
def team_upkeep_preview(team: Team) -> UpkeepReport:
    """What the policies keep no longer and the next upkeep would delete."""
    return team.store.upkeep(dry_run=True)


@_team("POST", "/upkeep", Role.ADMIN)
def team_upkeep(team: Team) -> UpkeepReport:
    """Delete now what the policies keep no longer; the server does it by itself from time to
    time."""
    return team.store.upkeep(dry_run=False)


@_team("GET", "/skills", Role.READER)
def team_skills(team: Team) -> ManagedSkills:
    """Skills that the organisation gives to everybody."""
    return ManagedSkills(tuple(team.store.managed_skills()))


@_team("PUT", "/skills/{name}", Role.ADMIN)
def team_put_skill(
    team: Team,
    name: Annotated[str, Arg("The name of the skill.")],
    *,
    text: Annotated[str, Arg("The text of a SKILL.md.")],
) -> Done:
    """Add a skill for everybody, or replace its text."""
    team.put_skill(name, text)
    return Done()


@_team("DELETE", "/skills/{name}", Role.ADMIN)
def team_remove_skill(team: Team, name: Annotated[str, Arg("The name of the skill.")]) -> Done:
    """Take a skill away."""
    team.store.remove_managed_skill(name)
    return Done()
