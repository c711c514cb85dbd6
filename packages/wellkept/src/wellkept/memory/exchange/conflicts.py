"""Merge rules for imported memories. History is never overwritten.

- Unknown id: inserted with all its fields.
- Known id: the later `updated_at` wins; the store wins a tie. Content that loses stays with the
  winner as `merged` evidence. Evidence and sessions of both sides are united. Counters alone never
  cause a write.
- Known id with the same time and content but another type or payload: refused, because neither
  side is later.
- Open key held by another open memory: the later one stays open, the other is closed and points
  to it.
- Known id in another project: refused; a file never moves a memory between projects.

Invariant: importing the same records a second time changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar, cast

from wellkept.core.changes import Change, Insert, Replace
from wellkept.core.clock import parse_moment
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError
from wellkept.core.generated_skills import GeneratedSkill, SkillOrigin, SkillReview
from wellkept.core.ids import is_full_id
from wellkept.core.memory import Evidence, Memory
from wellkept.core.ports.store import Store
from wellkept.core.records import record, replace
from wellkept.core.types import EvidenceKind, Scope
from wellkept.memory.engine import Engine
from wellkept.text.secrets.redaction import redact

if TYPE_CHECKING:
    from datetime import datetime

MARK = "skill"
MAX_TEXT_CHARS = 1 << 20
IMPORTED_NOTE = "Came with an import; look at it with `wellkept skill review`."


def skill_to_json(skill: GeneratedSkill) -> dict[str, Json]:
    """A skill as the line of an export."""
    return {
        MARK: {
            "id": skill.id,
            "project": skill.project,
            "name": skill.name,
            "text": skill.text,
            "origin": skill.origin.value,
            "made_by": skill.made_by,
            "created_at": skill.created_at.isoformat(),
            "updated_at": skill.updated_at.isoformat(),
            "session_ids": list(skill.session_ids),
            "observation_ids": list(skill.observation_ids),
            "commit_sha": skill.commit_sha,
        }
    }


def skill_from_json(line: dict[str, Json]) -> GeneratedSkill:
    """The skill on a line, disabled and pending review; UsageError names what does not fit."""
    given = line[MARK]
    if not isinstance(given, dict):
        raise UsageError("a skill must be an object.")
    text, name = _text(given, "text"), _text(given, "name")
    if len(text) > MAX_TEXT_CHARS or redact(text).changed or redact(name).changed:
        raise UsageError(f"the skill {name[:64]!r} is too large or holds a secret.")
    made_by = given.get("made_by")
    return GeneratedSkill(
        id=_id(given),
        project=_text(given, "project"),
        name=name,
        text=text,
        created_at=_moment(given, "created_at"),
        updated_at=_moment(given, "updated_at"),
        origin=SkillOrigin.REFINED if given.get("origin") == "refined" else SkillOrigin.GENERATED,
        made_by=made_by if made_by in ("model", "person") else "rules",
        review=SkillReview.PENDING,
        note=IMPORTED_NOTE,
        session_ids=_texts(given, "session_ids"),
        observation_ids=_texts(given, "observation_ids"),
        commit_sha=_text(given, "commit_sha") if given.get("commit_sha") else None,
    )


def _text(given: dict[str, Json], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError(f"the skill's {name} must be a text.")
    return value


def _texts(given: dict[str, Json], name: str) -> tuple[str, ...]:
    value = given.get(name)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(redact(item).text for item in items if isinstance(item, str))


def _id(given: dict[str, Json]) -> str:
    value = _text(given, "id")
    if not is_full_id(value):
        raise UsageError("the skill's id is not one.")
    return value


def _moment(given: dict[str, Json], name: str) -> datetime:
    return parse_moment(_text(given, name))


_Slot = tuple[str, str]
_Item = TypeVar("_Item")


class ImportOutcome(StrEnum):
    """What happened to an imported record."""

    NEW = "new"
    MERGED = "merged"
    SKIPPED = "skipped"


@record
class ConflictResult:
    """What happened to one record, and why when a report should say so."""

    outcome: ImportOutcome
    reason: str | None = None


class PendingImport:
    """The store as it will be once the records handled so far are written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stored: dict[str, Memory] = {}
        self._pending: dict[str, Memory] = {}
        self._keys: dict[_Slot, str | None] = {}

    def preload(self, ids: Iterable[str]) -> None:
        """Fetch with one query the memories that will be needed."""
        missing = [name for name in ids if name not in self._stored]
        self._stored.update((memory.id, memory) for memory in self._store.get(missing))

    def get(self, id: str) -> Memory | None:
        """The memory as it will be; only preloaded ids and key holders are known."""
        return self._pending.get(id) or self._stored.get(id)

    def holder(self, memory: Memory) -> Memory | None:
        """The other open memory that holds this memory's key."""
        slot = _slot(memory)
        if slot is None:
            return None
        if slot in self._keys:
            held = self._keys[slot]
            found = self.get(held) if held else None
        else:
            found = self._store.find_key(
                slot[1], project=memory.project, user_scope=memory.scope is Scope.USER
            )
            if found is not None:
                self._stored.setdefault(found.id, found)
        return found if found is not None and found.id != memory.id else None

    def put(self, memory: Memory) -> None:
        """Set how a memory will be."""
        before = self.get(memory.id)
        if before is not None and (slot := _slot(before)) is not None:
            self._keys[slot] = None
        self._pending[memory.id] = memory
        if (slot := _slot(memory)) is not None:
            self._keys[slot] = memory.id

    def changes(self, engine: Engine) -> list[Change]:
        """The changes to write. Closing comes first: it frees keys that others take."""
        closed_first = sorted(self._pending.values(), key=lambda memory: memory.is_open)
        entries = dict(
            zip(self._pending, engine.index_entries(list(self._pending.values())), strict=True)
        )
        return [
            Replace(memory, entries[memory.id], self._stored[memory.id].updated_at)
            if memory.id in self._stored
            else Insert(memory, entries[memory.id])
            for memory in closed_first
        ]


def resolve(pending: PendingImport, incoming: Memory) -> ConflictResult:
    """Decide about one record and note the outcome; UsageError when it is refused."""
    known = pending.get(incoming.id)
    if known is None:
        return _add(pending, incoming, ConflictResult(ImportOutcome.NEW))
    if known.project != incoming.project:
        raise UsageError(f"The memory {incoming.id} already belongs to {known.project!r}.")
    if incoming.updated_at > known.updated_at:
        merged = _merged(incoming, known)
        result = ConflictResult(
            ImportOutcome.MERGED, f"{incoming.short}: the file has the later version"
        )
        return _add(pending, _with_counters(merged, known), result)
    if _differs_in_kind_only(incoming, known):
        raise UsageError(
            f"The memory {incoming.id} has another type or payload but the same updated_at.",
            hint="Give the later one a later updated_at, or edit the Markdown export.",
        )
    merged = _merged(known, incoming)
    if merged == known:
        return ConflictResult(ImportOutcome.SKIPPED)
    pending.put(merged)
    age = "another" if incoming.updated_at == known.updated_at else "an earlier"
    return ConflictResult(
        ImportOutcome.MERGED, f"{incoming.short}: {age} version, kept as evidence"
    )


def _add(pending: PendingImport, memory: Memory, result: ConflictResult) -> ConflictResult:
    """Add a memory. Of two that claim a key, the later one stays open."""
    other = pending.holder(memory)
    if other is None:
        pending.put(memory)
        return result
    if memory.updated_at > other.updated_at:
        pending.put(_closed(other, memory, at=max(other.updated_at, memory.updated_at)))
        pending.put(memory)
        reason = f"key {memory.key!r}: {memory.short} is later and supersedes {other.short}"
    else:
        pending.put(_closed(memory, other, at=memory.updated_at))
        reason = f"key {memory.key!r}: {other.short} is later; {memory.short} is kept as closed"
    return ConflictResult(ImportOutcome.MERGED, reason)


def _closed(memory: Memory, by: Memory, *, at: datetime) -> Memory:
    return replace(
        memory,
        valid_to=max(memory.valid_from, by.valid_from),
        superseded_by=by.id,
        updated_at=at,
    )


def _merged(winner: Memory, loser: Memory) -> Memory:
    """The winner with the content, evidence and sessions of the loser."""
    evidence = _united(winner.evidence, loser.evidence)
    known = {item.note for item in evidence} | {winner.content}
    if loser.content not in known:
        lost = Evidence(EvidenceKind.MERGED, loser.id, loser.content, loser.updated_at)
        evidence = (*evidence, lost)
    return replace(
        winner,
        evidence=evidence,
        provenance_sessions=_united(winner.provenance_sessions, loser.provenance_sessions),
    )


def _with_counters(memory: Memory, known: Memory) -> Memory:
    return replace(
        memory,
        access_count=max(memory.access_count, known.access_count),
        accessed_at=max(memory.accessed_at, known.accessed_at),
    )


def _differs_in_kind_only(left: Memory, right: Memory) -> bool:
    if (left.updated_at, left.content) != (right.updated_at, right.content):
        return False
    return (left.type, left.payload) != (right.type, right.payload)


def _slot(memory: Memory) -> _Slot | None:
    """What makes an open key unique: the project, or the person for `user` memories."""
    if memory.key is None or not memory.is_open:
        return None
    return ("" if memory.scope is Scope.USER else memory.project, memory.key)


def _united(left: tuple[_Item, ...], right: tuple[_Item, ...]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys((*left, *right)))
