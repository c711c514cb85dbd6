"""Conclusions into memories, through the one door that keeping takes, with their explanation.

A conclusion has a key made of its rule and subject. Seen again, the memory under that key is
strengthened in place and keeps its id; what a person changed is never written over, and what a
person removed does not come back by itself. Words that a model gave stay as long as they name all
that is known.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from wellkept.core.changes import Close, PutExplanation, Replace
from wellkept.core.memory import Evidence, Memory, MemoryDraft
from wellkept.core.records import record, replace
from wellkept.core.scratchpad import Explanation, SessionCommit
from wellkept.core.types import EvidenceKind, Scope
from wellkept.memory.draft import compose
from wellkept.memory.engine import Engine
from wellkept.memory.remember import reinforced, remember, retried
from wellkept.observe.learning.model_wording import keeps_facts
from wellkept.observe.learning.rules import Conclusion, key_of, modules_of
from wellkept.observe.learning.scoring import Score

_BOOK = "observer_promoted"
_WORDED = "worded"
_MOST_SESSIONS = 30
IMPORTANCE = 0.6


class PromotionResult(StrEnum):
    """What became of a conclusion."""

    PROMOTED = "promoted"
    CONFIRMED = "confirmed"
    UNCHANGED = "unchanged"
    FORGOTTEN = "forgotten"


@record(kw_only=True)
class PromotionBasis:
    """What a promotion stands on: the session that held up, what says so, its commits."""

    project: str
    session_id: str
    at: datetime
    validated_by: str
    commits: tuple[SessionCommit, ...] = ()


@record
class SavedConclusion:
    """A memory that stands for a conclusion, and what became of it."""

    fate: PromotionResult
    memory_id: str | None = None


def keep(
    engine: Engine, made: Conclusion, score: Score, *, ground: PromotionBasis
) -> SavedConclusion:
    """Keep a conclusion, or strengthen what is known of it."""
    key = key_of(made)
    old = engine.store.find_key(key, project=ground.project, user_scope=False)
    if old is not None:
        return _confirm(engine, key, made, score, ground=ground)
    if was_removed(engine, key, len(made.sessions), project=ground.project):
        return SavedConclusion(PromotionResult.FORGOTTEN)
    if score.nearest is not None and score.is_known:
        return _lean_on(engine, score.nearest, made, ground=ground)
    kept = remember(
        engine,
        draft_of(made, ground=ground),
        project=ground.project,
        merge_similar=False,
        beside=lambda memory: (
            Replace(_backed(memory, made), None, memory.updated_at),
            PutExplanation(explained(memory.id, made, score, ground=ground)),
        ),
    )
    enter(engine, key, len(made.sessions), project=ground.project)
    return SavedConclusion(PromotionResult.PROMOTED, kept.memory.id)


def draft_of(made: Conclusion, *, ground: PromotionBasis) -> MemoryDraft:
    """The memory to be, with its commit when one touched the same files."""
    commit = next((c for c in reversed(ground.commits) if set(c.files) & set(made.files)), None)
    sha = commit.sha if commit is not None else None
    sessions = made.sessions[-_MOST_SESSIONS:]
    evidence = [Evidence(EvidenceKind.SESSION, s[:500], at=made.last_seen) for s in sessions]
    if sha:
        evidence.append(Evidence(EvidenceKind.COMMIT, sha, at=ground.at))
    return MemoryDraft(
        content=made.content,
        type=made.type,
        key=key_of(made),
        tags=("observer", made.rule.name, *((_WORDED,) if made.is_worded else ())),
        files=made.files,
        modules=modules_of(made.files),
        importance=IMPORTANCE,
        confidence=made.rule.confidence,
        scope=Scope.GLOBAL,
        source=made.source,
        session_id=ground.session_id,
        commit_sha=sha,
        relations=made.relations,
        evidence=tuple(evidence),
        needs_review=made.needs_review,
        payload=made.payload,
        valid_from=ground.at,
    )


def explained(
    memory_id: str, made: Conclusion, score: Score, *, ground: PromotionBasis
) -> Explanation:
    """Why a memory is there."""
    return Explanation(
        memory_id=memory_id,
        project=ground.project,
        rule=made.rule.name,
        subject=made.subject,
        at=ground.at,
        validated_by=ground.validated_by,
        sessions=made.sessions[-_MOST_SESSIONS:],
        signals=made.signals,
        score=round(score.total, 3),
        frequency=round(score.frequency, 3),
        recency=round(score.recency, 3),
        novelty=round(score.novelty, 3),
        threshold=made.rule.min_score,
    )


def put_running(engine: Engine, draft: MemoryDraft, *, project: str) -> Memory:
    """Write a running record (a cost, an outcome, a work state) in place under its key."""

    def attempt() -> Memory:
        new = compose(draft, project=project, id=engine.new_id(), now=engine.clock())
        old = engine.store.find_key(draft.key or "", project=project, user_scope=False)
        if old is None:
            return remember(engine, draft, project=project, merge_similar=False).memory
        if (old.content, old.payload) == (new.content, new.payload) or old.user_verified:
            return old
        again = replace(
            reinforced(old, new, now=engine.clock()),
            content=new.content,
            payload=new.payload,
            files=new.files,
            confidence=new.confidence,
        )
        engine.store.apply([Replace(again, engine.card(again), old.updated_at)])
        return again

    return retried(attempt)


def close_running(engine: Engine, key: str, *, project: str) -> None:
    """A running record that no longer holds; nobody removed it, so it may come back."""
    old = engine.store.find_key(key, project=project, user_scope=False)
    if old is not None and not old.user_verified and not old.pinned:
        engine.store.apply([Close(old.id, max(engine.clock(), old.valid_from))])
        engine.store.put_value(_BOOK, f"{project} {key}", None)


def _confirm(
    engine: Engine, key: str, made: Conclusion, score: Score, *, ground: PromotionBasis
) -> SavedConclusion:
    def attempt() -> SavedConclusion:
        old = engine.store.find_key(key, project=ground.project, user_scope=False)
        if old is None:
            return SavedConclusion(PromotionResult.UNCHANGED)
        enter(engine, key, len(made.sessions), project=ground.project)
        if set(made.sessions) <= set(old.provenance_sessions):
            return SavedConclusion(PromotionResult.UNCHANGED, old.id)
        again = _strengthened(engine, old, made, ground=ground)
        card = engine.card(again) if again.content != old.content else None
        why = explained(old.id, made, score, ground=ground)
        engine.store.apply([Replace(again, card, old.updated_at), PutExplanation(why)])
        return SavedConclusion(PromotionResult.CONFIRMED, old.id)

    return retried(attempt)


def _lean_on(
    engine: Engine, old: Memory, made: Conclusion, *, ground: PromotionBasis
) -> SavedConclusion:
    """What is known already gains the sessions that showed it again."""

    def attempt() -> SavedConclusion:
        found = engine.store.get([old.id])
        if not found or set(made.sessions) <= set(found[0].provenance_sessions):
            return SavedConclusion(PromotionResult.UNCHANGED, old.id)
        new = compose(
            replace(draft_of(made, ground=ground), key=None),
            project=ground.project,
            id=engine.new_id(),
            now=engine.clock(),
        )
        again = _backed(reinforced(found[0], new, now=engine.clock()), made)
        engine.store.apply([Replace(again, None, found[0].updated_at)])
        return SavedConclusion(PromotionResult.CONFIRMED, old.id)

    return retried(attempt)


def _strengthened(
    engine: Engine, old: Memory, made: Conclusion, *, ground: PromotionBasis
) -> Memory:
    now = engine.clock()
    new = compose(draft_of(made, ground=ground), project=ground.project, id=old.id, now=now)
    again = _backed(reinforced(old, new, now=now), made)
    if old.user_verified or old.type is not made.type:
        return again
    if _WORDED in old.tags and keeps_facts(made.content, old.content):
        return replace(again, payload=new.payload)
    return replace(again, content=new.content, payload=new.payload)


def _backed(memory: Memory, made: Conclusion) -> Memory:
    return bounded(
        replace(
            memory,
            provenance_sessions=tuple(dict.fromkeys((*memory.provenance_sessions, *made.sessions))),
        )
    )


def bounded(memory: Memory) -> Memory:
    """A memory with the latest of the sessions and commits that back it; what else was cited
    stays."""
    counted = (EvidenceKind.SESSION, EvidenceKind.COMMIT)
    latest = {
        id(one)
        for kind in counted
        for one in [e for e in memory.evidence if e.kind is kind][-_MOST_SESSIONS:]
    }
    return replace(
        memory,
        provenance_sessions=memory.provenance_sessions[-_MOST_SESSIONS:],
        evidence=tuple(e for e in memory.evidence if e.kind not in counted or id(e) in latest),
    )


def enter(engine: Engine, key: str, sessions: int, *, project: str) -> None:
    """Note how many sessions speak for something, for the day when somebody removes it."""
    before = engine.store.get_value(_BOOK, f"{project} {key}")
    if not isinstance(before, int) or before < sessions:
        engine.store.put_value(_BOOK, f"{project} {key}", sessions)


def was_removed(engine: Engine, key: str, sessions: int, *, project: str) -> bool:
    """Whether something was there and went; it stays away until twice as many sessions speak for
    it as did then."""
    before = engine.store.get_value(_BOOK, f"{project} {key}")
    return isinstance(before, int) and sessions < 2 * before
