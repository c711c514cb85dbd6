"""Facts about a running application, from the first sighting to a memory that can be relied on.

While events come in, the facts of a session are kept as its sightings, in the same transaction.
Afterwards each becomes a memory of 0.75 confidence that waits for review; a second session that
shows it lifts it to 0.9, and a session in which the same action works without trouble takes 0.2
away. Invariant: learning twice from a session equals learning once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import cast

from holdfast.core.changes import Change, PutExplanation, PutSightings, Rescore
from holdfast.core.codec import Json, payload_from_json, payload_to_json
from holdfast.core.errors import UsageError
from holdfast.core.events import Event, ToolCalled
from holdfast.core.memory import Evidence, Memory, MemoryDraft
from holdfast.core.observer import Explanation, Sighting, SightingKind
from holdfast.core.payloads import E2EObservation
from holdfast.core.ports import Store
from holdfast.core.query import Filter
from holdfast.core.records import record, replace
from holdfast.core.sessions import SessionRecord
from holdfast.core.types import EvidenceKind, MemoryType, Scope, Source
from holdfast.memory.engine import Engine
from holdfast.memory.remember import remember
from holdfast.observe.learning.screen_rules import (
    MOST_STEPS,
    FactKind,
    ScreenFact,
    facts,
    worked_at_once,
)
from holdfast.observe.learning.screens import ScreenStep, read_step

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
    """What is held of a session between two events: its last steps, and what worked at once."""

    steps: tuple[ScreenStep, ...] = ()
    worked: tuple[str, ...] = ()


# -- While events come in -------------------------------------------------------------------------


def screen_changes(store: Store, session: SessionRecord, events: Iterable[Event]) -> list[Change]:
    """The sightings of a session with what these events add; nothing when none is of a screen."""
    steps = [s for e in events if isinstance(e, ToolCalled) and (s := read_step(e)) is not None]
    if not steps:
        return []
    known = store.sightings(
        project=session.project, kinds=(SightingKind.E2E,), sessions=(session.id,)
    )
    kept = {sighting.subject: sighting for sighting in known}
    trail = _load_trail(kept.pop(_TRAIL, None))
    for step in steps:
        for fact in facts(trail.steps, step):
            kept[_subject(fact)] = _seen(session, fact, kept.get(_subject(fact)))
        trail = _longer(trail, step)
    latest = list(kept.values())[-MOST_FACTS:]
    held = _sighting(session, _TRAIL, detail=cast("Json", payload_to_json(trail)))
    return [PutSightings(session.project, session.id, (SightingKind.E2E,), (*latest, held))]


def _longer(trail: _Trail, step: ScreenStep) -> _Trail:
    worked = worked_at_once(trail.steps, step)
    smooth = dict.fromkeys((*trail.worked, worked) if worked else trail.worked)
    return _Trail(steps=(*trail.steps, step)[-MOST_STEPS:], worked=tuple(smooth)[-MOST_WORKED:])


def _subject(fact: ScreenFact) -> str:
    return blake2b(fact.subject.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _seen(session: SessionRecord, fact: ScreenFact, before: Sighting | None) -> Sighting:
    detail: Json = {
        "kind": fact.kind,
        "content": fact.content,
        "about": fact.about,
        "tool": fact.tool,
        "files": list(fact.files),
    }
    made = _sighting(session, _subject(fact), detail=detail)
    return replace(made, count=before.count + 1) if before is not None else made


def _sighting(session: SessionRecord, subject: str, *, detail: Json) -> Sighting:
    return Sighting(
        project=session.project,
        kind=SightingKind.E2E,
        subject=subject,
        session_id=session.id,
        at=session.last_event_at,
        detail=detail,
    )


def _load_trail(sighting: Sighting | None) -> _Trail:
    if sighting is None or not isinstance(sighting.detail, dict):
        return _Trail()
    try:
        return payload_from_json(_Trail, sighting.detail)
    except UsageError:
        return _Trail()


# -- Afterwards -----------------------------------------------------------------------------------


def learn_screens(engine: Engine, *, project: str, session_id: str) -> list[str]:
    """Turn what a session showed into memories, or into trust in those there are; returns the ids
    of what was touched."""
    seen = engine.store.sightings(
        project=project, kinds=(SightingKind.E2E,), sessions=(session_id,)
    )
    shown = [one for one in seen if one.subject != _TRAIL]
    touched = [_keep(engine, sighting) for sighting in shown]
    trail = _load_trail(next((one for one in seen if one.subject == _TRAIL), None))
    said = {one.subject for one in shown}
    touched += _doubt(engine, project, session_id, frozenset(trail.worked), said)
    return [one for one in touched if one]


def _key(subject: str) -> str:
    return f"{_RULE}:{subject}"


def _keep(engine: Engine, sighting: Sighting) -> str | None:
    known = engine.store.find_key(
        _key(sighting.subject), project=sighting.project, user_scope=False
    )
    draft = _draft(sighting)
    if draft is None or (known is not None and sighting.session_id in known.provenance_sessions):
        return None
    if known is None:
        kept = remember(engine, draft, project=sighting.project).memory
        engine.store.apply([_explained(kept, sighting, (sighting.session_id,))])
        return kept.id
    # Seen again: the words of the first sighting stay, the session is added.
    again = replace(draft, content=known.content, payload=known.payload, confidence=None)
    kept = remember(engine, again, project=sighting.project).memory
    confidence = max(kept.confidence, CONFIRMED_CONFIDENCE)
    engine.store.apply(
        [
            Rescore(kept.id, confidence=confidence),
            _explained(kept, sighting, kept.provenance_sessions),
        ]
    )
    return kept.id


def _draft(sighting: Sighting) -> MemoryDraft | None:
    detail: Mapping[str, Json] = sighting.detail if isinstance(sighting.detail, dict) else {}
    kind, content = detail.get("kind"), detail.get("content")
    tool, about, files = detail.get("tool"), detail.get("about"), detail.get("files")
    if not (isinstance(kind, str) and isinstance(content, str) and isinstance(tool, str)):
        return None
    return MemoryDraft(
        content=content,
        type=MemoryType.E2E_OBSERVATION,
        key=_key(sighting.subject),
        tags=("e2e", tool, kind),
        files=tuple(f for f in files if isinstance(f, str)) if isinstance(files, list) else (),
        confidence=FIRST_CONFIDENCE,
        scope=Scope.GLOBAL,
        source=Source.MCP_AUTO,
        session_id=sighting.session_id,
        evidence=(Evidence(EvidenceKind.SESSION, sighting.session_id, at=sighting.at),),
        needs_review=True,
        payload=E2EObservation(
            cast("FactKind", kind), tool, about if isinstance(about, str) else None
        ),
    )


def _explained(memory: Memory, sighting: Sighting, sessions: Sequence[str]) -> Change:
    return PutExplanation(
        Explanation(
            memory_id=memory.id,
            project=memory.project,
            rule=_RULE,
            subject=sighting.subject,
            at=sighting.at,
            validated_by="what the tool showed",
            sessions=tuple(sessions),
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
        about = memory.payload.app_state if isinstance(memory.payload, E2EObservation) else None
        subject = (memory.key or "").removeprefix(f"{_RULE}:")
        if about not in worked or subject in said or not _can_be_doubted(memory):
            continue
        before = engine.store.get_value(space, memory.id)
        sessions = before if isinstance(before, list) else []
        if session_id in sessions or session_id in memory.provenance_sessions:
            continue
        lower = max(0.0, round(memory.confidence - CONTRADICTED_BY, 3))
        engine.store.put_value(space, memory.id, [*sessions, session_id][-20:])
        engine.store.apply([Rescore(memory.id, confidence=lower)])
        doubted.append(memory.id)
    return doubted


def _can_be_doubted(memory: Memory) -> bool:
    """A tool's quirk shows now and then, and a way somewhere is not made wrong by another."""
    kind = memory.payload.observation_type if isinstance(memory.payload, E2EObservation) else ""
    return kind in ("precondition", "timing", "ui_behavior") and not memory.user_verified
