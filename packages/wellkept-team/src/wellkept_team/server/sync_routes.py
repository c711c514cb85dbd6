"""Routes for laptops that share a project: push, pull, what waits, decide.

Who asks comes from their token; on a server of one person, the name that the laptop sends is only a
label. Answers are JSON of the records in `wellkept_team.sharing.team_entry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field

from wellkept.api.http.operation_routes import ProjectHeader
from wellkept.api.server.caller import asking
from wellkept.api.server.threads import WorkerThreads
from wellkept.core.codec import record_to_json
from wellkept.core.team.people import Role
from wellkept_team.server.team_routes import PolicyRecord
from wellkept_team.sharing.team_rules import Person

if TYPE_CHECKING:
    from wellkept.api import Wellkept

_MAX_NAME_CHARS = 80


class SyncQuestion(BaseModel):
    """What every request may say of who asks."""

    model_config = ConfigDict(extra="forbid")

    person: str = Field(
        default="", max_length=400, description="Who asks, where the token does not say."
    )


class PullInput(SyncQuestion):
    """What changed after a number."""

    after: int = Field(default=0, ge=0)
    limit: int = Field(default=200, ge=1, le=200)


class WaitingInput(SyncQuestion):
    """What waits, after a number."""

    after: int = Field(default=0, ge=0)


class PushInput(SyncQuestion):
    """Changes of a laptop: `put`, `close`, `erase` or `confirm`, each with the id, and `base`, the
    number of the record that the laptop knows."""

    items: list[dict[str, Any]] = Field(max_length=200)


class DecideInput(SyncQuestion):
    """A reviewer's yes (`holds`) or no to records."""

    ids: list[str] = Field(min_length=1, max_length=200)
    holds: bool


class HandoffInput(SyncQuestion):
    """A hand-over of a branch, as `wellkept handoff` writes it."""

    text: str = Field(min_length=1, max_length=16_000)


class HandoffsOutput(BaseModel):
    """The latest hand-overs, by branch."""

    items: dict[str, str]


class PulledOutput(BaseModel):
    """One page of changes; `cursor` is what to ask after next."""

    changes: list[dict[str, Any]]
    cursor: int
    head: int
    log: str
    at: str
    handoffs: str
    person: str
    role: str
    policy: PolicyRecord | None


class PushedOutput(BaseModel):
    """What became of each item, in their order."""

    results: list[dict[str, Any]]
    head: int
    log: str


class WaitingOutput(BaseModel):
    """What waits for a second person or a reviewer."""

    items: list[dict[str, Any]]


class DecidedOutput(BaseModel):
    """What became of each record."""

    results: list[dict[str, Any]]


def sync_routes(workers: WorkerThreads) -> APIRouter:
    """The routes."""
    router = APIRouter(prefix="/sync", tags=["sync"])
    _add_records(router, workers)
    _add_decisions(router, workers)
    _add_handoffs(router, workers)
    return router


def _add_records(router: APIRouter, workers: WorkerThreads) -> None:
    """Laptops fetch and bring changes."""

    @router.post("/pull", operation_id="sync_pull")
    async def pull(
        request: Annotated[PullInput, Body()], in_project: ProjectHeader = ""
    ) -> PulledOutput:
        """Changes after a number, without what others proposed."""
        by = _person(request)

        def work(wk: Wellkept) -> PulledOutput:
            page = wk.team_memory.pull(after=request.after, limit=request.limit, by=by)
            plain: dict[str, Any] = record_to_json(page)
            policy = wk.services.policy
            return PulledOutput(
                **plain,
                person=by.name,
                role=asking().role.value,
                policy=None if policy is None else PolicyRecord.model_validate(policy),
            )

        return await workers.run(unquote(in_project), work)

    @router.post("/push", operation_id="sync_push")
    async def push(
        request: Annotated[PushInput, Body()], in_project: ProjectHeader = ""
    ) -> PushedOutput:
        """Take in changes of a laptop; each is answered for itself."""
        by = _person(request)

        def work(wk: Wellkept) -> PushedOutput:
            plain: dict[str, Any] = record_to_json(wk.team_memory.push(request.items, by=by))
            return PushedOutput(**plain)

        return await workers.run(unquote(in_project), work)


def _add_decisions(router: APIRouter, workers: WorkerThreads) -> None:
    """What waits for a second person, and a reviewer's word on it."""

    @router.post("/waiting", operation_id="sync_waiting")
    async def waiting(
        request: Annotated[WaitingInput, Body()], in_project: ProjectHeader = ""
    ) -> WaitingOutput:
        """What waits for a second person or a reviewer, oldest change first."""

        def work(wk: Wellkept) -> WaitingOutput:
            found = wk.team_memory.waiting(after=request.after)
            return WaitingOutput(items=[record_to_json(one) for one in found])

        return await workers.run(unquote(in_project), work)

    @router.post("/decide", operation_id="sync_decide")
    async def decide(
        request: Annotated[DecideInput, Body()], in_project: ProjectHeader = ""
    ) -> DecidedOutput:
        """A reviewer's yes or no."""
        by = _person(request)

        def work(wk: Wellkept) -> DecidedOutput:
            made = wk.team_memory.decide(request.ids, holds=request.holds, by=by)
            return DecidedOutput(results=[record_to_json(one) for one in made])

        return await workers.run(unquote(in_project), work)


def _add_handoffs(router: APIRouter, workers: WorkerThreads) -> None:
    """Branches that are handed over."""

    @router.post("/handoffs", operation_id="sync_handoffs")
    async def handoffs(
        request: Annotated[SyncQuestion, Body()], in_project: ProjectHeader = ""
    ) -> HandoffsOutput:
        """The latest hand-overs of branches."""
        _ = _person(request)
        return await workers.run(
            unquote(in_project), lambda wk: HandoffsOutput(items=wk.team_memory.handoffs())
        )

    @router.post("/handoff", operation_id="sync_handoff")
    async def handoff(
        request: Annotated[HandoffInput, Body()], in_project: ProjectHeader = ""
    ) -> HandoffsOutput:
        """Hand a branch over; the latest of a branch counts."""
        by = _person(request)

        def work(wk: Wellkept) -> HandoffsOutput:
            wk.team_memory.hand_over(request.text, by=by)
            return HandoffsOutput(items=wk.team_memory.handoffs())

        return await workers.run(unquote(in_project), work)


def _person(request: SyncQuestion) -> Person:
    """Who asks. On a server of one person everybody with its token may decide."""
    principal = asking()
    named = " ".join(request.person.split())[:_MAX_NAME_CHARS]
    name = named if principal.is_local and named else principal.user
    return Person(name=name, may_review=principal.role.covers(Role.REVIEWER))
