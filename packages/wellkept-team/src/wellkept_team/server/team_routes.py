"""Routes of a team's server: people, tokens, audit, policies and managed skills.

Each acts as whoever asks; what they may not do, the role refuses here and the database again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import anyio.to_thread
from fastapi import APIRouter, Body, Path, Query
from pydantic import Field

from wellkept.api.operations.inputs import Model
from wellkept.api.server.caller import asking
from wellkept.api.server.record_models import record_model
from wellkept.core.errors import UsageError
from wellkept.core.team.people import Role
from wellkept.core.team.records import (
    MAX_KEPT_DAYS,
    AuditEntry,
    AuditFilter,
    ManagedSkill,
    Person,
    RetentionReport,
    TeamPolicy,
    TokenInfo,
    UpkeepReport,
    read_types,
)
from wellkept_team.people.administration import MAX_DAYS, USUAL_DAYS, IssuedToken, Team
from wellkept_team.people.policies import policy_of
from wellkept_team.server.projects import TeamProjects

if TYPE_CHECKING:
    from wellkept.core.ports.team import TeamDatabase

_Result = TypeVar("_Result")

PersonName = Annotated[str, Path(description="A member of your organisation.")]
PolicyProject = Annotated[
    str, Query(description="The identity of a project; empty means the organisation.")
]


class PersonRecord(record_model(Person)):
    """A member."""


class TokenRecord(record_model(TokenInfo)):
    """What is known of a token; not the token."""


class IssuedTokenRecord(record_model(IssuedToken)):
    """A token, shown this once."""


class AuditRecord(record_model(AuditEntry)):
    """Something that was changed, or a memory of another that was read."""


class PolicyRecord(record_model(TeamPolicy)):
    """What an organisation decides for its projects."""


class RetentionRecord(record_model(RetentionReport)):
    """Memories of a project."""


class UpkeepRecord(record_model(UpkeepReport, models={RetentionReport: RetentionRecord})):
    """What policies keep no longer."""


class ManagedSkillRecord(record_model(ManagedSkill)):
    """A skill for everybody."""


class Me(Model):
    """Who you are here."""

    tenant: str
    title: str
    user: str
    role: Role
    token_id: str


class People(Model):
    """Members by name."""

    items: list[PersonRecord]


class Tokens(Model):
    """Tokens, newest first."""

    items: list[TokenRecord]


class AuditPage(Model):
    """Entries, newest first."""

    items: list[AuditRecord]
    next_before: int | None = Field(default=None, description="`before` of the next page.")


class ManagedSkills(Model):
    """Skills for everybody, by name."""

    items: list[ManagedSkillRecord]


class RoleInput(Model):
    """The role of a member."""

    role: Role


class TokenInput(Model):
    """A token to issue."""

    person: str
    label: str = Field(default="", max_length=200, description="What it is for, such as a laptop.")
    days: int | None = Field(
        default=USUAL_DAYS, ge=1, le=MAX_DAYS, description="Null never expires."
    )


class PolicyInput(Model):
    """A policy; what is null is left to the organisation's, and then as usual."""

    injected_types: list[str] | None = None
    retention_days: int | None = Field(default=None, ge=1, le=MAX_KEPT_DAYS)
    audit_days: int | None = Field(
        default=None,
        ge=1,
        le=MAX_KEPT_DAYS,
        description="How long the audit log is kept; of the organisation's own policy only.",
    )


class SkillInput(Model):
    """The text of a skill, a SKILL.md."""

    text: str


class Done(Model):
    """That it was done."""

    done: bool = True


def add_team(router: APIRouter, projects: TeamProjects | None) -> None:
    """Add the routes. Without a team they say that there is none."""
    tagged = APIRouter(prefix="/team", tags=["team"])
    ask = _Ask(projects)
    _add_people(tagged, ask)
    _add_tokens(tagged, ask)
    _add_audit(tagged, ask)
    _add_policies(tagged, ask)
    _add_upkeep(tagged, ask)
    _add_skills(tagged, ask)
    router.include_router(tagged)


class _Ask:
    """Runs work on the organisation of whoever asks, in a thread."""

    def __init__(self, projects: TeamProjects | None) -> None:
        self._projects = projects

    async def __call__(self, work: Callable[[Team], _Result]) -> _Result:
        from wellkept.core.errors import NotFoundError

        if self._projects is None:
            raise NotFoundError(
                "There is no team here; this is the memory of one machine.",
                hint="`wellkept serve --database` serves a team.",
            )
        teams: TeamDatabase = self._projects.memories.teams
        principal = asking()
        team = Team(teams.team_of(principal), tenant=principal.tenant)
        return await anyio.to_thread.run_sync(lambda: work(team))


def _add_people(router: APIRouter, ask: _Ask) -> None:
    @router.get("/me", operation_id="team_me")
    async def me() -> Me:
        """Who you are, and in which organisation."""

        def work(team: Team) -> Me:
            who, known = asking(), team.store.organisation()
            return Me(
                tenant=who.tenant,
                title=known.title if known else "",
                user=who.user,
                role=who.role,
                token_id=who.token_id,
            )

        return await ask(work)

    @router.get("/people", operation_id="team_people")
    async def people() -> People:
        """Everybody, with those who were removed."""
        return await ask(
            lambda team: People(items=[PersonRecord.model_validate(p) for p in team.store.people()])
        )

    @router.put("/people/{name}", operation_id="team_put_person")
    async def put(name: PersonName, given: Annotated[RoleInput, Body()]) -> Done:
        """Add a person, or change their role."""
        return await ask(lambda team: _done(team.store.put_person(name, given.role)))

    @router.delete("/people/{name}", operation_id="team_remove_person")
    async def remove(name: PersonName) -> Done:
        """End a membership and all tokens of the person; what they wrote stays."""
        return await ask(lambda team: _done(team.store.remove_person(name)))


def _add_tokens(router: APIRouter, ask: _Ask) -> None:
    @router.get("/tokens", operation_id="team_tokens")
    async def tokens() -> Tokens:
        """All tokens for an administrator, else your own."""
        return await ask(
            lambda team: Tokens(items=[TokenRecord.model_validate(t) for t in team.store.tokens()])
        )

    @router.post("/tokens", operation_id="team_issue_token")
    async def issue(given: Annotated[TokenInput, Body()]) -> IssuedTokenRecord:
        """Issue a token; it is shown this once."""
        return await ask(
            lambda team: IssuedTokenRecord.model_validate(
                team.issue_token(given.person, label=given.label, days=given.days)
            )
        )

    @router.post("/tokens/{id}/rotate", operation_id="team_rotate_token")
    async def rotate(id: Annotated[str, Path()]) -> IssuedTokenRecord:
        """Replace a token by one that lasts as long; the old one ends at once."""
        return await ask(lambda team: IssuedTokenRecord.model_validate(team.rotate_token(id)))

    @router.post("/tokens/rotate", operation_id="team_rotate_own_token")
    async def rotate_own() -> IssuedTokenRecord:
        """Exchange the token that you ask with; the new one lasts no longer."""
        return await ask(
            lambda team: IssuedTokenRecord.model_validate(team.rotate_own_token(asking()))
        )

    @router.delete("/tokens/{id}", operation_id="team_revoke_token")
    async def revoke(id: Annotated[str, Path()]) -> Done:
        """End a token at once."""
        return await ask(lambda team: _done(team.store.revoke_token(id)))


def _add_audit(router: APIRouter, ask: _Ask) -> None:
    @router.get("/audit", operation_id="team_audit")
    async def audit(
        person: Annotated[str, Query(description="Only of this person.")] = "",
        action: Annotated[str, Query(description="How the action begins: memory read.")] = "",
        subject: Annotated[str, Query(description="A full id of a memory, or a name.")] = "",
        before: Annotated[int | None, Query(description="next_before of the page before.")] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> AuditPage:
        """What was changed, and which memories of others were read: all for an administrator, else
        what you did yourself."""
        wanted = AuditFilter(
            person=person or None,
            action=action or None,
            subject=subject or None,
            before=before,
            limit=limit,
        )

        def work(team: Team) -> AuditPage:
            found = team.store.audit(wanted)
            more = found[-1].number if len(found) == limit else None
            items = [AuditRecord.model_validate(entry) for entry in found]
            return AuditPage(items=items, next_before=more)

        return await ask(work)


def _add_policies(router: APIRouter, ask: _Ask) -> None:
    @router.get("/policy", operation_id="team_policy")
    async def policy(project: PolicyProject = "") -> PolicyRecord:
        """The policy that holds for a project."""
        return await ask(lambda team: PolicyRecord.model_validate(policy_of(team.store, project)))

    @router.put("/policy", operation_id="team_put_policy")
    async def put(given: Annotated[PolicyInput, Body()], project: PolicyProject = "") -> Done:
        """Set the policy of a project, or of the organisation."""
        types = given.injected_types
        wanted = TeamPolicy(
            injected_types=None if types is None else read_types(types),
            retention_days=given.retention_days,
            audit_days=given.audit_days,
        )
        if project and wanted.audit_days is not None:
            raise UsageError(
                "The audit log is the organisation's, not a project's.", hint="Name no project."
            )
        return await ask(lambda team: _done(team.store.put_policy(project, wanted)))


def _add_upkeep(router: APIRouter, ask: _Ask) -> None:
    @router.get("/upkeep", operation_id="team_upkeep_preview")
    async def preview() -> UpkeepRecord:
        """What the policies keep no longer and the next upkeep would delete. For administrators."""
        return await ask(lambda team: UpkeepRecord.model_validate(team.store.upkeep(dry_run=True)))

    @router.post("/upkeep", operation_id="team_upkeep")
    async def run() -> UpkeepRecord:
        """Delete now what the policies keep no longer; the server does it by itself from time to
        time. For administrators."""
        return await ask(lambda team: UpkeepRecord.model_validate(team.store.upkeep(dry_run=False)))


def _add_skills(router: APIRouter, ask: _Ask) -> None:
    @router.get("/skills", operation_id="team_skills")
    async def skills() -> ManagedSkills:
        """Skills that the organisation gives to everybody."""
        return await ask(
            lambda team: ManagedSkills(
                items=[ManagedSkillRecord.model_validate(s) for s in team.store.managed_skills()]
            )
        )

    @router.put("/skills/{name}", operation_id="team_put_skill")
    async def put(name: Annotated[str, Path()], given: Annotated[SkillInput, Body()]) -> Done:
        """Add a skill for everybody, or replace its text."""
        return await ask(lambda team: _done(team.put_skill(name, given.text)))

    @router.delete("/skills/{name}", operation_id="team_remove_skill")
    async def remove(name: Annotated[str, Path()]) -> Done:
        """Take a skill away."""
        return await ask(lambda team: _done(team.store.remove_managed_skill(name)))


def _done(_: Any) -> Done:
    return Done()
