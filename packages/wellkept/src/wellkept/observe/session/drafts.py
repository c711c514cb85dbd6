"""Turn observations, prompts and summaries into memory drafts."""

from __future__ import annotations

from datetime import datetime

from wellkept.core.changes import Change, Insert, Replace
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.payloads import Observation, Prompt, SessionSummary
from wellkept.core.records import replace
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import shorten
from wellkept.core.types import EvidenceKind, MemoryType, Source
from wellkept.memory.draft import compose
from wellkept.memory.engine import Engine

MAX_PROMPT_CHARS = 16_000
MAX_FILES = 40
MAX_PATH_CHARS = 400
PROMPT_IMPORTANCE, SUMMARY_IMPORTANCE = 0.3, 0.55
COMMIT_CONFIDENCE, RULE_CONFIDENCE = 0.85, 0.65


def observation_draft(observed: Observation, *, tokens: int, importance: float) -> MemoryDraft:
    """An observation as a memory. The reducer adds of which event it is."""
    return MemoryDraft(
        content=observation_text(observed),
        type=MemoryType.OBSERVATION,
        tags=(observed.kind, *((f"agent:{observed.agent}"[:100],) if observed.agent else ())),
        files=_paths(observed.files_modified),
        importance=importance,
        confidence=COMMIT_CONFIDENCE if observed.commit else RULE_CONFIDENCE,
        source=Source.OBSERVER_INFERRED,
        commit_sha=observed.commit,
        work_tokens=tokens,
        payload=observed,
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


def prompt_draft(text: str, *, number: int) -> MemoryDraft:
    """A prompt as a memory."""
    return MemoryDraft(
        content=shorten(text, limit=MAX_PROMPT_CHARS),
        type=MemoryType.PROMPT,
        importance=PROMPT_IMPORTANCE,
        confidence=1.0,
        source=Source.OBSERVER_INFERRED,
        author="user",
        payload=Prompt(number),
    )


def summary_key(session_id: str) -> str:
    """The key under which a session has its one summary."""
    return f"summary:{session_id}"[:500]


def summary_draft(summary: SessionSummary, session: SessionRecord, *, at: datetime) -> MemoryDraft:
    """A session's summary as a memory."""
    return MemoryDraft(
        content=summary_text(summary, title=session.title),
        type=MemoryType.TIMELINE,
        key=summary_key(session.id),
        tags=("session-summary",),
        files=_paths(summary.files_modified),
        importance=SUMMARY_IMPORTANCE,
        source=Source.OBSERVER_INFERRED,
        session_id=session.id,
        commit_sha=summary.commit,
        evidence=(Evidence(EvidenceKind.SESSION, session.id, at=at),),
        work_tokens=session.discovery_tokens,
        payload=summary,
        valid_from=at,
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


def rewritten(old: Memory, new: Memory) -> Memory:
    """A memory with new content; it keeps its id and its time."""
    return replace(
        old,
        content=new.content,
        payload=new.payload,
        tags=new.tags,
        files=new.files,
        commit_sha=new.commit_sha,
        work_tokens=new.work_tokens,
        updated_at=max(new.updated_at, old.updated_at),
        stale_at=None,
    )


def find_summary(engine: Engine, session_id: str, *, project: str) -> Memory | None:
    """The summary of a session."""
    return engine.store.find_key(summary_key(session_id), project=project, user_scope=False)


def summary_changes(
    engine: Engine, draft: MemoryDraft, *, project: str, is_due: bool
) -> list[Change]:
    """The change that makes a draft the one summary of its session.

    A summary is updated in place and keeps its id. One written by a model stays until a summary is
    due again.
    """
    new = composed(engine, draft, project=project)
    old = find_summary(engine, draft.session_id or "", project=project)
    if old is None:
        return [Insert(new, engine.index_entry(new))]
    if (old.content, old.payload) == (new.content, new.payload):
        return []
    by_model = isinstance(old.payload, SessionSummary) and old.payload.made_by == "model"
    if by_model and not is_due:
        return []
    again = rewritten(old, new)
    return [Replace(again, engine.index_entry(again), old.updated_at)]


def composed(engine: Engine, draft: MemoryDraft, *, project: str) -> Memory:
    """The memory of a draft."""
    return compose(draft, project=project, id=engine.new_id(), now=engine.clock())
