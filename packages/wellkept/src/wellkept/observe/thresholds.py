"""All thresholds of the observer. `docs/guides/observer.md` explains them.

Co-access thresholds are in `learning.co_access`, those of browser facts in `browser.facts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wellkept.core.records import record
from wellkept.core.session.scratchpad import SignalKind
from wellkept.core.types import MemoryType


class Complexity(StrEnum):
    """Size of a piece of work; sets the cap on promotions."""

    TRIVIAL = "trivial"
    STANDARD = "standard"
    COMPLEX = "complex"


@record(kw_only=True)
class InferenceRule:
    """When signals of one kind become a memory, and of which type.

    `min_sessions` counts the sessions that have to show it.
    """

    name: str
    kind: SignalKind
    makes: MemoryType
    min_sessions: int = 1
    min_score: float = 0.6
    confidence: float = 0.65


# -- Signals --------------------------------------------------------------------------------------

CO_ACCESS_STEPS: Final = 3
RE_EDIT_STEPS: Final = 5
CONFUSING_READS: Final = 4
DEAD_END_STEPS: Final = 20
MAX_DWELL_MS: Final = 120_000
"""A longer pause means that the person was away."""

# -- Limits of a scratchpad, per sub-task ---------------------------------------------------------

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
                name="dead_end",
                kind=SignalKind.DEAD_END,
                makes=MemoryType.DEAD_END,
                min_score=0.3,
                confidence=0.7,
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

MIN_REPEATS: Final = 2
"""Repetitions that rule out chance: of joint edits, and of edits made again."""
LINK_SHARE: Final = 0.6
"""Two files are linked when used together in more than this share of sessions that used either."""
FREQUENCY_WEIGHT, RECENCY_WEIGHT, NOVELTY_WEIGHT = 0.4, 0.3, 0.3
RECENCY_HALF_LIFE_DAYS: Final = 30.0
CAPS: Final[Mapping[Complexity, int]] = MappingProxyType(
    {Complexity.TRIVIAL: 2, Complexity.STANDARD: 10, Complexity.COMPLEX: 25}
)
EDITS_PER_CLOSING_EDIT: Final = 8
"""A validation covers later edits when it saw this many edits for each of them."""
INCREMENTAL_ABOVE_TASKS: Final = 5
CONSOLIDATED_FROM_TASKS: Final = 10
TRIVIAL_FILES, TRIVIAL_STEPS = 1, 15
COMPLEX_FILES, COMPLEX_STEPS = 8, 150

# -- Recipes --------------------------------------------------------------------------------------

RECIPE_STEPS: Final = 4
RECIPE_WINDOW_DAYS: Final = 30
RECIPE_UNUSED_DAYS: Final = 60
SAME_RECIPE_OVERLAP: Final = 0.7
"""Share of the shorter recipe's steps from which two recipes are the same."""

# -- Statistics -----------------------------------------------------------------------------------

COST_SESSIONS: Final = 30
COST_PERCENTILE: Final = 0.9
MIN_COST_SESSIONS: Final = 2
MIN_CALIBRATION_SESSIONS: Final = 2
MIN_CONFUSED_SESSIONS: Final = 3
RECURRING_ERRORS: Final = 3
