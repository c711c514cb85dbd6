"""The steps of a write, as data: a list of changes is applied all or nothing.

Apart from the ports because whoever only reads need not load them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from wellkept.core.records import record

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.core.activity import ActivityKind
    from wellkept.core.memory import Memory
    from wellkept.core.ports.store import Vector
    from wellkept.core.scratchpad import Explanation, Scratchpad, SessionSignal, SignalKind
    from wellkept.core.sessions import ReadPosition, SessionRecord


@record
class IndexEntry:
    """What the derived indexes should hold for a memory besides its content.

    `extra` is further text to find it by (dates, author, tags, split identifiers). A card without
    a vector leaves the memory out of vector search until a re-index.
    """

    extra: str = ""
    model_id: str | None = None
    vector: Vector | None = None


@record
class Insert:
    """Add a new memory.

    With `unless_said_since`, the number of the latest news when the caller looked for what is
    known, ConflictError when another open memory of the same reach came to say the same, word for
    word, after that: then whoever looks again finds it.
    """

    memory: Memory
    card: IndexEntry
    unless_said_since: int | None = None


@record
class Replace:
    """Write a memory again under the same id.

    With `expected_updated_at`, a memory that was changed since raises ConflictError. A None card
    leaves the derived indexes' extra text and vector as they are.
    """

    memory: Memory
    card: IndexEntry | None = None
    expected_updated_at: datetime | None = None


@record
class Close:
    """End a memory's validity, naming its successor if there is one.

    With `expected_updated_at`, a memory that was changed or closed since raises ConflictError.
    """

    id: str
    at: datetime
    superseded_by: str | None = None
    expected_updated_at: datetime | None = None


@record
class Rescore:
    """Set importance or confidence without counting as an edit."""

    id: str
    importance: float | None = None
    confidence: float | None = None


@record
class Mark:
    """Set or clear (None) the moment since which a memory is stale or archived."""

    id: str
    what: Literal["stale", "archived"]
    at: datetime | None


@record
class Delete:
    """Remove a memory for good, with its index entries, evidence and relations."""

    id: str


@record
class PutSession:
    """Write a session whose revision is still the stored one, and count it up.

    `taken` are the ids of the events that made the difference. A session that someone else wrote
    meanwhile, or an event that was taken before, raises ConflictError.
    """

    session: SessionRecord
    taken: tuple[str, ...] = ()


@record
class ForgetSessions:
    """Remove the sessions of a project with what was noticed in them: which events they were made
    of, scratchpads and sightings. Memories are not touched."""

    project: str


@record
class SaveReadPosition:
    """Note how far a file of events was taken in, together with what was made of them."""

    mark: ReadPosition


@record
class Announce:
    """Tell those who follow that something else is new, such as skills; nothing else changes."""

    kind: ActivityKind
    project: str
    subject: str


@record
class PutScratchpad:
    """Write a scratchpad whose revision is still the stored one, and count it up; one that someone
    else wrote meanwhile raises ConflictError."""

    pad: Scratchpad


@record
class PutSignals:
    """Make these the sightings of a session, in place of those of the named kinds it had before.

    Of each subject the sightings of the latest `KEPT_SESSIONS` sessions are kept.
    """

    project: str
    session_id: str
    kinds: tuple[SignalKind, ...]
    signals: tuple[SessionSignal, ...]


@record
class PutExplanation:
    """Keep why a memory was promoted, in place of what was kept before; it goes with the memory."""

    explanation: Explanation


Observed: TypeAlias = PutScratchpad | PutSignals | PutExplanation
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
    | Observed
)
