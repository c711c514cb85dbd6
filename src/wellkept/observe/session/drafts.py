"""Observations, prompts and summaries as memories to be: the one record that everything uses."""

from __future__ import annotations

from datetime import datetime

from wellkept.core.memory import Evidence, MemoryDraft
from wellkept.core.payloads import Observation, Prompt, SessionSummary
from wellkept.core.records import record
from wellkept.core.text import shorten
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.observe.session.observation_rules import Note

MAX_PROMPT_CHARS = 16_000
MAX_FILES = 40
MAX_PATH_CHARS = 400
PROMPT_IMPORTANCE, SUMMARY_IMPORTANCE = 0.3, 0.55
COMMIT_CONFIDENCE, RULE_CONFIDENCE = 0.85, 0.65


@record
class EventRef:
    """Where in which session something happened."""

    session_id: str
    event_id: str
    at: datetime
    seq: int


def observation_draft(note: Note, *, stamp: EventRef) -> MemoryDraft:
    """An observation as a memory."""
    seen = note.observation
    is_commit = seen.commit is not None and (seen.subtitle or "").startswith("Commit")
    evidence = [Evidence(EvidenceKind.OBSERVATION, stamp.event_id, at=stamp.at)]
    if is_commit and seen.commit:
        evidence.append(Evidence(EvidenceKind.COMMIT, seen.commit, at=stamp.at))
    return MemoryDraft(
        content=observation_text(seen),
        type=MemoryType.OBSERVATION,
        key=f"work:{stamp.session_id[:200]}:{note.key}" if note.key else None,
        tags=(seen.kind, *((f"agent:{seen.agent}"[:100],) if seen.agent else ())),
        files=_paths(seen.files_modified),
        importance=note.importance,
        confidence=COMMIT_CONFIDENCE if is_commit else RULE_CONFIDENCE,
        source=Source.OBSERVER_INFERRED,
        session_id=stamp.session_id,
        seq=stamp.seq,
        commit_sha=seen.commit,
        evidence=tuple(evidence),
        work_tokens=note.earlier_tokens + note.tokens,
        payload=seen,
        valid_from=stamp.at,
    )


def observation_text(seen: Observation) -> str:
    """An observation for reading and for search."""
    lines = [seen.title]
    if seen.subtitle and seen.subtitle != seen.title:
        lines.append(seen.subtitle)
    lines += [f"- {fact}" for fact in seen.facts]
    if seen.narrative:
        lines.append(seen.narrative)
    return "\n".join(lines)


def prompt_draft(text: str, *, number: int, stamp: EventRef) -> MemoryDraft:
    """What a person said, as a memory."""
    return MemoryDraft(
        content=shorten(text, limit=MAX_PROMPT_CHARS),
        type=MemoryType.PROMPT,
        importance=PROMPT_IMPORTANCE,
        confidence=1.0,
        source=Source.OBSERVER_INFERRED,
        author="user",
        session_id=stamp.session_id,
        seq=stamp.seq,
        payload=Prompt(number),
        valid_from=stamp.at,
    )


def summary_key(session_id: str) -> str:
    """The key under which a session has its one summary."""
    return f"session-summary:{session_id}"[:500]


def summary_draft(
    summary: SessionSummary, *, title: str | None, stamp: EventRef, tokens: int
) -> MemoryDraft:
    """A session's summary as a memory."""
    return MemoryDraft(
        content=summary_text(summary, title=title),
        type=MemoryType.TIMELINE,
        key=summary_key(stamp.session_id),
        tags=("session-summary",),
        files=_paths(summary.files_modified),
        importance=SUMMARY_IMPORTANCE,
        source=Source.OBSERVER_INFERRED,
        session_id=stamp.session_id,
        commit_sha=summary.commit,
        evidence=(Evidence(EvidenceKind.SESSION, stamp.session_id, at=stamp.at),),
        work_tokens=tokens,
        payload=summary,
        valid_from=stamp.at,
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
