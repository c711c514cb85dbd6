"""Changes of a store, as data: `MemoryStore.apply` makes a list of them all or nothing.

Not part of the ports, so code that only reads does not load it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from wellkept.core.records import record

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.core.memory import Memory
    from wellkept.core.ports.injections import Injection, LineVerdict, SilentLine
    from wellkept.core.ports.models import Vector
    from wellkept.core.session.activity import ActivityKind
    from wellkept.core.session.scratchpad import Explanation, Scratchpad, SessionSignal, SignalKind
    from wellkept.core.session.sessions import ReadPosition, SessionRecord


@record
class IndexEntry:
    """What the indexes hold for a memory besides its content.

    `extra` is additional searchable text (dates, author, tags, split identifiers). Without a
    vector the memory is left out of vector search until a re-index.
    """

    extra: str = ""
    model_id: str | None = None
    vector: Vector | None = None


@record
class Insert:
    """Add a new memory.

    `unless_duplicate_since` is the latest activity number at the caller's last read. ConflictError
    when an open memory with the same text and reach was inserted after it; the caller then reads
    again and finds it.
    """

    memory: Memory
    index_entry: IndexEntry
    unless_duplicate_since: int | None = None


@record
class Replace:
    """Overwrite a memory under the same id.

    ConflictError when it was changed since `expected_updated_at`. Without an index entry, extra
    text and vector stay.
    """

    memory: Memory
    index_entry: IndexEntry | None = None
    expected_updated_at: datetime | None = None


@record
class Close:
    """End a memory's validity, optionally naming its successor.

    ConflictError when it was changed or closed since `expected_updated_at`.
    """

    id: str
    at: datetime
    superseded_by: str | None = None
    expected_updated_at: datetime | None = None


@record
class Rescore:
    """Set importance or confidence without changing `updated_at`.

    ConflictError when the importance is not `expected_importance` any more.
    """

    id: str
    importance: float | None = None
    confidence: float | None = None
    expected_importance: float | None = None


@record
class Mark:
    """Set or clear (None) the time since which a memory is stale or archived."""

    id: str
    what: Literal["stale", "archived"]
    at: datetime | None


@record
class Delete:
    """Delete a memory with its index entries, evidence and relations."""

    id: str


@record
class PutSession:
    """Write a session whose revision is still the stored one, and increment the revision.

    `event_ids` are the events processed by this write. ConflictError when the stored revision
    differs or an event was processed before.
    """

    session: SessionRecord
    event_ids: tuple[str, ...] = ()


@record
class ForgetSessions:
    """Delete the sessions of a project with their processed events, scratchpads, signals and the
    log of what was injected. Memories stay."""

    project: str


@record
class SaveReadPosition:
    """Record how far an event file was processed."""

    position: ReadPosition


@record
class Announce:
    """Log activity that is no change of a memory or session, such as detected skills."""

    kind: ActivityKind
    project: str
    subject: str


@record
class PutScratchpad:
    """Write a scratchpad whose revision is still the stored one, and increment the revision.
    ConflictError when the stored revision differs."""

    pad: Scratchpad


@record
class PutSignals:
    """Replace a session's signals of the named kinds.

    For each subject the signals of the latest `KEPT_SESSIONS` sessions are stored.
    """

    project: str
    session_id: str
    kinds: tuple[SignalKind, ...]
    signals: tuple[SessionSignal, ...]


@record
class PutExplanation:
    """Store why a memory was promoted. Replaces an earlier explanation; deleted with the memory."""

    explanation: Explanation


@record
class PutInjection:
    """Log an injection. One that is logged already stays; the text of a memory that was deleted
    meanwhile is left out."""

    injection: Injection


@record
class PutVerdicts:
    """Set the outcome of logged lines; unknown ones are skipped."""

    verdicts: tuple[LineVerdict, ...]


@record
class PutSilence:
    """Stop injecting a line unasked, or allow it again when `line` is None."""

    project: str
    line_id: str
    line: SilentLine | None


@record
class RequestReview:
    """Mark a memory for review; an unknown one is skipped."""

    id: str


@record
class CountUse:
    """Count a use of a memory at a moment; an unknown one is skipped."""

    id: str
    at: datetime


InjectionChange: TypeAlias = PutInjection | PutVerdicts | PutSilence
LearningChange: TypeAlias = PutScratchpad | PutSignals | PutExplanation
Change: TypeAlias = (
    Insert
    | Replace
    | Close
    | Rescore
    | Mark
    | Delete
    | PutSession
    | ForgetSessions
    | SaveReadPosition
    | Announce
    | CountUse
    | RequestReview
    | InjectionChange
    | LearningChange
)
