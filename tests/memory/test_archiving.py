"""What is put away by rule, as one step that can be undone."""

from __future__ import annotations

import pytest

from tests.memory.workshop import PROJECT, START, Workshop
from wellkept.core.changes import Close, Delete
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.payloads import ContextCost, RecipeStep, WorkflowRecipe, WorkUnitOutcome
from wellkept.core.types import MemoryType, Scope, Source
from wellkept.memory.lifecycle.pruning import archive_due, archive_work_unit

pytestmark = pytest.mark.feature("A6")

SPEC = WorkUnitRef("native", ("spec-7",), "Spec 7")
TASK = WorkUnitRef("native", ("spec-7", "task-2"), "Spec 7, task 2")
OTHER = WorkUnitRef("native", ("spec-70",), "Spec 70")
COST = ContextCost("api", 900.0, 1_200.0, 3)


def archived(shop: Workshop) -> set[str]:
    return {memory.id for memory in shop.all().values() if memory.archived_at is not None}


def test_what_ended_is_archived_and_the_rest_is_left_alone(shop: Workshop) -> None:
    ended = [
        shop.keep("Look here next", scope=Scope.SESSION),
        shop.keep("It happened", type=MemoryType.TIMELINE),
        shop.keep("Maybe so", confidence=0.1),
    ]
    shop.keep("Verified", confidence=0.1, user_verified=True)
    shop.keep("Look here", scope=Scope.SESSION, pinned=True)
    shop.keep("Hardly matters", importance=0.0)
    recipe = WorkflowRecipe("add an endpoint", (RecipeStep("Add the route", "here.py"),))
    shop.keep("How to", type=MemoryType.WORKFLOW_RECIPE, payload=recipe)
    shop.keep("Commit", type=MemoryType.MODULE_INSIGHT, source=Source.COMMIT_AUTO, files=("x.py",))
    shop.clock.advance(days=400)
    report = archive_due(shop.engine, project=PROJECT)
    assert archived(shop) == {memory.id for memory in ended}
    assert report.counts == {"session over": 1, "timeline old": 1, "low confidence": 1}
    assert {(item.before, item.after) for item in report.items} == {("current", "archived")}
    assert report.removed == ()


def test_the_run_is_one_step_that_undo_takes_back(shop: Workshop) -> None:
    kept = [shop.keep(f"Note {number}", scope=Scope.SESSION) for number in range(5)]
    shop.clock.advance(days=8)
    report = archive_due(shop.engine, project=PROJECT)
    (step,) = shop.store.undo_steps(project=PROJECT, limit=9)
    assert (step.action, step.count) == ("maintenance", 5)
    assert step.id in report.notes[0]
    shop.store.undo(step.id, project=PROJECT)
    assert list(shop.all().values()) == kept


def test_the_last_samples_of_a_module_stay(shop: Workshop) -> None:
    made = list[Memory]()
    for _ in range(32):
        shop.clock.advance(days=1)
        made.append(shop.keep("Cost", type=MemoryType.CONTEXT_COST, payload=COST))
    archive_due(shop.engine, project=PROJECT)
    assert archived(shop) == {memory.id for memory in made[:2]}


def test_other_projects_are_left_alone(shop: Workshop) -> None:
    shop.keep("Not ours", scope=Scope.SESSION, project="git:example.org/other")
    shop.clock.advance(days=8)
    assert archive_due(shop.engine, project=PROJECT).items == ()
    assert archived(shop) == set()


def test_a_preview_writes_nothing_and_foretells_the_real_run(shop: Workshop) -> None:
    shop.keep("Look here next", scope=Scope.SESSION)
    shop.clock.advance(days=8)
    foretold = archive_due(shop.engine, project=PROJECT, dry_run=True)
    assert archived(shop) == set()
    assert shop.store.undo_steps(project=PROJECT, limit=9) == []
    assert archive_due(shop.engine, project=PROJECT).items == foretold.items
    assert archive_due(shop.engine, project=PROJECT).items == ()


def test_what_another_process_has_just_done_is_no_error(shop: Workshop) -> None:
    note = shop.keep("Look here next", scope=Scope.SESSION)
    shop.clock.advance(days=8)
    engine = shop.meddled(lambda: archive_due(shop.beside(), project=PROJECT))
    assert archive_due(engine, project=PROJECT).items == ()
    (step,) = shop.store.undo_steps(project=PROJECT, limit=9)
    shop.store.undo(step.id, project=PROJECT)
    other = shop.keep("Look there next", scope=Scope.SESSION)
    shop.clock.advance(days=8)
    engine = shop.meddled(lambda: shop.store.apply([Delete(other.id)]))
    assert archive_due(engine, project=PROJECT).items == ()
    assert list(shop.all()) == [note.id]


# -- Work units -----------------------------------------------------------------------------------


def test_a_merged_work_unit_is_archived_with_the_units_below_it(shop: Workshop) -> None:
    note = shop.keep("The cache is cold", scope=Scope.WORK_UNIT, work_unit=TASK)
    outcome = shop.keep(
        "It went well",
        type=MemoryType.WORK_UNIT_OUTCOME,
        payload=WorkUnitOutcome(succeeded=True),
        work_unit=SPEC,
    )
    closed = shop.keep("The cache was warm", scope=Scope.WORK_UNIT, work_unit=SPEC)
    shop.store.apply([Close(closed.id, START)])
    shop.keep("Use the cache", scope=Scope.MODULE, work_unit=SPEC)
    shop.keep("The cache is warm", scope=Scope.WORK_UNIT, work_unit=OTHER)
    shop.keep("Never forget", scope=Scope.WORK_UNIT, work_unit=SPEC, pinned=True)
    report = archive_work_unit(shop.engine, ref=SPEC, project=PROJECT)
    assert {item.id for item in report.items} == {note.id, outcome.id, closed.id}
    assert archived(shop) == {note.id, outcome.id, closed.id}


def test_archiving_again_changes_nothing_and_can_be_previewed(shop: Workshop) -> None:
    note = shop.keep("The cache is cold", scope=Scope.WORK_UNIT, work_unit=SPEC)
    foretold = archive_work_unit(shop.engine, ref=SPEC, project=PROJECT, dry_run=True)
    assert shop.read(note).archived_at is None
    assert archive_work_unit(shop.engine, ref=SPEC, project=PROJECT).items == foretold.items
    shop.clock.advance(days=10)
    assert archive_work_unit(shop.engine, ref=SPEC, project=PROJECT).items == ()
    assert shop.read(note).archived_at == START


def test_a_unit_brought_back_is_archived_again_only_by_a_person(shop: Workshop) -> None:
    note = shop.keep("The cache is cold", scope=Scope.WORK_UNIT, work_unit=SPEC)
    archive_work_unit(shop.engine, ref=SPEC, project=PROJECT, by_rule=True)
    (step,) = shop.store.undo_steps(project=PROJECT, limit=9)
    shop.store.undo(step.id, project=PROJECT)
    again = archive_work_unit(shop.engine, ref=SPEC, project=PROJECT, by_rule=True)
    assert again.items == ()
    assert archive_work_unit(shop.engine, ref=SPEC, project=PROJECT).changed == 1
    assert shop.read(note).archived_at == START
