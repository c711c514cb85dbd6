"""Build the scratchpad part of one sub-task from signals.

Invariant: it never grows beyond its bounds, however long the session; the least used and oldest
entries go first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from wellkept.core.records import replace
from wellkept.core.session.scratchpad import (
    AbandonedApproach,
    AgentNote,
    Backtrack,
    CoAccess,
    ErrorRetry,
    FileAccess,
    SequenceStep,
    SessionCommit,
    TaskScratchpad,
    TimeAnomaly,
    Validation,
)
from wellkept.observe import thresholds as t
from wellkept.text.shell.results import error_signature

_Key = TypeVar("_Key")
_Signal = TypeVar("_Signal")


class ScratchpadBuilder:
    """Signals of one sub-task, added one by one."""

    def __init__(self, sheet: TaskScratchpad) -> None:
        self._sheet = sheet
        self.files = {one.path: one for one in sheet.files}
        self.pairs = {(one.file_a, one.file_b): one for one in sheet.pairs}
        self.errors = {one.signature: one for one in sheet.errors}
        self.backtracks = {backtrack_subject(one): one for one in sheet.backtracks}
        self.dwells = {one.path: one for one in sheet.anomalies}
        self.sequence = {(one.tool, one.what): one for one in sheet.sequence}
        self.dead_ends = list(sheet.dead_ends)
        self.commits = list(sheet.commits)
        self.validations = list(sheet.validations)
        self.notes = {one.id: one for one in sheet.notes}
        self.decisions = dict.fromkeys(sheet.decisions)
        self.last_step = sheet.last_step
        self.last_edit_step = sheet.last_edit_step
        self.edit_count = sheet.edit_count
        self.tokens = sheet.tokens
        self.changed = False

    def touch(self, path: str, *, step: int, edited: bool) -> None:
        """Count a read or an edit of a file."""
        known = self.files.get(path) or FileAccess(path, 0, 0, step, step)
        self.files[path] = FileAccess(
            path, known.reads + (not edited), known.edits + edited, known.first_step, step
        )
        if edited:
            self.edit_count += 1
            self.last_edit_step = step
        _trim(self.files, t.MAX_FILES)

    def pair(self, signal: CoAccess) -> None:
        """Count two files that were used within a few steps."""
        key = (signal.file_a, signal.file_b)
        if known := self.pairs.get(key):
            signal = CoAccess(
                *key,
                count=known.count + 1,
                a_first=known.a_first + signal.a_first,
                step_delta=min(known.step_delta, signal.step_delta),
                time_delta_ms=min(known.time_delta_ms, signal.time_delta_ms),
                edited=known.edited or signal.edited,
                step=signal.step,
                both_edited=known.both_edited or signal.both_edited,
            )
        self.pairs[key] = signal
        _trim(self.pairs, t.MAX_PAIRS)

    def fail(self, signal: ErrorRetry, *, counts_again: bool) -> None:
        """Count an error; work in progress counts once in a session."""
        if known := self.errors.get(signal.signature):
            count = known.count + counts_again
            signal = replace(known, count=count, last_step=signal.last_step)
        self.errors[signal.signature] = signal
        _trim(self.errors, t.MAX_ERRORS)

    def backtrack(self, signal: Backtrack) -> None:
        """Note a redone edit; once for each reason."""
        self.backtracks[backtrack_subject(signal)] = signal
        _trim(self.backtracks, t.MAX_BACKTRACKS)

    def dwell(self, path: str, ms: int) -> None:
        """Add time spent on a file."""
        known = self.dwells.get(path) or TimeAnomaly(path, 0, 1)
        self.dwells[path] = replace(known, dwell_ms=known.dwell_ms + ms)
        _trim(self.dwells, t.MAX_FILES)

    def reread(self, path: str) -> None:
        """Count a repeated read of the same part of a file."""
        known = self.dwells.get(path) or TimeAnomaly(path, 0, 1)
        self.dwells[path] = replace(known, read_count=known.read_count + 1)
        _trim(self.dwells, t.MAX_FILES)

    def add_step(self, step: SequenceStep) -> None:
        """Add a step to the sequence; each step counts where it came first."""
        if len(self.sequence) < t.MAX_STEPS:
            self.sequence.setdefault((step.tool, step.what), step)

    def validate(self, signal: Validation) -> None:
        """Add a validation."""
        self.validations = [*self.validations, signal][-t.MAX_VALIDATIONS :]

    def commit(self, commit: SessionCommit) -> None:
        """Add a commit."""
        self.commits = [*self.commits, commit][-t.MAX_COMMITS :]

    def add_dead_end(self, end: AbandonedApproach) -> None:
        """Add a dead end; files that are undone one after the other are one approach."""
        last = self.dead_ends[-1] if self.dead_ends else None
        if last is not None and _is_same_approach(last, end):
            self.dead_ends[-1] = replace(
                last,
                files=tuple(dict.fromkeys((*last.files, *end.files)))[:8],
                first_step=min(last.first_step, end.first_step),
                last_step=end.last_step,
            )
            return
        others = [one for one in self.dead_ends if one.files != end.files or one.said != end.said]
        self.dead_ends = [*others, end][-t.MAX_DEAD_ENDS :]

    def note(self, note: AgentNote) -> None:
        """Add a note."""
        if len(self.notes) < t.MAX_NOTES:
            self.notes.setdefault(note.id, note)

    def build(self) -> TaskScratchpad:
        """The scratchpad part, inside its bounds."""
        return replace(
            self._sheet,
            last_step=self.last_step,
            last_edit_step=self.last_edit_step,
            edit_count=self.edit_count,
            tokens=self.tokens,
            files=_top(self.files, t.MAX_FILES, lambda f: (f.reads + f.edits, f.last_step)),
            pairs=_top(self.pairs, t.MAX_PAIRS, lambda p: (p.edited, p.count, p.step)),
            errors=_top(self.errors, t.MAX_ERRORS, lambda e: (e.count, e.last_step)),
            backtracks=_top(self.backtracks, t.MAX_BACKTRACKS, lambda b: (b.count, b.step)),
            dead_ends=tuple(self.dead_ends),
            anomalies=_top(self.dwells, t.MAX_FILES, lambda d: (d.read_count, d.dwell_ms)),
            sequence=tuple(self.sequence.values()),
            commits=tuple(self.commits),
            validations=tuple(self.validations),
            notes=tuple(self.notes.values()),
            decisions=tuple(self.decisions)[: t.MAX_DECISIONS],
            promoted=self._sheet.promoted and not self.changed,
        )


def backtrack_subject(back: Backtrack) -> str:
    """The identity of a backtrack: its cause, its file, and the clue."""
    clue = error_signature("", back.hint) if back.hint else "\n".join(back.files)
    return f"{back.cause}\n{back.path}\n{clue}"


def _is_same_approach(last: AbandonedApproach, end: AbandonedApproach) -> bool:
    is_near = end.last_step - last.last_step <= t.RE_EDIT_STEPS
    return is_near and last.why == end.why and not (last.said or end.said)


def _trim(signals: dict[_Key, _Signal], most: int) -> None:
    """Hold a few more than are kept until the part is built."""
    if len(signals) > 4 * most:
        del signals[next(iter(signals))]


def _top(
    signals: Mapping[_Key, _Signal], most: int, rank: Callable[[_Signal], tuple[int, ...]]
) -> tuple[_Signal, ...]:
    """The signals of highest rank, in the order in which they came."""
    values = list(signals.values())
    if len(values) <= most:
        return tuple(values)
    kept = sorted(range(len(values)), key=lambda n: rank(values[n]), reverse=True)[:most]
    return tuple(values[n] for n in sorted(kept))
