"""Routes beyond the verbs: memories, projects, health and events.

Thin: each calls one method of the library on the requested project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from wellkept import __version__
from wellkept.api.http.endpoints import EVENTS, Asked, endpoint, streamed
from wellkept.api.http.records import (
    Alive,
    HealthReport,
    ProjectInfo,
    Projects,
)
from wellkept.api.http.sse import Subscription, read_event_id
from wellkept.core.ports.injections import InjectionTotals
from wellkept.core.team.people import Role
from wellkept.core.verbs import Arg
from wellkept.memory.history import Event

if TYPE_CHECKING:
    from starlette.responses import StreamingResponse

    from wellkept.api import Wellkept

HEALTH_PATH = "/health"
MAX_OFFSET = 10_000

NameArg = Annotated[str, Arg("A full id, a short id, a prefix of one, or a key.")]
AllArg = Annotated[bool, Arg("Of every project.")]


# -- Sessions and what they were given ------------------------------------------------------------


@endpoint("GET", "/injections/totals", role=Role.READER)
def injection_totals(
    wk: Wellkept,
    *,
    since: Annotated[str, Arg("ISO date, or an age such as 7d.")] = "",
    all_projects: AllArg = False,
) -> InjectionTotals:
    """Lines and tokens given, share used by kind, harm, and a net estimate of tokens saved."""
    return wk.injected.totals(since=since or None, all_projects=all_projects)


# -- The server and its surroundings --------------------------------------------------------------


@endpoint("GET", "/projects", role=Role.READER)
def list_projects(wk: Wellkept) -> Projects:
    """Every project that holds memories."""
    items = tuple(ProjectInfo(name, count, name == wk.project) for name, count in wk.projects())
    return Projects(items, wk.project)


@endpoint("GET", "/doctor", role=Role.ADMIN, on_files=True)
def doctor(
    wk: Wellkept, *, deep: Annotated[bool, Arg("Read every page and every row.")] = False
) -> HealthReport:
    """Look the store and its surroundings over; changes nothing."""
    return HealthReport.of(wk.doctor(deep=deep))


@endpoint("GET", HEALTH_PATH, role=None)
async def health(_: Asked) -> Alive:
    """Whether the server is up. Needs no token."""
    return Alive(version=__version__)


@endpoint(
    "GET",
    "/events",
    role=Role.READER,
    gives=Event,
    media=EVENTS,
    told="Server-sent events. `event` is the kind, `id` the number, `data` the object below; `gap`"
    " tells that some were missed, `problem` why it ended.",
)
async def events(
    asked: Asked,
    *,
    all_projects: AllArg = False,
    after: Annotated[str, Arg("Like Last-Event-ID; 0 gives everything that is kept.")] = "",
) -> StreamingResponse:
    """What is new, as it happens: sessions that start and end, memories stored and changed."""
    last = asked.headers.get("last-event-id", "") or after
    wanted = Subscription(
        project=asked.project, all_projects=all_projects, after=read_event_id(last)
    )
    return streamed(await asked.server.feed.subscribe(wanted))
