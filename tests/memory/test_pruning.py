"""What is removed for good, each time by a named rule."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.workshop import PROJECT, START, Workshop, open_workshop
from wellkept.core.changes import Close, Delete, Insert, Replace
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.payloads import ContextCost, RecipeStep, WorkflowRecipe
from wellkept.core.types import MemoryType, Scope, Source
from wellkept.memory.file_presence import Exists
from wellkept.memory.lifecycle.pruning import PruneRule, Retention, prune

pytestmark = pytest.mark.feature("A5", "A6")

SPEC = WorkUnitRef("native", ("spec-7",), "Spec 7")


def rules_of(
    shop: Workshop, *, keep: Retention | None = None, exists: Exists | None = None
) -> dict[str, str]:
    """Which rule would remove which memory."""
    report = prune(shop.engine, project=PROJECT, keep=keep, exists=exists, dry_run=True)
    return {item.id: item.rule for item in report.items}


# -- Importance and confidence --------------------------------------------------------------------


def test_what_matters_less_than_the_threshold_goes(shop: Workshop) -> None:
    faded = shop.keep("Hardly matters", importance=0.09)
    edge = shop.keep("Just matters", importance=0.1)
    report = prune(shop.engine, project=PROJECT)
    assert not shop.has(faded)
    assert shop.has(edge)
    assert report.counts == {PruneRule.LOW_IMPORTANCE: 1}
    assert report.items[0].reason == "importance 0.090 is below 0.1"


def test_the_threshold_can_be_chosen(shop: Workshop) -> None:
    shop.keep("Matters some", importance=0.4)
    assert rules_of(shop) == {}
    assert len(rules_of(shop, keep=Retention(min_importance=0.5))) == 1


def test_pinned_memories_outlive_every_rule(shop: Workshop) -> None:
    shop.keep("Hardly matters", importance=0.0, confidence=0.0, pinned=True)
    shop.keep("This session only", scope=Scope.SESSION, pinned=True)
    shop.keep("It happened", type=MemoryType.TIMELINE, pinned=True)
    shop.clock.advance(days=1000)
    assert rules_of(shop) == {}


def test_what_a_person_verified_is_spared_unless_asked_for(shop: Workshop) -> None:
    verified = shop.keep("Hardly matters", importance=0.01, user_verified=True)
    report = prune(shop.engine, project=PROJECT)
    assert report.items == ()
    assert "1 more would go, but a person verified them." in report.notes
    prune(shop.engine, project=PROJECT, include_verified=True)
    assert not shop.has(verified)


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.MODULE])
def test_doubtful_and_long_unused_lasting_memories_go(shop: Workshop, scope: Scope) -> None:
    doubtful = shop.keep("Maybe so", scope=scope, confidence=0.19)
    sure = shop.keep("Surely so", scope=scope, confidence=0.2)
    shop.clock.advance(days=59)
    assert rules_of(shop) == {}
    shop.clock.advance(days=1)
    assert rules_of(shop) == {doubtful.id: PruneRule.LOW_CONFIDENCE}
    shop.store.record_access([doubtful.id], at=shop.clock.now)
    assert rules_of(shop) == {}
    assert shop.has(sure)


def test_closed_memories_are_history_and_stay(shop: Workshop) -> None:
    memory = shop.keep("It was so", importance=0.01, confidence=0.01)
    shop.store.apply([Close(memory.id, START)])
    shop.clock.advance(days=400)
    assert rules_of(shop) == {}


# -- Scope and type -------------------------------------------------------------------------------


def test_session_memories_expire_after_seven_days_closed_or_not(shop: Workshop) -> None:
    noted = shop.keep("Look here next", scope=Scope.SESSION, user_verified=True)
    closed = shop.keep("Look there next", scope=Scope.SESSION)
    shop.store.apply([Close(closed.id, START)])
    shop.clock.advance(days=7)
    assert rules_of(shop) == {}
    shop.clock.advance(days=0.1)
    assert rules_of(shop) == {
        noted.id: PruneRule.SESSION_OVER,
        closed.id: PruneRule.SESSION_OVER,
    }


def test_timeline_entries_are_kept_ninety_days_from_when_they_were_written(shop: Workshop) -> None:
    entry = shop.keep(
        "Released 2.0", type=MemoryType.TIMELINE, valid_from=START - timedelta(days=500)
    )
    shop.clock.advance(days=90)
    assert rules_of(shop) == {}
    shop.clock.advance(days=1)
    assert rules_of(shop) == {entry.id: PruneRule.TIMELINE_OLD}


def recipe(validated: str | None) -> WorkflowRecipe:
    steps = (RecipeStep("Add the route", "src/routes.py"),)
    return WorkflowRecipe("add an endpoint", steps, last_validated_at=validated)


def test_recipes_go_after_sixty_days_without_successful_use(shop: Workshop) -> None:
    def keep(validated: str | None) -> Memory:
        kind = MemoryType.WORKFLOW_RECIPE
        return shop.keep("How to add an endpoint", type=kind, payload=recipe(validated))

    never_used, used_later, unreadable = keep(None), keep("2026-03-20"), keep("last week")
    shop.clock.advance(days=61)
    gone = {never_used.id: PruneRule.RECIPE_UNUSED, unreadable.id: PruneRule.RECIPE_UNUSED}
    assert rules_of(shop) == gone
    shop.clock.advance(days=30)
    assert rules_of(shop)[used_later.id] == PruneRule.RECIPE_UNUSED


def test_commit_records_go_when_all_their_files_are_gone(shop: Workshop) -> None:
    record = shop.keep(
        "Split the parser",
        type=MemoryType.MODULE_INSIGHT,
        source=Source.COMMIT_AUTO,
        files=("a.py", "b.py"),
    )
    by_hand = shop.keep("The parser is slow", type=MemoryType.MODULE_INSIGHT, files=("a.py",))
    unfiled = shop.keep("Tidy up", type=MemoryType.MODULE_INSIGHT, source=Source.COMMIT_AUTO)
    assert rules_of(shop, exists=lambda path: path == "b.py") == {}
    assert rules_of(shop, exists=lambda path: False) == {record.id: PruneRule.FILES_GONE}
    report = prune(shop.engine, project=PROJECT)
    assert report.items == ()
    assert "Files were not looked at" in report.notes[0]
    assert shop.has(by_hand)
    assert shop.has(unfiled)


def test_the_last_thirty_cost_samples_of_each_module_are_kept(shop: Workshop) -> None:
    def sample(module: str) -> Memory:
        shop.clock.advance(days=0.01)
        payload = ContextCost(module, 900.0, 1200.0, 1)
        return shop.keep(f"Cost of {module}", type=MemoryType.CONTEXT_COST, payload=payload)

    api = [sample("api") for _ in range(32)]
    for _ in range(5):
        sample("web")
    assert rules_of(shop) == {memory.id: PruneRule.SAMPLES_OLD for memory in api[:2]}


def test_an_archived_work_unit_goes_after_ninety_days(shop: Workshop) -> None:
    note = shop.keep("The cache is cold", scope=Scope.WORK_UNIT, work_unit=SPEC, archived_at=START)
    lasting = shop.keep("Use the cache", scope=Scope.MODULE, work_unit=SPEC, archived_at=START)
    shop.clock.advance(days=90)
    assert rules_of(shop) == {}
    shop.clock.advance(days=1)
    assert rules_of(shop) == {note.id: PruneRule.WORK_UNIT_OVER}
    assert shop.has(lasting)


# -- How it is done -------------------------------------------------------------------------------


def test_what_was_deleted_is_in_the_report_and_can_be_restored(shop: Workshop) -> None:
    memory = shop.keep("Hardly matters", importance=0.01, tags=("old",))
    report = prune(shop.engine, project=PROJECT)
    assert not shop.has(memory)
    assert list(report.removed) == [memory]
    shop.store.apply([Insert(memory, shop.engine.index_entry(memory))])
    assert shop.read(memory) == memory


def test_a_memory_used_or_edited_meanwhile_stays(shop: Workshop) -> None:
    used, pinned, doomed = (shop.keep(f"Hardly matters {n}", importance=0.01) for n in range(3))

    def meddle() -> None:
        shop.store.record_access([used.id], at=shop.clock.now)
        shop.store.flush()
        shop.store.apply([Replace(replace(pinned, pinned=True))])

    report = prune(shop.meddled(meddle), project=PROJECT)
    assert [item.id for item in report.items] == [doomed.id]
    assert set(shop.all()) == {used.id, pinned.id}


def test_what_another_process_has_just_deleted_is_no_error(shop: Workshop) -> None:
    gone, doomed = (shop.keep(f"Hardly matters {n}", importance=0.01) for n in range(2))
    delete = shop.meddled(lambda: shop.store.apply([Delete(gone.id)]))
    report = prune(delete, project=PROJECT)
    assert [item.id for item in report.items] == [doomed.id]
    assert shop.all() == {}


def test_other_projects_are_left_alone(shop: Workshop) -> None:
    other = shop.keep("Not ours", importance=0.0, project="git:example.org/other")
    assert rules_of(shop) == {}
    assert shop.has(other)


memories = st.fixed_dictionaries(
    {
        "type": st.sampled_from([MemoryType.FACT, MemoryType.TIMELINE, MemoryType.GOTCHA]),
        "scope": st.sampled_from(list(Scope)),
        "importance": st.floats(min_value=0, max_value=1),
        "confidence": st.floats(min_value=0, max_value=1),
        "pinned": st.booleans(),
        "user_verified": st.booleans(),
        "created_at": st.integers(0, 200).map(lambda d: START - timedelta(days=d)),
    }
)


@settings(max_examples=20)
@given(st.lists(memories, max_size=12))
def test_a_dry_run_changes_nothing_and_foretells_the_real_one(
    drawn: list[dict[str, object]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = open_workshop(Path(folder))
        kept = [shop.keep(f"Statement {n}", **fields) for n, fields in enumerate(drawn)]
        before = shop.all()
        foretold = prune(shop.engine, project=PROJECT, dry_run=True)
        assert shop.all() == before
        done = prune(shop.engine, project=PROJECT)
        assert replace(done, dry_run=True) == foretold
        left = set(shop.all())
        assert left == {m.id for m in kept} - {m.id for m in done.removed}
        assert left >= {m.id for m in kept if m.pinned}
        assert prune(shop.engine, project=PROJECT).items == ()
        shop.store.close()
