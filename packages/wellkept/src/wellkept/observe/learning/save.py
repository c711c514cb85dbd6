"""Saves conclusions as memories, with their explanation.

The key of a conclusion is made of its rule and subject. Seen again, the memory under that key is
strengthened in place and keeps its id. Text that a person changed is never overwritten, and a
memory that a person removed does not come back on the same evidence.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from wellkept.core.changes import Close, PutExplanation, Replace
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.records import record, replace
from wellkept.core.session.scratchpad import Explanation, SessionCommit
from wellkept.core.types import EvidenceKind, Scope
from wellkept.memory.draft import compose
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.confirmation import QUOTED_TAG
from wellkept.memory.remember import reinforced, remember, with_retries
from wellkept.observe.learning.rules import Conclusion, key_of, modules_of
from wellkept.observe.learning.scoring import Score

_SESSION_COUNTS = "observer_promoted"
_MAX_EVIDENCE = 30
IMPORTANCE = 0.6


class PromotionResult(StrEnum):
    """What happened to a conclusion."""

    PROMOTED = "promoted"
    CONFIRMED = "confirmed"
    UNCHANGED = "unchanged"
    FORGOTTEN = "forgotten"


@record(kw_only=True)
class PromotionBasis:
    """What a promotion rests on: the session, what validated it, its commits."""

    project: str
    session_id: str
    at: datetime
    validated_by: str
    commits: tuple[SessionCommit, ...] = ()


@record
class SavedConclusion:
    """What happened to a conclusion, and its memory if it has one."""

    result: PromotionResult
    memory_id: str | None = None


def save_conclusion(
    engine: Engine, conclusion: Conclusion, score: Score, *, basis: PromotionBasis
) -> SavedConclusion:
    """Save a conclusion, or strengthen the memory that already says it."""
    key, sessions = key_of(conclusion), len(conclusion.sessions)
    if engine.store.find_key(key, project=basis.project, user_scope=False) is not None:
        return _confirm(engine, conclusion, score, basis=basis)
    if was_removed_by_user(engine, key, sessions, project=basis.project):
        return SavedConclusion(PromotionResult.FORGOTTEN)
    if score.nearest is not None and score.is_known:
        return _add_evidence(engine, score.nearest, conclusion, basis=basis)
    saved = remember(
        engine,
        conclusion_draft(conclusion, basis=basis),
        project=basis.project,
        merge_similar=False,
        beside=lambda memory: (
            Replace(_with_sessions(memory, conclusion), None, memory.updated_at),
            PutExplanation(explain(memory.id, conclusion, score, basis=basis)),
        ),
    )
    record_session_count(engine, key, sessions, project=basis.project)
    return SavedConclusion(PromotionResult.PROMOTED, saved.memory.id)


def conclusion_draft(conclusion: Conclusion, *, basis: PromotionBasis) -> MemoryDraft:
    """The memory draft of a conclusion, with the commit that touched the same files."""
    files = set(conclusion.files)
    commit = next((c for c in reversed(basis.commits) if set(c.files) & files), None)
    sha = commit.sha if commit is not None else None
    sessions = conclusion.sessions[-_MAX_EVIDENCE:]
    evidence = [Evidence(EvidenceKind.SESSION, s[:500], at=conclusion.last_seen) for s in sessions]
    if sha:
        evidence.append(Evidence(EvidenceKind.COMMIT, sha, at=basis.at))
    rule = conclusion.rule
    return MemoryDraft(
        content=conclusion.content,
        type=conclusion.type,
        key=key_of(conclusion),
        tags=("observer", rule.name, *((QUOTED_TAG,) if conclusion.is_quoted else ())),
        files=conclusion.files,
        modules=modules_of(conclusion.files),
        importance=IMPORTANCE,
        confidence=rule.confidence,
        scope=Scope.GLOBAL,
        source=conclusion.source,
        session_id=basis.session_id,
        commit_sha=sha,
        relations=conclusion.relations,
        evidence=tuple(evidence),
        needs_review=conclusion.needs_review,
        payload=conclusion.payload,
        valid_from=basis.at,
    )


def explain(
    memory_id: str, conclusion: Conclusion, score: Score, *, basis: PromotionBasis
) -> Explanation:
    """The explanation of a promoted memory."""
    return Explanation(
        memory_id=memory_id,
        project=basis.project,
        rule=conclusion.rule.name,
        subject=conclusion.subject,
        at=basis.at,
        validated_by=basis.validated_by,
        sessions=conclusion.sessions[-_MAX_EVIDENCE:],
        signals=conclusion.signals,
        score=round(score.total, 3),
        frequency=round(score.frequency, 3),
        recency=round(score.recency, 3),
        novelty=round(score.novelty, 3),
        threshold=conclusion.rule.min_score,
    )


def put_running_record(engine: Engine, draft: MemoryDraft, *, project: str) -> Memory:
    """Write a record that is updated in place under its key: a cost, outcome or work state."""

    def attempt() -> Memory:
        new = compose(draft, project=project, id=engine.new_id(), now=engine.clock())
        old = engine.store.find_key(draft.key or "", project=project, user_scope=False)
        if old is None:
            return remember(engine, draft, project=project, merge_similar=False).memory
        if (old.content, old.payload) == (new.content, new.payload) or old.user_verified:
            return old
        updated = replace(
            reinforced(old, new, now=engine.clock()),
            content=new.content,
            payload=new.payload,
            files=new.files,
            confidence=new.confidence,
        )
        engine.store.apply([Replace(updated, engine.index_entry(updated), old.updated_at)])
        return updated

    return with_retries(attempt)


def close_running_record(engine: Engine, key: str, *, project: str) -> None:
    """Close a running record that no longer applies. It may come back: no person removed it."""
    old = engine.store.find_key(key, project=project, user_scope=False)
    if old is not None and not old.user_verified and not old.pinned:
        engine.store.apply([Close(old.id, max(engine.clock(), old.valid_from))])
        engine.store.put_value(_SESSION_COUNTS, f"{project} {key}", None)


def _confirm(
    engine: Engine, conclusion: Conclusion, score: Score, *, basis: PromotionBasis
) -> SavedConclusion:
    key = key_of(conclusion)

    def attempt() -> SavedConclusion:
        old = engine.store.find_key(key, project=basis.project, user_scope=False)
        if old is None:
            return SavedConclusion(PromotionResult.UNCHANGED)
        record_session_count(engine, key, len(conclusion.sessions), project=basis.project)
        if set(conclusion.sessions) <= set(old.provenance_sessions):
            return SavedConclusion(PromotionResult.UNCHANGED, old.id)
        updated = _strengthened(engine, old, conclusion, basis=basis)
        card = engine.index_entry(updated) if updated.content != old.content else None
        why = explain(old.id, conclusion, score, basis=basis)
        engine.store.apply([Replace(updated, card, old.updated_at), PutExplanation(why)])
        return SavedConclusion(PromotionResult.CONFIRMED, old.id)

    return with_retries(attempt)


def _add_evidence(
    engine: Engine, old: Memory, conclusion: Conclusion, *, basis: PromotionBasis
) -> SavedConclusion:
    """Add the sessions of a conclusion to a memory that already says it."""

    def attempt() -> SavedConclusion:
        found = engine.store.get([old.id])
        if not found or set(conclusion.sessions) <= set(found[0].provenance_sessions):
            return SavedConclusion(PromotionResult.UNCHANGED, old.id)
        new = compose(
            replace(conclusion_draft(conclusion, basis=basis), key=None),
            project=basis.project,
            id=engine.new_id(),
            now=engine.clock(),
        )
        updated = _with_sessions(reinforced(found[0], new, now=engine.clock()), conclusion)
        engine.store.apply([Replace(updated, None, found[0].updated_at)])
        return SavedConclusion(PromotionResult.CONFIRMED, old.id)

    return with_retries(attempt)


def _strengthened(
    engine: Engine, old: Memory, conclusion: Conclusion, *, basis: PromotionBasis
) -> Memory:
    now = engine.clock()
    draft = conclusion_draft(conclusion, basis=basis)
    new = compose(draft, project=basis.project, id=old.id, now=now)
    updated = _with_sessions(reinforced(old, new, now=now), conclusion)
    if old.user_verified or old.type is not conclusion.type:
        return updated
    return replace(updated, content=new.content, payload=new.payload)


def _with_sessions(memory: Memory, conclusion: Conclusion) -> Memory:
    sessions = dict.fromkeys((*memory.provenance_sessions, *conclusion.sessions))
    return limit_evidence(replace(memory, provenance_sessions=tuple(sessions)))


def limit_evidence(memory: Memory) -> Memory:
    """The memory with only the latest sessions and commits as evidence; other kinds stay."""
    limited = (EvidenceKind.SESSION, EvidenceKind.COMMIT)
    latest = {
        id(one)
        for kind in limited
        for one in [e for e in memory.evidence if e.kind is kind][-_MAX_EVIDENCE:]
    }
    return replace(
        memory,
        provenance_sessions=memory.provenance_sessions[-_MAX_EVIDENCE:],
        evidence=tuple(e for e in memory.evidence if e.kind not in limited or id(e) in latest),
    )


def record_session_count(engine: Engine, key: str, sessions: int, *, project: str) -> None:
    """Store how many sessions back a memory; `was_removed_by_user` compares with it."""
    before = engine.store.get_value(_SESSION_COUNTS, f"{project} {key}")
    if not isinstance(before, int) or before < sessions:
        engine.store.put_value(_SESSION_COUNTS, f"{project} {key}", sessions)


def was_removed_by_user(engine: Engine, key: str, sessions: int, *, project: str) -> bool:
    """Whether a memory was removed; it may come back once twice as many sessions back it."""
    before = engine.store.get_value(_SESSION_COUNTS, f"{project} {key}")
    return isinstance(before, int) and sessions < 2 * before
