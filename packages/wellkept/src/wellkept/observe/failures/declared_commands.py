"""Commands that a project's own files declare, until a session has seen them work.

`init` keeps them here beside their memories. When a session runs one and it succeeds, the memory
says so, with the session as evidence: from then on it is verified. Told at a session start until
enough sessions show which commands work here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.memory import Evidence
from wellkept.core.ports.key_values import KeyValueStore
from wellkept.core.records import record, replace
from wellkept.core.types import EvidenceKind
from wellkept.memory.edit import confirm
from wellkept.memory.engine import Engine
from wellkept.observe.failures.command_records import Call, CommandRun, same_call

_NAMESPACE = "declared_commands"
VERIFIED_CONFIDENCE = 0.95
_MAX_RUNS_CHARS = 60
VERIFIED = "verified"
"""Tag of a memory whose command a session saw succeed."""


@record(kw_only=True)
class DeclaredCommand:
    """A command, what it is for, the file that declares it, and the key of its memory.

    `runs` is what stands behind a named task; `worked_at` when a session last saw it succeed.
    """

    purpose: str
    command: str
    source: str
    key: str
    runs: str = ""
    worked_at: datetime | None = None

    @property
    def text(self) -> str:
        """The command on one line with its source, and when it was seen to work."""
        runs = f" = `{self.runs}`" if 0 < len(self.runs) <= _MAX_RUNS_CHARS else ""
        seen = f"; worked {self.worked_at.date().isoformat()}" if self.worked_at else ""
        return f"{self.purpose}: `{self.command}`{runs} ({self.source}{seen})"


@record
class DeclaredCommands:
    """All declared commands of a project, most worth telling first."""

    commands: tuple[DeclaredCommand, ...] = ()


def read_declared(store: KeyValueStore, project: str) -> tuple[DeclaredCommand, ...]:
    """The declared commands of a project; none when another version wrote them."""
    value = store.get_value(_NAMESPACE, project)
    if not isinstance(value, dict):
        return ()
    try:
        return record_from_json(DeclaredCommands, value).commands
    except UsageError:
        return ()


def put_declared(store: KeyValueStore, project: str, commands: Sequence[DeclaredCommand]) -> None:
    """Replace the declared commands; what was seen to work stays verified."""
    known = {one.command: one.worked_at for one in read_declared(store, project)}
    kept = [replace(one, worked_at=known.get(one.command) or one.worked_at) for one in commands]
    _write(store, project, kept)


def verify_declared(
    engine: Engine, runs: Sequence[CommandRun], *, project: str, session_id: str
) -> None:
    """Mark declared commands that a session ran with success; running again changes only dates."""
    worked = {same_call(run.line): run.at for run in runs if run.ok}
    declared = read_declared(engine.store, project) if worked else ()
    changed = False
    kept: list[DeclaredCommand] = []
    for one in declared:
        at = _seen_at(one, worked)
        if at is None or (one.worked_at is not None and at.date() <= one.worked_at.date()):
            kept.append(one)
            continue
        changed = True
        if one.worked_at is None:
            _verify(engine, one, project=project, session_id=session_id, at=at)
        kept.append(replace(one, worked_at=at))
    if changed:
        _write(engine.store, project, kept)


def _seen_at(one: DeclaredCommand, worked: Mapping[Call | None, datetime]) -> datetime | None:
    lines = [line for line in (one.command, one.runs) if line]
    return next((worked[call] for call in map(same_call, lines) if call in worked), None)


def _verify(
    engine: Engine, one: DeclaredCommand, *, project: str, session_id: str, at: datetime
) -> None:
    memory = engine.store.find_key(one.key, project=project, user_scope=False)
    if memory is None:
        return
    day = at.date().isoformat()
    evidence = Evidence(EvidenceKind.SESSION, session_id, f"`{one.command}` succeeded {day}", at=at)
    confirm(engine, memory.id, evidence, confidence=VERIFIED_CONFIDENCE, tags=(VERIFIED,))


def _write(store: KeyValueStore, project: str, commands: Sequence[DeclaredCommand]) -> None:
    value = cast("Json", record_to_json(DeclaredCommands(tuple(commands))))
    store.put_value(_NAMESPACE, project, value if commands else None)
