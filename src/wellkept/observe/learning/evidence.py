"""The sheets of a session that held up, as sightings: what the session showed of each subject.

Signals from an approach that was given up are left out; the dead end itself stays. Invariant: the
same scratchpad gives the same sightings, whenever it is looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from wellkept.core.codec import Json
from wellkept.core.module_names import module_of
from wellkept.core.scratchpad import (
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
from wellkept.observe.signals.scratchpad import backtrack_subject

OWN_KINDS: tuple[SignalKind, ...] = tuple(k for k in SignalKind if k is not SignalKind.E2E)
STANDING_KINDS: tuple[SignalKind, ...] = (SignalKind.DEAD_END, SignalKind.INSTRUCTION)
"""What holds whatever becomes of the work: what was given up, and what a person asks for."""
READING_KINDS: tuple[SignalKind, ...] = (
    SignalKind.FILE_ACCESS,
    SignalKind.INSTRUCTION,
    SignalKind.CONTEXT_COST,
)
_SUBJECT_CHARS = 400


def seen_in(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> tuple[SessionSignal, ...]:
    """Every sighting of some sheets of a session."""
    found = [
        *_files(pad, sheets),
        *_pairs(pad, sheets),
        *_anomalies(pad, sheets),
        *_errors(pad, sheets),
        *_backtracks(pad, sheets),
        *_dead_ends(pad, sheets),
        *_notes(pad, sheets),
        *_sequences(pad, sheets),
        *_costs(pad, sheets),
    ]
    return tuple({(s.kind, s.subject): s for s in found}.values())


def standing_in(pad: Scratchpad) -> tuple[SessionSignal, ...]:
    """What stays of a run that failed, or of which nobody can say whether it holds."""
    return tuple(s for s in seen_in(pad, pad.sheets) if s.kind in STANDING_KINDS)


def _sighting(
    pad: Scratchpad,
    kind: SignalKind,
    subject: str,
    *,
    count: int = 1,
    module: str = "",
    detail: Json = None,
) -> SessionSignal:
    return SessionSignal(
        project=pad.project,
        kind=kind,
        subject=subject[:_SUBJECT_CHARS],
        session_id=pad.session_id,
        at=pad.updated_at,
        count=max(1, count),
        module=module,
        detail=detail,
    )


def _files(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    reads, edits = defaultdict[str, int](int), defaultdict[str, int](int)
    for file in (f for sheet in sheets for f in sheet.files):
        reads[file.path] += file.reads
        edits[file.path] += file.edits
    for path in reads:
        detail: Json = {"reads": reads[path], "edits": edits[path]}
        yield _sighting(
            pad,
            SignalKind.FILE_ACCESS,
            path,
            count=reads[path] + edits[path],
            module=module_of(path),
            detail=detail,
        )


def _pairs(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for sheet in sheets:
        for pair in sheet.pairs:
            if not _is_given_up(sheet, pair.step, pair.file_a):
                yield _pair(pad, pair)


def _pair(pad: Scratchpad, pair: CoAccess) -> SessionSignal:
    detail: Json = {
        "edited": pair.edited,
        "both": pair.both_edited,
        "a_first": pair.a_first,
        "step_delta": pair.step_delta,
        "time_delta_ms": pair.time_delta_ms,
    }
    return _sighting(
        pad,
        SignalKind.CO_ACCESS,
        pair_subject(pair.file_a, pair.file_b),
        count=pair.count,
        module=module_of(pair.file_a),
        detail=detail,
    )


def _anomalies(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    """Files of which the same part was read again and again, and that were never changed."""
    reads, dwell = defaultdict[str, int](lambda: 1), defaultdict[str, int](int)
    for anomaly in (a for sheet in sheets for a in sheet.anomalies):
        reads[anomaly.path] += anomaly.read_count - 1
        dwell[anomaly.path] += anomaly.dwell_ms
    edited = {file.path for sheet in sheets for file in sheet.files if file.edits}
    for path, count in reads.items():
        if count >= thresholds.CONFUSING_READS and path not in edited:
            detail: Json = {"reads": count, "dwell_ms": dwell[path]}
            yield _sighting(
                pad,
                SignalKind.TIME_ANOMALY,
                path,
                count=count,
                module=module_of(path),
                detail=detail,
            )


def _errors(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for sheet in sheets:
        for error in sheet.errors:
            detail: Json = {
                "tool": error.tool,
                "message": error.message,
                "command": error.command,
                "resolved": error.resolved_how,
                "by": error.ended_by,
                "in_progress": error.in_progress,
                "files": list(error.files),
            }
            yield _sighting(
                pad, SignalKind.ERROR_RETRY, error.signature, count=error.count, detail=detail
            )


def _backtracks(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for sheet in sheets:
        for back in sheet.backtracks:
            if _is_given_up(sheet, back.step, back.path):
                continue
            detail: Json = {
                "path": back.path,
                "cause": back.cause,
                "files": list(back.files),
                "within_steps": back.within_steps,
                "hint": back.hint,
            }
            yield _sighting(
                pad,
                SignalKind.BACKTRACK,
                backtrack_subject(back),
                count=back.count,
                module=module_of(back.path),
                detail=detail,
            )


def _dead_ends(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for sheet in sheets:
        for end in sheet.dead_ends:
            later = [f.path for f in sheet.files if f.edits and f.last_step > end.last_step]
            detail: Json = {
                "approach": end.approach,
                "why": end.why,
                "alternative": end.alternative or _instead(later, end),
                "context": pad.request,
                "files": list(end.files),
                "steps": end.last_step - end.first_step,
                "said": end.said,
            }
            yield _sighting(pad, SignalKind.DEAD_END, _dead_end_subject(end), detail=detail)


def _dead_end_subject(end: AbandonedApproach) -> str:
    """What makes two dead ends one: the words when it was said, else the files that were undone."""
    told = " ".join(sorted(set(content_words(end.approach)))) if end.said else ""
    named = "\n".join(sorted(end.files)) if not end.said else ""
    mark = told or named or end.approach
    return blake2b(mark.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _instead(later: Sequence[str], end: AbandonedApproach) -> str | None:
    named = [f"`{path}`" for path in later if path not in end.files]
    return f"changing {', '.join(named[:4])}" if named else None


def _notes(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    for note in (note for sheet in sheets for note in sheet.notes):
        kind = SignalKind.INSTRUCTION if note.by_person else SignalKind.NOTE
        subject = " ".join(content_words(note.content)) or note.content
        detail: Json = {
            "content": note.content,
            "type": note.type if note.type in set(MemoryType) else "fact",
            "files": list(note.files),
        }
        yield _sighting(pad, kind, subject, detail=detail)


def _sequences(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    """The steps of the session, under the module that most of its edits were made in."""
    steps = [step for sheet in sheets for step in sheet.sequence][: thresholds.MOST_STEPS]
    modules = [module_of(step.what) for step in steps if step.tool == "edit"]
    if len(steps) < thresholds.RECIPE_STEPS or not modules:
        return
    module = max(dict.fromkeys(modules), key=modules.count)
    listed: list[Json] = [[step.tool, step.scope, step.what] for step in steps]
    detail: Json = {"steps": listed, "request": pad.request}
    yield _sighting(pad, SignalKind.SEQUENCE, module, module=module, detail=detail)


def _costs(pad: Scratchpad, sheets: Sequence[TaskScratchpad]) -> Iterable[SessionSignal]:
    """What the session cost, shared among its modules by use, and its plan against the work."""
    uses = defaultdict[str, int](int)
    for file in (f for sheet in sheets for f in sheet.files):
        uses[module_of(file.path)] += file.reads + file.edits
    total, tokens = sum(uses.values()), sum(sheet.tokens for sheet in sheets)
    for module, count in uses.items():
        share = tokens * count // total if total else 0
        if share:
            yield _sighting(pad, SignalKind.CONTEXT_COST, module, count=share, module=module)
    if pad.planned and pad.done and uses:
        module = max(uses, key=lambda name: (uses[name], name))
        detail: Json = {"planned": pad.planned, "actual": pad.done}
        yield _sighting(pad, SignalKind.CALIBRATION, module, module=module, detail=detail)


def _is_given_up(sheet: TaskScratchpad, step: int, path: str) -> bool:
    """Whether a signal belongs to an approach that was given up."""
    return any(
        end.first_step <= step <= end.last_step and path in end.files for end in sheet.dead_ends
    )
