"""Operations on what a session was given and what happened in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from wellkept.api.http.records import InjectionRecord
from wellkept.api.operations.inputs import MAX_ROWS, Input
from wellkept.api.server.record_models import ViewOutput, output_model
from wellkept.api.views.session_text import given_lines, timeline_lines
from wellkept.api.views.session_timeline import SessionTimeline
from wellkept.core.ports.injections import LineOutcome

if TYPE_CHECKING:
    from wellkept.api import Wellkept


class LinesGivenInput(Input):
    """Which lines to list."""

    session: str = Field(default="", description="A session's id or its beginning.")
    moment: str = Field(default="", description="session, prompt, file, command or failure.")
    memory: str = Field(default="", description="A memory's id or key, or the id of a line.")
    outcome: LineOutcome | None = Field(default=None, description="Only lines that ended so.")
    limit: int = Field(default=50, ge=1, le=MAX_ROWS)
    cursor: str = Field(default="", description="next_cursor of the page before.")


class LinesGivenOutput(ViewOutput):
    """What agents were given, newest moment first: trigger, lines, score, tokens, outcome."""

    items: list[InjectionRecord]
    total: int
    next_cursor: str | None


def lines_given(wk: Wellkept, request: LinesGivenInput) -> LinesGivenOutput:
    """What agents were given unasked, and what came of each line."""
    page = wk.injected.list(
        session=request.session or None,
        moment=request.moment or None,
        memory=request.memory or None,
        outcome=request.outcome.value if request.outcome else None,
        limit=request.limit,
        cursor=request.cursor or None,
    )
    told = [line for one in page.items for line in given_lines(one)] or ["Nothing was given."]
    more = [f"More: cursor={page.next_cursor}"] if page.next_cursor else []
    return LinesGivenOutput.of(page, text="\n".join([*told, *more]))


class SessionTimelineInput(Input):
    """Which session to show."""

    session: str = Field(min_length=1, description="A session's id or its beginning.")
    all_projects: bool = Field(default=False, description="Of any project.")


class SessionTimelineOutput(output_model(SessionTimeline)):
    """A session, entry by entry."""


def session_timeline(wk: Wellkept, request: SessionTimelineInput) -> SessionTimelineOutput:
    """What happened in a session, in order."""
    found = wk.session_timeline(request.session, all_projects=request.all_projects)
    return SessionTimelineOutput.of(found, text="\n".join(timeline_lines(found)))
