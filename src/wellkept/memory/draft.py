"""From what a caller says to a record that may be stored: cleaned, redacted, checked, filled in.

Invariant: nothing reaches the store that did not pass `compose` or `amend`; so no secret, no
unstorable character and no number out of range ever does.
"""

from __future__ import annotations

import sys
from datetime import datetime
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath

from wellkept.core.clock import whole_ms
from wellkept.core.codec import Payload, payload_from_json, payload_to_json
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
from wellkept.memory.text.redaction import redact, redact_json

EXPLICIT_IMPORTANCE = 0.95
DEFAULT_IMPORTANCE = 0.5
MAX_LABEL_CHARS = 512
_CONFIDENCE = {Source.USER_TAUGHT: 0.95, Source.AGENT_EXPLICIT: 0.8, Source.OBSERVER_INFERRED: 0.6}
_DEFAULT_CONFIDENCE = 0.7
_MOST_DAYS = sys.float_info.max


def compose(draft: MemoryDraft, *, project: str, id: str, now: datetime) -> Memory:
    """The memory that a draft stands for; UsageError says what is wrong with the draft."""
    session_id = _label(draft.session_id, "session id")
    return Memory(
        id=id,
        project=project,
        type=draft.type,
        content=safe_content(draft.content),
        created_at=now,
        updated_at=now,
        valid_from=whole_ms(draft.valid_from) if draft.valid_from else now,
        accessed_at=now,
        key=_label(draft.key, "key"),
        tags=_labels(draft.tags, "tag"),
        files=_paths(draft.files),
        modules=_labels(draft.modules, "module"),
        importance=_share(
            _default_importance(draft) if draft.importance is None else draft.importance,
            "importance",
        ),
        confidence=_share(
            _CONFIDENCE.get(draft.source, _DEFAULT_CONFIDENCE)
            if draft.confidence is None
            else draft.confidence,
            "confidence",
        ),
        scope=draft.scope or _default_scope(draft),
        source=draft.source,
        author=_label(draft.author, "author"),
        session_id=session_id,
        seq=_count(draft.seq, "position in the session"),
        provenance_sessions=(session_id,) if session_id else (),
        commit_sha=_label(draft.commit_sha, "commit"),
        work_unit=_work_unit(draft.work_unit),
        relations=_relations(draft.relations),
        evidence=tuple(_cited(e) for e in draft.evidence),
        graph_node=_label(draft.graph_node, "graph node"),
        half_life_days=_half_life(draft.half_life_days),
        needs_review=draft.needs_review,
        user_verified=draft.source is Source.USER_TAUGHT,
        pinned=draft.pinned,
        citation=safe_note(draft.citation),
        work_tokens=_count(draft.work_tokens, "work tokens"),
        payload=checked_payload(draft.type, draft.payload),
    )


def amend(memory: Memory, patch: MemoryPatch, *, now: datetime) -> Memory:
    """The memory with a patch applied and checked the same way as a new one."""
    changed = memory.type if patch.type is None else patch.type
    payload = patch.payload or (memory.payload if changed is memory.type else None)
    return replace(
        memory,
        updated_at=max(now, memory.updated_at),
        type=changed,
        payload=checked_payload(changed, payload),
        content=memory.content if patch.content is None else safe_content(patch.content),
        key=memory.key if patch.key is None else _label(patch.key, "key"),
        tags=memory.tags if patch.tags is None else _labels(patch.tags, "tag"),
        files=memory.files if patch.files is None else _paths(patch.files),
        modules=memory.modules if patch.modules is None else _labels(patch.modules, "module"),
        importance=memory.importance
        if patch.importance is None
        else _share(patch.importance, "importance"),
        confidence=memory.confidence
        if patch.confidence is None
        else _share(patch.confidence, "confidence"),
        scope=patch.scope or memory.scope,
        needs_review=memory.needs_review if patch.needs_review is None else patch.needs_review,
        user_verified=memory.user_verified if patch.user_verified is None else patch.user_verified,
        pinned=memory.pinned if patch.pinned is None else patch.pinned,
        citation=memory.citation if patch.citation is None else safe_note(patch.citation),
        relations=memory.relations if patch.relations is None else _relations(patch.relations),
        half_life_days=memory.half_life_days
        if patch.half_life_days is None
        else _half_life(patch.half_life_days),
    )


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
    kept = {name: redact_json(value) for name, value in payload_to_json(payload).items()}
    return payload_from_json(rule.payload, kept)


def _relations(relations: tuple[Relation, ...]) -> tuple[Relation, ...]:
    return tuple(dict.fromkeys(_relation(relation) for relation in relations))


def _relation(relation: Relation) -> Relation:
    target, file = _label(relation.target_id, "target"), _path(relation.target_file or "")
    if (target is None) == (file is None):
        raise UsageError(
            f"A relation {relation.type.value} has one target.",
            hint="Name either a memory or a file.",
        )
    confidence = _share(relation.confidence, "confidence of a relation")
    return replace(relation, target_id=target, target_file=file, confidence=confidence)


def _cited(evidence: Evidence) -> Evidence:
    ref = _label(evidence.ref, "reference of evidence")
    if ref is None:
        raise UsageError("Evidence names what it is.", hint="Give a session, commit, person ...")
    note = safe_note(evidence.note)
    is_safe = (ref, note) == (evidence.ref, evidence.note)
    return evidence if is_safe else replace(evidence, ref=ref, note=note)


def _work_unit(unit: WorkUnitRef | None) -> WorkUnitRef | None:
    if unit is None:
        return None
    methodology = _label(unit.methodology, "methodology")
    hierarchy = tuple(_label(step, "work unit") or "" for step in unit.hierarchy)
    if methodology is None or not all(hierarchy) or not hierarchy:
        raise UsageError("A work unit has a methodology and a name.")
    label = _label(unit.label, "label of a work unit") or hierarchy[-1]
    return WorkUnitRef(methodology, hierarchy, label)


def _default_importance(draft: MemoryDraft) -> float:
    return EXPLICIT_IMPORTANCE if draft.source is Source.USER_TAUGHT else DEFAULT_IMPORTANCE


def _default_scope(draft: MemoryDraft) -> Scope:
    return Scope.MODULE if draft.modules and not draft.session_id else Scope.GLOBAL


def _share(value: float, what: str) -> float:
    if not 0.0 <= value <= 1.0:  # NaN lies nowhere
        raise UsageError(f"The {what} {value} is out of range.", hint="Give a number from 0 to 1.")
    return float(value)


def _half_life(days: float | None) -> float | None:
    if days is None:
        return None
    if not 0 < days <= _MOST_DAYS:
        raise UsageError(f"A half-life of {days} days makes no sense.", hint="Give days above 0.")
    return float(days)


def _count(value: int | None, what: str) -> int | None:
    if value is not None and not 0 <= value < 2**53:
        raise UsageError(f"The {what} {value} is out of range.", hint="Give 0 or more.")
    return value


def _label(text: str | None, what: str) -> str | None:
    if text is None:
        return None
    kept = " ".join(clean(text).split())
    if len(kept) > MAX_LABEL_CHARS:
        raise UsageError(
            f"The {what} has {len(kept)} characters.", hint=f"At most {MAX_LABEL_CHARS} fit."
        )
    return redact(kept).text or None


def _labels(texts: tuple[str, ...], what: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kept for t in texts if (kept := _label(t, what))))


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
