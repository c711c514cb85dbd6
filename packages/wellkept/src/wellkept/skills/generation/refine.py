"""Merges several similar sessions into one skill.

A step is included when at least half of the sessions took it, with their number. Files are unions,
a command is its most frequent form, and all pitfalls are included.

Invariant: merging one session gives its own procedure; the order of sessions only breaks ties.
Knows nothing of storage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from wellkept.core.records import record, replace
from wellkept.core.text import first_line
from wellkept.skills.generation.generate import (
    Redactor,
    SkillDraft,
    compose_draft,
    redacted_history,
    title_of,
)
from wellkept.skills.generation.procedure import (
    MAX_PITFALLS,
    MAX_STEPS,
    Pitfall,
    Procedure,
    ProcedureStep,
    extract_procedure,
    file_patterns,
)
from wellkept.skills.generation.session_history import SessionHistory

MIN_SESSIONS: Final = 2
_MAX_FILES: Final = 12


@record
class _StepOccurrence:
    """One step of one session, and its position from 0 to 1."""

    step: ProcedureStep
    session: int
    position: float


def refine_skill(histories: Sequence[SessionHistory], *, name: str, redact: Redactor) -> SkillDraft:
    """The skill from several sessions, under an existing name."""
    redacted = tuple(redacted_history(history, redact=redact) for history in histories)
    steps = merge_procedures([extract_procedure(history) for history in redacted])
    return compose_draft(
        title_of(redacted[0], steps),
        steps,
        name=name,
        requests=[first_line(s.prompts[0], limit=200) for s in redacted if s.prompts],
        histories=redacted,
    )


def merge_procedures(procedures: Sequence[Procedure]) -> Procedure:
    """The common part of several procedures."""
    if len(procedures) == 1:
        return procedures[0]
    groups: dict[str, list[_StepOccurrence]] = {}
    for session, one in enumerate(procedures):
        steps = [part for step in one.steps for part in _parts(step)]
        for number, step in enumerate(steps):
            occurrence = _StepOccurrence(step, session, number / max(1, len(steps) - 1))
            groups.setdefault(_key(step), []).append(occurrence)
    needed = (len(procedures) + 1) // 2
    common = [g for g in groups.values() if len({one.session for one in g}) >= needed]
    common.sort(key=lambda group: sum(one.position for one in group) / len(group))
    return Procedure(
        steps=tuple(_joined([_one(group) for group in common])[-MAX_STEPS:]),
        pitfalls=_pitfalls(procedures),
    )


def _parts(step: ProcedureStep) -> list[ProcedureStep]:
    """Edits split by pattern, since sessions differ in what else they edited."""
    if len(step.patterns) < 2:
        return [step]
    by_pattern: dict[str, list[str]] = {}
    for file in step.files:
        by_pattern.setdefault(file_patterns([file])[0], []).append(file)
    return [
        replace(step, patterns=(pattern,), files=tuple(files))
        for pattern, files in by_pattern.items()
    ]


def _key(step: ProcedureStep) -> str:
    """Reading is one step, whatever is read."""
    return "look" if step.action == "look" else step.key


def _one(group: Sequence[_StepOccurrence]) -> ProcedureStep:
    """One step for all sessions that took it."""
    steps = [one.step for one in group]
    commands = Counter(step.command for step in reversed(steps))
    files = dict.fromkeys(file for step in steps for file in step.files)
    return ProcedureStep(
        action=steps[0].action,
        purpose=steps[0].purpose,
        command=commands.most_common(1)[0][0],
        patterns=steps[0].patterns,
        files=tuple(files)[:_MAX_FILES],
        session_count=len({one.session for one in group}),
    )


def _joined(steps: Sequence[ProcedureStep]) -> list[ProcedureStep]:
    """Consecutive edits with the same session count become one step again."""
    made: list[ProcedureStep] = []
    for step in steps:
        last = made[-1] if made else None
        is_same = last is not None and (last.action, last.session_count) == (
            step.action,
            step.session_count,
        )
        if last is not None and is_same and step.patterns and last.patterns:
            patterns = dict.fromkeys((*last.patterns, *step.patterns))
            made[-1] = replace(last, patterns=tuple(patterns), files=(*last.files, *step.files))
        else:
            made.append(step)
    return made


def _pitfalls(procedures: Sequence[Procedure]) -> tuple[Pitfall, ...]:
    found = {(p.command, p.error): p for one in procedures for p in one.pitfalls}
    return tuple(found.values())[-MAX_PITFALLS:]
