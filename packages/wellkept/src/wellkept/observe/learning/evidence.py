"""Turns the scratchpad of a session into signals: one per kind and subject.

Signals from inside an abandoned approach are left out; the dead end itself is included.
Invariant: the same scratchpad always gives the same signals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from wellkept.core.code_modules import module_of
from wellkept.core.codec import Json
from wellkept.core.session.scratchpad import (
    AbandonedApproach,
    CoAccess,
    Scratchpad,
    SessionSignal,
    SignalKind,
    TaskScratchpad,
    pair_subject,
)
from wellkept.core.text import content_words
from wellkept.core.types import MemoryType
from wellkept.observe import thresholds
from wellkept.observe.learning.rules import digest
from wellkept.observe.signals.fold import backtrack_subject

SCRATCHPAD_KINDS: tuple[SignalKind, ...] = tuple(k for k in SignalKind if k is not SignalKind.E2E)
UNCONDITIONAL_KINDS: tuple[SignalKind, ...] = (SignalKind.DEAD_END,)
"""Kinds that are valid even if the work failed."""
READING_KINDS: tuple[SignalKind, ...] = (SignalKind.FILE_ACCESS, SignalKind.CONTEXT_COST)
_MAX_SUBJECT_CHARS = 400


def session_signals(
    scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]
) -> tuple[SessionSignal, ...]:
    """All signals of some sub-tasks of a session."""
    found = [
        *_files(scratchpad, tasks),
        *_pairs(scratchpad, tasks),
        *_anomalies(scratchpad, tasks),
        *_errors(scratchpad, tasks),
        *_backtracks(scratchpad, tasks),
        *_dead_ends(scratchpad, tasks),
        *_notes(scratchpad, tasks),
        *_sequences(scratchpad, tasks),
        *_costs(scratchpad, tasks),
    ]
    return tuple({(s.kind, s.subject): s for s in found}.values())


def unconditional_signals(scratchpad: Scratchpad) -> tuple[SessionSignal, ...]:
    """The signals to keep of a run that failed or is not validated."""
    signals = session_signals(scratchpad, scratchpad.tasks)
    return tuple(s for s in signals if s.kind in UNCONDITIONAL_KINDS)


def _signal(
    scratchpad: Scratchpad,
    kind: SignalKind,
    subject: str,
    *,
    count: int = 1,
    module: str = "",
    detail: Json = None,
) -> SessionSignal:
    return SessionSignal(
        project=scratchpad.project,
        kind=kind,
        subject=subject[:_MAX_SUBJECT_CHARS],
        session_id=scratchpad.session_id,
        at=scratchpad.updated_at,
        count=max(1, count),
        module=module,
        detail=detail,
    )


def _files(scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    reads, edits = defaultdict[str, int](int), defaultdict[str, int](int)
    for file in (f for task in tasks for f in task.files):
        reads[file.path] += file.reads
        edits[file.path] += file.edits
    for path in reads:
        yield _signal(
            scratchpad,
            SignalKind.FILE_ACCESS,
            path,
            count=reads[path] + edits[path],
            module=module_of(path),
            detail={"reads": reads[path], "edits": edits[path]},
        )


def _pairs(scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for task in tasks:
        for pair in task.pairs:
            if not _is_abandoned(task, pair.step, pair.file_a):
                yield _pair(scratchpad, pair)


def _pair(scratchpad: Scratchpad, pair: CoAccess) -> SessionSignal:
    return _signal(
        scratchpad,
        SignalKind.CO_ACCESS,
        pair_subject(pair.file_a, pair.file_b),
        count=pair.count,
        module=module_of(pair.file_a),
        detail={
            "edited": pair.edited,
            "both": pair.both_edited,
            "a_first": pair.a_first,
            "step_delta": pair.step_delta,
            "time_delta_ms": pair.time_delta_ms,
        },
    )


def _anomalies(scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    """Files of which the same part was read repeatedly and that were never edited."""
    reads, dwell = defaultdict[str, int](lambda: 1), defaultdict[str, int](int)
    for anomaly in (a for task in tasks for a in task.anomalies):
        reads[anomaly.path] += anomaly.read_count - 1
        dwell[anomaly.path] += anomaly.dwell_ms
    edited = {file.path for task in tasks for file in task.files if file.edits}
    for path, count in reads.items():
        if count >= thresholds.CONFUSING_READS and path not in edited:
            yield _signal(
                scratchpad,
                SignalKind.TIME_ANOMALY,
                path,
                count=count,
                module=module_of(path),
                detail={"reads": count, "dwell_ms": dwell[path]},
            )


def _errors(scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for error in (e for task in tasks for e in task.errors):
        detail: Json = {
            "tool": error.tool,
            "message": error.message,
            "command": error.command,
            "resolved": error.resolved_how,
            "in_progress": error.in_progress,
        }
        yield _signal(
            scratchpad, SignalKind.ERROR_RETRY, error.signature, count=error.count, detail=detail
        )


def _backtracks(scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for task in tasks:
        for back in task.backtracks:
            if _is_abandoned(task, back.step, back.path):
                continue
            detail: Json = {
                "path": back.path,
                "cause": back.cause,
                "files": list(back.files),
                "within_steps": back.within_steps,
                "hint": back.hint,
            }
            yield _signal(
                scratchpad,
                SignalKind.BACKTRACK,
                backtrack_subject(back),
                count=back.count,
                module=module_of(back.path),
                detail=detail,
            )


def _dead_ends(scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for task in tasks:
        for end in task.dead_ends:
            detail: Json = {
                "approach": end.approach,
                "why": end.why,
                "instead": end.alternative,
                "context": scratchpad.request,
                "files": list(end.files),
                "steps": end.last_step - end.first_step,
                "said": end.said,
            }
            yield _signal(scratchpad, SignalKind.DEAD_END, _dead_end_subject(end), detail=detail)


def _dead_end_subject(end: AbandonedApproach) -> str:
    """Dead ends are equal by their words if the agent stated them, else by the files undone."""
    words = " ".join(sorted(set(content_words(end.approach)))) if end.said else ""
    files = "\n".join(sorted(end.files)) if not end.said else ""
    return digest(words or files or end.approach)


def _notes(scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for note in (note for task in tasks for note in task.notes if not note.by_person):
        subject = " ".join(content_words(note.content)) or note.content
        detail: Json = {
            "content": note.content,
            "type": note.type if note.type in set(MemoryType) else "fact",
            "files": list(note.files),
        }
        yield _signal(scratchpad, SignalKind.NOTE, subject, detail=detail)


def _sequences(scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    """The steps of the session, under the module with the most edits."""
    steps = [step for task in tasks for step in task.sequence][: thresholds.MAX_STEPS]
    modules = [module_of(step.what) for step in steps if step.tool == "edit"]
    if len(steps) < thresholds.RECIPE_STEPS or not modules:
        return
    module = max(dict.fromkeys(modules), key=modules.count)
    listed: list[Json] = [[step.tool, step.scope, step.what] for step in steps]
    detail: Json = {"steps": listed, "request": scratchpad.request}
    yield _signal(scratchpad, SignalKind.SEQUENCE, module, module=module, detail=detail)


def _costs(scratchpad: Scratchpad, tasks: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    """Token cost, divided among modules by file use, and planned against actual steps."""
    usage = defaultdict[str, int](int)
    for file in (f for task in tasks for f in task.files):
        usage[module_of(file.path)] += file.reads + file.edits
    total, tokens = sum(usage.values()), sum(task.tokens for task in tasks)
    for module, count in usage.items():
        share = tokens * count // total if total else 0
        if share:
            yield _signal(scratchpad, SignalKind.CONTEXT_COST, module, count=share, module=module)
    if scratchpad.planned and scratchpad.done and usage:
        module = max(usage, key=lambda name: (usage[name], name))
        detail: Json = {"planned": scratchpad.planned, "actual": scratchpad.done}
        yield _signal(scratchpad, SignalKind.CALIBRATION, module, module=module, detail=detail)


def _is_abandoned(task: TaskScratchpad, step: int, path: str) -> bool:
    """Whether a signal belongs to an abandoned approach."""
    return any(
        end.first_step <= step <= end.last_step and path in end.files for end in task.dead_ends
    )
