"""Turn a session update into changes to the store."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.changes import Change, Insert, Replace
from wellkept.core.memory import Memory, MemoryDraft
from wellkept.core.payloads import SessionSummary
from wellkept.core.records import replace
from wellkept.core.types import MemoryType
from wellkept.memory.draft import compose
from wellkept.memory.engine import Engine
from wellkept.observe.session.drafts import summary_key
from wellkept.observe.session.reducer import SessionUpdate
from wellkept.text.events.prompt_rules import tells


def memory_changes(engine: Engine, update: SessionUpdate) -> list[Change]:
    """The memories of an update, to be written in one transaction with its session."""
    project = update.session.project
    fresh: list[Memory] = []
    again: list[tuple[Memory, Memory]] = []
    for draft in _once_per_key(update.drafts):
        memory = _kept_aside(_composed(engine, draft, project=project))
        old = memory.key and engine.store.find_key(memory.key, project=project, user_scope=False)
        if old:
            again.append((old, rewritten(old, memory)))
        else:
            fresh.append(memory)
    cards = engine.index_entries([*fresh, *(new for _, new in again)])
    changes: list[Change] = [Insert(m, card) for m, card in zip(fresh, cards, strict=False)]
    changes += [
        Replace(new, card, old.updated_at)
        for (old, new), card in zip(again, cards[len(fresh) :], strict=True)
    ]
    if update.summary is not None:
        is_due = update.trigger is not None
        changes += summary_changes(engine, update.summary, project=project, is_due=is_due)
    return changes


def _kept_aside(memory: Memory) -> Memory:
    """A prompt that says nothing by itself is kept for the order of the session, but archived, so
    that it is neither listed nor ranked by default."""
    if memory.type is not MemoryType.PROMPT or tells(memory.content[:200]):
        return memory
    return replace(memory, archived_at=memory.created_at)


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


def _once_per_key(drafts: Sequence[MemoryDraft]) -> list[MemoryDraft]:
    """The last draft of each key, in the position of the first."""
    kept: dict[str, MemoryDraft] = {}
    for number, draft in enumerate(drafts):
        name = draft.key or f"\0{number}"
        first = kept.get(name)
        kept[name] = (
            draft
            if first is None
            else replace(draft, seq=first.seq, valid_from=first.valid_from, evidence=first.evidence)
        )
    return list(kept.values())


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
    new = _composed(engine, draft, project=project)
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


def _composed(engine: Engine, draft: MemoryDraft, *, project: str) -> Memory:
    return compose(draft, project=project, id=engine.new_id(), now=engine.clock())
