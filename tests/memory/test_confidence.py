"""Confidence spreads along relations, once, ever weaker, and says how it came."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.workshop import START, Workshop, open_workshop
from wellkept.core.changes import Close
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Memory, Relation
from wellkept.core.types import RelationType
from wellkept.memory.lifecycle.confidence import FACTORS, SMALLEST_MOVE, set_confidence

pytestmark = pytest.mark.feature("A7")


def to(target: Memory, kind: RelationType = RelationType.SUPERSEDES, sure: float = 1.0) -> Relation:
    return Relation(kind, target_id=target.id, confidence=sure)


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        ("required_with", 0.3),
        ("conflicts_with", -0.4),
        ("validates", 0.6),
        ("supersedes", 0.8),
        ("derived_from", 0.5),
    ],
)
def test_a_neighbour_moves_by_its_share_of_the_change(
    shop: Workshop, kind: str, factor: float
) -> None:
    target = shop.keep("The target", confidence=0.5)
    relation = to(target, RelationType(kind), sure=0.9)
    memory = shop.keep("The origin", confidence=0.4, relations=(relation,))
    set_confidence(shop.engine, id=memory.id, confidence=0.8)
    assert shop.read(memory).confidence == 0.8
    assert shop.read(target).confidence == pytest.approx(0.5 + 0.4 * factor * 0.9)


def test_every_relation_type_has_a_factor_below_one() -> None:
    assert set(FACTORS) == set(RelationType)
    assert all(0 < abs(factor) < 1 for factor in FACTORS.values())


def test_the_report_explains_each_change_with_its_path(shop: Workshop) -> None:
    far = shop.keep("The far one", confidence=0.5)
    near = shop.keep("The near one", confidence=0.5, relations=(to(far, RelationType.VALIDATES),))
    memory = shop.keep("The origin", confidence=0.5, relations=(to(near),))
    report = set_confidence(shop.engine, id=memory.id, confidence=1.0)
    assert [item.path for item in report.items] == [
        (memory.id,),
        (memory.id, near.id),
        (memory.id, near.id, far.id),
    ]
    assert [item.after for item in report.items] == pytest.approx([1.0, 0.9, 0.74])
    assert report.items[1].reason == f"{memory.short} supersedes it: +0.50 x +0.80"
    assert report.items[2].reason == f"{near.short} validates it: +0.40 x +0.60"


def test_a_move_below_five_hundredths_is_not_made_and_goes_no_further(shop: Workshop) -> None:
    last = shop.keep("Last", confidence=0.5)
    middle = shop.keep("Middle", confidence=0.5, relations=(to(last),))
    relation = to(middle, RelationType.REQUIRED_WITH)
    memory = shop.keep("First", confidence=0.5, relations=(relation,))
    set_confidence(shop.engine, id=memory.id, confidence=0.65)
    assert shop.read(middle).confidence == 0.5
    set_confidence(shop.engine, id=memory.id, confidence=0.85)
    assert shop.read(middle).confidence == pytest.approx(0.56)
    assert shop.read(last).confidence == 0.5


def test_setting_the_same_value_again_moves_nothing(shop: Workshop) -> None:
    target = shop.keep("The target", confidence=0.5)
    memory = shop.keep("The origin", confidence=0.4, relations=(to(target),))
    set_confidence(shop.engine, id=memory.id, confidence=0.8)
    once = shop.all()
    for _ in range(3):
        assert set_confidence(shop.engine, id=memory.id, confidence=0.8).items == ()
    assert shop.all() == once


def test_taking_a_change_back_takes_its_effects_back(shop: Workshop) -> None:
    target = shop.keep("The target", confidence=0.5)
    memory = shop.keep("The origin", confidence=0.4, relations=(to(target),))
    for confidence in (0.8, 0.1, 0.4):
        set_confidence(shop.engine, id=memory.id, confidence=confidence)
    assert shop.read(target).confidence == pytest.approx(0.5)


def test_a_cycle_comes_to_an_end_and_leaves_the_origin_as_set(shop: Workshop) -> None:
    first, second = shop.make("First", confidence=0.5), shop.make("Second", confidence=0.5)
    for memory, other in ((first, second), (second, first)):
        shop.keep(memory.content, id=memory.id, confidence=0.5, relations=(to(other),))
    report = set_confidence(shop.engine, id=first.id, confidence=0.9)
    assert len(report.items) == 2
    assert shop.read(first).confidence == 0.9


def test_of_several_paths_the_strongest_counts_once(shop: Workshop) -> None:
    target = shop.keep("The target", confidence=0.5)
    between = shop.keep("Between", confidence=0.5, relations=(to(target),))
    relations = (to(target, RelationType.REQUIRED_WITH), to(between))
    memory = shop.keep("The origin", confidence=0.5, relations=relations)
    report = set_confidence(shop.engine, id=memory.id, confidence=1.0)
    assert shop.read(target).confidence == pytest.approx(0.5 + 0.5 * 0.8 * 0.8)
    assert report.items[-1].path == (memory.id, between.id, target.id)


def test_what_a_person_verified_what_is_closed_and_other_projects_do_not_move(
    shop: Workshop,
) -> None:
    verified = shop.keep("Verified", confidence=0.5, user_verified=True)
    closed = shop.keep("Closed", confidence=0.5)
    foreign = shop.keep("Foreign", confidence=0.5, project="git:example.org/other")
    shop.store.apply([Close(closed.id, START)])
    relations = (to(verified), to(closed), to(foreign))
    memory = shop.keep("The origin", confidence=0.2, relations=relations)
    report = set_confidence(shop.engine, id=memory.id, confidence=1.0)
    assert [item.id for item in report.items] == [memory.id]


def test_targets_that_are_files_or_gone_are_passed_over(shop: Workshop) -> None:
    relations = (
        Relation(RelationType.VALIDATES, target_file="src/a.py"),
        Relation(RelationType.VALIDATES, target_id=shop.engine.new_id()),
    )
    memory = shop.keep("The origin", confidence=0.2, relations=relations)
    assert len(set_confidence(shop.engine, id=memory.id, confidence=1.0).items) == 1


def test_a_new_confidence_is_no_edit_and_can_be_previewed(shop: Workshop) -> None:
    target = shop.keep("The target", confidence=0.5)
    memory = shop.keep("The origin", confidence=0.4, relations=(to(target),))
    shop.clock.advance(days=1)
    foretold = set_confidence(shop.engine, id=memory.id, confidence=0.8, dry_run=True)
    assert shop.read(target) == target
    done = set_confidence(shop.engine, id=memory.id, confidence=0.8)
    assert done.items == foretold.items
    assert shop.read(target).updated_at == START


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_confidence_out_of_range_is_refused(shop: Workshop, confidence: float) -> None:
    memory = shop.keep("The origin")
    with pytest.raises(UsageError, match="out of range"):
        set_confidence(shop.engine, id=memory.id, confidence=confidence)


def test_an_unknown_memory_is_named(shop: Workshop) -> None:
    with pytest.raises(NotFoundError, match="no memory 'nope'"):
        set_confidence(shop.engine, id="nope", confidence=0.5)


unit = st.floats(min_value=0, max_value=1)
edges = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from(list(RelationType)), unit),
    max_size=24,
)


@settings(max_examples=25)
@given(edges=edges, before=st.lists(unit, min_size=8, max_size=8), wanted=unit)
def test_on_any_graph_it_ends_inside_the_range_with_moves_worth_making(
    edges: list[tuple[int, int, RelationType, float]], before: list[float], wanted: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = open_workshop(Path(folder))
        made = [shop.make(f"Memory {n}", confidence=share) for n, share in enumerate(before)]
        for n, memory in enumerate(made):
            relations = tuple(to(made[b], kind, sure) for a, b, kind, sure in edges if a == n)
            shop.keep(
                memory.content, id=memory.id, confidence=memory.confidence, relations=relations
            )
        report = set_confidence(shop.engine, id=made[0].id, confidence=wanted)
        after = shop.all()
        assert all(0 <= memory.confidence <= 1 for memory in after.values())
        assert after[made[0].id].confidence == wanted
        assert len({item.id for item in report.items}) == len(report.items)
        for item in report.items[1:]:
            assert isinstance(item.before, float)
            assert isinstance(item.after, float)
            assert abs(item.after - item.before) >= SMALLEST_MOVE - 1e-6
            assert len(set(item.path)) == len(item.path)
        shop.store.close()
