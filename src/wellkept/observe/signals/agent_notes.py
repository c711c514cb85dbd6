"""Notes that an agent makes while it works: on the session's scratchpad at once, no memory yet.

A note is told to the same session from the next step on; it becomes a memory when the work has
held up, and goes with the scratchpad when it has not.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.changes import PutScratchpad
from wellkept.core.clock import to_ms
from wellkept.core.records import replace
from wellkept.core.scratchpad import AgentNote, Scratchpad, ScratchpadStatus
from wellkept.core.sessions import SessionRecord
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.memory.remember import retried
from wellkept.observe.reading.sanitize import safe_text
from wellkept.observe.signals.collector_state import load_collector
from wellkept.observe.thresholds import MAX_NOTES

MAX_NOTE_CHARS = 4_000


def add_note(
    engine: Engine,
    session: SessionRecord,
    content: str,
    *,
    type: MemoryType = MemoryType.FACT,
    files: Sequence[str] = (),
) -> AgentNote | None:
    """Put a note on a session's scratchpad; None when there is no room for more.

    What the session has noted before in the same words is not noted again.
    """
    text = safe_text(content.strip(), limit=MAX_NOTE_CHARS)

    def attempt() -> AgentNote | None:
        pad = engine.store.scratchpad(session.id) or _fresh(session)
        known = next((note for note in pad.notes if note.content == text), None)
        if known is not None:
            return known
        note = AgentNote(
            engine.new_id(), text, type.value, pad.step, to_ms(engine.clock()), tuple(files)
        )
        noted = _with_note(pad, note)
        if noted is None:
            return None
        engine.store.apply([PutScratchpad(replace(noted, updated_at=engine.clock()))])
        return note

    return retried(attempt)


def _fresh(session: SessionRecord) -> Scratchpad:
    return Scratchpad(
        session_id=session.id, project=session.project, updated_at=session.last_event_at
    )


def _with_note(pad: Scratchpad, note: AgentNote) -> Scratchpad | None:
    """The scratchpad with the note on the current sub-task; None when that is full."""
    task = pad.for_task(load_collector(pad.work).task)
    if len(task.notes) >= MAX_NOTES:
        return None
    changed = replace(task, notes=(*task.notes, note), promoted=False)
    return replace(pad.with_task(changed), state=ScratchpadStatus.OPEN)
