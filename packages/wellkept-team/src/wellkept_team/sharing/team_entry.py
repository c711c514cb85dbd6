"""What travels between a laptop and the team's server, and what a server's record says.

A `PushItem` asks for one change; a `PushResult` says what became of it. A `TeamEntry` is the body
of a record: the statement with who confirmed, withdrew and reviewed it. Texts are checked here, on
their way in: secrets and text that reads as an instruction to an agent are refused.
"""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.records import record, replace
from wellkept.core.team.records import SharedRecord, SharedState
from wellkept.core.text import first_line
from wellkept.core.types import Scope
from wellkept.text.instructions import reads_as_instruction
from wellkept.text.secrets.redaction import redact
from wellkept_team.sharing.shared_file import (
    MAX_CHARS,
    MAX_LABEL_CHARS,
    MAX_LABELS,
    SHARED_TYPES,
    SharedMemory,
)

MAX_ITEMS = 200
_MAX_IDS = 50
_MAX_NAME_CHARS = 80


class PushAction(StrEnum):
    """What a laptop asks for."""

    PUT = "put"
    CLOSE = "close"
    ERASE = "erase"
    CONFIRM = "confirm"


class PushOutcome(StrEnum):
    """What became of it."""

    ACCEPTED = "accepted"
    SAME = "same"
    """Somebody said the same before: `same_as` is that record, which is now confirmed."""
    WAITS = "waits"
    """It waits for a second person or a reviewer."""
    CONFLICT = "conflict"
    """The record was reworded meanwhile; the laptop keeps its own beside it."""
    REFUSED = "refused"


@record(kw_only=True)
class PushItem:
    """One change. `base` is the number of the record that the laptop knows, 0 for none."""

    action: PushAction
    id: str
    base: int = 0
    shared: SharedMemory | None = None
    vouched: bool = False
    """Whether a person said or confirmed it, rather than a program."""
    rivals: tuple[str, ...] = ()
    """Records that it was kept beside."""
    until: datetime | None = None
    superseded_by: str | None = None


@record(kw_only=True)
class PushResult:
    """What became of one item; `seq` is the record's number now."""

    id: str
    outcome: PushOutcome
    seq: int = 0
    state: SharedState | None = None
    same_as: str | None = None
    reason: str | None = None


@record(kw_only=True)
class TeamEntry:
    """The body of a record; without a statement once it is erased."""

    shared: SharedMemory | None
    until: datetime | None = None
    superseded_by: str | None = None
    ended_by: str | None = None
    heirs: tuple[str, ...] = ()
    """Records that replace this one."""
    rivals: tuple[str, ...] = ()
    """Records that cannot hold beside this one, until somebody decides."""
    confirmed_by: tuple[str, ...] = ()
    withdrawn_by: tuple[str, ...] = ()
    reviewer: str | None = None
    reviewed_at: datetime | None = None
    past: tuple[str, ...] = ()
    """Marks of earlier wordings."""
    was_team: bool = False
    """Whether it was ever the team's: what ended then was not a mere proposal turned down."""

    @property
    def decided_by(self) -> str | None:
        """Who made it the team's: a reviewer, or the people who confirmed it."""
        if self.reviewer is not None:
            return self.reviewer
        return " and ".join(self.confirmed_by[:2]) if len(self.confirmed_by) > 1 else None


@record(kw_only=True)
class TeamChange:
    """A record as a laptop pulls it."""

    id: str
    seq: int
    state: SharedState
    owner: str
    entry: TeamEntry


@record(kw_only=True)
class Pulled:
    """One page of changes. `log` names this history: another one means to begin anew."""

    changes: tuple[TeamChange, ...]
    cursor: int
    head: int
    log: str
    at: datetime
    handoffs: str = ""
    """Changes when a branch is handed over."""


def entry_of(record: SharedRecord) -> TeamEntry:
    """What a record says."""
    return record_from_json(TeamEntry, json.loads(record.body))


def body_of(entry: TeamEntry) -> str:
    """An entry as the store keeps it."""
    return json.dumps(record_to_json(entry), ensure_ascii=False, sort_keys=True)


def change_of(record: SharedRecord) -> TeamChange:
    """A record as it is listed."""
    return TeamChange(
        id=record.id,
        seq=record.seq,
        state=told_state(record.state),
        owner=record.owner,
        entry=entry_of(record),
    )


def change_for(record: SharedRecord, person: str) -> TeamChange:
    """A record as a person pulls it: what was brought back is a proposal of its owner's, and ended
    for everybody else until somebody decides."""
    change = change_of(record)
    if record.state is not SharedState.BROUGHT_BACK:
        return change
    if record.owner == person:
        return replace(change, entry=without_end(change.entry))
    return replace(change, state=SharedState.CLOSED)


def told_state(state: SharedState) -> SharedState:
    """The state as laptops know it."""
    return SharedState.PROPOSED if state is SharedState.BROUGHT_BACK else state


def without_end(entry: TeamEntry) -> TeamEntry:
    """An entry that holds again."""
    return replace(entry, until=None, superseded_by=None, ended_by=None)


def checked_item(data: dict[str, Json]) -> PushItem:
    """A push item from outside; UsageError says what does not fit."""
    item = record_from_json(PushItem, data)
    if not is_full_id(item.id):
        raise UsageError(f"{item.id!r} is not a full id.")
    for name, ids in (("rivals", item.rivals), ("superseded_by", (item.superseded_by,))):
        if len(ids) > _MAX_IDS or any(one is not None and not is_full_id(one) for one in ids):
            raise UsageError(f"{name} must hold full ids, at most {_MAX_IDS}.")
    return item


def checked_shared(shared: SharedMemory, *, author: str, now: datetime) -> SharedMemory:
    """A statement from outside as it is stored; UsageError says why it is refused."""
    if shared.type not in SHARED_TYPES:
        raise UsageError(f"A {shared.type.value} cannot be shared.")
    if shared.scope is Scope.USER:
        raise UsageError("A memory about a person is not shared.")
    content = shared.content.strip()
    if not content or len(content) > MAX_CHARS:
        raise UsageError(f"A statement has between 1 and {MAX_CHARS:,} characters.")
    if reason := reads_as_instruction(content):
        raise UsageError(f"The text reads as an instruction to an agent ({reason}).")
    labels = (*shared.tags, *shared.files, *shared.modules)
    if any(redact(text, shown=True).changed for text in (content, *labels)):
        raise UsageError("The text holds a secret.")
    if len(labels) > 3 * MAX_LABELS or any(len(one) > MAX_LABEL_CHARS for one in labels):
        raise UsageError(f"At most {MAX_LABELS} labels of {MAX_LABEL_CHARS} characters each.")
    if len(shared.replaces) > _MAX_IDS or not all(map(is_full_id, shared.replaces)):
        raise UsageError(f"replaces must hold full ids, at most {_MAX_IDS}.")
    return replace(
        shared,
        content=content,
        author=first_line(redact(author).text, limit=_MAX_NAME_CHARS),
        importance=min(1.0, max(0.0, shared.importance)),
        confidence=min(1.0, max(0.0, shared.confidence)),
        since=min(shared.since, now),
    )
