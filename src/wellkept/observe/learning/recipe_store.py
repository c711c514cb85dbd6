"""Stored recipes: looks them up and records whether sessions that followed them succeeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wellkept.core.changes import Replace
from wellkept.core.memory import Evidence, Memory
from wellkept.core.payloads import WorkflowRecipe
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.scratchpad import SessionSignal, SignalKind
from wellkept.core.types import EvidenceKind, MemoryType
from wellkept.memory.engine import Engine
from wellkept.memory.remember import retried
from wellkept.observe.learning.recipes import (
    Token,
    contains_in_order,
    find_recipe,
    is_same_recipe,
    tokens_in,
    tokens_of,
    without_tests,
)
from wellkept.observe.learning.rules import Conclusion
from wellkept.observe.learning.save import PromotionBasis, limit_evidence

_MAX_RECIPES = 200
_GAIN, _LOSS = 0.25, 0.2


def infer_recipe(
    engine: Engine,
    project: str,
    known: Mapping[SignalKind, Sequence[SessionSignal]],
    session_id: str,
) -> Conclusion | None:
    """A new recipe that a session shares with others; None when it is known already."""
    found = find_recipe(known.get(SignalKind.SEQUENCE, ()), session_id=session_id)
    if found is None:
        return None
    steps = tokens_in(found.subject)
    is_known = any(is_same_recipe(tokens, steps) for _, tokens in recipes(engine, project))
    return None if is_known else found


def recipes(engine: Engine, project: str) -> list[tuple[Memory, tuple[Token, ...]]]:
    """All learned recipes, with their steps."""
    where = Filter(project=project, include_user=False, types=(MemoryType.WORKFLOW_RECIPE,))
    found = engine.store.list(where, limit=_MAX_RECIPES).items
    why = engine.store.explanations([memory.id for memory in found])
    return [(m, tokens_in(why[m.id].subject)) for m in found if m.id in why]


def record_success(engine: Engine, basis: PromotionBasis, signals: Sequence[SessionSignal]) -> None:
    """Strengthen the recipes that a session followed, once per session."""
    for memory in _followed(engine, basis, signals, with_tests=True):
        if basis.session_id not in memory.provenance_sessions:
            _write(engine, memory.id, basis, succeeded=True)


def record_failure(engine: Engine, basis: PromotionBasis, signals: Sequence[SessionSignal]) -> None:
    """Weaken the recipes that a failed run followed, once per run."""
    for memory in _followed(engine, basis, signals, with_tests=False):
        failure = _failure(basis)
        if all(failure.ref != evidence.ref for evidence in memory.evidence):
            _write(engine, memory.id, basis, succeeded=False)


def _followed(
    engine: Engine, basis: PromotionBasis, signals: Sequence[SessionSignal], *, with_tests: bool
) -> list[Memory]:
    """The recipes whose steps a session took. A failed run may lack the final tests."""
    mine = next((s for s in signals if s.kind is SignalKind.SEQUENCE), None)
    if mine is None:
        return []
    found: list[Memory] = []
    for memory, tokens in recipes(engine, basis.project):
        wanted = tokens if with_tests else without_tests(tokens)
        if contains_in_order(tokens_of(mine, {name for _, name in tokens}), wanted):
            found.append(memory)
    return found


def _write(engine: Engine, memory_id: str, basis: PromotionBasis, *, succeeded: bool) -> None:
    def attempt() -> None:
        for memory in engine.store.get([memory_id]):
            if isinstance(memory.payload, WorkflowRecipe):
                change = _strengthened if succeeded else _weakened
                updated = replace(
                    limit_evidence(change(memory, memory.payload, basis)),
                    updated_at=max(engine.clock(), memory.updated_at),
                )
                engine.store.apply([Replace(updated, None, memory.updated_at)])

    retried(attempt)


def _strengthened(memory: Memory, recipe: WorkflowRecipe, basis: PromotionBasis) -> Memory:
    count = recipe.success_count + 1
    at = basis.at.isoformat()
    return replace(
        memory,
        payload=replace(recipe, success_count=count, last_validated_at=at),
        confidence=memory.confidence + (1 - memory.confidence) * _GAIN,
        provenance_sessions=(*memory.provenance_sessions, basis.session_id),
        evidence=(
            *memory.evidence,
            Evidence(EvidenceKind.SESSION, basis.session_id, at=basis.at),
        ),
        tags=tuple(tag for tag in memory.tags if tag != "recipe_failed"),
    )


def _weakened(memory: Memory, recipe: WorkflowRecipe, basis: PromotionBasis) -> Memory:
    count = recipe.failure_count + 1
    return replace(
        memory,
        payload=replace(recipe, failure_count=count, last_validated_at=None),
        confidence=max(0.0, memory.confidence - _LOSS),
        evidence=(*memory.evidence, _failure(basis)),
        tags=tuple(dict.fromkeys((*memory.tags, "recipe_failed"))),
    )


def _failure(basis: PromotionBasis) -> Evidence:
    ref = f"{basis.session_id}:failed:{basis.at.isoformat()}"
    return Evidence(EvidenceKind.SESSION, ref[-490:], basis.validated_by or None, basis.at)
