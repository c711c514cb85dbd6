"""Notes that an agent adds to its session's scratchpad.

A note is shown to the same session at once. It becomes a memory when the work is validated, and is
discarded with the scratchpad when it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.changes import PutScratchpad
from wellkept.core.clock import to_ms
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import AgentNote, Scratchpad, ScratchpadStatus
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Engine
from wellkept.memory.remember import with_retries
from wellkept.observe.session.state import load_state
from wellkept.observe.signals.fold import task_names
from wellkept.observe.thresholds import MAX_NOTES
from wellkept.text.events.sanitize import safe_text

MAX_NOTE_CHARS = 4_000


def add_note(
    engine: Engine,
    session: SessionRecord,
    content: str,
    *,
    type: MemoryType = MemoryType.FACT,
    files: Sequence[str] = (),
) -> AgentNote | None:
    """Add a note to a session's scratchpad; None when it is full.

    The same text is noted once.
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
        names = task_names(load_state(session.work).steps)
        noted = _with_note(pad, note, task=names[-1] if names else None)
        if noted is None:
            return None
        engine.store.apply([PutScratchpad(replace(noted, updated_at=engine.clock()))])
        return note

    return with_retries(attempt)


def _fresh(session: SessionRecord) -> Scratchpad:
    return Scratchpad(
        session_id=session.id, project=session.project, updated_at=session.last_event_at
    )


def _with_note(pad: Scratchpad, note: AgentNote, *, task: str | None) -> Scratchpad | None:
    """The scratchpad with a note under the current sub-task, open for review again."""
    noted = pad.for_task(task)
    if len(noted.notes) >= MAX_NOTES:
        return None
    changed = replace(noted, notes=(*noted.notes, note), promoted=False)
    return replace(pad.with_task(changed), state=ScratchpadStatus.OPEN)
