"""What was learned for a file or a task, and the way of working, on the command line."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli
from wellkept.api.cli import exit_codes
from wellkept.core.errors import NotFoundError


@pytest.mark.feature("D5")
def test_nothing_learned_is_said_and_listed_as_nothing(cli: Cli) -> None:
    assert cli("graph", "show", "--reads", "--json").json["reads"] == []
    told = cli("observer", "prefetch")
    assert told.code == exit_codes.OK
    assert "known" in told.out


@pytest.mark.feature("D6")
def test_a_recipe_is_shown_with_its_steps(cli: Cli) -> None:
    payload = '{"task_pattern": "add a currency", "steps": [{"description": "edit the table"}]}'
    cli("remember", "-t", "workflow_recipe", "--payload", payload, "Recipe for add a currency")
    shown = cli("observer", "recipe", "add", "a", "currency")
    assert "1. edit the table" in shown.out
    assert cli("observer", "recipe", "add a currency", "--json").json["items"]
    assert "No recipe fits" in cli("observer", "recipe", "water the plants").err


@pytest.mark.feature("D9")
def test_the_way_of_working_is_chosen_in_the_settings(cli: Cli) -> None:
    assert cli("methodology", "use", "tdd").code == exit_codes.OK
    items = cli("methodology", "--json").json["items"]
    assert [one["id"] for one in items if one["in_use"]] == ["tdd"]
    assert cli("config", "get", "methodology").out.strip() == "tdd"
    assert "refactor" in cli("methodology", "show").out
    wrong = cli("methodology", "use", "waterfall")
    assert wrong.code == exit_codes.exit_code(NotFoundError("x"))
    assert "native, tdd" in wrong.err
    assert cli("config", "get", "methodology").out.strip() == "tdd"


@pytest.mark.feature("D9")
def test_what_is_handed_on_is_shown_for_a_stage(cli: Cli) -> None:
    said = ("Tabs break the parser", "-t", "error_pattern", "--work-unit", "native:spec-7")
    cli("remember", *said)
    assert "Tabs break the parser" in cli("methodology", "relay", "qa_fixer").out
    assert cli("methodology", "relay", "qa_fixer", "--unit", "spec-8").out == ""
    assert cli("methodology", "relay", "gardener").code == exit_codes.USAGE
