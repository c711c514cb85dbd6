"""What follows from the outcome of injected lines: uses counted, confidence moved, silence.

A use counts once a session, like a memory that was asked for, and raises confidence a little. A
line that did harm goes silent at once and waits for review. A line that several sessions ignored
goes silent. What a person taught is never silenced by rule; only the log tells.

Invariant: changes are made in the transaction of the events that led to them, so each counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import takewhile

from wellkept.core.changes import (
    Change,
    CountUse,
    PutInjection,
    PutSilence,
    PutVerdicts,
    RequestReview,
    Rescore,
)
from wellkept.core.clock import whole_ms
from wellkept.core.memory import Memory
from wellkept.core.ports.injections import (
    InjectedLine,
    Injection,
    InjectionFilter,
    LineOutcome,
    LineScore,
    SilentLine,
)
from wellkept.core.session.events import ContextInjected, Event
from wellkept.core.session.hook_context import ContextLine
from wellkept.core.session.sessions import SessionRecord
from wellkept.memory.engine import Engine
from wellkept.observe.injections.outcomes import SessionOutcomes, TrackedLine, is_taught

SILENT_AFTER = 5
MAX_CONFIDENCE = 0.95
USE_GAIN = 0.1
HARM_LOSS = 0.3
_MAX_INJECTIONS = 300


def injection_changes(
    engine: Engine,
    session: SessionRecord,
    events: Sequence[Event],
    *,
    is_over: bool,
) -> list[Change]:
    """Log what was injected, and decide about the lines of the session so far."""
    fresh = [injection_of(engine, e) for e in events if isinstance(e, ContextInjected)]
    where = InjectionFilter(session_id=session.id)
    known = engine.store.injections(where, limit=_MAX_INJECTIONS).items
    given = [*reversed(known), *fresh]
    if not given:
        return []
    outcomes = _followed(engine, session, given, events)
    if is_over:
        outcomes.close()
    changes: list[Change] = [PutInjection(one) for one in fresh]
    verdicts = outcomes.verdicts()
    if verdicts:
        changes += [PutVerdicts(verdicts), *_consequences(engine, outcomes)]
    return changes


def _followed(
    engine: Engine, session: SessionRecord, given: Sequence[Injection], events: Sequence[Event]
) -> SessionOutcomes:
    ids = {line.memory_id for one in given for line in one.lines if line.memory_id is not None}
    memories = {memory.id: memory for memory in engine.store.get(sorted(ids))}
    outcomes = SessionOutcomes(session=session)
    for injection in given:
        outcomes.add(injection, memories)
    for event in events:
        outcomes.apply(event)
    named = {m.superseded_by for m in memories.values() if m.superseded_by is not None}
    outcomes.corrected({memory.id: memory for memory in engine.store.get(sorted(named))})
    return outcomes


def _consequences(engine: Engine, outcomes: SessionOutcomes) -> Iterator[Change]:
    """Changes that follow from what was decided, once for each line of the session."""
    at = whole_ms(engine.clock())
    by_id: dict[str, list[TrackedLine]] = {}
    for line in outcomes.lines:
        by_id.setdefault(line.signs.line.line_id, []).append(line)
    for same in by_id.values():
        decided = [line for line in same if line.verdict is not None]
        if not decided:
            continue
        line = decided[-1]
        before = {one.signs.line.outcome for one in same}
        match line.outcome:
            case LineOutcome.USED if LineOutcome.USED not in before:
                yield from _used(line, before)
            case LineOutcome.HARM if LineOutcome.HARM not in before:
                yield from _harmed(line, at)
            case LineOutcome.IGNORED if before == {LineOutcome.OPEN}:
                yield from _ignored(engine, line, at)
            case _:
                continue


def _used(line: TrackedLine, before: set[LineOutcome]) -> Iterator[Change]:
    memory, verdict = line.memory, line.verdict
    if LineOutcome.HARM in before:
        yield PutSilence(line.injection.project, line.signs.line.line_id, None)
    if memory is None or verdict is None:
        return
    yield CountUse(memory.id, whole_ms(verdict.at or line.injection.at))
    if memory.confidence < MAX_CONFIDENCE:
        gain = USE_GAIN * (MAX_CONFIDENCE - memory.confidence)
        yield Rescore(memory.id, confidence=round(memory.confidence + gain, 4))


def _harmed(line: TrackedLine, at: datetime) -> Iterator[Change]:
    memory = line.memory
    if memory is not None and _is_of_a_person(memory) and line.by.startswith("command failed"):
        # The network may be down; a person's word is not taken back for that.
        return
    project, line_id = line.injection.project, line.signs.line.line_id
    yield PutSilence(project, line_id, SilentLine(line_id, at, f"harm: {line.by}"))
    if memory is None or not memory.is_open:
        return
    yield Rescore(memory.id, confidence=round(memory.confidence * (1 - HARM_LOSS), 4))
    yield RequestReview(memory.id)


def _ignored(engine: Engine, line: TrackedLine, at: datetime) -> Iterator[Change]:
    memory = line.memory
    # The rest of a line's life: what came before its memory changed says nothing about it now.
    since = memory.updated_at if memory is not None else None
    if is_taught(line) or (memory is None and line.signs.line.kind == "left_off"):
        return
    project, line_id = line.injection.project, line.signs.line.line_id
    former = engine.store.line_outcomes(project=project, line_id=line_id, since=since)
    told = [one for one in former if one not in (LineOutcome.OPEN, LineOutcome.UNCLEAR)]
    count = 1 + len(list(takewhile(lambda one: one is LineOutcome.IGNORED, told)))
    if count >= SILENT_AFTER:
        reason = f"ignored in {count} sessions"
        yield PutSilence(project, line_id, SilentLine(line_id, at, reason))


def _is_of_a_person(memory: Memory) -> bool:
    return memory.has_persons_word or memory.pinned


def injection_of(engine: Engine, event: ContextInjected) -> Injection:
    """The log entry of an event."""
    ids = [line.memory_id for line in event.lines if line.memory_id is not None]
    known = {memory.id: memory for memory in engine.store.get(ids)}
    lines = tuple(_line(engine, line, known.get(line.memory_id or "")) for line in event.lines)
    return Injection(
        id=event.origin.event_id,
        at=whole_ms(event.origin.at),
        project=engine.store.canonical_project(event.project),
        client=event.origin.client,
        session_id=event.origin.session_id,
        moment=event.moment,
        agent=event.origin.agent,
        trigger=event.trigger,
        tokens=max(event.tokens, sum(line.tokens for line in lines)),
        lines=lines,
    )


def text_line_id(text: str) -> str:
    """The id of a line that has no other: equal texts have equal ids."""
    folded = " ".join(text.casefold().split())
    return f"text:{sha256(folded.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _line(engine: Engine, line: ContextLine, memory: Memory | None) -> InjectedLine:
    return InjectedLine(
        line_id=line.id or text_line_id(line.text),
        kind=line.kind,
        text=line.text,
        memory_id=line.memory_id,
        reason=line.reason,
        tokens=engine.count_tokens(line.text),
        work_tokens=memory.work_tokens if memory is not None else None,
        score=None
        if line.score is None
        else LineScore(line.score, line.importance, line.confidence),
    )
