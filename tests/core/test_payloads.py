from __future__ import annotations

import math

import pytest

from wellkept.core.codec import Json, record_from_json, record_to_json
from wellkept.core.errors import UsageError
from wellkept.core.payloads import (
    DeadEnd,
    E2EObservation,
    RecipeStep,
    TaskCalibration,
    WorkflowRecipe,
    WorkState,
    WorkUnitOutcome,
)
from wellkept.core.types import TYPE_RULES, MemoryType, parse_type

pytestmark = pytest.mark.feature("A2")

SAMPLES = [
    DeadEnd("patched the cache", "it is rebuilt on start", "changed the loader"),
    E2EObservation("timing", mcp_tool="click"),
    WorkflowRecipe("add a route", (RecipeStep("edit", "app.py", 3), RecipeStep("test"))),
    TaskCalibration("api", "native", 4.0, 2.0, 2.0, 7),
    WorkState({"step": [1, {"deep": None}]}),
    WorkUnitOutcome(True, ("a.py",), context_tokens_used=None),
]


@pytest.mark.parametrize("payload", SAMPLES, ids=lambda p: type(p).__name__)
def test_a_payload_survives_json_exactly(payload: object) -> None:
    assert record_from_json(type(payload), record_to_json(payload)) == payload


def test_every_type_has_a_rule_and_a_badge() -> None:
    assert set(TYPE_RULES) == set(MemoryType)
    assert {rule.badge for rule in TYPE_RULES.values()} == {"PREF", "CONV", "PATN", "WARN", "FACT"}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({}, "needs the field 'task_pattern'"),
        ({"task_pattern": 3, "steps": []}, "task_pattern must be str"),
        ({"task_pattern": "x", "steps": "no"}, "steps must be a list"),
        ({"task_pattern": "x", "steps": [{"order": 1}]}, r"steps\[0\] has no field 'order'"),
        ({"task_pattern": "x", "steps": [], "success_count": True}, "success_count must be int"),
    ],
)
def test_a_wrong_payload_is_refused_by_field_name(data: dict[str, Json], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        record_from_json(WorkflowRecipe, data)


def test_numbers_that_are_not_numbers_are_refused() -> None:
    data = record_to_json(SAMPLES[3]) | {"ratio": math.nan}
    with pytest.raises(UsageError, match="ratio must be a finite number"):
        record_from_json(TaskCalibration, data)


def test_a_choice_outside_the_list_is_refused_with_the_list() -> None:
    with pytest.raises(UsageError, match="precondition, timing"):
        record_from_json(E2EObservation, {"observation_type": "vibe"})


def test_an_unknown_type_is_refused_with_the_choices() -> None:
    with pytest.raises(UsageError, match="rule, fact, decision, trap, recipe, event"):
        parse_type("hunch")
    assert parse_type("Dead-End") is MemoryType.DEAD_END
    assert parse_type("knowledge") is MemoryType.FACT
