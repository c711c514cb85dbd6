"""The tables and numbers that learning was designed by, each held here as it stands (D1-D4).

Where the code asks for more than a table, `docs/decisions/observer.md` says why.
"""

from __future__ import annotations

import pytest

from tests.observe.learning_steps import Shown, Work
from wellkept.core.session.scratchpad import SignalKind
from wellkept.core.types import MemoryType
from wellkept.memory.engine import Thresholds
from wellkept.observe import thresholds
from wellkept.observe.learning import co_access, outcomes, reviews

pytestmark = pytest.mark.feature("D1", "D2", "D3", "D4")

SIGNALS = {
    "file_access": {"reads", "edits", "first_step", "last_step"},
    "co_access": {"time_delta_ms", "step_delta"},
    "error_retry": {"tool", "message", "resolved"},
    "backtrack": {"path", "within_steps", "cause"},
    "sequence": {"steps"},
    "time_anomaly": {"dwell_ms", "reads"},
}


@pytest.mark.parametrize("kind", SIGNALS)
def test_each_of_the_six_signals_carries_what_the_taxonomy_names(kind: str) -> None:
    w = Work()
    again = [w.read("maze.py") for _ in range(thresholds.CONFUSING_READS)]
    work = [w.edit("a.py", "x = 1", "y = 2"), w.tests_fail(), w.edit("a.py", "y = 2", "z = 3")]
    more = [w.change("b.ts"), w.run("make schema"), w.tests_pass()]
    for signal in Shown(*again, *work, *more).of(kind):
        assert SIGNALS[kind] <= set(signal.fields)
        break
    else:
        pytest.fail("not shown")


def test_the_six_signals_are_counted_across_sessions_under_their_names() -> None:
    named = {"file_access", "co_access", "error_retry", "backtrack", "sequence", "time_anomaly"}
    assert named <= {kind.value for kind in SignalKind}


RULES = [
    # rule, memory type, sessions, score above
    ("co_dependence", MemoryType.CAUSAL_DEPENDENCY, 3, 0.6),
    ("dead_end", MemoryType.DEAD_END, 1, 0.3),
    ("recipe", MemoryType.WORKFLOW_RECIPE, 3, 0.6),
]


@pytest.mark.parametrize(("name", "makes", "sessions", "score"), RULES)
def test_each_inference_rule_makes_its_type_from_its_threshold_on(
    name: str, makes: MemoryType, sessions: int, score: float
) -> None:
    rule = thresholds.RULES[name]
    assert (rule.makes, rule.min_sessions) == (makes, sessions)
    assert rule.min_score == score


def test_the_steps_and_reads_that_signals_turn_on() -> None:
    assert (
        thresholds.CO_ACCESS_STEPS,
        thresholds.RE_EDIT_STEPS,
        thresholds.CONFUSING_READS,
        thresholds.DEAD_END_STEPS,
    ) == (
        3,
        5,
        4,
        20,
    )
    assert (co_access.ALWAYS, co_access.OFTEN, co_access.MIN_MODULE_SESSIONS) == (0.8, 0.5, 3)


def test_the_score_weighs_frequency_recency_and_novelty_by_four_three_and_three() -> None:
    weights = thresholds.FREQUENCY_WEIGHT, thresholds.RECENCY_WEIGHT, thresholds.NOVELTY_WEIGHT
    assert weights == (0.4, 0.3, 0.3)


def test_what_is_as_near_as_088_is_known() -> None:
    assert Thresholds().known == 0.88


def test_the_caps_and_the_sizes_of_work_that_decide() -> None:
    assert {size.value: cap for size, cap in thresholds.CAPS.items()} == {
        "trivial": 2,
        "standard": 10,
        "complex": 25,
    }
    assert (thresholds.INCREMENTAL_ABOVE_TASKS, thresholds.CONSOLIDATED_FROM_TASKS) == (5, 10)


def test_a_recipe_needs_four_steps_in_three_sessions_within_thirty_days() -> None:
    assert (
        thresholds.RECIPE_STEPS,
        thresholds.RECIPE_WINDOW_DAYS,
        thresholds.RECIPE_UNUSED_DAYS,
    ) == (4, 30, 60)
    assert thresholds.RULES["recipe"].confidence == 0.7


def test_consolidation_gives_at_most_five() -> None:
    assert outcomes.MAX_INSIGHTS == 5
    assert (outcomes.INSIGHT_CONFIDENCE, reviews.CONFIDENCE) == (0.85, 0.8)


def test_costs_are_the_average_and_the_90th_percentile_of_thirty_sessions() -> None:
    assert (thresholds.COST_SESSIONS, thresholds.COST_PERCENTILE) == (30, 0.9)


def test_a_file_is_confusing_after_four_readings_in_three_sessions() -> None:
    assert (thresholds.CONFUSING_READS, thresholds.MIN_CONFUSED_SESSIONS) == (4, 3)


def test_signals_of_settled_work_go_after_a_week() -> None:
    assert thresholds.SIGNAL_DAYS == 7
