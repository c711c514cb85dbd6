"""The two formulas of the design documents, exactly, and the table of phase weights."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.candidate_sets import DAY_MS, NOW_MS, candidate, memory, plan, pool, setting
from wellkept.core.errors import UsageError
from wellkept.core.types import MemoryType, Phase
from wellkept.memory.recall.phase_weights import PHASE_WEIGHTS, phase_weight
from wellkept.memory.recall.ranking_profiles import (
    PROFILES,
    balanced_score,
    phase_score,
    profile_named,
    rank_balanced,
    rank_phase,
)

pytestmark = pytest.mark.feature("B2")
_SHARES = st.floats(0, 1)
_DAYS = st.floats(0, 10_000)


def test_balanced_weighs_its_four_terms() -> None:
    score = balanced_score(
        similarity=0.5, keyword_overlap=0.4, importance=0.9, days_since_access=10
    )
    assert score == pytest.approx(0.40 * 0.5 + 0.25 * 0.4 + 0.20 * 0.9 + 0.15 / 2)


@given(similarity=_SHARES, overlap=_SHARES, importance=_SHARES, days=_DAYS)
def test_balanced_stays_between_0_and_1(
    similarity: float, overlap: float, importance: float, days: float
) -> None:
    score = balanced_score(
        similarity=similarity,
        keyword_overlap=overlap,
        importance=importance,
        days_since_access=days,
    )
    assert 0 <= score <= 1 + 1e-9


def test_phase_weighs_similarity_recency_and_use_by_the_type() -> None:
    score = phase_score(
        similarity=0.5, days_since_access=30, access_count=3, max_access_count=15, weight=1.5
    )
    expected = (0.6 * 0.5 + 0.25 / math.e + 0.15 * math.log(4) / math.log(16)) * 1.5
    assert score == pytest.approx(expected)


def test_a_pool_that_was_never_used_has_no_access_term() -> None:
    score = phase_score(
        similarity=1.0, days_since_access=0, access_count=0, max_access_count=0, weight=1.0
    )
    assert score == pytest.approx(0.85)


def test_the_balanced_profile_ranks_by_its_formula_and_shows_each_term() -> None:
    used = candidate("used", importance=0.9, accessed_ms=NOW_MS - 10 * DAY_MS)
    unused = candidate("unused", importance=0.1, accessed_ms=NOW_MS - 100 * DAY_MS)
    texts = (memory("used", "cache eviction"), memory("unused", "cache"))
    found = pool(used, unused, meaning={"used": 0.5, "unused": 0.6})
    ranking = rank_balanced(found, plan("cache eviction"), setting(*texts))
    assert [r.candidate.id for r in ranking.order] == ["used", "unused"]
    expected = balanced_score(
        similarity=0.5, keyword_overlap=1.0, importance=0.9, days_since_access=10
    )
    assert ranking.order[0].score == pytest.approx(expected)
    assert sum(part.effect for part in ranking.parts("used")) == pytest.approx(expected)


def test_the_phase_profile_ranks_by_its_formula() -> None:
    trap = candidate("trap", type=MemoryType.GOTCHA, access_count=1)
    choice = candidate("choice", type=MemoryType.DECISION, access_count=7)
    found = pool(trap, choice, meaning={"trap": 0.5, "choice": 0.5})
    ranking = rank_phase(found, plan(), setting(phase=Phase.IMPLEMENT))
    scores = {r.candidate.id: r.score for r in ranking.order}
    assert scores["trap"] == pytest.approx((0.3 + 0.25 + 0.15 / 3) * 1.5)
    assert scores["choice"] == pytest.approx((0.3 + 0.25 + 0.15) * 0.7)
    without = rank_phase(found, plan(), setting())
    assert without.order[0].candidate.id == "choice"


@pytest.mark.parametrize("profile", ["balanced", "phase"])
def test_without_vectors_similarity_is_the_share_of_the_best_word_score(profile: str) -> None:
    rows = (candidate("a"), candidate("b"))
    ranking = PROFILES[profile](pool(*rows, words={"a": 2.0, "b": 8.0}), plan(), setting())
    parts = {p.name: p for p in ranking.parts("a")}
    assert parts["similarity"].value == 0.25


@pytest.mark.feature("B8")
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_profile_holds_a_stale_memory_back(profile: str) -> None:
    rows = (candidate("a", stale=True), candidate("b"))
    texts = (memory("a", "cache"), memory("b", "cache"))
    found = pool(*rows, words={"a": 1.0, "b": 1.0})
    ranking = PROFILES[profile](found, plan("cache"), setting(*texts))
    assert [r.candidate.id for r in ranking.order] == ["b", "a"]
    assert ranking.order[1].score == pytest.approx(ranking.order[0].score / 2)


def test_an_unknown_profile_is_named_with_the_choices() -> None:
    with pytest.raises(UsageError, match=r"magic.*default, balanced, phase"):
        profile_named("magic")


@pytest.mark.feature("B3")
@pytest.mark.parametrize(
    ("phase", "type", "weight"),
    [
        (Phase.DEFINE, MemoryType.WORKFLOW_RECIPE, 1.5),
        (Phase.DEFINE, MemoryType.PREFETCH_PATTERN, 0.5),
        (Phase.IMPLEMENT, MemoryType.GOTCHA, 1.5),
        (Phase.IMPLEMENT, MemoryType.CONTEXT_COST, 0.4),
        (Phase.VALIDATE, MemoryType.E2E_OBSERVATION, 1.5),
        (Phase.VALIDATE, MemoryType.PREFETCH_PATTERN, 0.3),
        (Phase.REFINE, MemoryType.DEAD_END, 1.4),
        (Phase.REFINE, MemoryType.CAUSAL_DEPENDENCY, 1.1),
        (Phase.EXPLORE, MemoryType.DECISION, 1.4),
        (Phase.EXPLORE, MemoryType.TASK_CALIBRATION, 0.6),
        (Phase.REFLECT, MemoryType.WORK_UNIT_OUTCOME, 1.5),
        (Phase.REFLECT, MemoryType.WORKFLOW_RECIPE, 0.6),
        (Phase.VALIDATE, MemoryType.PREFERENCE, 1.0),
        (Phase.REFLECT, MemoryType.EPISODE, 1.0),
    ],
)
def test_each_phase_weighs_types_as_designed(phase: Phase, type: MemoryType, weight: float) -> None:
    assert phase_weight(phase, type) == weight


@pytest.mark.feature("B3")
def test_the_table_covers_all_six_phases() -> None:
    assert set(PHASE_WEIGHTS) == set(Phase)
    sizes = [len(PHASE_WEIGHTS[phase]) for phase in Phase]
    assert sizes == [16, 16, 14, 13, 14, 12]
