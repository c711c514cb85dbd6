"""What a session left to look at, and how a person corrects it.

Three groups: what the session was given and used; what is new and waits; what the rule confirms by
itself: verified by a person, written from a commit, or sure (above 0.9) and used three times.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from wellkept.context.bulk import Edited, begin_step, finish_step, rejection, require_version
from wellkept.context.start.session_view import find_session
from wellkept.core.changes import Change, Close, Replace
from wellkept.core.errors import UsageError
from wellkept.core.memory import Evidence, Memory, MemoryPatch
from wellkept.core.ports.injections import InjectionFilter, LineOutcome
from wellkept.core.ports.store import KEPT_DAYS
from wellkept.core.query import RAW_TYPES, Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.memory.as_text import brief_line

if TYPE_CHECKING:
    from wellkept.context.workspace import TellingMemory

SURE: Final = 0.9
OFTEN: Final = 3
MAX_SHOWN: Final = 200
_SAID_TYPES: Final = tuple(one for one in MemoryType if one not in RAW_TYPES)


@record(kw_only=True)
class ReviewItem:
    """A memory to look at, and the exact line that agents are given of it. `why` says which rule
    put it into its group."""

    memory: Memory
    line: str
    why: str


@record(kw_only=True)
class ReviewGroups:
    """What a session, or the whole project, left to look at. `waiting` counts all that wait."""

    session: str | None
    applied: tuple[ReviewItem, ...]
    new: tuple[ReviewItem, ...]
    auto_confirmed: tuple[ReviewItem, ...]
    waiting: int

    @property
    def ids(self) -> list[str]:
        """What waits for a person."""
        return [one.memory.id for one in self.new]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person can do."""
        keep = "`wellkept edit ID --action confirm` keeps one; --because REASON corrects it."
        return (keep,) if self.new else ()

    def as_text(self) -> str:
        """The groups, one after the other."""
        groups = (
            ("Applied", self.applied),
            ("New, to review", self.new),
            ("Confirmed by rule", self.auto_confirmed),
        )
        return "\n".join(
            line
            for title, items in groups
            for line in (
                f"{title} ({len(items)})",
                *(f"  {brief_line(one.memory)}" for one in items),
            )
        )


class CorrectionReason(StrEnum):
    """What is wrong with a memory."""

    INACCURATE = "inaccurate"
    OUTDATED = "outdated"
    TOO_SPECIFIC = "too_specific"
    DUPLICATE = "duplicate"


def auto_confirmed(memory: Memory) -> str | None:
    """Why a memory needs no review; None when a person should look."""
    if memory.user_verified:
        return "verified"
    if memory.source is Source.COMMIT_AUTO:
        return "commit"
    if memory.confidence > SURE and memory.access_count >= OFTEN:
        return "sure and used often"
    return None


def review(wk: TellingMemory, *, session: str | None = None) -> ReviewGroups:
    """The three groups of a session; without one, of the whole project."""
    store, project = wk.engine.store, wk.project
    found = find_session(store, session, project=project) if session else None
    own = (found.id,) if found else ()
    where = Filter(project=project, types=_SAID_TYPES, sessions=own)
    waiting = store.list(replace(where, needs_review=True), order=Order.NEWEST, limit=MAX_SHOWN)
    rest = store.list(replace(where, needs_review=False), order=Order.NEWEST, limit=MAX_SHOWN)
    sure = [(memory, auto_confirmed(memory)) for memory in (*waiting.items, *rest.items)]
    confirmed = {memory.id for memory, why in sure if why}
    return ReviewGroups(
        session=found.id if found else None,
        applied=_applied(wk, found),
        new=tuple(
            _item(wk, memory, "needs review")
            for memory in waiting.items
            if memory.id not in confirmed
        ),
        auto_confirmed=tuple(_item(wk, memory, why) for memory, why in sure if why),
        waiting=waiting.total,
    )


def _applied(wk: TellingMemory, session: SessionRecord | None) -> tuple[ReviewItem, ...]:
    store = wk.engine.store
    where = InjectionFilter(
        project=wk.project,
        session_id=session.id if session else None,
        outcome=LineOutcome.USED,
    )
    lines = [line for one in store.injections(where, limit=MAX_SHOWN) for line in one.lines]
    told = {line.memory_id: line for line in lines if line.memory_id is not None}
    return tuple(
        ReviewItem(memory=memory, line=told[memory.id].text, why=told[memory.id].outcome_by)
        for memory in store.get(list(told))
    )


def _item(wk: TellingMemory, memory: Memory, why: str) -> ReviewItem:
    return ReviewItem(memory=memory, line=given_line(wk, memory), why=why)


def given_line(wk: TellingMemory, memory: Memory) -> str:
    """The exact line that agents are given of a memory."""
    from wellkept.context.packing import ContextItem

    return ContextItem.of(wk.engine, memory, reason="").line


# -- Correction -----------------------------------------------------------------------------------


def correct(
    wk: TellingMemory,
    name: str,
    reason: CorrectionReason,
    *,
    content: str = "",
    original: str = "",
    if_updated_at: datetime | None = None,
) -> Edited:
    """Correct a memory: new words, no longer true, or the same as another one."""
    memory = wk.get(name)
    require_version(memory, if_updated_at)
    first = _original(wk, memory, original) if reason is CorrectionReason.DUPLICATE else None
    needs_words = reason in (CorrectionReason.INACCURATE, CorrectionReason.TOO_SPECIFIC)
    if needs_words and not content.strip():
        raise UsageError("The corrected text is missing.", hint="Say what is right instead.")
    step = begin_step(wk, f"correct: {reason.value}", [memory.id, *([first.id] if first else [])])
    if needs_words:
        stands = _reworded(wk, memory, content)
    else:
        wk.engine.store.apply(_closing(wk, memory, first, reason))
        stands = wk.get((first or memory).id)
    made = [stands.id] if stands.id not in (memory.id, first.id if first else "") else []
    finish_step(wk, step, made=made)
    return Edited(
        action=reason.value,
        count=1,
        memories=(stands,),
        undo_id=step.id,
        undo_until=step.at + timedelta(days=KEPT_DAYS),
    )


def _original(wk: TellingMemory, memory: Memory, name: str) -> Memory:
    if not name.strip():
        raise UsageError("Which memory is the original?", hint="Name it by its id.")
    first = wk.get(name)
    if first.id == memory.id:
        raise UsageError("A memory cannot be a duplicate of itself.")
    if not first.is_open:
        raise UsageError(f"Memory {first.short} is no longer current.", hint="Name one that is.")
    return first


def _reworded(wk: TellingMemory, memory: Memory, content: str) -> Memory:
    from wellkept.memory.edit import revise

    patch = MemoryPatch(content=content.strip(), user_verified=True, needs_review=False)
    return revise(wk.engine, memory.id, patch, if_updated_at=memory.updated_at)


def _closing(
    wk: TellingMemory, memory: Memory, first: Memory | None, reason: CorrectionReason
) -> list[Change]:
    now = wk.engine.clock()
    if first is None:
        return rejection(memory, reason.value, now=now)
    merged = Evidence(EvidenceKind.MERGED, memory.id, memory.content, now)
    sessions = dict.fromkeys((*first.provenance_sessions, *memory.provenance_sessions))
    kept = replace(
        first,
        evidence=(*first.evidence, merged),
        provenance_sessions=tuple(sessions),
        updated_at=max(now, first.updated_at),
    )
    end = max(now, memory.valid_from)
    return [
        Replace(kept, None, first.updated_at),
        Close(memory.id, end, first.id, memory.updated_at),
    ]
