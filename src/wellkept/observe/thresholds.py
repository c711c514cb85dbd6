"""Every number that learning from work turns on, as data; `docs/observer.md` lists them with their
reasons.

Those of files that go together are in `fellows`, those of screens in `e2e`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wellkept.core.records import record
from wellkept.core.scratchpad import SignalKind
from wellkept.core.types import MemoryType


class Complexity(StrEnum):
    """How large a piece of work is; it bounds what may be promoted of it."""

    TRIVIAL = "trivial"
    STANDARD = "standard"
    COMPLEX = "complex"


@record(kw_only=True)
class InferenceRule:
    """When signals of one kind say something, and what they say.

    `min_sessions` is how many sessions must have shown it, `min_count` how often in all.
    """

    name: str
    kind: SignalKind
    makes: MemoryType
    min_sessions: int = 1
    min_count: int = 1
    min_score: float = 0.6
    confidence: float = 0.65


# -- Noticing -------------------------------------------------------------------------------------

CO_ACCESS_STEPS: Final = 3
RE_EDIT_STEPS: Final = 5
CONFUSING_READS: Final = 4
DEAD_END_STEPS: Final = 20
MAX_DWELL_MS: Final = 120_000
"""A pause longer than this says that the person was away, not that the file was hard."""

# -- Bounds of a scratchpad, for each sheet -------------------------------------------------------

MAX_TASKS: Final = 40
MAX_FILES: Final = 120
MAX_PAIRS: Final = 160
MAX_ERRORS: Final = 24
MAX_BACKTRACKS: Final = 24
MAX_DEAD_ENDS: Final = 8
MAX_STEPS: Final = 60
MAX_COMMITS: Final = 20
MAX_VALIDATIONS: Final = 20
MAX_NOTES: Final = 40
MAX_DECISIONS: Final = 12
SIGNAL_DAYS: Final = 7
UNSETTLED_DAYS: Final = 30

# -- Inference and promotion ----------------------------------------------------------------------

RULES: Final[Mapping[str, InferenceRule]] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            InferenceRule(
                name="co_dependence",
                kind=SignalKind.CO_ACCESS,
                makes=MemoryType.CAUSAL_DEPENDENCY,
                min_sessions=3,
            ),
            InferenceRule(
                name="confusing_file",
                kind=SignalKind.TIME_ANOMALY,
                makes=MemoryType.MODULE_INSIGHT,
                min_sessions=3,
            ),
            InferenceRule(
                name="recurring_error",
                kind=SignalKind.ERROR_RETRY,
                makes=MemoryType.ERROR_PATTERN,
                min_count=3,
            ),
            InferenceRule(
                name="wrong_assumption",
                kind=SignalKind.BACKTRACK,
                makes=MemoryType.GOTCHA,
                min_count=2,
            ),
            InferenceRule(
                name="cascading_change",
                kind=SignalKind.BACKTRACK,
                makes=MemoryType.GOTCHA,
                min_count=2,
            ),
            InferenceRule(
                name="dead_end",
                kind=SignalKind.DEAD_END,
                makes=MemoryType.DEAD_END,
                min_score=0.3,
                confidence=0.7,
            ),
            InferenceRule(
                name="repeated_instruction",
                kind=SignalKind.INSTRUCTION,
                makes=MemoryType.CONVENTION,
                min_sessions=2,
                confidence=0.75,
            ),
            InferenceRule(
                name="agent_note", kind=SignalKind.NOTE, makes=MemoryType.FACT, confidence=0.7
            ),
            InferenceRule(
                name="recipe",
                kind=SignalKind.SEQUENCE,
                makes=MemoryType.WORKFLOW_RECIPE,
                min_sessions=3,
                confidence=0.7,
            ),
        )
    }
)

SAME_INSTRUCTION_SIMILARITY: Final = 0.6
"""Share of words that two sentences of a person have in common when they ask for the same."""
MIN_REPEATS: Final = 2
"""How often something must have been so that it was not by chance: what ended an error, sessions
that met it, sessions that edited both of two files."""
LINK_SHARE: Final = 0.6
"""Two files depend on each other only when they came together in more than this share of the
sessions that used either."""
FREQUENCY_WEIGHT, RECENCY_WEIGHT, NOVELTY_WEIGHT = 0.4, 0.3, 0.3
RECENCY_HALF_LIFE_DAYS: Final = 30.0
CAPS: Final[Mapping[Complexity, int]] = MappingProxyType(
    {Complexity.TRIVIAL: 2, Complexity.STANDARD: 10, Complexity.COMPLEX: 25}
)
EDITS_PER_CLOSING_EDIT: Final = 8
"""A proof stands for all of the work when it saw this many edits for each that came after it."""
INCREMENTAL_ABOVE_TASKS: Final = 5
CONSOLIDATED_FROM_TASKS: Final = 10
TRIVIAL_FILES, TRIVIAL_STEPS = 1, 15
COMPLEX_FILES, COMPLEX_STEPS = 8, 150

# -- Recipes --------------------------------------------------------------------------------------

RECIPE_STEPS: Final = 4
RECIPE_WINDOW_DAYS: Final = 30
RECIPE_UNUSED_DAYS: Final = 60
SAME_RECIPE_OVERLAP: Final = 0.7
"""Share of the shorter one's steps that two recipes must have in common to be one."""

# -- Costs ----------------------------------------------------------------------------------------

COST_SESSIONS: Final = 30
COST_PERCENTILE: Final = 0.9
MIN_COST_SESSIONS: Final = 2
MIN_CALIBRATION_SESSIONS: Final = 2
