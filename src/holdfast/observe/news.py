"""What is new in the store, for whoever listens while it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import TypeAlias

from holdfast.core.changes import Change, Insert, Replace
from holdfast.core.payloads import Observation
from holdfast.core.records import record
from holdfast.observe.folding import Folded


class NewsKind(StrEnum):
    """What can be new."""

    SESSION_STARTED = "session_started"
    OBSERVATION_STORED = "observation_stored"
    SESSION_ENDED = "session_ended"


@record(kw_only=True)
class News:
    """One thing that is new; `memory_id` names the observation, if it is one."""

    kind: NewsKind
    session_id: str
    project: str
    title: str | None
    memory_id: str | None = None


Listener: TypeAlias = Callable[[News], None]


def news_of(result: Folded, changes: Sequence[Change]) -> Iterator[News]:
    """What a step of folding brought, in order."""
    session = result.session
    if session.revision == 0:
        yield _about(result, NewsKind.SESSION_STARTED)
    for change in changes:
        if isinstance(change, (Insert, Replace)) and isinstance(change.memory.payload, Observation):
            yield News(
                kind=NewsKind.OBSERVATION_STORED,
                session_id=session.id,
                project=session.project,
                title=change.memory.payload.title,
                memory_id=change.memory.id,
            )
    if result.trigger == "end":
        yield _about(result, NewsKind.SESSION_ENDED)


def _about(result: Folded, kind: NewsKind) -> News:
    session = result.session
    return News(kind=kind, session_id=session.id, project=session.project, title=session.title)
