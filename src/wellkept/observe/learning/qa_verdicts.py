"""A QA verdict on a session or on one of its sub-tasks, and what QA found.

A verdict is one more validation on the scratchpad, the strongest there is. What QA found and calls
critical or high becomes an error pattern at once, whatever becomes of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from wellkept.core.changes import PutExplanation, PutScratchpad
from wellkept.core.clock import to_ms
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Evidence, Memory, MemoryDraft, WorkUnitRef
from wellkept.core.payloads import ErrorPattern
from wellkept.core.records import replace
from wellkept.core.scratchpad import (
    Explanation,
    QaIssue,
    Scratchpad,
    ScratchpadStatus,
    TaskScratchpad,
    Validation,
    Verdict,
)
from wellkept.core.text import content_words, shorten
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember, retried
from wellkept.observe import thresholds
from wellkept.observe.learning.rules import modules_of
from wellkept.observe.reading.sanitize import safe_text
from wellkept.observe.signals.todo_plan import TASK_CHARS

_TELLING = ("critical", "high")
CONFIDENCE = 0.8


def record_verdict(
    engine: Engine,
    session_id: str,
    verdict: Verdict,
    *,
    detail: str = "",
    task: str | None = None,
) -> Scratchpad:
    """Note a verdict on a session's work; it counts for everything done so far."""
    told = _one_line(safe_text(detail)) or f"QA {verdict}"
    name = shorten(" ".join(safe_text(task).split()), limit=TASK_CHARS) if task else None

    def attempt() -> Scratchpad:
        pad = _pad_of(engine, session_id)
        sheet = pad.sheet(name)
        if sheet not in pad.sheets and len(pad.sheets) > thresholds.MOST_SHEETS:
            raise UsageError(
                f"Session {session_id} has {len(pad.sheets)} sub-tasks, and {task!r} is none.",
                hint="Give a verdict on all of its work, or on one of those sub-tasks.",
            )
        seen = Validation(verdict, "qa", told, pad.step, to_ms(engine.clock()), sheet.edit_count)
        kept = (*sheet.validations, seen)[-thresholds.MOST_VALIDATIONS :]
        done = replace(
            with_sheet(pad, replace(sheet, validations=kept, promoted=False)),
            state=ScratchpadStatus.OPEN,
        )
        engine.store.apply([PutScratchpad(done)])
        return replace(done, revision=done.revision + 1)

    return retried(attempt)


def keep_issues(
    engine: Engine,
    issues: Sequence[QaIssue],
    *,
    project: str,
    session_id: str,
    unit: WorkUnitRef | None = None,
) -> list[Memory]:
    """What QA found in a unit of work, as error patterns: those that are critical or high."""
    return [
        remember(
            engine,
            replace(_draft(engine, issue, session_id), work_unit=unit),
            project=project,
            beside=lambda memory, issue=issue: (_explained(engine, memory, issue, session_id),),
        ).memory
        for issue in issues
        if issue.severity in _TELLING and issue.description.strip()
    ]


def _explained(engine: Engine, memory: Memory, issue: QaIssue, session_id: str) -> PutExplanation:
    return PutExplanation(
        Explanation(
            memory_id=memory.id,
            project=memory.project,
            rule="qa_failure",
            subject=issue.file or issue.module or "",
            at=engine.clock(),
            validated_by="QA",
            sessions=memory.provenance_sessions,
            signals=(f"{session_id}: {issue.severity}: {_one_line(issue.description)}",),
            score=CONFIDENCE,
        )
    )


def _one_line(text: str) -> str:
    return shorten(" ".join(text.split()), limit=200)


def with_sheet(pad: Scratchpad, sheet: TaskScratchpad) -> Scratchpad:
    """The scratchpad with one sheet put back; a new one comes last."""
    known = any(one.task == sheet.task for one in pad.sheets)
    if known:
        sheets = tuple(sheet if one.task == sheet.task else one for one in pad.sheets)
    else:
        sheets = (*pad.sheets, sheet)
    return replace(pad, sheets=sheets)


def _pad_of(engine: Engine, session_id: str) -> Scratchpad:
    pad = engine.store.scratchpad(session_id)
    if pad is not None:
        return pad
    session = engine.store.get_session(session_id)
    if session is None:
        raise NotFoundError(
            f"There is no session {session_id!r}.", hint="`wellkept sessions` lists them."
        )
    return Scratchpad(
        session_id=session.id, project=session.project, updated_at=session.last_event_at
    )


def _draft(engine: Engine, issue: QaIssue, session_id: str) -> MemoryDraft:
    files = (issue.file,) if issue.file else ()
    modules = (issue.module,) if issue.module else modules_of(files)
    subject = "\n".join((*sorted(set(content_words(issue.description))), *files))
    mark = blake2b(subject.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return MemoryDraft(
        content=_told(issue),
        type=MemoryType.ERROR_PATTERN,
        key=f"observer:qa:{mark}",
        tags=("qa_failure",),
        files=files,
        modules=modules,
        confidence=CONFIDENCE,
        scope=Scope.MODULE,
        source=Source.QA_AUTO,
        session_id=session_id,
        evidence=(Evidence(EvidenceKind.SESSION, session_id, "QA", engine.clock()),),
        payload=ErrorPattern(
            error=shorten(issue.description, limit=500), fix=issue.recommendation or None
        ),
    )


def _told(issue: QaIssue) -> str:
    where = f" in `{issue.file}`" if issue.file else ""
    parts = [f"QA found{where}: {issue.description.strip().rstrip('.')}."]
    if issue.tried:
        parts.append(f"What was tried: {issue.tried.strip().rstrip('.')}.")
    if issue.recommendation:
        parts.append(f"What to do: {issue.recommendation.strip().rstrip('.')}.")
    return shorten(" ".join(parts), limit=1_200)
