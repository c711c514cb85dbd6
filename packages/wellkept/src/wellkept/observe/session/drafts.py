"""Turn observations, prompts and summaries into memory drafts."""

from __future__ import annotations

from datetime import datetime

from wellkept.core.memory import Evidence, MemoryDraft
from wellkept.core.payloads import Observation, Prompt, SessionSummary
from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.observe.session.observations import ObservationNote

MAX_PROMPT_CHARS = 16_000
MAX_FILES = 40
MAX_PATH_CHARS = 400
PROMPT_IMPORTANCE, SUMMARY_IMPORTANCE = 0.3, 0.55
COMMIT_CONFIDENCE, RULE_CONFIDENCE = 0.85, 0.65


@record
class EventRef:
    """The event that a draft comes from, and its position in the session."""

    session_id: str
    event_id: str
    at: datetime
    seq: int


def observation_draft(note: ObservationNote, *, ref: EventRef) -> MemoryDraft:
    """An observation as a memory."""
    observed = note.observation
    is_commit = observed.commit is not None and (observed.subtitle or "").startswith("Commit")
    evidence = [Evidence(EvidenceKind.OBSERVATION, ref.event_id, at=ref.at)]
    if is_commit and observed.commit:
        evidence.append(Evidence(EvidenceKind.COMMIT, observed.commit, at=ref.at))
    return MemoryDraft(
        content=observation_text(observed),
        type=MemoryType.OBSERVATION,
        tags=(observed.kind, *((f"agent:{observed.agent}"[:100],) if observed.agent else ())),
        files=_paths(observed.files_modified),
        importance=note.importance,
        confidence=COMMIT_CONFIDENCE if is_commit else RULE_CONFIDENCE,
        source=Source.OBSERVER_INFERRED,
        session_id=ref.session_id,
        seq=ref.seq,
        commit_sha=observed.commit,
        evidence=tuple(evidence),
        work_tokens=note.tokens,
        payload=observed,
        valid_from=ref.at,
    )


def observation_text(observed: Observation) -> str:
    """An observation for reading and for search."""
    lines = [observed.title]
    if observed.subtitle and observed.subtitle != observed.title:
        lines.append(observed.subtitle)
    lines += [f"- {fact}" for fact in observed.facts]
    if observed.narrative:
        lines.append(observed.narrative)
    return "\n".join(lines)


def prompt_draft(text: str, *, number: int, ref: EventRef) -> MemoryDraft:
    """A prompt as a memory."""
    return MemoryDraft(
        content=shorten(text, limit=MAX_PROMPT_CHARS),
        type=MemoryType.PROMPT,
        importance=PROMPT_IMPORTANCE,
        confidence=1.0,
        source=Source.OBSERVER_INFERRED,
        author="user",
        session_id=ref.session_id,
        seq=ref.seq,
        payload=Prompt(number),
        valid_from=ref.at,
    )


def summary_key(session_id: str) -> str:
    """The key under which a session has its one summary."""
    return f"summary:{session_id}"[:500]


def summary_draft(
    summary: SessionSummary, *, title: str | None, ref: EventRef, tokens: int
) -> MemoryDraft:
    """A session's summary as a memory."""
    return MemoryDraft(
        content=summary_text(summary, title=title),
        type=MemoryType.TIMELINE,
        key=summary_key(ref.session_id),
        tags=("session-summary",),
        files=_paths(summary.files_modified),
        importance=SUMMARY_IMPORTANCE,
        source=Source.OBSERVER_INFERRED,
        session_id=ref.session_id,
        commit_sha=summary.commit,
        evidence=(Evidence(EvidenceKind.SESSION, ref.session_id, at=ref.at),),
        work_tokens=tokens,
        payload=summary,
        valid_from=ref.at,
    )


def summary_text(summary: SessionSummary, *, title: str | None) -> str:
    """A summary for reading and for search."""
    head = title or summary.request or "without a request"
    parts = (
        ("Request", summary.request if summary.request != head else None),
        ("Investigated", summary.investigated),
        ("Learned", summary.learned),
        ("Completed", summary.completed),
        ("Next steps", summary.next_steps),
        ("Notes", summary.notes),
    )
    return "\n".join([f"Session: {head}", *(f"{name}: {text}" for name, text in parts if text)])


def _paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for path in paths if len(path) <= MAX_PATH_CHARS)[:MAX_FILES]
