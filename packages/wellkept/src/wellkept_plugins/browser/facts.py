"""Turns browser facts of sessions into memories.

While events are ingested, the facts of a session are stored as its signals in the same transaction.
Afterwards each becomes a memory with confidence 0.75 that needs review. A second session raises it
to 0.9; a session in which the same action works takes 0.2 away. A fact that the session itself
disproves is withdrawn. Invariant: learning twice from a session equals learning once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, cast

from wellkept.core.changes import Change, PutExplanation, PutSignals, Replace
from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.ids import digest
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.payloads import E2EObservation
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter
from wellkept.core.records import field, record, replace
from wellkept.core.session.events import Event, ToolCalled
from wellkept.core.session.scratchpad import Explanation, SessionSignal, SignalKind
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.confidence import set_confidence
from wellkept.memory.remember import remember
from wellkept.observe.learning.save import (
    close_running_record,
    limit_evidence,
    record_session_count,
    was_removed_by_user,
)
from wellkept_plugins.browser.rules import MAX_STEPS, BrowserFact, FactKind, facts, worked_at_once
from wellkept_plugins.browser.steps import BrowserState, BrowserStep, is_browser_call, read_step

FindFiles: TypeAlias = Callable[[str, str, Sequence[str]], tuple[str, ...]]
"""Maps a page, an action and files named by the tool to files of the project."""

FIRST_CONFIDENCE = 0.75
CONFIRMED_CONFIDENCE = 0.9
CONTRADICTED_BY = 0.2
MAX_FACTS = 30
MAX_WORKED = 60
_RULE = "e2e"
_STATE = "trail"
_CONTRADICTIONS = "e2e_doubts"


@record(kw_only=True)
class _SessionState:
    """State between events: recent steps, the page after them, actions that worked at once, and
    withdrawn facts."""

    steps: tuple[BrowserStep, ...] = ()
    page: BrowserState = field(default_factory=BrowserState)
    worked: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()


# -- While events come in -------------------------------------------------------------------------


def browser_changes(store: Store, session: SessionRecord, events: Iterable[Event]) -> list[Change]:
    """The changed signals of a session; none when no event is a browser call."""
    calls = [event for event in events if isinstance(event, ToolCalled) and is_browser_call(event)]
    if not calls:
        return []
    known = store.signals(project=session.project, kinds=(SignalKind.E2E,), sessions=(session.id,))
    kept = {signal.subject: signal for signal in known}
    state = _load_state(kept.pop(_STATE, None))
    for call in calls:
        read = read_step(call, state.page)
        if read is None:
            continue
        step, page = read
        for fact in facts(state.steps, step):
            state = _withdrawn(state, kept, fact)
            kept[_subject(fact)] = _fact_signal(session, fact, kept.get(_subject(fact)))
        state = _with_step(state, step, page)
    latest = list(kept.values())[-MAX_FACTS:]
    stored_state = _signal(session, _STATE, detail=cast("Json", record_to_json(state)))
    return [PutSignals(session.project, session.id, (SignalKind.E2E,), (*latest, stored_state))]


def _withdrawn(
    state: _SessionState, kept: dict[str, SessionSignal], fact: BrowserFact
) -> _SessionState:
    """Drop "cannot be used" facts about an action that works later."""
    if fact.kind not in ("timing", "precondition") or not fact.about:
        return state
    wrong = [
        subject
        for subject, one in kept.items()
        if (one.text("kind"), one.text("about")) == ("ui_behavior", fact.about)
    ]
    for subject in wrong:
        del kept[subject]
    return replace(state, withdrawn=(*state.withdrawn, *wrong)[-MAX_FACTS:])


def _with_step(state: _SessionState, step: BrowserStep, page: BrowserState) -> _SessionState:
    worked = worked_at_once(state.steps, step)
    succeeded = dict.fromkeys((*state.worked, worked) if worked else state.worked)
    return replace(
        state,
        steps=(*state.steps, step)[-MAX_STEPS:],
        page=page,
        worked=tuple(succeeded)[-MAX_WORKED:],
    )


def _subject(fact: BrowserFact) -> str:
    return digest(fact.subject)


def _fact_signal(
    session: SessionRecord, fact: BrowserFact, before: SessionSignal | None
) -> SessionSignal:
    detail: Json = {
        "kind": fact.kind,
        "content": fact.content,
        "about": fact.about,
        "tool": fact.tool,
        "page": fact.page,
        "files": list(fact.files),
    }
    made = _signal(session, _subject(fact), detail=detail)
    return replace(made, count=before.count + 1) if before is not None else made


def _signal(session: SessionRecord, subject: str, *, detail: Json) -> SessionSignal:
    return SessionSignal(
        project=session.project,
        kind=SignalKind.E2E,
        subject=subject,
        session_id=session.id,
        at=session.last_event_at,
        detail=detail,
    )


def _load_state(signal: SessionSignal | None) -> _SessionState:
    if signal is None or not isinstance(signal.detail, dict):
        return _SessionState()
    try:
        return record_from_json(_SessionState, signal.detail)
    except UsageError:
        return _SessionState()


# -- Afterwards -----------------------------------------------------------------------------------


def learn_browser_facts(
    engine: Engine, *, project: str, session_id: str, find_files: FindFiles | None = None
) -> list[str]:
    """Save the facts of a session as memories, or adjust the confidence of known ones.

    Returns the ids of the memories written. `find_files` links them to files of the project.
    """
    seen = engine.store.signals(project=project, kinds=(SignalKind.E2E,), sessions=(session_id,))
    shown = [one for one in seen if one.subject != _STATE]
    touched = [_save(engine, signal, find_files) for signal in shown]
    state = _load_state(next((one for one in seen if one.subject == _STATE), None))
    shown_now = {one.subject for one in shown}
    # Close memories of withdrawn facts that only this session backs.
    subjects = [one for one in state.withdrawn if one not in shown_now]
    for subject in subjects:
        memory = engine.store.find_key(_key(subject), project=project, user_scope=False)
        if memory is not None and set(memory.provenance_sessions) == {session_id}:
            close_running_record(engine, _key(subject), project=project)
    touched += _apply_contradictions(
        engine, project, session_id, frozenset(state.worked), shown_now
    )
    return [one for one in touched if one]


def _key(subject: str) -> str:
    return f"{_RULE}:{subject}"


def _save(engine: Engine, signal: SessionSignal, find_files: FindFiles | None) -> str | None:
    known = engine.store.find_key(_key(signal.subject), project=signal.project, user_scope=False)
    draft = _draft(signal, find_files)
    if draft is None or (known is not None and signal.session_id in known.provenance_sessions):
        return None
    confidence = FIRST_CONFIDENCE
    if known is not None:
        # Seen again: keep the first text, add the session. Set the confidence first, because a
        # session already in the provenance is skipped.
        draft = replace(draft, content=known.content, payload=known.payload)
        confidence = max(known.confidence, CONFIRMED_CONFIDENCE)
        set_confidence(engine, id=known.id, confidence=confidence)
    elif _is_forgotten(engine, signal):
        return None
    kept = remember(
        engine,
        draft,
        project=signal.project,
        beside=lambda memory: (
            Replace(
                limit_evidence(replace(memory, confidence=confidence)), None, memory.updated_at
            ),
            _explain(memory, signal),
        ),
    ).memory
    seen = len(kept.provenance_sessions)
    record_session_count(engine, _key(signal.subject), seen, project=signal.project)
    return kept.id


def _is_forgotten(engine: Engine, signal: SessionSignal) -> bool:
    seen = engine.store.signals(
        project=signal.project, kinds=(SignalKind.E2E,), subjects=(signal.subject,)
    )
    return was_removed_by_user(engine, _key(signal.subject), len(seen), project=signal.project)


def _draft(signal: SessionSignal, find_files: FindFiles | None) -> MemoryDraft | None:
    kind, content, tool = (signal.text(name) for name in ("kind", "content", "tool"))
    page, about, named = signal.text("page"), signal.text("about"), signal.texts("files")
    if not (kind and content and tool):
        return None
    return MemoryDraft(
        content=content,
        type=MemoryType.E2E_OBSERVATION,
        key=_key(signal.subject),
        tags=("e2e", tool, kind),
        files=find_files(page, about, named) if find_files is not None else (),
        confidence=FIRST_CONFIDENCE,
        scope=Scope.GLOBAL,
        source=Source.MCP_AUTO,
        session_id=signal.session_id,
        evidence=(Evidence(EvidenceKind.SESSION, signal.session_id, at=signal.at),),
        needs_review=True,
        payload=E2EObservation(
            cast("FactKind", kind), tool, app_state=page or None, action=about or None
        ),
    )


def _explain(memory: Memory, signal: SessionSignal) -> Change:
    sessions = limit_evidence(memory).provenance_sessions
    return PutExplanation(
        Explanation(
            memory_id=memory.id,
            project=memory.project,
            rule=_RULE,
            subject=signal.subject,
            at=signal.at,
            validated_by="what the tool showed",
            sessions=sessions,
            signals=tuple(f"{one}: seen through {', '.join(memory.tags[1:2])}" for one in sessions),
            score=FIRST_CONFIDENCE if len(sessions) < 2 else CONFIRMED_CONFIDENCE,
        )
    )


def _apply_contradictions(
    engine: Engine, project: str, session_id: str, worked: frozenset[str], shown_now: set[str]
) -> list[str]:
    """Lower the confidence of facts whose action worked without an error in this session."""
    if not worked:
        return []
    space = f"{_CONTRADICTIONS}/{project}"
    where = Filter(project=project, include_user=False, types=(MemoryType.E2E_OBSERVATION,))
    contradicted: list[str] = []
    for memory in engine.store.iterate(where):
        about = memory.payload.action if isinstance(memory.payload, E2EObservation) else None
        subject = (memory.key or "").removeprefix(f"{_RULE}:")
        if about not in worked or subject in shown_now or not _can_be_contradicted(memory):
            continue
        before = engine.store.get_value(space, memory.id)
        sessions = before if isinstance(before, list) else []
        if session_id in sessions or session_id in memory.provenance_sessions:
            continue
        lower = max(0.0, round(memory.confidence - CONTRADICTED_BY, 3))
        engine.store.put_value(space, memory.id, [*sessions, session_id][-20:])
        set_confidence(engine, id=memory.id, confidence=lower)
        contradicted.append(memory.id)
    return contradicted


def _can_be_contradicted(memory: Memory) -> bool:
    """Tool quirks are intermittent, and one path to a page does not disprove another."""
    kind = memory.payload.observation_type if isinstance(memory.payload, E2EObservation) else ""
    return kind in ("precondition", "timing", "ui_behavior") and not memory.user_verified
