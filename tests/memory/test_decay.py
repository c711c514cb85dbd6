"""Importance fades with disuse, once for each stretch of time."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.workshop import PROJECT, START, Workshop, open_workshop
from wellkept.core.changes import Close, Delete, Mark, Rescore
from wellkept.core.memory import Memory
from wellkept.core.types import MemoryType, Scope
from wellkept.memory.lifecycle.decay import MAX_DAYS_PER_RUN, decay, decayed_importance

pytestmark = pytest.mark.feature("A5")

MEMORY = Memory(
    id="0190c3f0-0000-7000-8000-000000000001",
    project=PROJECT,
    type=MemoryType.FACT,
    content="a fact",
    created_at=START,
    updated_at=START,
    valid_from=START,
    accessed_at=START,
    importance=0.8,
)


# -- The formula ----------------------------------------------------------------------------------


def test_a_memory_loses_five_percent_a_week() -> None:
    assert decayed_importance(MEMORY, idle_days=14) == pytest.approx(0.8 * 0.95**2)


def test_the_half_life_of_the_type_halves_importance() -> None:
    work_state = replace(MEMORY, type=MemoryType.WORK_STATE)
    dead_end = replace(MEMORY, type=MemoryType.DEAD_END)
    assert decayed_importance(work_state, idle_days=7) == pytest.approx(0.4)
    assert decayed_importance(dead_end, idle_days=90) == pytest.approx(0.4)


def test_a_memory_s_own_half_life_goes_before_that_of_its_type() -> None:
    own = replace(MEMORY, type=MemoryType.WORK_STATE, half_life_days=30.0)
    assert decayed_importance(own, idle_days=30) == pytest.approx(0.4)


def test_pinned_memories_do_not_fade_and_verified_ones_fade_like_the_rest() -> None:
    assert decayed_importance(replace(MEMORY, pinned=True), idle_days=900) == 0.8
    verified = replace(MEMORY, user_verified=True)
    assert decayed_importance(verified, idle_days=14) == pytest.approx(0.8 * 0.95**2)


days = st.floats(min_value=-50, max_value=20_000, allow_nan=False)


@given(
    importance=st.floats(min_value=0, max_value=1),
    half_life=st.none() | st.floats(min_value=0.01, max_value=10_000),
    verified=st.booleans(),
    first=days,
    second=days,
)
def test_fading_is_monotone_and_stays_between_zero_and_what_it_was(
    importance: float, half_life: float | None, verified: bool, first: float, second: float
) -> None:
    memory = replace(
        MEMORY, importance=importance, half_life_days=half_life, user_verified=verified
    )
    sooner, later = sorted((first, second))
    after_sooner = decayed_importance(memory, idle_days=sooner)
    after_later = decayed_importance(memory, idle_days=later)
    assert 0 <= after_later <= after_sooner <= importance


@given(steps=st.lists(st.floats(min_value=0, max_value=100), max_size=12))
def test_many_small_steps_equal_one_large_one(steps: list[float]) -> None:
    memory = MEMORY
    for step in steps:
        memory = replace(memory, importance=decayed_importance(memory, idle_days=step))
    assert memory.importance == pytest.approx(decayed_importance(MEMORY, idle_days=sum(steps)))


# -- Running it -----------------------------------------------------------------------------------


def test_a_run_fades_what_was_not_used_and_says_so(shop: Workshop) -> None:
    memory = shop.keep("Deploys go through staging", importance=0.8)
    shop.clock.advance(days=14)
    report = decay(shop.engine, project=PROJECT)
    assert shop.read(memory).importance == pytest.approx(0.8 * 0.95**2)
    assert (report.examined, report.changed, report.counts) == (1, 1, {"decayed": 1})
    assert report.rows() == [
        (
            memory.short,
            "Deploys go through staging",
            "0.800",
            "0.722",
            "unused for 14.0 days, 5 % a week",
        )
    ]


def test_a_second_run_in_the_same_week_does_nothing(shop: Workshop) -> None:
    memory = shop.keep("Deploys go through staging", importance=0.8)
    shop.clock.advance(days=14)
    decay(shop.engine, project=PROJECT)
    once = shop.read(memory).importance
    shop.clock.advance(days=6)
    report = decay(shop.engine, project=PROJECT)
    assert shop.read(memory).importance == once
    assert report.items == ()
    assert "Already done" in report.notes[0]


def test_a_project_left_for_long_fades_by_four_weeks(shop: Workshop) -> None:
    memory = shop.keep("Deploys go through staging", importance=0.8)
    shop.clock.advance(days=200)
    decay(shop.engine, project=PROJECT, max_days=MAX_DAYS_PER_RUN)
    assert shop.read(memory).importance == pytest.approx(0.8 * 0.95**4)


def test_daily_runs_add_up_to_one_late_run(shop: Workshop) -> None:
    memory = shop.keep("Deploys go through staging", importance=0.8)
    for _ in range(15):
        shop.clock.advance(days=1)
        decay(shop.engine, project=PROJECT)
    assert shop.read(memory).importance == pytest.approx(0.8 * 0.95 ** (15 / 7))


def test_an_access_between_runs_starts_the_disuse_anew(shop: Workshop) -> None:
    memory = shop.keep("Deploys go through staging", importance=0.8)
    shop.clock.advance(days=6)
    shop.store.record_access([memory.id], at=shop.clock.now)
    shop.clock.advance(days=7)
    decay(shop.engine, project=PROJECT)
    assert shop.read(memory).importance == pytest.approx(0.8 * 0.95)


def test_a_clock_set_back_neither_fades_nor_counts_time_twice(shop: Workshop) -> None:
    memory = shop.keep("Deploys go through staging", importance=0.8)
    shop.clock.advance(days=14)
    decay(shop.engine, project=PROJECT)
    shop.clock.advance(days=-20)
    assert "later than now" in decay(shop.engine, project=PROJECT).notes[0]
    shop.clock.advance(days=20 + 7)
    decay(shop.engine, project=PROJECT)
    assert shop.read(memory).importance == pytest.approx(0.8 * 0.95**3)


def test_a_memory_from_the_future_does_not_gain(shop: Workshop) -> None:
    memory = shop.keep("Said tomorrow", created_at=START + timedelta(days=3), importance=0.8)
    assert decay(shop.engine, project=PROJECT).items == ()
    assert shop.read(memory).importance == 0.8


def test_fading_is_no_edit(shop: Workshop) -> None:
    memory = shop.keep("Deploys go through staging", importance=0.8, confidence=0.7)
    shop.clock.advance(days=30)
    decay(shop.engine, project=PROJECT)
    after = shop.read(memory)
    assert replace(after, importance=memory.importance) == memory


def test_only_open_memories_of_this_project_fade(shop: Workshop) -> None:
    closed = shop.keep("It was so", importance=0.8)
    archived = shop.keep("Put away", importance=0.8)
    elsewhere = shop.keep("Not ours", importance=0.8, project="git:example.org/other")
    about_person = shop.keep("Likes short answers", importance=0.8, scope=Scope.USER)
    shop.store.apply([Close(closed.id, START), Mark(archived.id, "archived", START)])
    shop.clock.advance(days=14)
    report = decay(shop.engine, project=PROJECT)
    assert [item.id for item in report.items] == [about_person.id]
    assert {shop.read(m).importance for m in (closed, archived, elsewhere)} == {0.8}


def test_a_dry_run_changes_nothing_and_foretells_the_real_one(shop: Workshop) -> None:
    shop.keep("Deploys go through staging", importance=0.8)
    shop.keep("Tests run on Python 3.11", type=MemoryType.WORK_STATE)
    shop.clock.advance(days=14)
    before = shop.all()
    foretold = decay(shop.engine, project=PROJECT, dry_run=True)
    assert shop.all() == before
    assert foretold.dry_run
    assert decay(shop.engine, project=PROJECT).items == foretold.items


def test_progress_ends_at_the_total(shop: Workshop) -> None:
    for number in range(3):
        shop.keep(f"Fact number {number}")
    shop.clock.advance(days=14)
    seen: list[tuple[int, int]] = []
    decay(shop.engine, project=PROJECT, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)


def test_a_process_that_runs_in_between_is_noticed(shop: Workshop) -> None:
    memory = shop.keep("Deploys go through staging", importance=0.8)
    shop.clock.advance(days=14)
    engine = shop.meddled(lambda: decay(shop.beside(), project=PROJECT))
    report = decay(engine, project=PROJECT)
    assert "Another process" in report.notes[0]
    assert shop.read(memory).importance == pytest.approx(0.8 * 0.95**2)


def test_a_memory_rescored_or_deleted_in_between_is_passed_over(shop: Workshop) -> None:
    rescored, deleted, kept = (shop.keep(f"Fact {n}", importance=0.8) for n in range(3))
    shop.clock.advance(days=14)
    changes = [Rescore(rescored.id, importance=1.0), Delete(deleted.id)]
    report = decay(shop.meddled(lambda: shop.store.apply(changes)), project=PROJECT)
    assert [item.id for item in report.items] == [kept.id]
    assert shop.read(rescored).importance == 1.0


@settings(max_examples=15)
@given(
    gaps=st.lists(st.floats(min_value=0, max_value=40), min_size=1, max_size=6),
    importance=st.floats(min_value=0, max_value=1),
)
def test_however_often_it_runs_time_counts_once(gaps: list[float], importance: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = open_workshop(Path(folder))
        memory = shop.keep("Deploys go through staging", importance=importance)
        counted = waiting = 0.0
        for gap in gaps:
            shop.clock.advance(days=gap)
            waiting += gap
            if not decay(shop.engine, project=PROJECT, max_days=MAX_DAYS_PER_RUN).notes:
                counted, waiting = counted + min(waiting, MAX_DAYS_PER_RUN), 0.0
        expected = decayed_importance(memory, idle_days=counted)
        assert shop.read(memory).importance == pytest.approx(expected)
        shop.store.close()
