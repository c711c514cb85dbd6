"""Recipes in the store: which are known, which a session followed, and how that ended."""

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
    holds,
    is_same_recipe,
    recipe_in,
    tokens_in,
    tokens_of,
    without_proof,
)
from wellkept.observe.learning.rules import Conclusion
from wellkept.observe.learning.save import PromotionBasis, bounded

_MOST_RECIPES = 200
_GAIN, _LOSS = 0.25, 0.2


def conclude(
    engine: Engine,
    project: str,
    known: Mapping[SignalKind, Sequence[SessionSignal]],
    session_id: str,
) -> Conclusion | None:
    """The recipe that a session makes with others, unless it is one that is known."""
    made = recipe_in(known.get(SignalKind.SEQUENCE, ()), session_id=session_id)
    if made is None:
        return None
    mine = tokens_in(made.subject)
    same = any(is_same_recipe(tokens, mine) for _, tokens in recipes(engine, project))
    return None if same else made


def recipes(engine: Engine, project: str) -> list[tuple[Memory, tuple[Token, ...]]]:
    """Every recipe that the observer made, with its steps."""
    where = Filter(project=project, include_user=False, types=(MemoryType.WORKFLOW_RECIPE,))
    found = engine.store.list(where, limit=_MOST_RECIPES).items
    why = engine.store.explanations([memory.id for memory in found])
    return [(m, tokens_in(why[m.id].subject)) for m in found if m.id in why]


def followed(engine: Engine, ground: PromotionBasis, seen: Sequence[SessionSignal]) -> None:
    """Each recipe whose steps a session took gains from its success, once for each session."""
    for memory in _taken(engine, ground, seen, to_the_end=True):
        if ground.session_id not in memory.provenance_sessions:
            _write(engine, memory.id, ground, succeeded=True)


def failed(engine: Engine, ground: PromotionBasis, seen: Sequence[SessionSignal]) -> None:
    """Each recipe whose steps a failed run took is marked, once for each run."""
    for memory in _taken(engine, ground, seen, to_the_end=False):
        mark = _failure(ground)
        if all(mark.ref != evidence.ref for evidence in memory.evidence):
            _write(engine, memory.id, ground, succeeded=False)


def _taken(
    engine: Engine, ground: PromotionBasis, seen: Sequence[SessionSignal], *, to_the_end: bool
) -> list[Memory]:
    """The recipes whose steps a session took; a failed run did not get to the proof."""
    mine = next((s for s in seen if s.kind is SignalKind.SEQUENCE), None)
    if mine is None:
        return []
    found: list[Memory] = []
    for memory, tokens in recipes(engine, ground.project):
        wanted = tokens if to_the_end else without_proof(tokens)
        if holds(tokens_of(mine, {name for _, name in tokens}), wanted):
            found.append(memory)
    return found


def _write(engine: Engine, memory_id: str, ground: PromotionBasis, *, succeeded: bool) -> None:
    def attempt() -> None:
        for memory in engine.store.get([memory_id]):
            if isinstance(memory.payload, WorkflowRecipe):
                told = _succeeded if succeeded else _not_succeeded
                again = replace(
                    bounded(told(memory, memory.payload, ground)),
                    updated_at=max(engine.clock(), memory.updated_at),
                )
                engine.store.apply([Replace(again, None, memory.updated_at)])

    retried(attempt)


def _succeeded(memory: Memory, recipe: WorkflowRecipe, ground: PromotionBasis) -> Memory:
    count = recipe.success_count + 1
    at = ground.at.isoformat()
    return replace(
        memory,
        payload=replace(recipe, success_count=count, last_validated_at=at),
        confidence=memory.confidence + (1 - memory.confidence) * _GAIN,
        provenance_sessions=(*memory.provenance_sessions, ground.session_id),
        evidence=(
            *memory.evidence,
            Evidence(EvidenceKind.SESSION, ground.session_id, at=ground.at),
        ),
        tags=tuple(tag for tag in memory.tags if tag != "recipe_failed"),
    )


def _not_succeeded(memory: Memory, recipe: WorkflowRecipe, ground: PromotionBasis) -> Memory:
    count = recipe.failure_count + 1
    return replace(
        memory,
        payload=replace(recipe, failure_count=count, last_validated_at=None),
        confidence=max(0.0, memory.confidence - _LOSS),
        evidence=(*memory.evidence, _failure(ground)),
        tags=tuple(dict.fromkeys((*memory.tags, "recipe_failed"))),
    )


def _failure(ground: PromotionBasis) -> Evidence:
    ref = f"{ground.session_id}:failed:{ground.at.isoformat()}"
    return Evidence(EvidenceKind.SESSION, ref[-490:], ground.validated_by or None, ground.at)
