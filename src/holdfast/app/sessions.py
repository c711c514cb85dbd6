"""One session with everything that was kept of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.errors import ConflictError, NotFoundError
from holdfast.core.memory import Memory
from holdfast.core.query import Filter, Order
from holdfast.core.records import record
from holdfast.core.sessions import SessionRecord
from holdfast.core.types import MemoryType
from holdfast.observe.keeping import find_summary

if TYPE_CHECKING:
    from holdfast.app.facade import Holdfast

MAX_SHOWN = 500


@record
class SessionView:
    """A session, its summary, and its prompts and observations in order."""

    record: SessionRecord
    summary: Memory | None
    prompts: tuple[Memory, ...]
    observations: tuple[Memory, ...]


def view_session(hf: Holdfast, name: str) -> SessionView:
    """The session that an id or the beginning of one stands for."""
    record = find_session(hf, name)
    where = Filter(project=record.project, include_user=False, sessions=(record.id,))
    rows = hf.engine.store.list(where, order=Order.EVENT, limit=MAX_SHOWN).items
    return SessionView(
        record,
        find_summary(hf.engine, record.id, project=record.project),
        tuple(m for m in rows if m.type is MemoryType.PROMPT),
        tuple(m for m in rows if m.type is MemoryType.OBSERVATION),
    )


def find_session(hf: Holdfast, name: str) -> SessionRecord:
    """The one session of that name."""
    store = hf.engine.store
    ids = store.resolve_session(name)
    if len(ids) > 1:
        raise ConflictError(
            f"{name!r} is the beginning of {len(ids)} sessions.",
            hint=f"Say more: {', '.join(ids)}.",
        )
    record = store.get_session(ids[0]) if ids else None
    if record is None:
        raise NotFoundError(
            f"There is no session {name!r}.", hint="`holdfast sessions` lists them."
        )
    return record
