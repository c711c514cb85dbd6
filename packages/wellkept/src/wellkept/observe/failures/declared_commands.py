"""Declared commands that a session saw succeed are marked on their record, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from wellkept.core.memory import Evidence
from wellkept.core.types import EvidenceKind
from wellkept.memory.edit import confirm
from wellkept.memory.engine import Engine
from wellkept.observe.failures.command_records import Call, CommandRun, same_call
from wellkept.project.commands.declared import DeclaredCommand, read_declared

VERIFIED_CONFIDENCE = 0.95
VERIFIED = "verified"
"""Tag of a memory whose command a session saw succeed."""


def verify_declared(
    engine: Engine, runs: Sequence[CommandRun], *, project: str, session_id: str
) -> None:
    """Mark declared commands that a session ran with success; the first success is enough."""
    worked = {same_call(run.line): run.at for run in runs if run.ok}
    for one in read_declared(engine.store, project) if worked else ():
        at = _seen_at(one, worked)
        if at is None or one.worked_at is not None:
            continue
        day = at.date().isoformat()
        note = f"`{one.command}` succeeded {day}"
        evidence = Evidence(EvidenceKind.SESSION, session_id, note, at=at)
        confirm(engine, one.memory.id, evidence, confidence=VERIFIED_CONFIDENCE, tags=(VERIFIED,))


def _seen_at(one: DeclaredCommand, worked: Mapping[Call | None, datetime]) -> datetime | None:
    lines = [line for line in (one.command, one.runs) if line]
    return next((worked[call] for call in map(same_call, lines) if call in worked), None)
