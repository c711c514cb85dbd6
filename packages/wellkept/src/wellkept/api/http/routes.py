"""REST routes beyond the operations: memories, sessions, projects, health and events.

Thin: each route calls one method of the library on the requested project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Body, Depends, Header, Path, Query
from fastapi.responses import StreamingResponse

from wellkept import __version__
from wellkept.api.http.chat import add_chat
from wellkept.api.http.export import add_export
from wellkept.api.http.injections import MemoryDetail, add_injections
from wellkept.api.http.jobs import add_jobs
from wellkept.api.http.operation_routes import CONFLICT, ProjectHeader
from wellkept.api.http.records import (
    MAX_OFFSET,
    AliveOutput,
    HealthReport,
    MemoryEdit,
    MemoryPage,
    MemoryQuery,
    MemoryRecord,
    NewsRecord,
    ProjectInfo,
    Projects,
    SessionDetail,
    SessionInfo,
    SessionPage,
)
from wellkept.api.http.sse import EventFeed, Subscription, read_event_id
from wellkept.api.operations.access import Access, require_access
from wellkept.api.server.threads import WorkerThreads
from wellkept.core.errors import UsageError
from wellkept.core.team.people import Role

if TYPE_CHECKING:
    from wellkept.api import Wellkept
    from wellkept.core.memory import Memory

HEALTH_PATH = "/health"


def _named(
    project: Annotated[
        str, Query(description="Another project: its name or its folder. Default: the one at hand.")
    ] = "",
    in_project: ProjectHeader = "",
) -> str:
    return project or unquote(in_project)


Project = Annotated[str, Depends(_named)]
Name = Annotated[str, Path(description="A full id, a short id, a prefix of one, or a key.")]
AllProjects = Annotated[bool, Query(description="Of every project.")]


def page_routes(workers: WorkerThreads, feed: EventFeed) -> APIRouter:
    """Every route beyond the operations."""
    router = APIRouter()
    _add_memories(router, workers)
    _add_sessions(router, workers)
    add_injections(router, workers)
    _add_system(router, workers)
    _add_events(router, feed)
    add_jobs(router, workers)
    add_chat(router, workers)
    add_export(router, workers)
    return router


def _add_memories(router: APIRouter, workers: WorkerThreads) -> None:
    tagged = APIRouter(prefix="/memories", tags=["memories"])

    @tagged.get("", operation_id="list_memories")
    async def listed(
        request: Annotated[MemoryQuery, Query()], in_project: ProjectHeader = ""
    ) -> MemoryPage:
        """One page of memories, whole."""
        return await workers.run(
            request.project or unquote(in_project), lambda wk: _page(wk, request)
        )

    @tagged.get("/{name:path}", operation_id="get_memory")
    async def got(name: Name, project: Project) -> MemoryDetail:
        """One memory, whole: where it comes from, when agents were given it, and its use."""

        def work(wk: Wellkept) -> MemoryDetail:
            memory = wk.get(name)
            return MemoryDetail.of_use(memory, wk.injected.use_of(memory))

        return await workers.run(project, work)

    @tagged.patch("/{name:path}", operation_id="edit_memory", responses=CONFLICT)
    async def edited(
        name: Name, edit: Annotated[MemoryEdit, Body()], project: Project
    ) -> MemoryRecord:
        """Change a memory; answers with the memory that stands now, which may be a successor."""
        return await workers.run(project, lambda wk: MemoryRecord.of(_edit(wk, name, edit)))

    @tagged.delete("/{name:path}", operation_id="forget_memory")
    async def forgotten(
        name: Name,
        project: Project,
        keep_history: Annotated[bool, Query(description="Only close it.")] = False,
    ) -> MemoryRecord:
        """Delete a memory for good; answers with what it was."""
        return await workers.run(
            project,
            lambda wk: MemoryRecord.of(wk.forget(name, keep_history=keep_history)[0]),
        )

    @tagged.post("/{name:path}/confirm", operation_id="confirm_memory")
    async def confirmed(name: Name, project: Project) -> MemoryRecord:
        """A person vouches for a memory: it no longer waits for review."""
        return await workers.run(
            project,
            lambda wk: MemoryRecord.of(wk.edit(name, user_verified=True, needs_review=False)),
        )

    @tagged.post("/{name:path}/flag", operation_id="flag_memory")
    async def flagged(
        name: Name,
        project: Project,
        reason: Annotated[str, Query(description="What was wrong.", max_length=2_000)] = "",
        session: Annotated[str, Query(description="The session it did harm in.")] = "",
    ) -> MemoryRecord:
        """A person doubts a memory: nobody vouches for it, it is no longer given to agents unasked,
        and it waits for review. The latest time it was given counts as harm."""
        return await workers.run(
            project,
            lambda wk: MemoryRecord.of(
                wk.injected.flag(name, reason=reason, session=session or None)
            ),
        )

    router.include_router(tagged)


def _page(wk: Wellkept, request: MemoryQuery) -> MemoryPage:
    page = wk.list(
        order=request.order.value,
        limit=request.limit,
        cursor=request.cursor or None,
        **request.filters(),
    )
    return MemoryPage.of(page)


def _edit(wk: Wellkept, name: str, edit: MemoryEdit) -> Memory:
    changes = edit.changes()
    if not changes:
        raise UsageError("No fields to update.", hint="Pass at least one.")
    if not edit.model_fields_set.isdisjoint({"user_verified", "needs_review"}):
        require_access(Access(role=Role.REVIEWER), what="Vouching for a memory")
    return wk.edit(name, if_updated_at=edit.if_updated_at, **changes)


def _add_sessions(router: APIRouter, workers: WorkerThreads) -> None:
    tagged = APIRouter(prefix="/sessions", tags=["sessions"])

    @tagged.get("", operation_id="list_sessions")
    async def listed(
        project: Project,
        all_projects: AllProjects = False,
        open_only: Annotated[bool, Query(description="Only those that may go on.")] = False,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    ) -> SessionPage:
        """Sessions, the latest active first."""

        def work(wk: Wellkept) -> SessionPage:
            wanted = None if all_projects else wk.project
            found = wk.engine.store.sessions(
                project=wanted, open_only=open_only, limit=offset + limit + 1
            )
            items = [SessionInfo.of(session) for session in found[offset : offset + limit]]
            more = len(found) > offset + limit
            return SessionPage(items=items, next_offset=offset + limit if more else None)

        return await workers.run(project, work)

    @tagged.get("/{name:path}", operation_id="get_session")
    async def got(name: Name, project: Project, all_projects: AllProjects = False) -> SessionDetail:
        """A session with its summary, prompts and observations."""
        from wellkept.context.start.session_view import view_session

        return await workers.run(
            project,
            lambda wk: SessionDetail.of(
                view_session(wk.engine, name, project=None if all_projects else wk.project)
            ),
        )

    router.include_router(tagged)


def _add_system(router: APIRouter, workers: WorkerThreads) -> None:
    tagged = APIRouter(tags=["surroundings"])

    @tagged.get("/projects", operation_id="list_projects")
    async def projects(project: Project) -> Projects:
        """Every project that holds memories."""

        def work(wk: Wellkept) -> Projects:
            items = [
                ProjectInfo(project=name, memories=count, here=name == wk.project)
                for name, count in wk.projects()
            ]
            return Projects(items=items, here=wk.project)

        return await workers.run(project, work)

    @tagged.get("/doctor", operation_id="doctor")
    async def doctor(
        project: Project,
        deep: Annotated[bool, Query(description="Read every page and every row.")] = False,
    ) -> HealthReport:
        """Look the store and its surroundings over; changes nothing."""
        return await workers.run(project, lambda wk: HealthReport.of(wk.doctor(deep=deep)))

    @tagged.get(HEALTH_PATH, operation_id="health")
    async def health() -> AliveOutput:
        """Whether the server is up. Needs no token."""
        return AliveOutput(version=__version__)

    router.include_router(tagged)


def _add_events(router: APIRouter, feed: EventFeed) -> None:
    @router.get(
        "/events",
        operation_id="events",
        tags=["events"],
        response_class=StreamingResponse,
        responses={
            200: {
                "model": NewsRecord,
                "description": "Server-sent events. `event` is the kind, `id` the number, `data` "
                "the object below; `gap` tells that some were missed, `problem` why it ended.",
                "content": {"text/event-stream": {}},
            }
        },
    )
    async def events(
        project: Project,
        all_projects: AllProjects = False,
        after: Annotated[
            str, Query(description="Like Last-Event-ID; 0 gives everything that is kept.")
        ] = "",
        last_event_id: Annotated[str, Header(description="The last event that came.")] = "",
    ) -> StreamingResponse:
        """What is new, as it happens: sessions that start and end, memories stored and changed."""
        wanted = Subscription(
            project=project,
            all_projects=all_projects,
            after=read_event_id(last_event_id or after),
        )
        lines = await feed.subscribe(wanted)
        return StreamingResponse(
            lines, media_type="text/event-stream", headers={"cache-control": "no-store"}
        )
