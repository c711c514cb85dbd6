"""What is said of a session's work while it goes on: notes of the agent, verdicts and issues of QA.

A note is shown to the same session at once. It becomes a memory when the work is validated, and is
discarded with the scratchpad when it is not. A verdict outranks all other validations. Critical and
high issues become error patterns at once, whatever the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.changes import PutExplanation, PutScratchpad
from wellkept.core.clock import to_ms
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.ids import digest
from wellkept.core.memory import Evidence, Memory, MemoryDraft, WorkUnitRef
from wellkept.core.payloads import ErrorPattern
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import (
    AgentNote,
    Explanation,
    QaIssue,
    Scratchpad,
    ScratchpadStatus,
    Validation,
    Verdict,
)
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import content_words, shorten
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember, with_retries
from wellkept.observe import thresholds
from wellkept.observe.learning.rules import modules_of
from wellkept.observe.session.state import load_state
from wellkept.observe.signals.todo_plan import TASK_CHARS
from wellkept.observe.signals.work import task_names, work_of
from wellkept.text.events.sanitize import safe_text

CONFIDENCE = 0.8
MAX_NOTE_CHARS = 4_000
_SAVED_SEVERITIES = ("critical", "high")


def add_note(
    engine: Engine,
    session: SessionRecord,
    content: str,
    *,
    type: MemoryType = MemoryType.FACT,
    files: Sequence[str] = (),
) -> AgentNote | None:
    """Add a note under the current sub-task of a session; None when there is no room for more.

    The same text is noted once.
    """
    text = safe_text(content.strip(), limit=MAX_NOTE_CHARS)
    names = task_names(load_state(session.work).steps)

    def attempt() -> AgentNote | None:
        pad = engine.store.scratchpad(session.id) or _fresh(session)
        known = next((note for note in pad.notes if note.content == text), None)
        task = pad.for_task(names[-1] if names else None)
        if known is not None or len(task.notes) >= thresholds.MAX_NOTES:
            return known
        now = engine.clock()
        note = AgentNote(engine.new_id(), text, type.value, pad.step, to_ms(now), tuple(files))
        noted = pad.with_task(replace(task, notes=(*task.notes, note)))
        opened = replace(noted, state=ScratchpadStatus.OPEN, updated_at=now)
        engine.store.apply([PutScratchpad(opened)])
        return note

    return with_retries(attempt)


def _fresh(session: SessionRecord) -> Scratchpad:
    return Scratchpad(
        session_id=session.id, project=session.project, updated_at=session.last_event_at
    )


def record_verdict(
    engine: Engine,
    session_id: str,
    verdict: Verdict,
    *,
    detail: str = "",
    task: str | None = None,
) -> SessionRecord:
    """Record a verdict on a session's work so far, or on one sub-task."""
    text = _one_line(safe_text(detail)) or f"QA {verdict}"
    name = shorten(" ".join(safe_text(task).split()), limit=TASK_CHARS) if task else None
    session = engine.store.get_session(session_id)
    if session is None:
        raise NotFoundError(
            f"There is no session {session_id!r}.", hint="`wellkept session list` lists them."
        )

    def attempt() -> None:
        pad = engine.store.scratchpad(session_id) or _fresh(session)
        edits = {one.review.name: one.edit_count for one in work_of(session, pad).tasks}
        if name not in edits and len(edits) > thresholds.MAX_TASKS:
            raise UsageError(
                f"Session {session_id} has {len(edits)} sub-tasks, and {task!r} is none.",
                hint="Give a verdict on all of its work, or on one of those sub-tasks.",
            )
        known, at_ms = pad.for_task(name), to_ms(engine.clock())
        validation = Validation(verdict, "qa", text, pad.step, at_ms, edits.get(name, 0))
        validations = (*known.validations, validation)[-thresholds.MAX_VALIDATIONS :]
        judged = pad.with_task(replace(known, validations=validations))
        engine.store.apply([PutScratchpad(replace(judged, state=ScratchpadStatus.OPEN))])

    with_retries(attempt)
    return session


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
