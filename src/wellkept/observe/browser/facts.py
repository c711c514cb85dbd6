"""Facts about a running application, from the first sighting to a memory that can be relied on.

While events come in, the facts of a session are kept as its sightings, in the same transaction.
Afterwards each becomes a memory of 0.75 confidence that waits for review; a second session that
shows it lifts it to 0.9, and a session in which the same action works without trouble takes 0.2
away. What a session itself finds out to be otherwise is withdrawn. Invariant: learning twice from a
session equals learning once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias, cast

from wellkept.core.changes import Change, PutExplanation, PutSignals, Replace
from wellkept.core.codec import Json, payload_from_json, payload_to_json
from wellkept.core.errors import UsageError
from wellkept.core.events import Event, ToolCalled
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.payloads import E2EObservation
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter
from wellkept.core.records import field, record, replace
from wellkept.core.scratchpad import Explanation, SessionSignal, SignalKind
from wellkept.core.sessions import SessionRecord
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.confidence import set_confidence
from wellkept.memory.remember import remember
from wellkept.observe.browser.rules import MAX_STEPS, BrowserFact, FactKind, facts, worked_at_once
from wellkept.observe.browser.steps import BrowserState, BrowserStep, is_browser_call, read_step
from wellkept.observe.learning.save import (
    close_running_record,
    limit_evidence,
    record_session_count,
    was_removed_by_user,
)

FindFiles: TypeAlias = Callable[[str, str, Sequence[str]], tuple[str, ...]]
"""The files of the project that a page, an action on it, and files that a tool named stand for."""

FIRST_CONFIDENCE = 0.75
CONFIRMED_CONFIDENCE = 0.9
CONTRADICTED_BY = 0.2
MAX_FACTS = 30
MAX_WORKED = 60
_RULE = "e2e"
_TRAIL = "trail"
_DOUBTED = "e2e_doubts"


@record(kw_only=True)
class _Trail:
    """What is held of a session between two events: its last steps, the screen after them, what
    worked at once, and facts that turned out to be otherwise."""

    steps: tuple[BrowserStep, ...] = ()
    screen: BrowserState = field(default_factory=BrowserState)
    worked: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()


# -- While events come in -------------------------------------------------------------------------


def browser_changes(store: Store, session: SessionRecord, events: Iterable[Event]) -> list[Change]:
    """The sightings of a session with what these events add; nothing when none is of a screen."""
    calls = [event for event in events if isinstance(event, ToolCalled) and is_browser_call(event)]
    if not calls:
        return []
    known = store.signals(project=session.project, kinds=(SignalKind.E2E,), sessions=(session.id,))
    kept = {signal.subject: signal for signal in known}
    trail = _load_trail(kept.pop(_TRAIL, None))
    for call in calls:
        read = read_step(call, trail.screen)
        if read is None:
            continue
        step, screen = read
        for fact in facts(trail.steps, step):
            trail = _withdrawn(trail, kept, fact)
            kept[_subject(fact)] = _seen(session, fact, kept.get(_subject(fact)))
        trail = _longer(trail, step, screen)
    latest = list(kept.values())[-MAX_FACTS:]
    held = _signal(session, _TRAIL, detail=cast("Json", payload_to_json(trail)))
    return [PutSignals(session.project, session.id, (SignalKind.E2E,), (*latest, held))]


def _withdrawn(trail: _Trail, kept: dict[str, SessionSignal], fact: BrowserFact) -> _Trail:
    """What works after a while, or after something else was done, is not out of use."""
    if fact.kind not in ("timing", "precondition") or not fact.about:
        return trail
    wrong = [
        subject
        for subject, one in kept.items()
        if isinstance(one.detail, dict)
        and (one.detail.get("kind"), one.detail.get("about")) == ("ui_behavior", fact.about)
    ]
    for subject in wrong:
        del kept[subject]
    return replace(trail, withdrawn=(*trail.withdrawn, *wrong)[-MAX_FACTS:])


def _longer(trail: _Trail, step: BrowserStep, screen: BrowserState) -> _Trail:
    worked = worked_at_once(trail.steps, step)
    smooth = dict.fromkeys((*trail.worked, worked) if worked else trail.worked)
    return replace(
        trail,
        steps=(*trail.steps, step)[-MAX_STEPS:],
        screen=screen,
        worked=tuple(smooth)[-MAX_WORKED:],
    )


def _subject(fact: BrowserFact) -> str:
    return blake2b(fact.subject.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _seen(session: SessionRecord, fact: BrowserFact, before: SessionSignal | None) -> SessionSignal:
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


def _load_trail(signal: SessionSignal | None) -> _Trail:
    if signal is None or not isinstance(signal.detail, dict):
        return _Trail()
    try:
        return payload_from_json(_Trail, signal.detail)
    except UsageError:
        return _Trail()


# -- Afterwards -----------------------------------------------------------------------------------


def learn_browser_facts(
    engine: Engine, *, project: str, session_id: str, files_of: FindFiles | None = None
) -> list[str]:
    """Turn what a session showed into memories, or into trust in those there are; returns the ids
    of what was touched. `files_of` ties them to files of the project."""
    seen = engine.store.signals(project=project, kinds=(SignalKind.E2E,), sessions=(session_id,))
    shown = [one for one in seen if one.subject != _TRAIL]
    touched = [_keep(engine, signal, files_of) for signal in shown]
    trail = _load_trail(next((one for one in seen if one.subject == _TRAIL), None))
    said = {one.subject for one in shown}
    _take_back(engine, project, session_id, [one for one in trail.withdrawn if one not in said])
    touched += _doubt(engine, project, session_id, frozenset(trail.worked), said)
    return [one for one in touched if one]


def _take_back(engine: Engine, project: str, session_id: str, subjects: Sequence[str]) -> None:
    """Close what only this session said and then found out to be otherwise."""
    for subject in subjects:
        memory = engine.store.find_key(_key(subject), project=project, user_scope=False)
        if memory is not None and set(memory.provenance_sessions) == {session_id}:
            close_running_record(engine, _key(subject), project=project)


def _key(subject: str) -> str:
    return f"{_RULE}:{subject}"


def _keep(engine: Engine, signal: SessionSignal, files_of: FindFiles | None) -> str | None:
    known = engine.store.find_key(_key(signal.subject), project=signal.project, user_scope=False)
    draft = _draft(signal, files_of)
    if draft is None or (known is not None and signal.session_id in known.provenance_sessions):
        return None
    confidence = FIRST_CONFIDENCE
    if known is not None:
        # Seen again: the words of the first sighting stay, the session is added. Trust comes
        # first, since a session that is named already is not looked at again.
        draft = replace(draft, content=known.content, payload=known.payload)
        confidence = max(known.confidence, CONFIRMED_CONFIDENCE)
        set_confidence(engine, id=known.id, confidence=confidence)
    elif _was_removed(engine, signal):
        return None
    kept = remember(
        engine,
        draft,
        project=signal.project,
        beside=lambda memory: (
            Replace(
                limit_evidence(replace(memory, confidence=confidence)), None, memory.updated_at
            ),
            _explained(memory, signal),
        ),
    ).memory
    seen = len(kept.provenance_sessions)
    record_session_count(engine, _key(signal.subject), seen, project=signal.project)
    return kept.id


def _was_removed(engine: Engine, signal: SessionSignal) -> bool:
    seen = engine.store.signals(
        project=signal.project, kinds=(SignalKind.E2E,), subjects=(signal.subject,)
    )
    return was_removed_by_user(engine, _key(signal.subject), len(seen), project=signal.project)


def _draft(signal: SessionSignal, files_of: FindFiles | None) -> MemoryDraft | None:
    detail: Mapping[str, Json] = signal.detail if isinstance(signal.detail, dict) else {}
    kind, content, tool = (_text(detail, name) for name in ("kind", "content", "tool"))
    page, about, files = _text(detail, "page"), _text(detail, "about"), detail.get("files")
    if not (kind and content and tool):
        return None
    named = [f for f in files if isinstance(f, str)] if isinstance(files, list) else []
    return MemoryDraft(
        content=content,
        type=MemoryType.E2E_OBSERVATION,
        key=_key(signal.subject),
        tags=("e2e", tool, kind),
        files=files_of(page, about, named) if files_of is not None else (),
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


def _text(detail: Mapping[str, Json], name: str) -> str:
    value = detail.get(name)
    return value if isinstance(value, str) else ""


def _explained(memory: Memory, signal: SessionSignal) -> Change:
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


def _doubt(
    engine: Engine, project: str, session_id: str, worked: frozenset[str], said: set[str]
) -> list[str]:
    """Facts that a session contradicts: the action they speak of worked without trouble."""
    if not worked:
        return []
    space = f"{_DOUBTED}/{project}"
    where = Filter(project=project, include_user=False, types=(MemoryType.E2E_OBSERVATION,))
    doubted: list[str] = []
    for memory in engine.store.iterate(where):
        about = memory.payload.action if isinstance(memory.payload, E2EObservation) else None
        subject = (memory.key or "").removeprefix(f"{_RULE}:")
        if about not in worked or subject in said or not _can_be_doubted(memory):
            continue
        before = engine.store.get_value(space, memory.id)
        sessions = before if isinstance(before, list) else []
        if session_id in sessions or session_id in memory.provenance_sessions:
            continue
        lower = max(0.0, round(memory.confidence - CONTRADICTED_BY, 3))
        engine.store.put_value(space, memory.id, [*sessions, session_id][-20:])
        set_confidence(engine, id=memory.id, confidence=lower)
        doubted.append(memory.id)
    return doubted


def _can_be_doubted(memory: Memory) -> bool:
    """A tool's quirk shows now and then, and a way somewhere is not made wrong by another."""
    kind = memory.payload.observation_type if isinstance(memory.payload, E2EObservation) else ""
    return kind in ("precondition", "timing", "ui_behavior") and not memory.user_verified
