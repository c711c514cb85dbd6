"""The command record of a project: every line that ran, as it was typed, with how it ended.

One small value for each project. A line is named by its text and the folder in which it was typed;
variables that it sets stand in it. What is told of a command is read from here, word for word.
Declared commands that a session saw succeed are marked on their memory, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, cast

from wellkept.core.clock import to_ms
from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.memory import Evidence
from wellkept.core.ports.store import KeyValueStore
from wellkept.core.records import record, replace
from wellkept.core.types import EvidenceKind
from wellkept.memory.edit import confirm
from wellkept.memory.engine import Engine
from wellkept.observe.failures.intent import is_permission
from wellkept.project.commands.declared import DeclaredCommand, read_declared
from wellkept.text.events.tool_steps import ToolStep, short_hash
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand, main_command, parse_command

VERIFIED_CONFIDENCE = 0.95
VERIFIED = "verified"
"""Tag of a memory whose command a session saw succeed."""

Call: TypeAlias = tuple[str | None, tuple[str, ...], str]
"""Folder, variables and words of a command."""
_NAMESPACE = "commands"
_MAX_RECORDS = 300
_MAX_SESSIONS = 12
_NOT_KEPT = (Purpose.LOOK, Purpose.COMMIT)


@record(kw_only=True)
class CommandRun:
    """One run: the line from the project's root, its main command, and how it ended, by exit code
    and by output."""

    line: str
    command: ShellCommand
    at: datetime
    ok: bool
    cause: str | None = None

    @property
    def purpose(self) -> str:
        """What the line is for."""
        return self.command.purpose.value


@record(kw_only=True)
class CommandRecord:
    """A line as it was typed, to be run from the project's root, with its runs. `sessions` are the
    latest in which it worked; `cause` is why it failed last."""

    line: str
    purpose: str = "other"
    passed: int = 0
    failed: int = 0
    sessions: tuple[str, ...] = ()
    worked_at: datetime | None = None
    failed_at: datetime | None = None
    cause: str | None = None

    @property
    def works(self) -> bool:
        """Whether its newest outcome is a success."""
        if self.worked_at is None:
            return False
        return self.failed_at is None or self.failed_at <= self.worked_at

    @property
    def text(self) -> str:
        """The line with its counts."""
        last = f", last {self.worked_at.date().isoformat()}" if self.worked_at else ""
        failed = f", failed {self.failed}x" if self.failed else ""
        return f"`{self.line}` (passed {self.passed}x{last}{failed})"


@record
class CommandRecords:
    """All records of a project, the least recently run first. `counted` names the latest runs: one
    that is taken again after a conflict or a crash counts once."""

    records: tuple[CommandRecord, ...] = ()
    counted: tuple[str, ...] = ()


_NONE = CommandRecords()


def runs_of_step(step: ToolStep) -> list[CommandRun]:
    """The runs that a tool call shows; a look, a commit and a stopped call are none."""
    if step.main is None or step.stopped or step.main.purpose in _NOT_KEPT:
        return []
    return [
        CommandRun(
            line=entry.from_root,
            command=step.main,
            at=step.call.origin.at,
            ok=entry.ok,
            cause=entry.error,
        )
        for entry in step.log
        if entry.kind == "run" and entry.from_root is not None
    ]


def record_runs(
    store: KeyValueStore, runs: Sequence[CommandRun], *, project: str, session_id: str
) -> None:
    """Add the runs of one session, each once."""
    before = _read(store, project)
    counted = dict.fromkeys(before.counted)
    fresh = {f"{session_id} {to_ms(run.at)} {short_hash(run.line)}": run for run in runs}
    fresh = {name: run for name, run in fresh.items() if name not in counted}
    if not fresh:
        return
    known = {one.line: one for one in before.records}
    for run in fresh.values():
        old = known.pop(run.line, CommandRecord(line=run.line, purpose=run.purpose))
        known[run.line] = _after(old, run, session_id)
    kept = CommandRecords(tuple(known.values())[-_MAX_RECORDS:], (*counted, *fresh)[-_MAX_RECORDS:])
    store.put_value(_NAMESPACE, project, cast("Json", record_to_json(kept)))


def read_records(store: KeyValueStore, project: str) -> tuple[CommandRecord, ...]:
    """The records of a project; none when another version wrote them."""
    return _read(store, project).records


def _read(store: KeyValueStore, project: str) -> CommandRecords:
    value = store.get_value(_NAMESPACE, project)
    try:
        return record_from_json(CommandRecords, value) if isinstance(value, dict) else _NONE
    except UsageError:
        return _NONE


def forget_records(store: KeyValueStore, project: str) -> None:
    """Forget all commands of a project."""
    store.put_value(_NAMESPACE, project, None)


def working_commands(store: KeyValueStore, project: str, *, limit: int = 20) -> list[CommandRecord]:
    """Lines whose newest outcome is a success, those of most sessions first."""
    found = [
        one for one in read_records(store, project) if one.works and not is_permission(one.line)
    ]
    return sorted(found, key=lambda one: (len(one.sessions), one.worked_at), reverse=True)[:limit]


def same_call(line: str) -> Call | None:
    """What a line runs and where, whatever is done with its output."""
    command = main_command(parse_command(line))
    return (command.folder, command.environment, command.call) if command else None


def _after(known: CommandRecord, run: CommandRun, session_id: str) -> CommandRecord:
    if not run.ok:
        is_newer = known.failed_at is None or run.at > known.failed_at
        failed = replace(known, failed=known.failed + 1)
        return replace(failed, failed_at=run.at, cause=run.cause) if is_newer else failed
    others = tuple(one for one in known.sessions if one != session_id)
    return replace(
        known,
        passed=known.passed + 1,
        sessions=(*others, session_id)[-_MAX_SESSIONS:],
        worked_at=max(run.at, known.worked_at or run.at),
    )


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
