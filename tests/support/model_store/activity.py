"""The part of the model store that keeps news."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime

from tests.support.model_store.data import ModelData, make_change
from wellkept.core.changes import (
    Announce,
    Change,
    Close,
    Delete,
    Insert,
    Mark,
    PutInjection,
    PutSession,
    PutVerdicts,
    Replace,
    RequestReview,
)
from wellkept.core.errors import UsageError
from wellkept.core.ports.injections import Injection
from wellkept.core.records import replace
from wellkept.core.session.activity import (
    ACTIVITY_RETENTION,
    Activity,
    ActivityKind,
    ActivityRange,
    memory_activity,
    session_activity,
    write_order,
)
from wellkept.core.types import Scope


class ModelActivityLog(ABC):
    """The `ActivityLog` port over a plain list."""

    @property
    @abstractmethod
    def _data(self) -> ModelData: ...

    def activity(self, *, after: int, project: str | None, limit: int) -> list[Activity]:
        if limit < 0:
            raise UsageError(f"limit must be at least 0, not {limit}.")
        seen = (
            n for n in self._data.news if project is None or n.everywhere or n.project == project
        )
        return [n for n in seen if n.number > after][:limit]

    def activity_range(self) -> ActivityRange:
        kept = self._data.news
        return ActivityRange(kept[0].number, kept[-1].number) if kept else ActivityRange(0, 0)


def make_changes(data: ModelData, changes: Sequence[Change], *, at: datetime) -> None:
    """Make changes in order, and note what is new by them."""
    told: list[Activity] = []
    for change in changes:
        told += _news_of(data, change, at)
        make_change(data, change)
    told.sort(key=lambda news: write_order(news.kind))
    last = data.news[-1].number if data.news else 0
    numbered = [replace(news, number=last + nth) for nth, news in enumerate(told, start=1)]
    data.news = [*data.news, *numbered][-ACTIVITY_RETENTION:]


def _news_of(data: ModelData, change: Change, at: datetime) -> list[Activity]:
    if isinstance(change, PutSession):
        before = data.sessions.get(change.session.id)
        kinds = session_activity(change.session, was_open=before is not None and before.is_open)
        about = change.session
        return [
            Activity(number=0, kind=kind, at=at, project=about.project, session_id=about.id)
            for kind in kinds
        ]
    if isinstance(change, Announce):
        about, kind = change.subject, change.kind
        return [Activity(number=0, kind=kind, at=at, project=change.project, subject=about)]
    if isinstance(change, PutInjection):
        new = change.injection
        return [] if new.id in data.injections else [_of_lines(new, ActivityKind.LINES_GIVEN, at)]
    if isinstance(change, PutVerdicts):
        names = sorted({one.injection_id for one in change.verdicts} & data.injections.keys())
        judged = ActivityKind.LINES_JUDGED
        return [_of_lines(data.injections[name], judged, at) for name in names]
    kind = memory_activity(change)
    return [] if kind is None else _of_memory(data, change, kind, at)


def _of_lines(injection: Injection, kind: ActivityKind, at: datetime) -> Activity:
    return Activity(
        number=0,
        kind=kind,
        at=at,
        project=injection.project,
        session_id=injection.session_id,
        subject=injection.id,
    )


def _of_memory(data: ModelData, change: Change, kind: ActivityKind, at: datetime) -> list[Activity]:
    assert isinstance(change, (Insert, Replace, Close, Delete, Mark, RequestReview))
    known = isinstance(change, (Insert, Replace))
    memory = change.memory if known else data.memories.get(change.id)
    if memory is None:
        return []
    return [
        Activity(
            number=0,
            kind=kind,
            at=at,
            project=memory.project,
            everywhere=memory.scope is Scope.USER,
            memory_id=memory.id,
            session_id=memory.session_id,
        )
    ]
