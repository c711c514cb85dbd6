"""Routes and records of what agents were given: the log, its totals, and the use of a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Query
from pydantic import Field

from wellkept.api.http.operation_routes import ProjectHeader
from wellkept.api.http.records import InjectionRecord, MemoryRecord
from wellkept.api.operations.inputs import MAX_ROWS, Model
from wellkept.api.server.record_models import record_model
from wellkept.api.server.threads import WorkerThreads
from wellkept.context.injection_log import HOW_SAVED_IS_COUNTED, MemoryUse, WorkSession
from wellkept.core.memory import Memory
from wellkept.core.ports.injections import (
    Injection,
    InjectionTotals,
    KindUse,
    LineOutcome,
    LineUse,
    SilentLine,
)
from wellkept.core.query import Page

if TYPE_CHECKING:
    from wellkept.api import Wellkept


class InjectionPage(Model):
    """One page of the log, newest first."""

    items: list[InjectionRecord]
    total: int
    next_cursor: str | None = None

    @classmethod
    def of(cls, page: Page[Injection]) -> InjectionPage:
        """The page as it is shown."""
        items = [InjectionRecord.model_validate(one) for one in page.items]
        return cls(items=items, total=page.total, next_cursor=page.next_cursor)


class KindUseRecord(record_model(KindUse)):
    """Lines of one kind, and how many sessions used, ignored or were harmed by them."""


class InjectionTotalsRecord(record_model(InjectionTotals, models={KindUse: KindUseRecord})):
    """Totals of the log. Tokens saved are a net estimate and may be negative."""

    used: int
    harm: int
    measured: int = Field(description="Used lines whose cost of finding out is known.")
    used_share: float | None = Field(description="Of lines that could show use; null for none.")
    saved_tokens: int
    how_saved_is_counted: str = HOW_SAVED_IS_COUNTED


class SilentLineRecord(record_model(SilentLine)):
    """A line that is no longer given unasked, since when and why."""


class LineUseRecord(record_model(LineUse)):
    """How often a line was given, and in how many sessions with which outcome."""

    saved_tokens: int = Field(description="Net estimate; negative when it cost more.")


class WorkSessionRecord(record_model(WorkSession)):
    """A session that a memory comes from, with phase and kind of work."""


class MemoryDetail(MemoryRecord):
    """A memory, where it comes from, and whether it was ever of use."""

    came_from: list[WorkSessionRecord] = Field(default_factory=list[WorkSessionRecord])
    use: LineUseRecord | None = Field(default=None, description="Null: never given unasked.")
    given: list[InjectionRecord] = Field(
        default_factory=list[InjectionRecord], description="The latest times."
    )
    silent: SilentLineRecord | None = None

    @classmethod
    def of_use(cls, memory: Memory, known: MemoryUse) -> MemoryDetail:
        """The record of a memory with its use."""
        fields = MemoryRecord.of(memory).model_dump()
        return cls.model_validate(
            {
                **fields,
                "came_from": [WorkSessionRecord.model_validate(one) for one in known.sessions],
                "use": known.use and LineUseRecord.model_validate(known.use),
                "given": [InjectionRecord.model_validate(one) for one in known.latest],
                "silent": known.silent and SilentLineRecord.model_validate(known.silent),
            }
        )


class SilentLines(Model):
    """Lines that are no longer given unasked."""

    items: list[SilentLineRecord]


class InjectionQuery(Model):
    """Which injections to list."""

    session: str = Field(default="", description="A session's id or its beginning.")
    moment: str = Field(default="", description="session, prompt, file, command or failure.")
    memory: str = Field(default="", description="A memory's id or key, or the id of a line.")
    outcome: LineOutcome | None = Field(default=None, description="Only lines that ended so.")
    limit: int = Field(default=50, ge=1, le=MAX_ROWS)
    cursor: str = Field(default="", description="next_cursor of the page before.")
    project: str = Field(default="", description="Another project: its name or its folder.")


def add_injections(router: APIRouter, workers: WorkerThreads) -> None:
    """Add the routes of the log."""
    tagged = APIRouter(prefix="/injections", tags=["injections"])

    @tagged.get("", operation_id="list_injections")
    async def listed(
        request: Annotated[InjectionQuery, Query()], in_project: ProjectHeader = ""
    ) -> InjectionPage:
        """What agents were given, moment by moment, and what came of each line."""
        return await workers.run(
            request.project or unquote(in_project), lambda wk: _page(wk, request)
        )

    @tagged.get("/totals", operation_id="injection_totals")
    async def totals(
        project: Annotated[str, Query(description="Another project.")] = "",
        since: Annotated[str, Query(description="ISO date, or an age such as 7d.")] = "",
        all_projects: Annotated[bool, Query(description="Of every project.")] = False,
        in_project: ProjectHeader = "",
    ) -> InjectionTotalsRecord:
        """Lines and tokens given, share used by kind, tokens saved, harm."""
        return await workers.run(
            project or unquote(in_project),
            lambda wk: InjectionTotalsRecord.model_validate(
                wk.injected.totals(since=since or None, all_projects=all_projects)
            ),
        )

    @tagged.get("/silent", operation_id="silent_lines")
    async def silent(
        project: Annotated[str, Query(description="Another project.")] = "",
        in_project: ProjectHeader = "",
    ) -> SilentLines:
        """Lines that are no longer given unasked, and why."""

        def work(wk: Wellkept) -> SilentLines:
            return SilentLines(
                items=[SilentLineRecord.model_validate(one) for one in wk.injected.silent()]
            )

        return await workers.run(project or unquote(in_project), work)

    router.include_router(tagged)


def _page(wk: Wellkept, request: InjectionQuery) -> InjectionPage:
    return InjectionPage.of(
        wk.injected.list(
            session=request.session or None,
            moment=request.moment or None,
            memory=request.memory or None,
            outcome=request.outcome.value if request.outcome else None,
            limit=request.limit,
            cursor=request.cursor or None,
        )
    )
