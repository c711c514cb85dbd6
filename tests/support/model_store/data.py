"""What the model store keeps, and what each change does to it."""

from __future__ import annotations

import math
from array import array
from typing import Any

from wellkept.core.changes import (
    Announce,
    Change,
    Close,
    CountUse,
    Delete,
    ForgetSessions,
    IndexEntry,
    InjectionChange,
    Insert,
    LearningChange,
    Mark,
    PutInjection,
    PutScratchpad,
    PutSession,
    PutSignals,
    PutSilence,
    PutVerdicts,
    Replace,
    RequestReview,
    Rescore,
    SaveReadPosition,
)
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.ids import is_full_id
from wellkept.core.memory import Memory
from wellkept.core.ports.injections import Injection, SilentLine
from wellkept.core.ports.models import Vector
from wellkept.core.ports.skills import SkillUse
from wellkept.core.ports.store import UndoStep
from wellkept.core.records import field, record, replace
from wellkept.core.session.activity import Activity
from wellkept.core.session.scratchpad import (
    MAX_SESSIONS_PER_SUBJECT,
    Explanation,
    Scratchpad,
    SessionSignal,
)
from wellkept.core.session.sessions import ReadPosition, SessionRecord
from wellkept.core.skills import GeneratedSkill, SkillRun, SkillVersion
from wellkept.core.team.records import SharedRecord
from wellkept.core.text import comparison_key
from wellkept.core.types import Scope


@record(frozen=False)
class ModelData:
    """Everything that is kept."""

    memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    extras: dict[str, str] = field(default_factory=dict[str, str])
    vectors: dict[tuple[str, str], Vector] = field(default_factory=dict[tuple[str, str], Vector])
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    links: dict[tuple[str, str, str], tuple[float, int]] = field(
        default_factory=dict[tuple[str, str, str], tuple[float, int]]
    )
    sessions: dict[str, SessionRecord] = field(default_factory=dict[str, SessionRecord])
    taken: dict[str, str] = field(default_factory=dict[str, str])
    marks: dict[str, ReadPosition] = field(default_factory=dict[str, ReadPosition])
    uses: dict[tuple[str, str], SkillUse] = field(default_factory=dict[tuple[str, str], SkillUse])
    library: dict[str, GeneratedSkill] = field(default_factory=dict[str, GeneratedSkill])
    editions: dict[str, list[SkillVersion]] = field(default_factory=dict[str, list[SkillVersion]])
    runs: dict[tuple[str, str], SkillRun] = field(default_factory=dict[tuple[str, str], SkillRun])
    news: list[Activity] = field(default_factory=list[Activity])
    pads: dict[str, Scratchpad] = field(default_factory=dict[str, Scratchpad])
    signals: dict[tuple[str, str, str, str], SessionSignal] = field(
        default_factory=dict[tuple[str, str, str, str], SessionSignal]
    )
    reasons: dict[str, Explanation] = field(default_factory=dict[str, Explanation])
    injections: dict[str, Injection] = field(default_factory=dict[str, Injection])
    silent: dict[tuple[str, str], SilentLine] = field(
        default_factory=dict[tuple[str, str], SilentLine]
    )
    steps: dict[str, tuple[UndoStep, dict[str, Any], tuple[str, ...], dict[str, Any] | None]] = (
        field(default_factory=dict[str, Any])
    )
    archived: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    team: dict[tuple[str, str], SharedRecord] = field(
        default_factory=dict[tuple[str, str], SharedRecord]
    )


def make_change(data: ModelData, change: Change) -> None:
    match change:
        case Insert(memory, index_entry, since):
            _require_new(data, memory)
            _require_unsaid(data, memory, since)
            _put(data, memory)
            put_index_entry(data, memory.id, index_entry)
        case Replace():
            _replace(data, change)
        case Close():
            _close(data, change)
        case Rescore(memory_id, importance, confidence, expected):
            m = _find(data, memory_id)
            if expected not in (None, m.importance):
                raise ConflictError("A memory was rescored meanwhile.")
            importance = m.importance if importance is None else importance
            confidence = m.confidence if confidence is None else confidence
            _put(data, replace(m, importance=importance, confidence=confidence))
        case Mark(memory_id, what, at):
            m = _find(data, memory_id)
            _put(data, replace(m, stale_at=at) if what == "stale" else replace(m, archived_at=at))
        case Delete(memory_id):
            _delete(data, memory_id)
        case PutSession(session, taken):
            _put_session(data, session, taken)
        case ForgetSessions(project):
            _forget_sessions(data, project)
        case SaveReadPosition(mark):
            _put_mark(data, mark)
        case CountUse() | RequestReview():
            _update_if_there(data, change)
        case _:
            _put_record(data, change)


def _put_record(data: ModelData, change: LearningChange | InjectionChange | Announce) -> None:
    match change:
        case Announce():
            _require_subject(change)
        case PutInjection() | PutVerdicts() | PutSilence():
            from tests.support.model_store.injections import put_injection_change

            put_injection_change(data, change)
        case _:
            _put_learning_change(data, change)


def _update_if_there(data: ModelData, change: CountUse | RequestReview) -> None:
    m = data.memories.get(change.id)
    if m is None:
        return
    if isinstance(change, RequestReview):
        _put(data, replace(m, needs_review=True))
        return
    later = max(m.accessed_at, change.at)
    _put(data, replace(m, access_count=m.access_count + 1, accessed_at=later))


def _require_unsaid(data: ModelData, memory: Memory, since: int | None) -> None:
    if since is None:
        return
    later = [news for news in data.news if news.number > since]
    named = (data.memories.get(news.memory_id or "") for news in later)
    same = [
        m
        for m in named
        if m and m.is_open and comparison_key(m.content) == comparison_key(memory.content)
    ]
    missing = bool(data.news) and data.news[0].number > since + 1
    if missing or any(_reach(m) == _reach(memory) for m in same):
        raise ConflictError("Another process has just stored the same text.")


def _reach(memory: Memory) -> tuple[str, Scope]:
    return "" if memory.scope is Scope.USER else memory.project, memory.scope


def _replace(data: ModelData, change: Replace) -> None:
    memory, expected = change.memory, change.expected_updated_at
    before = _find(data, memory.id)
    if expected is not None and before.updated_at != expected:
        raise ConflictError(f"The memory {memory.id} was changed meanwhile.")
    _put(data, memory)
    if change.index_entry is not None:
        _drop_vectors_of(data, memory.id)
        put_index_entry(data, memory.id, change.index_entry)


def _forget_sessions(data: ModelData, project: str) -> None:
    data.sessions = {i: s for i, s in data.sessions.items() if s.project != project}
    data.taken = {event: i for event, i in data.taken.items() if i in data.sessions}
    data.pads = {i: pad for i, pad in data.pads.items() if pad.project != project}
    data.signals = {key: s for key, s in data.signals.items() if s.project != project}
    data.injections = {i: one for i, one in data.injections.items() if one.project != project}
    data.silent = {key: line for key, line in data.silent.items() if key[0] != project}


def _close(data: ModelData, change: Close) -> None:
    m, expected = _find(data, change.id), change.expected_updated_at
    if expected is not None and (m.updated_at != expected or not m.is_open):
        raise ConflictError(f"The memory {change.id} was changed meanwhile.")
    closed = replace(m, valid_to=change.at, updated_at=max(m.updated_at, change.at))
    _put(data, replace(closed, superseded_by=change.superseded_by))


def _put_mark(data: ModelData, mark: ReadPosition) -> None:
    if mark.offset < 0 or not mark.source:
        raise UsageError(f"{mark} is no place in a file.")
    data.marks[mark.source] = mark


def _put_learning_change(data: ModelData, change: LearningChange) -> None:
    if isinstance(change, PutScratchpad):
        _put_scratchpad(data, change.pad)
    elif isinstance(change, PutSignals):
        _put_signals(data, change)
    else:
        _find(data, change.explanation.memory_id)
        data.reasons[change.explanation.memory_id] = change.explanation


def _put_scratchpad(data: ModelData, pad: Scratchpad) -> None:
    if not pad.session_id or not pad.project:
        raise UsageError("A scratchpad needs a session and a project.")
    before = data.pads.get(pad.session_id)
    if (before.revision if before else 0) != pad.revision:
        raise ConflictError(f"The scratchpad of {pad.session_id} was changed meanwhile.")
    data.pads[pad.session_id] = replace(pad, revision=pad.revision + 1)


def _put_signals(data: ModelData, change: PutSignals) -> None:
    for s in change.signals:
        at_home = (s.project, s.session_id) == (change.project, change.session_id)
        if not at_home or s.kind not in change.kinds or s.count < 1 or not s.subject:
            raise UsageError(f"{s} is no sighting of session {change.session_id}.")
    kept = {
        key: s
        for key, s in data.signals.items()
        if s.session_id != change.session_id or s.kind not in change.kinds
    }
    kept |= {(s.project, s.kind, s.subject, s.session_id): s for s in change.signals}
    for about in {(s.project, s.kind, s.subject) for s in change.signals}:
        same = sorted((s.at, key) for key, s in kept.items() if key[:3] == about)
        for _, key in same[:-MAX_SESSIONS_PER_SUBJECT]:
            del kept[key]
    data.signals = kept


def _require_subject(news: Announce) -> None:
    if not (news.project and news.subject):
        raise UsageError(f"News of {news.kind.value} need a project and a subject.")


def _put_session(data: ModelData, session: SessionRecord, taken: tuple[str, ...]) -> None:
    if not session.id or not session.project:
        raise UsageError("A session needs an id and a project.")
    before = data.sessions.get(session.id)
    if (before.revision if before else 0) != session.revision:
        raise ConflictError(f"The session {session.id} was changed meanwhile.")
    if data.taken.keys() & set(taken) or len(set(taken)) < len(taken):
        raise ConflictError(f"An event of the session {session.id} was already processed.")
    data.sessions[session.id] = replace(session, revision=session.revision + 1)
    data.taken |= dict.fromkeys(taken, session.id)


def _require_new(data: ModelData, memory: Memory) -> None:
    if memory.id in data.memories:
        raise ConflictError(f"There is already a memory with the id {memory.id}.")


def _find(data: ModelData, memory_id: str) -> Memory:
    if memory_id not in data.memories:
        raise NotFoundError(f"There is no memory with the id {memory_id}.")
    return data.memories[memory_id]


def _put(data: ModelData, memory: Memory) -> None:
    if not (0 <= memory.importance <= 1 and 0 <= memory.confidence <= 1):
        raise UsageError("importance and confidence must be between 0 and 1.")
    if not is_full_id(memory.id) or not memory.project:
        raise UsageError("A memory needs an id and a project.")
    key = open_key(memory)
    if key and any(m.id != memory.id and open_key(m) == key for m in data.memories.values()):
        raise ConflictError(f"The key {memory.key!r} already belongs to another open memory.")
    data.memories[memory.id] = memory


def put_index_entry(data: ModelData, memory_id: str, index_entry: IndexEntry) -> None:
    data.extras[memory_id] = index_entry.extra
    if index_entry.vector is None:
        _drop_vectors_of(data, memory_id)
        return
    if index_entry.model_id is None:
        raise UsageError("A vector needs the id of the model that made it.")
    require_vector(data, index_entry.model_id, index_entry.vector)
    data.vectors[memory_id, index_entry.model_id] = index_entry.vector


def _drop_vectors_of(data: ModelData, memory_id: str) -> None:
    for key in [key for key in data.vectors if key[0] == memory_id]:
        del data.vectors[key]


def _delete(data: ModelData, memory_id: str) -> None:
    _find(data, memory_id)
    del data.memories[memory_id]
    data.reasons.pop(memory_id, None)
    data.extras.pop(memory_id, None)
    _drop_vectors_of(data, memory_id)
    from tests.support.model_store.injections import forget_lines

    forget_lines(data, memory_id)
    for m in list(data.memories.values()):
        if m.superseded_by == memory_id:
            data.memories[m.id] = replace(m, superseded_by=None)


def open_key(memory: Memory) -> tuple[str | None, str] | None:
    """What an open memory's key is unique within: its project, or the person."""
    if memory.key is None or not memory.is_open:
        return None
    return (None if memory.scope is Scope.USER else memory.project), memory.key


def require_vector(data: ModelData, model_id: str, vector: Vector) -> None:
    numbers = array("f", vector) if vector and len(vector) % 4 == 0 else array("f")
    if not any(numbers) or not all(map(math.isfinite, numbers)):
        raise UsageError("A vector must hold finite numbers that are not all zero.")
    sizes = {len(v) for (_, model), v in data.vectors.items() if model == model_id}
    if sizes - {len(vector)}:
        raise UsageError(f"Vectors of {model_id} have another dimension here.")
