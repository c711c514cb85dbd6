"""The write path: every statement enters the store here.

A new statement is compared with the memory of the same key, then with its nearest neighbours by
vector. It is inserted, merged into what it repeats, or supersedes what it contradicts;
`RememberResult` says which and why. A superseded memory is closed, never overwritten; merged text
becomes evidence of the survivor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, TypeVar

from wellkept.core.changes import Change, Close, IndexEntry, Insert, Replace
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.memory import Evidence, Memory, MemoryDraft, Relation
from wellkept.core.query import Filter
from wellkept.core.records import record, replace
from wellkept.core.session.injected_text import quoted
from wellkept.core.text import comparison_key, content_words, first_line
from wellkept.core.types import (
    EvidenceKind,
    MemoryType,
    Progress,
    RelationType,
    Scope,
    Source,
)
from wellkept.memory.draft import compose
from wellkept.memory.engine import Engine
from wellkept.text.contradictions.cues import former_words, tells_change
from wellkept.text.contradictions.opposites import related_terms
from wellkept.text.contradictions.supersedes import MAX_STATEMENT_CHARS, supersedes
from wellkept.text.similarity import TextRelation, compare

_NEIGHBOURS = 8
_LOG_TYPES = frozenset(
    {
        MemoryType.EPISODE,
        MemoryType.TIMELINE,
        MemoryType.WORK_UNIT_OUTCOME,
        MemoryType.OBSERVATION,
        MemoryType.PROMPT,
    }
)
# Of these the newest holds: an older one that it contradicts is closed.
_RULE_TYPES = frozenset(
    {
        MemoryType.PREFERENCE,
        MemoryType.CONVENTION,
        MemoryType.CORRECTION,
        MemoryType.REQUIREMENT,
        MemoryType.FACT,
        MemoryType.DECISION,
    }
)
_WORD_HITS = 24
_WORDS = 20


def is_mergeable(memory: Memory) -> bool:
    """Statements are merged; raw session records and memories with a payload are not."""
    return memory.seq is None and memory.type not in _LOG_TYPES and memory.payload is None


def near_statements(engine: Engine, memory: Memory, entry: IndexEntry) -> list[tuple[Memory, bool]]:
    """Open statements of the same project and scope that are near by vector, nearest first, each
    with whether it is near enough to be the same statement.

    Without vectors only equal words count as near, and rules that contradict each other by words.
    """
    where = Filter(
        project=memory.project, include_user=memory.scope is Scope.USER, scopes=(memory.scope,)
    )
    by_words = _near_by_words(engine, memory, where)
    if entry.vector is None or entry.model_id is None:
        return by_words
    cuts = engine.thresholds()
    hits = engine.store.search_vectors(
        entry.vector, model_id=entry.model_id, where=where, limit=_NEIGHBOURS
    )
    scores = {hit.id: hit.score for hit in hits if hit.score >= cuts.related}
    found = filter(is_mergeable, engine.store.get(list(scores)))
    near = [(m, scores[m.id] >= cuts.duplicate) for m in found]
    return [*near, *((m, same) for m, same in by_words if m.id not in scores)]


def _near_by_words(engine: Engine, memory: Memory, where: Filter) -> list[tuple[Memory, bool]]:
    """Statements in equal words, and rules that this one contradicts."""
    is_rule = memory.type in _RULE_TYPES and len(memory.content) <= MAX_STATEMENT_CHARS
    also = [*former_words(memory.content), *related_terms(memory.content)] if is_rule else []
    terms = list(dict.fromkeys([*also, *content_words(memory.content)]))[:_WORDS]
    hits = engine.store.search_fulltext(terms, where, limit=_WORD_HITS if is_rule else _NEIGHBOURS)
    rows = [hit.candidate for hit in hits if hit.candidate.seq is None]
    kept = [one for one in rows if one.type not in _LOG_TYPES]
    texts = engine.store.contents([one.id for one in kept])
    key, found = comparison_key(memory.content), dict[str, bool]()
    for old in kept:  # most share a word only: they are not read whole
        text = texts.get(old.id, "")
        if comparison_key(text) == key:
            found[old.id] = True
        elif is_rule and old.type in _RULE_TYPES and supersedes(text, memory.content):
            found[old.id] = False
    near = engine.store.get(list(found)) if found else []
    return [(old, found[old.id]) for old in near if is_mergeable(old)]


_BATCH = 256
# A failed attempt means another write succeeded, so this bounds concurrent writers.
_ATTEMPTS = 20
_REINFORCEMENT = 0.25
_Result = TypeVar("_Result")


class RememberOutcome(StrEnum):
    """What happened to a statement."""

    INSERTED = "inserted"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    UNCHANGED = "unchanged"


@record
class RememberResult:
    """The memory that now holds the statement, and how it got there."""

    outcome: RememberOutcome
    memory: Memory
    reason: str
    previous: Memory | None = None
    notes: tuple[str, ...] = ()
    also_shown: ClassVar = ("id", "told_by")

    @property
    def id(self) -> str:
        """The short id of the memory."""
        return self.memory.short

    @property
    def told_by(self) -> str:
        """Whose words it counts as."""
        return self.memory.told_by

    @property
    def ids(self) -> list[str]:
        """The id of the memory."""
        return [self.memory.id]

    def as_text(self) -> str:
        """What became of the statement, and whose words it counts as."""
        memory, old = self.memory, self.previous
        said = quoted(first_line(memory.content))
        noted = f" ({memory.told_by})" if memory.is_agent_note else ""
        head = f"{self.outcome.value} m:{memory.short} {memory.type.value}: {said}{noted}"
        if self.outcome is RememberOutcome.INSERTED and old is None:
            return head
        instead = f"in place of m:{old.short}: " if old and old.id != memory.id else ""
        return f"{head}\n{instead}{self.reason}"


@record
class _Decision:
    result: RememberResult
    changes: tuple[Change, ...]


def remember(
    engine: Engine,
    draft: MemoryDraft,
    *,
    project: str,
    merge_similar: bool = True,
    beside: Callable[[Memory], Sequence[Change]] | None = None,
) -> RememberResult:
    """Store one statement. `beside` returns further changes for the same transaction, given the
    memory that holds the statement."""
    memory = _composed(engine, draft, project=project)
    (entry,) = engine.index_entries([memory])
    return _remember_one(engine, memory, entry, merge_similar=merge_similar, beside=beside)


def remember_many(
    engine: Engine,
    drafts: Sequence[MemoryDraft],
    *,
    project: str,
    merge_similar: bool = True,
    progress: Progress | None = None,
) -> list[RememberResult]:
    """Store several statements; all are checked before the first is written.

    Each statement is compared with those before it. Statements that need no comparison are written
    together, so a large batch takes few transactions.
    """
    memories = [_composed(engine, draft, project=project) for draft in drafts]
    results: list[RememberResult] = []
    for start in range(0, len(memories), _BATCH):
        batch = memories[start : start + _BATCH]
        results.extend(_remember_batch(engine, batch, merge_similar=merge_similar))
        if progress:
            progress(len(results), len(memories))
    return results


# -- One statement against stored memories --------------------------------------------------------


def _composed(engine: Engine, draft: MemoryDraft, *, project: str) -> Memory:
    if not project:
        raise UsageError("A memory belongs to a project; none was given.")
    return compose(draft, project=project, id=engine.new_id(), now=engine.clock())


def _remember_batch(
    engine: Engine, memories: list[Memory], *, merge_similar: bool
) -> list[RememberResult]:
    """Decide in order; plain inserts are queued and written before the next comparison."""
    results: list[RememberResult] = []
    queued: list[Change] = []
    for memory, entry in zip(memories, engine.index_entries(memories), strict=True):
        if memory.key is None and not (merge_similar and is_mergeable(memory)):
            queued.append(Insert(memory, entry))
            results.append(RememberResult(RememberOutcome.INSERTED, memory, "new"))
            continue
        _write(engine, queued)
        results.append(_remember_one(engine, memory, entry, merge_similar=merge_similar))
    _write(engine, queued)
    return results


def _write(engine: Engine, queued: list[Change]) -> None:
    if queued:
        engine.store.apply(queued)
        queued.clear()


def _remember_one(
    engine: Engine,
    memory: Memory,
    entry: IndexEntry,
    *,
    merge_similar: bool,
    beside: Callable[[Memory], Sequence[Change]] | None = None,
) -> RememberResult:
    compared = merge_similar and is_mergeable(memory)

    def attempt() -> RememberResult:
        since = engine.store.activity_range().newest if compared else None
        decision = _decide(engine, memory, entry, merge_similar=merge_similar)
        also = beside(decision.result.memory) if beside is not None else ()
        engine.store.apply([*(_with_guard(c, since) for c in decision.changes), *also])
        return decision.result

    return with_retries(attempt)


def _with_guard(change: Change, since: int | None) -> Change:
    """Make an insert conditional on no newer memory, so that two writers of the same statement do
    not both insert it."""
    return replace(change, unless_duplicate_since=since) if isinstance(change, Insert) else change


def with_retries(attempt: Callable[[], _Result]) -> _Result:
    """Run again when another process changed the data meanwhile."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except ConflictError:
            continue
    return attempt()


def _decide(engine: Engine, memory: Memory, entry: IndexEntry, *, merge_similar: bool) -> _Decision:
    if memory.key is not None:
        same_key = engine.store.find_key(
            memory.key, project=memory.project, user_scope=memory.scope is Scope.USER
        )
        if same_key is not None:
            return _decide_same_key(engine, same_key, memory, entry)
    if merge_similar and is_mergeable(memory):
        near = near_statements(engine, memory, entry)
        for old, repeats in near:
            decision = _decide_similar(engine, old, memory, entry, repeats=repeats)
            if decision is not None:
                return _with_others_closed(engine, decision, memory, [one for one, _ in near])
    return _insert(memory, entry, reason="new")


def _decide_same_key(engine: Engine, old: Memory, new: Memory, entry: IndexEntry) -> _Decision:
    if _speaks_over(new, old) and old.content != new.content:
        return _doubted(replace(new, key=None), entry, old)
    if old.content == new.content and old.type is new.type and old.payload == new.payload:
        merged = reinforced(old, new, now=engine.clock())
        result = RememberResult(
            RememberOutcome.UNCHANGED, merged, f"key {new.key!r} already says so", old
        )
        return _Decision(result, (Replace(merged, None, old.updated_at),))
    now = engine.clock()
    new = successor(engine, old, new, now=now, keep_id=True)
    result = RememberResult(
        RememberOutcome.SUPERSEDED, new, f"key {new.key!r} has a new value", old
    )
    return _Decision(result, tuple(superseding(old, new, entry, now=now)))


def _decide_similar(
    engine: Engine, old: Memory, new: Memory, entry: IndexEntry, *, repeats: bool
) -> _Decision | None:
    relation = compare(old.content, new.content)
    now = engine.clock()
    if old.key and new.key and old.key != new.key:
        return None
    if supersedes(old.content, new.content):
        return _decide_contradiction(engine, old, new, entry, now=now)
    if relation in (TextRelation.DIFFERENT, TextRelation.CONTRADICTS):
        return None
    if old.type is not new.type or not repeats:
        return None
    if relation is TextRelation.PARAPHRASE and tells_change(new.content):
        return None  # In other words it may say otherwise: both stay.
    says_more = relation is TextRelation.REFINES
    if says_more and _speaks_over(new, old):
        return None  # An agent's addition to a person's words stands beside them.
    if says_more or (relation is not TextRelation.SAME and _speaks_over(old, new)):
        merged = replace(
            reinforced(old, new, now=now),
            id=new.id,
            content=new.content,
            created_at=now,
            valid_from=max(new.valid_from, old.valid_from),
            relations=(*old.relations, Relation(RelationType.SUPERSEDES, target_id=old.id)),
            evidence=(*_united(old.evidence, new.evidence), _merged_text(old, at=now)),
        )
        why = f"{'says more than' if says_more else 'in place of the note'} {old.short}"
        result = RememberResult(RememberOutcome.MERGED, merged, why, old)
        closed = Close(old.id, _end(old, now), merged.id, old.updated_at)
        return _Decision(result, (closed, Insert(merged, engine.index_entry(merged))))
    merged = reinforced(old, new, now=now)
    if relation is not TextRelation.SAME:
        merged = replace(merged, evidence=(*merged.evidence, _merged_text(new, at=now)))
    outcome = RememberOutcome.UNCHANGED if relation is TextRelation.SAME else RememberOutcome.MERGED
    result = RememberResult(outcome, merged, f"{old.short} already says so", old)
    return _Decision(result, (Replace(merged, engine.index_entry(merged), old.updated_at),))


def _decide_contradiction(
    engine: Engine, old: Memory, new: Memory, entry: IndexEntry, *, now: datetime
) -> _Decision:
    """A user's statement or a correction wins at once; otherwise both stay until reviewed.

    What was said before the other, and only arrives now, is closed from the start. What was only
    inferred corrects nobody, and an agent corrects no person.
    """
    if new.valid_from < old.valid_from and old.source is Source.USER_TAUGHT:
        outdated = replace(new, valid_to=old.valid_from, superseded_by=old.id)
        return _insert(outdated, entry, reason=f"{old.short} was said later", old=old)
    is_correction = new.type is MemoryType.CORRECTION
    trusted = new.source is Source.USER_TAUGHT or (
        is_correction and new.source is not Source.OBSERVER_INFERRED and not _speaks_over(new, old)
    )
    if trusted or (old.source is new.source and not old.user_verified and not old.pinned):
        new = successor(engine, old, new, now=now, keep_id=True)
        result = RememberResult(
            RememberOutcome.SUPERSEDED, new, f"contradicts {old.short}, which is now closed", old
        )
        return _Decision(result, tuple(superseding(old, new, entry, now=now)))
    return _doubted(new, entry, old)


def _speaks_over(one: Memory, other: Memory) -> bool:
    """Whether one is an agent's note and the other has a person's word."""
    return one.is_agent_note and other.has_persons_word


def _doubted(new: Memory, entry: IndexEntry, old: Memory) -> _Decision:
    doubted = replace(
        new,
        needs_review=True,
        relations=(*new.relations, Relation(RelationType.CONFLICTS_WITH, target_id=old.id)),
    )
    return _insert(doubted, entry, reason=f"conflicts with {old.short}; both need review", old=old)


def _with_others_closed(
    engine: Engine, decision: _Decision, memory: Memory, near: Sequence[Memory]
) -> _Decision:
    """The decision, and the end of every other rule that a trusted one contradicts."""
    result = decision.result
    if result.outcome is not RememberOutcome.SUPERSEDED or memory.source is not Source.USER_TAUGHT:
        return decision
    now = engine.clock()
    others = [
        Close(old.id, _end(old, now, result.memory), result.memory.id, old.updated_at)
        for old in near
        if result.previous is not None
        and old.id != result.previous.id
        and not old.key
        and old.valid_from <= memory.valid_from
        and supersedes(old.content, memory.content)
    ]
    return replace(decision, changes=(*decision.changes, *others))


def _insert(
    memory: Memory, entry: IndexEntry, *, reason: str, old: Memory | None = None
) -> _Decision:
    return _Decision(
        RememberResult(RememberOutcome.INSERTED, memory, reason, old), (Insert(memory, entry),)
    )


# -- Merging and superseding ----------------------------------------------------------------------


def reinforced(old: Memory, new: Memory, *, now: datetime) -> Memory:
    """The old memory with what a repetition adds: confidence, tags, files, sessions, evidence."""
    fresh = set(new.provenance_sessions) - set(old.provenance_sessions)
    gain = _REINFORCEMENT if fresh or new.source is Source.USER_TAUGHT else 0.0
    return replace(
        old,
        updated_at=max(now, old.updated_at),
        importance=max(old.importance, new.importance),
        confidence=max(old.confidence + (1 - old.confidence) * gain, new.confidence),
        key=old.key or new.key,
        source=new.source if new.source is Source.USER_TAUGHT else old.source,
        tags=_united(old.tags, new.tags),
        files=_united(old.files, new.files),
        modules=_united(old.modules, new.modules),
        provenance_sessions=_united(old.provenance_sessions, new.provenance_sessions),
        evidence=_united(old.evidence, new.evidence),
        user_verified=old.user_verified or new.user_verified,
        pinned=old.pinned or new.pinned,
        needs_review=old.needs_review and new.needs_review,
        stale_at=None,
    )


def successor(
    engine: Engine, old: Memory, new: Memory, *, now: datetime, keep_id: bool = False
) -> Memory:
    return replace(
        new,
        id=new.id if keep_id else engine.new_id(),
        created_at=now,
        updated_at=now,
        accessed_at=now,
        valid_from=new.valid_from if keep_id else now,
        valid_to=None,
        superseded_by=None,
        stale_at=None,
        relations=(*new.relations, Relation(RelationType.SUPERSEDES, target_id=old.id)),
        tags=_united(old.tags, new.tags) if keep_id else new.tags,
        key=new.key or old.key,
    )


def superseding(old: Memory, new: Memory, entry: IndexEntry, *, now: datetime) -> list[Change]:
    """The changes that close a memory and open its successor."""
    return [Close(old.id, _end(old, now, new), new.id, old.updated_at), Insert(new, entry)]


def _end(old: Memory, now: datetime, new: Memory | None = None) -> datetime:
    """The end of the old memory: the start of its successor, but not before its own start."""
    return max(old.valid_from, min(now, new.valid_from) if new else now)


def _merged_text(memory: Memory, *, at: datetime) -> Evidence:
    return Evidence(EvidenceKind.MERGED, memory.id, memory.content, at)


_Item = TypeVar("_Item")


def _united(left: tuple[_Item, ...], right: tuple[_Item, ...]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys((*left, *right)))
