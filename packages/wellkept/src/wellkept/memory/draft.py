"""Drafts and patches to storable memories: cleaned, redacted, checked, defaults filled in.

The field table says how each value is checked. Invariant: every memory in the store has passed
`compose` or `amend`, so none holds a secret, an unstorable character or a number out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from wellkept.core.clock import whole_ms
from wellkept.core.codec import Payload, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.memory import (
    MAX_CONTENT_CHARS,
    Evidence,
    Memory,
    MemoryDraft,
    MemoryPatch,
    Relation,
    WorkUnitRef,
)
from wellkept.core.records import fields, replace
from wellkept.core.text import clean
from wellkept.core.types import TYPE_RULES, MemoryType, Scope, Source
from wellkept.memory.fields import EDITABLE, MEMORY_FIELDS, SETTABLE, MemoryField
from wellkept.text.secrets.redaction import redact, redact_json, redact_name

SUSPECT_TAG = "reads-as-instruction"
"""Of a memory that waits for review because its text speaks to the agent."""
EXPLICIT_IMPORTANCE = 0.95
DEFAULT_IMPORTANCE = 0.5
MAX_LABEL_CHARS = 512
_CONFIDENCE = {Source.USER_TAUGHT: 0.95, Source.AGENT_EXPLICIT: 0.8, Source.OBSERVER_INFERRED: 0.6}
_DEFAULT_CONFIDENCE = 0.7
_RAW_TYPES = frozenset({MemoryType.PROMPT, MemoryType.OBSERVATION, MemoryType.TIMELINE})
_MAX_READ_CHARS = 20_000


def compose(draft: MemoryDraft, *, project: str, id: str, now: datetime) -> Memory:
    """The memory made from a draft; UsageError says what is wrong with the draft."""
    values = {row.name: _checked(row, getattr(draft, row.name)) for row in SETTABLE}
    values["payload"] = checked_payload(draft.type, draft.payload)
    session_id = values["session_id"]
    values["scope"] = draft.scope or (
        Scope.MODULE if draft.modules and not draft.session_id else Scope.GLOBAL
    )
    values["valid_from"] = values["valid_from"] or now
    if draft.importance is None:
        is_explicit = draft.source is Source.USER_TAUGHT
        values["importance"] = EXPLICIT_IMPORTANCE if is_explicit else DEFAULT_IMPORTANCE
    if draft.confidence is None:
        values["confidence"] = _CONFIDENCE.get(draft.source, _DEFAULT_CONFIDENCE)
    if _is_suspect(draft, values["content"]):
        values["needs_review"] = True
        values["tags"] = tuple(dict.fromkeys((*values["tags"], SUSPECT_TAG)))
    return Memory(
        **values,
        id=id,
        project=project,
        created_at=now,
        updated_at=now,
        accessed_at=now,
        provenance_sessions=(session_id,) if session_id else (),
        user_verified=draft.source is Source.USER_TAUGHT,
    )


def _is_suspect(draft: MemoryDraft, content: str) -> bool:
    """Whether text that no person taught reads as an instruction to an agent. Raw records of a
    session are never injected and stay as they are."""
    if draft.source is Source.USER_TAUGHT or draft.type in _RAW_TYPES:
        return False
    from wellkept.text.instructions import reads_as_instruction

    return reads_as_instruction(content[:_MAX_READ_CHARS]) is not None


def amend(memory: Memory, patch: MemoryPatch, *, now: datetime) -> Memory:
    """The memory with a patch applied and checked the same way as a new one."""
    values = {
        row.name: _checked(row, value)
        for row in EDITABLE
        if (value := getattr(patch, row.name)) is not None
    }
    kind = patch.type or memory.type
    payload = patch.payload or (memory.payload if kind is memory.type else None)
    values |= {
        "payload": checked_payload(kind, payload),
        "updated_at": max(now, memory.updated_at),
    }
    return replace(memory, **values)


def _checked(row: MemoryField, value: Any) -> Any:
    """A caller's value, cleaned and checked as its row of the field table asks for."""
    if value is None or value == ():
        return value
    if row.name in _CHECKS:
        return _CHECKS[row.name](value)
    if row.limit:
        row.check(value)
        return value if row.limit == "count" else float(value)
    if isinstance(value, StrEnum | Payload | bool):
        return value
    if isinstance(value, str):
        return _label(value, row.noun)
    if isinstance(value, datetime):
        return whole_ms(value)
    return tuple(dict.fromkeys(kept for t in value if (kept := _label(t, row.noun))))


def safe_content(text: str) -> str:
    """Content ready to store: cleaned, redacted, not empty, not too long."""
    if len(text) > MAX_CONTENT_CHARS:
        raise UsageError(
            f"The content has {len(text):,} characters; at most {MAX_CONTENT_CHARS:,} fit in one"
            " memory.",
            hint="Split it, or keep the text in a file and remember what it says.",
        )
    kept = redact(clean(text)).text.strip()
    if not kept:
        raise UsageError(
            "There is nothing to remember: the content is empty"
            + (" once private parts are taken out." if text.strip() else "."),
            hint="Say what should be remembered.",
        )
    return kept


def safe_note(text: str | None) -> str | None:
    """Side text (citation, evidence note) cleaned and redacted; empty becomes None."""
    return (redact(clean(text)).text.strip() or None) if text else None


def checked_payload(type: MemoryType, payload: Payload | None) -> Payload | None:
    """The payload, cleaned and redacted, if it is the one its type calls for."""
    rule = TYPE_RULES[type]
    if payload is None:
        if rule.payload_required and rule.payload is not None:
            raise UsageError(
                f"A memory of type {type.value} needs a {rule.payload.__name__} payload.",
                hint=f"Its fields: {', '.join(field.name for field in fields(rule.payload))}.",
            )
        return None
    if rule.payload is None or not isinstance(payload, rule.payload):
        wanted = rule.payload.__name__ if rule.payload else "no"
        raise UsageError(
            f"A memory of type {type.value} takes {wanted} payload,"
            f" not {payload.__class__.__name__}."
        )
    kept = {name: redact_json(value) for name, value in record_to_json(payload).items()}
    return record_from_json(rule.payload, kept)


def _relations(relations: tuple[Relation, ...]) -> tuple[Relation, ...]:
    return tuple(dict.fromkeys(_relation(relation) for relation in relations))


def _relation(relation: Relation) -> Relation:
    target, file = _label(relation.target_id, "target"), _path(relation.target_file or "")
    if (target is None) == (file is None):
        raise UsageError(
            f"A relation {relation.type.value} has one target.",
            hint="Name either a memory or a file.",
        )
    _RELATION_CONFIDENCE.check(relation.confidence)
    confidence = float(relation.confidence)
    return replace(relation, target_id=target, target_file=file, confidence=confidence)


def _all_evidence(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    return tuple(_evidence(item) for item in evidence)


def _evidence(evidence: Evidence) -> Evidence:
    ref = _label(evidence.ref, "reference of evidence")
    if ref is None:
        raise UsageError("Evidence names what it is.", hint="Give a session, commit, person ...")
    note = safe_note(evidence.note)
    is_safe = (ref, note) == (evidence.ref, evidence.note)
    return evidence if is_safe else replace(evidence, ref=ref, note=note)


def _work_unit(unit: WorkUnitRef) -> WorkUnitRef:
    methodology = _label(unit.methodology, "methodology")
    hierarchy = tuple(_label(step, "work unit") or "" for step in unit.hierarchy)
    if methodology is None or not all(hierarchy) or not hierarchy:
        raise UsageError("A work unit has a methodology and a name.")
    label = _label(unit.label, "label of a work unit") or hierarchy[-1]
    return WorkUnitRef(methodology, hierarchy, label)


def _label(text: str | None, what: str) -> str | None:
    if text is None:
        return None
    kept = " ".join(clean(text).split())
    if len(kept) > MAX_LABEL_CHARS:
        raise UsageError(
            f"The {what} has {len(kept)} characters.", hint=f"At most {MAX_LABEL_CHARS} fit."
        )
    return redact_name(kept) or None


def _paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Project-relative paths with forward slashes; Windows separators are understood."""
    return tuple(dict.fromkeys(kept for p in paths if (kept := _path(p))))


@lru_cache(maxsize=4096)
def _path(path: str) -> str | None:
    """The few files of a project come again and again."""
    kept = _label(path, "file")
    if kept is None:
        return None
    windows = "\\" in kept or (len(kept) > 1 and kept[1] == ":")
    posix = PureWindowsPath(kept).as_posix() if windows else PurePosixPath(kept).as_posix()
    return posix.removeprefix("./")


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "content": safe_content,
    "citation": safe_note,
    "files": _paths,
    "work_unit": _work_unit,
    "relations": _relations,
    "evidence": _all_evidence,
}
_RELATION_CONFIDENCE = replace(MEMORY_FIELDS["confidence"], label="confidence of a relation")
