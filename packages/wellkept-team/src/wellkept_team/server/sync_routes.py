"""Routes for laptops that share a project: push, pull, what waits, decide.

Who asks comes from their token; on a server of one person, the name that the laptop sends is only a
label. Answers are JSON of the records in `wellkept_team.sharing.team_entry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from wellkept.api.http.endpoints import endpoint
from wellkept.core.codec import record_to_json
from wellkept.core.records import record
from wellkept.core.team.people import Role, asking
from wellkept.core.team.records import TeamPolicy
from wellkept.core.verbs import Arg
from wellkept_team.sharing.team_rules import Person

if TYPE_CHECKING:
    from wellkept.api import Wellkept

_MAX_NAME_CHARS = 80

WhoArg = Annotated[str, Arg("Who asks, where the token does not say.", None, 400)]
AfterArg = Annotated[int, Arg("Only what came after this number.", 0)]


@record(kw_only=True)
class HandoffsOutput:
    """The latest hand-overs, by branch."""

    items: dict[str, str]


@record(kw_only=True)
class PulledOutput:
    """One page of changes; `cursor` is what to ask after next."""

    changes: list[dict[str, Any]]
    cursor: int
    head: int
    log: str
    at: str
    handoffs: str
    person: str
    role: str
    policy: TeamPolicy | None


@record(kw_only=True)
class PushedOutput:
    """What became of each item, in their order."""

    results: list[dict[str, Any]]
    head: int
    log: str


@record(kw_only=True)
class WaitingOutput:
    """What waits for a second person or a reviewer."""

    items: list[dict[str, Any]]


@record(kw_only=True)
class DecidedOutput:
    """What became of each record."""

    results: list[dict[str, Any]]


@endpoint("POST", "/sync/pull", role=Role.READER)
def sync_pull(
    wk: Wellkept,
    *,
    person: WhoArg = "",
    after: AfterArg = 0,
    limit: Annotated[int, Arg("How many.", 1, 200)] = 200,
) -> PulledOutput:
    """Changes after a number, without what others proposed."""
    by = _person(person)
    page: dict[str, Any] = record_to_json(wk.team_memory.pull(after=after, limit=limit, by=by))
    return PulledOutput(**page, person=by.name, role=asking().role.value, policy=wk.services.policy)


@endpoint("POST", "/sync/push", role=Role.WRITER)
def sync_push(
    wk: Wellkept,
    *,
    person: WhoArg = "",
    items: Annotated[
        tuple[dict[str, Any], ...],
        Arg(
            "`put`, `close`, `erase` or `confirm`, each with the id, and `base`, the number of the"
            " record that the laptop knows.",
            None,
            200,
        ),
    ],
) -> PushedOutput:
    """Take in changes of a laptop; each is answered for itself."""
    made: dict[str, Any] = record_to_json(wk.team_memory.push(items, by=_person(person)))
    return PushedOutput(**made)


@endpoint("POST", "/sync/waiting", role=Role.READER)
def sync_waiting(wk: Wellkept, *, person: WhoArg = "", after: AfterArg = 0) -> WaitingOutput:  # noqa: ARG001
    """What waits for a second person or a reviewer, oldest change first."""
    return WaitingOutput(items=[record_to_json(o) for o in wk.team_memory.waiting(after=after)])


@endpoint("POST", "/sync/decide", role=Role.REVIEWER)
def sync_decide(
    wk: Wellkept,
    *,
    person: WhoArg = "",
    ids: Annotated[tuple[str, ...], Arg("Records to decide on.", 1, 200)],
    holds: Annotated[bool, Arg("Yes or no.")],
) -> DecidedOutput:
    """A reviewer's yes or no."""
    made = wk.team_memory.decide(ids, holds=holds, by=_person(person))
    return DecidedOutput(results=[record_to_json(one) for one in made])


@endpoint("POST", "/sync/handoffs", role=Role.READER)
def sync_handoffs(wk: Wellkept, *, person: WhoArg = "") -> HandoffsOutput:  # noqa: ARG001
    """The latest hand-overs of branches."""
    return HandoffsOutput(items=wk.team_memory.handoffs())


@endpoint("POST", "/sync/handoff", role=Role.WRITER)
def sync_handoff(
    wk: Wellkept,
    *,
    person: WhoArg = "",
    text: Annotated[str, Arg("As `wellkept session handoff` writes it.", 1, 16_000)],
) -> HandoffsOutput:
    """Hand a branch over; the latest of a branch counts."""
    wk.team_memory.hand_over(text, by=_person(person))
    return HandoffsOutput(items=wk.team_memory.handoffs())


def _person(given: str) -> Person:
    """Who asks. On a server of one person everybody with its token may decide."""
    principal = asking()
    named = " ".join(given.split())[:_MAX_NAME_CHARS]
    name = named if principal.is_local and named else principal.user
    return Person(name=name, may_review=principal.role.covers(Role.REVIEWER))
