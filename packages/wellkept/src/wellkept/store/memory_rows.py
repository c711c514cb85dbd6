"""Converts a `Memory` to a row and back without loss.

Lists and nested records are JSON columns. Invariant: `to_memory(to_row(m)) == m` for every storable
memory. Knows nothing of queries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime
from typing import ParamSpec, TypeVar, cast

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.codec import Payload, record_from_json, record_to_json
from wellkept.core.errors import StoreCorruptError, UsageError
from wellkept.core.ids import is_full_id, short_id
from wellkept.core.memory import Evidence, Memory, Relation, WorkUnitRef
from wellkept.core.query import Candidate
from wellkept.core.types import TYPE_RULES, EvidenceKind, MemoryType, RelationType, Scope, Source
from wellkept.store.rows import DAMAGE, Row, SqlValue, dump, require_unit
from wellkept.store.sqlite.checksums import MEMORIES, Covered

_Rest = ParamSpec("_Rest")
_Record = TypeVar("_Record")
# What damaged text, numbers and names raise when they are read.


COLUMNS = (
    "id", "short", "project", "type", "scope", "source", "session_id", "seq", "author",
    "importance", "confidence", "created_ms", "updated_ms", "valid_from_ms", "valid_to_ms",
    "accessed_ms", "access_count", "stale_ms", "archived_ms", "needs_review", "user_verified",
    "pinned", "key", "superseded_by", "content_chars", "tags", "files", "modules",
    "provenance_sessions", "commit_sha", "work_unit", "relations", "evidence", "graph_node",
    "half_life_days", "citation", "work_tokens", "payload", "content",
)  # fmt: skip
SELECTED = ", ".join(f"m.{name}" for name in COLUMNS)
_COVERED = Covered(MEMORIES, COLUMNS)

_CANDIDATE_COLUMNS = (
    "id", "type", "session_id", "seq", "author", "importance", "confidence", "valid_from_ms",
    "accessed_ms", "access_count", "content_chars", "stale_ms IS NOT NULL",
    "valid_to_ms IS NOT NULL", "needs_review",
)  # fmt: skip
SELECTED_CANDIDATE = ", ".join(f"m.{name}" for name in _CANDIDATE_COLUMNS)

# One statement for any number of ids, so that it is prepared only once.
BY_IDS = "json_each(?) j CROSS JOIN memories m ON m.id = j.value"


def as_list(ids: Sequence[str]) -> str:
    """Distinct ids as the parameter of `BY_IDS`."""
    return json.dumps(list(dict.fromkeys(ids)))


# -- Writing ------------------------------------------------------------------------------------


def to_row(memory: Memory) -> tuple[SqlValue, ...]:
    """The values of `COLUMNS`; UsageError for a memory that cannot be stored."""
    require_storable(memory)
    unit, payload = memory.work_unit, memory.payload
    relations = [
        (r.type.value, r.target_id, r.target_file, r.confidence, r.auto_extracted)
        for r in memory.relations
    ]
    return (
        memory.id, short_id(memory.id), memory.project, memory.type.value, memory.scope.value,
        memory.source.value, memory.session_id, memory.seq, memory.author,
        memory.importance, memory.confidence, to_ms(memory.created_at), to_ms(memory.updated_at),
        to_ms(memory.valid_from), _ms(memory.valid_to),
        to_ms(memory.accessed_at), memory.access_count, _ms(memory.stale_at),
        _ms(memory.archived_at), memory.needs_review, memory.user_verified,
        memory.pinned, memory.key, memory.superseded_by, len(memory.content),
        dump(memory.tags), dump(memory.files), dump(memory.modules),
        dump(memory.provenance_sessions), memory.commit_sha,
        None if unit is None else dump([unit.methodology, unit.hierarchy, unit.label]),
        dump(relations),
        dump([(e.kind.value, e.ref, e.note, _ms(e.at)) for e in memory.evidence]),
        memory.graph_node, memory.half_life_days, memory.citation, memory.work_tokens,
        None if payload is None else dump(record_to_json(payload)),
        memory.content,
    )  # fmt: skip


def summed_row(memory: Memory) -> tuple[SqlValue, ...]:
    """The values of `COLUMNS`, and their checksum."""
    row = to_row(memory)
    return (*row, _COVERED.checksum(row))


def require_storable(memory: Memory) -> None:
    """UsageError for values that would break an invariant of the rows."""
    if not is_full_id(memory.id):
        raise UsageError(f"{memory.id!r} is not a memory id.", hint="Ids are lower-case UUIDs.")
    if not memory.project:
        raise UsageError(f"The memory {memory.id} has no project.")
    require_unit("importance", memory.importance)
    require_unit("confidence", memory.confidence)
    if memory.half_life_days is not None and not math.isfinite(memory.half_life_days):
        raise UsageError(f"half_life_days must be a finite number, not {memory.half_life_days}.")
    if any("\0" in label for label in (*memory.tags, *memory.files, *memory.modules)):
        # SQLite's JSON stops at NUL, so the labels could not be rebuilt.
        raise UsageError(f"A tag, file or module of the memory {memory.id} contains a NUL.")
    if memory.access_count < 0:
        raise UsageError(f"access_count must not be negative, but is {memory.access_count}.")


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else to_ms(moment)


# -- Reading ------------------------------------------------------------------------------------


_TYPES = {member.value: member for member in MemoryType}
_SCOPES = {member.value: member for member in Scope}
_SOURCES = {member.value: member for member in Source}


def to_memory(row: Row) -> Memory:
    """The memory of a row of `COLUMNS`."""
    try:
        return _build(row)
    except DAMAGE as error:
        raise _unreadable(row[0], error) from error


def _unreadable(full_id: str, why: object) -> StoreCorruptError:
    return StoreCorruptError(
        f"The memory {full_id} cannot be read: {why}.",
        hint="Restore a backup with `wellkept admin restore`, or delete that memory.",
    )


def _build(row: Row) -> Memory:
    (
        full_id, _, project, type_name, scope, source, session_id, seq, author,
        importance, confidence, created_ms, updated_ms, valid_from_ms, valid_to_ms,
        accessed_ms, access_count, stale_ms, archived_ms, needs_review, user_verified,
        pinned, key, superseded_by, _, tags, files, modules,
        provenance_sessions, commit_sha, work_unit, relations, evidence, graph_node,
        half_life_days, citation, work_tokens, payload, content,
    ) = row  # fmt: skip
    kind = _TYPES[type_name]
    if not is_full_id(full_id):
        raise ValueError("its id is damaged")
    # A damaged row can hold values of another kind than its columns.
    if not (
        isinstance(project, str)
        and isinstance(content, str)
        and isinstance(importance, float)
        and isinstance(confidence, float)
        and isinstance(access_count, int)
    ):
        raise TypeError("a value is damaged")
    return Memory(
        id=full_id,
        project=project,
        type=kind,
        content=content,
        created_at=from_ms(created_ms),
        updated_at=from_ms(updated_ms),
        valid_from=from_ms(valid_from_ms),
        accessed_at=from_ms(accessed_ms),
        key=key,
        tags=_strings(tags),
        files=_strings(files),
        modules=_strings(modules),
        importance=importance,
        confidence=confidence,
        scope=_SCOPES[scope],
        source=_SOURCES[source],
        author=author,
        session_id=session_id,
        seq=seq,
        provenance_sessions=_strings(provenance_sessions),
        commit_sha=commit_sha,
        work_unit=_work_unit(work_unit),
        relations=_relations(relations),
        evidence=_evidence(evidence),
        graph_node=graph_node,
        half_life_days=half_life_days,
        needs_review=bool(needs_review),
        user_verified=bool(user_verified),
        pinned=bool(pinned),
        citation=citation,
        work_tokens=work_tokens,
        payload=_payload(kind, payload),
        valid_to=_moment(valid_to_ms),
        superseded_by=superseded_by,
        stale_at=_moment(stale_ms),
        archived_at=_moment(archived_ms),
        access_count=access_count,
    )


def to_candidate(row: Row) -> Candidate:
    """The candidate of a row that begins with `SELECTED_CANDIDATE`."""
    kind = _TYPES.get(row[1])  # a dict lookup is faster than the enum call
    if kind is None:
        raise _unreadable(row[0], f"{row[1]!r} is not a memory type")
    if not (isinstance(row[5], float) and isinstance(row[6], float)) or None in row[7:11]:
        raise _unreadable(row[0], "a value is damaged")
    return Candidate(row[0], kind, *row[2:11], *map(bool, row[11:14]))


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_ms(value)


def _strings(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(cast("list[str]", json.loads(text)))


def _work_unit(text: str | None) -> WorkUnitRef | None:
    if text is None:
        return None
    methodology, hierarchy, label = json.loads(text)
    return WorkUnitRef(methodology, tuple(hierarchy), label)


def _relations(text: str) -> tuple[Relation, ...]:
    if text == "[]":
        return ()
    return tuple(Relation(RelationType(kind), *rest) for kind, *rest in json.loads(text))


def _evidence(text: str) -> tuple[Evidence, ...]:
    if text == "[]":
        return ()
    return tuple(
        Evidence(EvidenceKind(kind), ref, note, _moment(at))
        for kind, ref, note, at in json.loads(text)
    )


def _payload(kind: MemoryType, text: str | None) -> Payload | None:
    if text is None:
        return None
    shape = TYPE_RULES[kind].payload
    if shape is None:
        raise ValueError(f"a {kind} carries no payload")
    return record_from_json(shape, json.loads(text))
