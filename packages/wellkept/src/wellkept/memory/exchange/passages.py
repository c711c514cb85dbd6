"""Imports passages of documents: each under a key, superseded when its text changes.

Invariant: importing an unchanged passage changes nothing, even when a person has since corrected
the memory made from it. The evidence holds a fingerprint of the text last imported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from wellkept.core.memory import Evidence, MemoryDraft
from wellkept.core.records import record, replace
from wellkept.core.types import EvidenceKind, Progress, Scope
from wellkept.memory.engine import Engine
from wellkept.memory.remember import RememberOutcome, remember_many


@record
class Passage:
    """A draft with a key and its origin `ref`: a location in a document, or a commit.

    A draft that already cites `ref` as evidence is assumed never to change.
    """

    ref: str
    draft: MemoryDraft


def remember_passages(
    engine: Engine,
    passages: Sequence[Passage],
    *,
    project: str,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> list[RememberOutcome]:
    """Import passages; returns the outcome of each, in order."""
    outcomes = [_expected_outcome(engine, passage, project=project) for passage in passages]
    changed = [i for i, outcome in enumerate(outcomes) if outcome is not RememberOutcome.UNCHANGED]
    if dry_run or not changed:
        return outcomes
    kept = remember_many(
        engine,
        [_with_evidence(passages[i]) for i in changed],
        project=project,
        merge_similar=False,
        progress=progress,
    )
    for i, result in zip(changed, kept, strict=True):
        outcomes[i] = result.outcome
    return outcomes


def fingerprint(text: str) -> str:
    """A short hash of a text."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _expected_outcome(engine: Engine, passage: Passage, *, project: str) -> RememberOutcome:
    key = passage.draft.key
    if key is None:
        return RememberOutcome.INSERTED
    user_scope = passage.draft.scope is Scope.USER
    known = engine.store.find_key(key, project=project, user_scope=user_scope)
    if known is None:
        return RememberOutcome.INSERTED
    mark = fingerprint(passage.draft.content)
    return (
        RememberOutcome.UNCHANGED
        if any(item.ref == passage.ref and item.note in (None, mark) for item in known.evidence)
        else RememberOutcome.SUPERSEDED
    )


def _with_evidence(passage: Passage) -> MemoryDraft:
    if any(item.ref == passage.ref for item in passage.draft.evidence):
        return passage.draft
    mark = fingerprint(passage.draft.content)
    evidence = Evidence(EvidenceKind.DOCUMENT, passage.ref, mark)
    return replace(passage.draft, evidence=(*passage.draft.evidence, evidence))
