"""A session by its id or the beginning of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.session.sessions import SessionRecord

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store

MAX_SHOWN = 500


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
            f"There is no session {name!r}.",
            hint="Run `wellkept session list --all-projects` to list them.",
        )
    return found[0]
