"""How much each type of memory counts in each phase of work."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wellkept.core.types import MemoryType as T
from wellkept.core.types import Phase

PHASE_WEIGHTS: Mapping[Phase, Mapping[T, float]] = MappingProxyType(
    {
        Phase.DEFINE: MappingProxyType(
            {
                T.REQUIREMENT: 1.5,
                T.DECISION: 1.3,
                T.WORKFLOW_RECIPE: 1.5,
                T.TASK_CALIBRATION: 1.4,
                T.PATTERN: 1.2,
                T.WORK_STATE: 1.1,
                T.PREFERENCE: 1.0,
                T.MODULE_INSIGHT: 1.0,
                T.GOTCHA: 0.8,
                T.ERROR_PATTERN: 0.7,
                T.CAUSAL_DEPENDENCY: 0.9,
                T.DEAD_END: 1.2,
                T.E2E_OBSERVATION: 0.6,
                T.PREFETCH_PATTERN: 0.5,
                T.WORK_UNIT_OUTCOME: 1.0,
                T.CONTEXT_COST: 1.3,
            }
        ),
        Phase.IMPLEMENT: MappingProxyType(
            {
                T.GOTCHA: 1.5,
                T.ERROR_PATTERN: 1.3,
                T.CAUSAL_DEPENDENCY: 1.3,
                T.PATTERN: 1.2,
                T.MODULE_INSIGHT: 1.2,
                T.PREFETCH_PATTERN: 1.1,
                T.WORK_STATE: 1.0,
                T.DEAD_END: 1.3,
                T.WORKFLOW_RECIPE: 1.4,
                T.WORK_UNIT_OUTCOME: 0.9,
                T.E2E_OBSERVATION: 0.7,
                T.REQUIREMENT: 0.8,
                T.DECISION: 0.7,
                T.TASK_CALIBRATION: 0.5,
                T.PREFERENCE: 0.9,
                T.CONTEXT_COST: 0.4,
            }
        ),
        Phase.VALIDATE: MappingProxyType(
            {
                T.ERROR_PATTERN: 1.5,
                T.REQUIREMENT: 1.4,
                T.E2E_OBSERVATION: 1.5,
                T.GOTCHA: 1.2,
                T.DECISION: 1.1,
                T.MODULE_INSIGHT: 0.9,
                T.DEAD_END: 0.8,
                T.WORK_STATE: 0.5,
                T.PREFETCH_PATTERN: 0.3,
                T.CAUSAL_DEPENDENCY: 1.0,
                T.TASK_CALIBRATION: 0.8,
                T.WORKFLOW_RECIPE: 0.6,
                T.WORK_UNIT_OUTCOME: 1.1,
                T.CONTEXT_COST: 0.3,
            }
        ),
        Phase.REFINE: MappingProxyType(
            {
                T.PATTERN: 1.4,
                T.ERROR_PATTERN: 1.3,
                T.GOTCHA: 1.2,
                T.DEAD_END: 1.4,
                T.DECISION: 1.0,
                T.MODULE_INSIGHT: 1.1,
                T.WORK_STATE: 0.9,
                T.REQUIREMENT: 0.7,
                T.E2E_OBSERVATION: 0.8,
                T.WORKFLOW_RECIPE: 1.0,
                T.CAUSAL_DEPENDENCY: 1.1,
                T.WORK_UNIT_OUTCOME: 0.8,
                T.CONTEXT_COST: 0.4,
            }
        ),
        Phase.EXPLORE: MappingProxyType(
            {
                T.DECISION: 1.4,
                T.MODULE_INSIGHT: 1.3,
                T.PATTERN: 1.2,
                T.WORKFLOW_RECIPE: 1.1,
                T.REQUIREMENT: 1.0,
                T.PREFERENCE: 1.0,
                T.DEAD_END: 0.9,
                T.WORK_UNIT_OUTCOME: 1.0,
                T.GOTCHA: 0.8,
                T.ERROR_PATTERN: 0.7,
                T.E2E_OBSERVATION: 0.9,
                T.CAUSAL_DEPENDENCY: 1.1,
                T.TASK_CALIBRATION: 0.6,
                T.CONTEXT_COST: 0.5,
            }
        ),
        Phase.REFLECT: MappingProxyType(
            {
                T.WORK_UNIT_OUTCOME: 1.5,
                T.TASK_CALIBRATION: 1.4,
                T.DEAD_END: 1.3,
                T.ERROR_PATTERN: 1.2,
                T.DECISION: 1.2,
                T.MODULE_INSIGHT: 1.1,
                T.E2E_OBSERVATION: 1.0,
                T.WORK_STATE: 0.7,
                T.GOTCHA: 0.8,
                T.CONTEXT_COST: 1.3,
                T.WORKFLOW_RECIPE: 0.6,
                T.PREFETCH_PATTERN: 0.4,
            }
        ),
    }
)

STRONGEST_PHASE_WEIGHT = max(w for weights in PHASE_WEIGHTS.values() for w in weights.values())


def phase_weight(phase: Phase, type: T) -> float:
    """The weight of a type in a phase."""
    return PHASE_WEIGHTS[phase].get(type, 1.0)
