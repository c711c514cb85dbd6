"""One session with everything that was kept of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order
from wellkept.core.records import record
from wellkept.core.sessions import SessionRecord
from wellkept.core.types import MemoryType
from wellkept.observe.session.memory_changes import find_summary

if TYPE_CHECKING:
    from wellkept.app.wellkept import Wellkept

MAX_SHOWN = 500


@record
class SessionView:
    """A session, its summary, and its prompts and observations in order."""

    record: SessionRecord
    summary: Memory | None
    prompts: tuple[Memory, ...]
    observations: tuple[Memory, ...]


def view_session(wk: Wellkept, name: str, *, project: str | None = None) -> SessionView:
    """The session that an id or the beginning of one stands for, in one project or in any."""
    record = find_session(wk, name, project=project)
    where = Filter(project=record.project, include_user=False, sessions=(record.id,))
    rows = wk.engine.store.list(where, order=Order.EVENT, limit=MAX_SHOWN).items
    return SessionView(
        record,
        find_summary(wk.engine, record.id, project=record.project),
        tuple(m for m in rows if m.type is MemoryType.PROMPT),
        tuple(m for m in rows if m.type is MemoryType.OBSERVATION),
    )


def find_session(wk: Wellkept, name: str, *, project: str | None = None) -> SessionRecord:
    """The one session of that name, in one project or in any."""
    store = wk.engine.store
    named = map(store.get_session, store.resolve_session(name))
    found = [one for one in named if one is not None and project in (None, one.project)]
    if len(found) > 1:
        raise ConflictError(
            f"{name!r} is the beginning of {len(found)} sessions.",
            hint=f"Say more: {', '.join(one.id for one in found)}.",
        )
    if not found:
        raise NotFoundError(
            f"There is no session {name!r}.", hint="`wellkept sessions` lists them."
        )
    return found[0]
