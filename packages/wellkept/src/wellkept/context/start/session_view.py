"""One session with its summary, prompts and observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order
from wellkept.core.records import record
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import MemoryType
from wellkept.observe.session.memory_changes import find_summary

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store
    from wellkept.memory.engine import Engine

MAX_SHOWN = 500


@record
class SessionView:
    """A session, its summary, and its prompts and observations in order."""

    record: SessionRecord
    summary: Memory | None
    prompts: tuple[Memory, ...]
    observations: tuple[Memory, ...]


def view_session(engine: Engine, name: str, *, project: str | None = None) -> SessionView:
    """A session by id or unique prefix; `project` None means any project."""
    record = find_session(engine.store, name, project=project)
    where = Filter(
        project=record.project,
        include_user=False,
        sessions=(record.id,),
        archived=None,
    )
    rows = engine.store.list(where, order=Order.EVENT, limit=MAX_SHOWN).items
    return SessionView(
        record,
        find_summary(engine, record.id, project=record.project),
        tuple(m for m in rows if m.type is MemoryType.PROMPT),
        tuple(m for m in rows if m.type is MemoryType.OBSERVATION),
    )


def find_session(store: Store, name: str, *, project: str | None = None) -> SessionRecord:
    """The session with that id or unique prefix; `project` None means any project."""
    named = map(store.get_session, store.resolve_session(name))
    found = [one for one in named if one is not None and project in (None, one.project)]
    if len(found) > 1:
        raise ConflictError(
            f"{len(found)} session ids start with {name!r}.",
            hint=f"Use a longer prefix: {', '.join(one.id for one in found)}.",
        )
    if not found:
        raise NotFoundError(
            f"There is no session {name!r}.", hint="Run `wellkept sessions` to list them."
        )
    return found[0]
