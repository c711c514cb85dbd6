"""Records QA verdicts on sessions or sub-tasks, and the issues QA found.

A verdict is a validation on the scratchpad that outranks all others. Critical and high issues
become error patterns at once, whatever the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.changes import PutExplanation, PutScratchpad
from wellkept.core.clock import to_ms
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Evidence, Memory, MemoryDraft, WorkUnitRef
from wellkept.core.payloads import ErrorPattern
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import (
    Explanation,
    QaIssue,
    Scratchpad,
    ScratchpadStatus,
    Validation,
    Verdict,
)
from wellkept.core.text import content_words, shorten
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember, with_retries
from wellkept.observe import thresholds
from wellkept.observe.learning.rules import digest, modules_of
from wellkept.observe.signals.todo_plan import TASK_CHARS
from wellkept.text.events.sanitize import safe_text

CONFIDENCE = 0.8
_SAVED_SEVERITIES = ("critical", "high")


def record_verdict(
    engine: Engine,
    session_id: str,
    verdict: Verdict,
    *,
    detail: str = "",
    task: str | None = None,
) -> Scratchpad:
    """Record a verdict on a session's work so far, or on one sub-task."""
    text = _one_line(safe_text(detail)) or f"QA {verdict}"
    name = shorten(" ".join(safe_text(task).split()), limit=TASK_CHARS) if task else None

    def attempt() -> Scratchpad:
        known = _scratchpad(engine, session_id)
        pad = known.for_task(name)
        if pad not in known.tasks and len(known.tasks) > thresholds.MAX_TASKS:
            raise UsageError(
                f"Session {session_id} has {len(known.tasks)} sub-tasks, and {task!r} is none.",
                hint="Give a verdict on all of its work, or on one of those sub-tasks.",
            )
        at_ms = to_ms(engine.clock())
        validation = Validation(verdict, "qa", text, known.step, at_ms, pad.edit_count)
        validations = (*pad.validations, validation)[-thresholds.MAX_VALIDATIONS :]
        changed = replace(
            known.with_task(replace(pad, validations=validations, promoted=False)),
            state=ScratchpadStatus.OPEN,
        )
        engine.store.apply([PutScratchpad(changed)])
        return replace(changed, revision=changed.revision + 1)

    return with_retries(attempt)


def save_issues(
    engine: Engine,
    issues: Sequence[QaIssue],
    *,
    project: str,
    session_id: str,
    unit: WorkUnitRef | None = None,
) -> list[Memory]:
    """Save critical and high issues as error patterns."""
    return [
        remember(
            engine,
            replace(_draft(engine, issue, session_id), work_unit=unit),
            project=project,
            beside=lambda memory, issue=issue: (_explain(engine, memory, issue, session_id),),
        ).memory
        for issue in issues
        if issue.severity in _SAVED_SEVERITIES and issue.description.strip()
    ]


def _explain(engine: Engine, memory: Memory, issue: QaIssue, session_id: str) -> PutExplanation:
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


def _scratchpad(engine: Engine, session_id: str) -> Scratchpad:
    known = engine.store.scratchpad(session_id)
    if known is not None:
        return known
    session = engine.store.get_session(session_id)
    if session is None:
        raise NotFoundError(
            f"There is no session {session_id!r}.", hint="`wellkept session list` lists them."
        )
    return Scratchpad(
        session_id=session.id, project=session.project, updated_at=session.last_event_at
    )


def _draft(engine: Engine, issue: QaIssue, session_id: str) -> MemoryDraft:
    files = (issue.file,) if issue.file else ()
    modules = (issue.module,) if issue.module else modules_of(files)
    subject = (*sorted(set(content_words(issue.description))), *files)
    return MemoryDraft(
        content=_issue_text(issue),
        type=MemoryType.ERROR_PATTERN,
        key=f"observer:qa:{digest(*subject)}",
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


def _issue_text(issue: QaIssue) -> str:
    where = f" in `{issue.file}`" if issue.file else ""
    parts = [f"QA found{where}: {issue.description.strip().rstrip('.')}."]
    if issue.tried:
        parts.append(f"What was tried: {issue.tried.strip().rstrip('.')}.")
    if issue.recommendation:
        parts.append(f"What to do: {issue.recommendation.strip().rstrip('.')}.")
    return shorten(" ".join(parts), limit=1_200)
