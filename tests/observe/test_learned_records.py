"""Recipes (D6), and what is written beside promoted memories (D7)."""

from __future__ import annotations

import json
import random
from datetime import timedelta

import pytest

from tests.observe.learning_steps import PROJECT, START, Work, eleven_parts, learn, pad_of, take
from wellkept.core.memory import Memory
from wellkept.core.payloads import (
    RecipeStep,
    TaskCalibration,
    WorkflowRecipe,
    WorkState,
    WorkUnitOutcome,
)
from wellkept.core.query import Filter
from wellkept.core.session.events import Event, ToolKind
from wellkept.core.session.scratchpad import QaIssue
from wellkept.core.types import MemoryType, RelationType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.observe.learning.promote import promote
from wellkept.observe.learning.recipes import (
    contains_in_order,
    longest_common_sequence,
    stale_reason,
)
from wellkept.observe.learning.reviews import record_verdict, save_issues
from wellkept.observe.learning.statistics import (
    ProjectStatistics,
    percentile,
    project_statistics,
)

pytestmark = pytest.mark.feature("D6", "D7")


def found(engine: Engine, *types: MemoryType) -> list[Memory]:
    return list(engine.store.list(Filter(project=PROJECT, types=types), limit=200).items)


def statistics(engine: Engine) -> ProjectStatistics:
    return project_statistics(engine.store, PROJECT, methodology="native")


def handler(number: int, *, ending: str = "pass", skip: str = "") -> list[Event]:
    """Adding a handler the way it is done here."""
    w = Work(number)
    steps = [
        w.change(f"src/handlers/h{number}.py"),
        w.change("src/handlers/routes.py"),
        w.change("docs/api.md"),
        w.run("make schema"),
        w.change(f"tests/test_h{number}.py"),
    ]
    done = w.tests_pass() if ending == "pass" else w.tests_fail()
    kept = [step for step in steps if not skip or skip not in str(step)]
    return [w.prompt(f"Add a handler for thing{number}"), *kept, done, w.end()]


def test_four_steps_in_three_validated_sessions_make_a_recipe(engine: Engine) -> None:
    for number in (1, 2, 3):
        assert found(engine, MemoryType.WORKFLOW_RECIPE) == []
        learn(engine, handler(number))
    (memory,) = found(engine, MemoryType.WORKFLOW_RECIPE)
    recipe = memory.payload
    assert isinstance(recipe, WorkflowRecipe)
    assert (recipe.success_count, recipe.failure_count) == (3, 0)
    assert (memory.confidence, memory.needs_review) == (0.7, True)
    assert "add" in recipe.task_pattern
    assert "handler" in recipe.task_pattern
    files = [step.canonical_file for step in recipe.steps]
    assert "src/handlers/routes.py" in files
    assert any("src/handlers/*.py" in step.description for step in recipe.steps)


def test_following_a_recipe_counts_success_once_and_failure_marks_it(engine: Engine) -> None:
    for number in (1, 2, 3, 4):
        learn(engine, handler(number))
    (memory,) = found(engine, MemoryType.WORKFLOW_RECIPE)
    assert isinstance(memory.payload, WorkflowRecipe)
    assert memory.payload.success_count == 4
    assert memory.confidence > 0.7
    learn(engine, handler(5, ending="fail"))
    (after,) = found(engine, MemoryType.WORKFLOW_RECIPE)
    assert isinstance(after.payload, WorkflowRecipe)
    assert (after.payload.failure_count, after.payload.last_validated_at) == (1, None)
    assert "recipe_failed" in after.tags
    assert after.stale_at is not None  # marked at once, wherever it is listed
    assert after.confidence < memory.confidence
    told = stale_reason(after.payload, now=START, last_used=START)
    assert told == "following it failed the last time"


def test_sessions_further_apart_than_a_month_make_no_recipe(engine: Engine) -> None:
    for number in (1, 20, 45):
        learn(engine, handler(number))
    assert found(engine, MemoryType.WORKFLOW_RECIPE) == []


def test_steps_that_come_in_any_order_are_no_recipe(engine: Engine) -> None:
    names = [f"src/shop/{letter}.py" for letter in "abcdefgh"]
    shuffle = random.Random(4).shuffle
    for number in range(1, 13):
        w = Work(number)
        shuffle(names)
        learn(engine, [*map(w.change, names), w.tests_pass(), w.end()])
    assert found(engine, MemoryType.WORKFLOW_RECIPE) == []


def test_tests_a_check_and_a_commit_close_any_work_and_are_one_step(engine: Engine) -> None:
    for number in (1, 2, 3):
        w = Work(number)
        edits = [w.change("src/a.py"), w.change("src/x/b.ts")]
        ends = [w.run("ruff check", "All checks passed!"), w.tests_pass()]
        commit = w.run('git commit -m "Add"', f"[main abc12{number:02}] Add")
        learn(engine, [*edits, *ends, commit, w.end()])
    assert found(engine, MemoryType.WORKFLOW_RECIPE) == []


def test_three_steps_are_no_recipe(engine: Engine) -> None:
    for number in (1, 2, 3):
        w = Work(number)
        events = [w.change("src/a.py"), w.change("src/x/b.ts"), w.tests_pass(), w.end()]
        learn(engine, events)
    assert found(engine, MemoryType.WORKFLOW_RECIPE) == []


def test_a_recipe_goes_stale_with_its_files_and_with_time() -> None:
    recipe = WorkflowRecipe("add", (RecipeStep("edit", "a.py"),), START.isoformat(), 3)
    soon, late = START + timedelta(days=59), START + timedelta(days=61)
    assert stale_reason(recipe, now=soon, last_used=START) is None
    assert stale_reason(recipe, now=late, last_used=START) == "it was not used for 61 days"
    assert stale_reason(recipe, now=soon, last_used=START, gone=["a.py"]) == "a.py is gone"
    changed = stale_reason(recipe, now=soon, last_used=START, changed={"a.py"})
    assert changed == "a.py changed since it was last followed"


def test_steps_are_found_in_their_order_whatever_lies_between() -> None:
    a, b, c, d = (("edit", name) for name in "abcd")
    assert longest_common_sequence([a, b, c, d], [d, a, c, b, d]) in ((a, b, d), (a, c, d))
    assert contains_in_order([a, d, b, c], [a, b, c])
    assert not contains_in_order([b, a], [a, b])
    assert not contains_in_order([a], [])


def test_costs_are_averaged_over_the_latest_sessions(engine: Engine) -> None:
    for number in range(1, 33):
        w = Work(number)
        size = 4_000 if number % 7 else 40_000
        big = w.call("Read", ToolKind.READ, files=("src/a.py",), output="x" * size)
        learn(engine, [big, w.change("src/a.py"), w.tests_pass(), w.end()])
    (cost,) = statistics(engine).costs
    assert (cost.module, cost.sample_count) == ("src", 30)
    assert cost.average_tokens_per_session < cost.p90_tokens_per_session
    assert found(engine, MemoryType.CONTEXT_COST) == []
    assert percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9) == pytest.approx(9.1)


def test_plans_are_held_against_what_was_done(engine: Engine) -> None:
    for number in (1, 2):
        w = Work(number)

        def plan(items: int, done: int, w: Work = w) -> Event:
            todos = [{"content": f"p{n}", "status": "completed"} for n in range(done)]
            todos += [{"content": f"p{n}", "status": "pending"} for n in range(done, items)]
            return w.call("TodoWrite", ToolKind.OTHER, input=json.dumps({"todos": todos}))

        learn(engine, [plan(2, 0), w.change("src/a.py"), plan(3, 3), w.tests_pass(), w.end()])
    expected = TaskCalibration("src", "native", 3.0, 2.0, 1.5, 2)
    assert statistics(engine).calibrations == (expected,)


def test_a_work_unit_has_an_outcome_and_no_vector_is_asked_for(engine: Engine) -> None:
    w = Work()
    said = "I chose a table over a file because two processes write it."
    learn(
        engine,
        [w.prompt("Add a queue"), w.change("src/q.py"), w.turn_end(said), w.tests_pass(), w.end()],
    )
    (memory,) = found(engine, MemoryType.WORK_UNIT_OUTCOME)
    assert isinstance(memory.payload, WorkUnitOutcome)
    assert memory.payload.succeeded
    assert memory.payload.files_modified == ("src/q.py",)
    assert memory.payload.key_decisions == (said,)
    assert memory.payload.context_tokens_used
    assert memory.work_unit is not None


def test_unfinished_work_leaves_its_state_until_it_is_done(engine: Engine) -> None:
    w = Work()
    learn(engine, [w.prompt("Move the cache"), w.change("src/c.py"), w.tests_fail(), w.end()])
    (state,) = found(engine, MemoryType.WORK_STATE)
    assert isinstance(state.payload, WorkState)
    assert state.payload.methodology_state["request"] == "Move the cache"
    assert state.half_life_days == 7
    learn(engine, [w.change("src/c.py"), w.tests_pass(), w.end()])
    assert found(engine, MemoryType.WORK_STATE) == []


def test_what_qa_finds_is_an_error_pattern_at_once(engine: Engine) -> None:
    issues = [
        QaIssue(
            "Totals are rounded twice", "critical", "src/cart.py", None, "float", "use Decimal"
        ),
        QaIssue("Button is blue", "low"),
    ]
    for session in ("s1", "s2"):
        save_issues(engine, issues, project=PROJECT, session_id=session)
    (memory,) = found(engine, MemoryType.ERROR_PATTERN)
    assert (memory.source, memory.confidence) == (Source.QA_AUTO, pytest.approx(0.85))
    assert (memory.files, memory.modules, memory.tags) == (
        ("src/cart.py",),
        ("src",),
        ("qa_failure",),
    )
    assert memory.content == (
        "QA found in `src/cart.py`: Totals are rounded twice. What was tried: float."
        " What to do: use Decimal."
    )


@pytest.mark.feature("A7")
def test_ten_sub_tasks_are_consolidated_into_insights_of_their_outcomes(engine: Engine) -> None:
    w = Work()
    events = eleven_parts(w, "src/core.py", "src/api.py")
    said = w.prompt("We decided to use cents because floats drift.")
    take(engine, [events[0], events[1], said, *events[2:], w.end()])
    record_verdict(engine, w.session_id, "passed", detail="reviewed")
    promote(engine, w.session_id)
    outcomes = found(engine, MemoryType.WORK_UNIT_OUTCOME)
    assert len(outcomes) == 11
    insights = [m for m in found(engine, MemoryType.MODULE_INSIGHT) if "consolidation" in m.tags]
    (insight,) = insights
    assert insight.content == "We decided to use cents because floats drift."
    assert set(insight.files) == {"src/api.py", "src/core.py", "src/p0.py"}
    why = engine.store.explanations([insight.id])[insight.id]
    assert (why.rule, why.sessions) == ("consolidation", (w.session_id,))
    assert len(why.signals) == 1
    ids = {m.id for m in outcomes}
    for memory in insights:
        assert (memory.confidence, memory.scope) == (0.85, Scope.GLOBAL)
        assert {r.target_id for r in memory.relations if r.type is RelationType.DERIVED_FROM} <= ids
    assert pad_of(engine, w.session_id).promoted_count <= 25
