"""What an agent brings, as notes of the session that it works in: session, phase and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.records import replace
from wellkept.memory.agent_notes import noted_by_agent, session_at_work

if TYPE_CHECKING:
    from wellkept.core.memory import MemoryDraft
    from wellkept.memory.engine import Engine


def as_agent_notes(
    engine: Engine, drafts: Sequence[MemoryDraft], *, project: str
) -> list[MemoryDraft]:
    """The drafts as the agent may store them. Without a session it is the one at work here."""
    from wellkept.observe.session.digest import phase_of_work

    at_work = session_at_work(engine, project=project)
    notes: list[MemoryDraft] = []
    for draft in drafts:
        session = engine.store.get_session(draft.session_id) if draft.session_id else at_work
        known = session if session is not None and session.project == project else None
        named = replace(draft, session_id=draft.session_id or (known.id if known else None))
        phase = phase_of_work(known).value if known else ""
        notes.append(noted_by_agent(engine, named, project=project, phase=phase))
    return notes
