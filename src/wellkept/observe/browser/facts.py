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
from wellkept.observe.browser.rules import MOST_STEPS, BrowserFact, FactKind, facts, worked_at_once
from wellkept.observe.browser.steps import BrowserState, BrowserStep, is_of_screen, read_step
from wellkept.observe.learning.save import bounded, close_running, enter, was_removed

FilesOf: TypeAlias = Callable[[str, str, Sequence[str]], tuple[str, ...]]
"""The files of the project that a page, an action on it, and files that a tool named stand for."""

FIRST_CONFIDENCE = 0.75
CONFIRMED_CONFIDENCE = 0.9
CONTRADICTED_BY = 0.2
MOST_FACTS = 30
MOST_WORKED = 60
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


def screen_changes(store: Store, session: SessionRecord, events: Iterable[Event]) -> list[Change]:
    """The sightings of a session with what these events add; nothing when none is of a screen."""
    calls = [event for event in events if isinstance(event, ToolCalled) and is_of_screen(event)]
    if not calls:
        return []
    known = store.sightings(
        project=session.project, kinds=(SignalKind.E2E,), sessions=(session.id,)
    )
    kept = {sighting.subject: sighting for sighting in known}
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
    latest = list(kept.values())[-MOST_FACTS:]
    held = _sighting(session, _TRAIL, detail=cast("Json", payload_to_json(trail)))
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
    return replace(trail, withdrawn=(*trail.withdrawn, *wrong)[-MOST_FACTS:])


def _longer(trail: _Trail, step: BrowserStep, screen: BrowserState) -> _Trail:
    worked = worked_at_once(trail.steps, step)
    smooth = dict.fromkeys((*trail.worked, worked) if worked else trail.worked)
    return replace(
        trail,
        steps=(*trail.steps, step)[-MOST_STEPS:],
        screen=screen,
        worked=tuple(smooth)[-MOST_WORKED:],
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
    made = _sighting(session, _subject(fact), detail=detail)
    return replace(made, count=before.count + 1) if before is not None else made


def _sighting(session: SessionRecord, subject: str, *, detail: Json) -> SessionSignal:
    return SessionSignal(
        project=session.project,
        kind=SignalKind.E2E,
        subject=subject,
        session_id=session.id,
        at=session.last_event_at,
        detail=detail,
    )


def _load_trail(sighting: SessionSignal | None) -> _Trail:
    if sighting is None or not isinstance(sighting.detail, dict):
        return _Trail()
    try:
        return payload_from_json(_Trail, sighting.detail)
    except UsageError:
        return _Trail()


# -- Afterwards -----------------------------------------------------------------------------------


def learn_screens(
    engine: Engine, *, project: str, session_id: str, files_of: FilesOf | None = None
) -> list[str]:
    """Turn what a session showed into memories, or into trust in those there are; returns the ids
    of what was touched. `files_of` ties them to files of the project."""
    seen = engine.store.sightings(project=project, kinds=(SignalKind.E2E,), sessions=(session_id,))
    shown = [one for one in seen if one.subject != _TRAIL]
    touched = [_keep(engine, sighting, files_of) for sighting in shown]
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
            close_running(engine, _key(subject), project=project)


def _key(subject: str) -> str:
    return f"{_RULE}:{subject}"


def _keep(engine: Engine, sighting: SessionSignal, files_of: FilesOf | None) -> str | None:
    known = engine.store.find_key(
        _key(sighting.subject), project=sighting.project, user_scope=False
    )
    draft = _draft(sighting, files_of)
    if draft is None or (known is not None and sighting.session_id in known.provenance_sessions):
        return None
    confidence = FIRST_CONFIDENCE
    if known is not None:
        # Seen again: the words of the first sighting stay, the session is added. Trust comes
        # first, since a session that is named already is not looked at again.
        draft = replace(draft, content=known.content, payload=known.payload)
        confidence = max(known.confidence, CONFIRMED_CONFIDENCE)
        set_confidence(engine, id=known.id, confidence=confidence)
    elif _was_removed(engine, sighting):
        return None
    kept = remember(
        engine,
        draft,
        project=sighting.project,
        beside=lambda memory: (
            Replace(bounded(replace(memory, confidence=confidence)), None, memory.updated_at),
            _explained(memory, sighting),
        ),
    ).memory
    seen = len(kept.provenance_sessions)
    enter(engine, _key(sighting.subject), seen, project=sighting.project)
    return kept.id


def _was_removed(engine: Engine, sighting: SessionSignal) -> bool:
    seen = engine.store.sightings(
        project=sighting.project, kinds=(SignalKind.E2E,), subjects=(sighting.subject,)
    )
    return was_removed(engine, _key(sighting.subject), len(seen), project=sighting.project)


def _draft(sighting: SessionSignal, files_of: FilesOf | None) -> MemoryDraft | None:
    detail: Mapping[str, Json] = sighting.detail if isinstance(sighting.detail, dict) else {}
    kind, content, tool = (_text(detail, name) for name in ("kind", "content", "tool"))
    page, about, files = _text(detail, "page"), _text(detail, "about"), detail.get("files")
    if not (kind and content and tool):
        return None
    named = [f for f in files if isinstance(f, str)] if isinstance(files, list) else []
    return MemoryDraft(
        content=content,
        type=MemoryType.E2E_OBSERVATION,
        key=_key(sighting.subject),
        tags=("e2e", tool, kind),
        files=files_of(page, about, named) if files_of is not None else (),
        confidence=FIRST_CONFIDENCE,
        scope=Scope.GLOBAL,
        source=Source.MCP_AUTO,
        session_id=sighting.session_id,
        evidence=(Evidence(EvidenceKind.SESSION, sighting.session_id, at=sighting.at),),
        needs_review=True,
        payload=E2EObservation(
            cast("FactKind", kind), tool, app_state=page or None, action=about or None
        ),
    )


def _text(detail: Mapping[str, Json], name: str) -> str:
    value = detail.get(name)
    return value if isinstance(value, str) else ""


def _explained(memory: Memory, sighting: SessionSignal) -> Change:
    sessions = bounded(memory).provenance_sessions
    return PutExplanation(
        Explanation(
            memory_id=memory.id,
            project=memory.project,
            rule=_RULE,
            subject=sighting.subject,
            at=sighting.at,
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
