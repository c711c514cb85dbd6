"""Log entries for injected context, made when the session's events are drained."""

from __future__ import annotations

from hashlib import sha256

from wellkept.core.clock import whole_ms
from wellkept.core.memory import Memory
from wellkept.core.ports.injections import InjectedLine, Injection, LineScore
from wellkept.core.session.events import ContextInjected
from wellkept.core.session.hook_context import ContextLine
from wellkept.memory.engine import Engine


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
