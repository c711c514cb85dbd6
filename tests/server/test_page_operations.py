"""Operations that the page needs: recipes in a person's words, and what a skill says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from wellkept.api.server.open_projects import OpenProjects
from wellkept.api.wiring.verbs import KnownSettings
from wellkept.core.errors import UsageError
from wellkept.core.payloads import RecipeStep, WorkflowRecipe
from wellkept.core.settings.model import Settings
from wellkept.core.types import MemoryType, Source
from wellkept.testing.fakes import ManualClock


def opened(folder: Path) -> wellkept.Wellkept:
    return wellkept.open(
        folder / "data" / "memory.db",
        cwd=folder,
        embedder="none",
        settings=Settings(),
        clock=ManualClock(),
        environment={"HOME": str(folder)},
    )


def steps(*told: tuple[str, str]) -> tuple[RecipeStep, ...]:
    return tuple(RecipeStep(text, file or None) for text, file in told)


@pytest.mark.feature("H4")
def test_a_person_writes_a_recipe(tmp_path: Path) -> None:
    with opened(tmp_path) as wk:
        kept = wk.remember(
            "add a currency",
            steps=steps(("add the rate", "src/rates.py"), ("run the tests", "")),
            said_by_person=True,
        ).memory
        assert kept.type is MemoryType.WORKFLOW_RECIPE
        assert kept.source is Source.USER_TAUGHT
        assert kept.files == ("src/rates.py",)
        assert isinstance(kept.payload, WorkflowRecipe)
        assert [one.description for one in kept.payload.steps] == ["add the rate", "run the tests"]
        assert [one.recipe.task_pattern for one in wk.observer.recipes("add a currency")] == [
            "add a currency"
        ]


@pytest.mark.feature("H4")
def test_a_changed_recipe_keeps_its_counts_and_its_past(tmp_path: Path) -> None:
    with opened(tmp_path) as wk:
        old = wk.remember("release", steps=steps(("tag it", ""), ("push it", ""))).memory
        new = wk.edit(old.id, steps=steps(("build it", "")), user_verified=True).memory
        assert isinstance(new.payload, WorkflowRecipe)
        assert [one.description for one in new.payload.steps] == ["build it"]
        assert new.user_verified
        assert wk.get(old.id).superseded_by == new.id


@pytest.mark.feature("H4")
def test_only_a_recipe_can_be_changed_as_one(tmp_path: Path) -> None:
    with opened(tmp_path) as wk:
        fact = wk.remember("Deploys go through staging.").memory
        with pytest.raises(UsageError, match="not a recipe"):
            wk.edit(fact.id, steps=steps(("y", "")))


@pytest.mark.feature("H5")
def test_a_skill_tells_its_priority_licence_author_and_cost(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with opened(tmp_path) as wk:
        wk.skill.new("own-skill", description="Does it. Use when asked.", body="Do.")
        path = tmp_path / ".skills" / "own-skill" / "SKILL.md"
        text = path.read_text("utf-8").replace(
            "---\n", "---\nlicense: MIT\nmetadata:\n  author: somebody\n", 1
        )
        path.write_text(text, "utf-8")
        wk.skills.refresh()
        found = wk.skill.show("own-skill")
        assert found.skill.priority > 200
        assert (found.license, found.author) == ("MIT", "somebody")
        assert found.tokens > 0


@pytest.mark.feature("H5")
def test_a_skill_tells_how_often_it_was_used(tmp_path: Path) -> None:
    with opened(tmp_path) as wk:
        wk.skill.new("release", description="Release it.", body="Tag.")
        assert wk.skill.show("release").uses == 0
        wk.skill.run("release")
        shown = wk.skill.show("release")
    assert shown.uses == 1
    assert shown.last_used_at is not None
    assert shown.runs == ()


def value_of(known: KnownSettings, key: str) -> object:
    return next(one.value for one in known.items if one.key == key)


@pytest.mark.feature("H8")
def test_a_setting_counts_from_the_next_call_on(tmp_path: Path) -> None:
    home = {"WELLKEPT_HOME": str(tmp_path / "home")}
    projects = OpenProjects(
        lambda folder, name: wellkept.open(
            tmp_path / "memory.db", cwd=folder, project=name, embedder="none", environment=home
        ),
        folder=tmp_path,
    )
    with projects.of("") as wk:
        before = wk.config.list()
        assert value_of(before, "context.budget_tokens") == 250
        said = wk.config.set("context.budget_tokens", "1200")
        assert said.value == 1200
        wk.config.set("methodology", "tdd")
    with projects.of("") as wk:
        assert wk.settings.context_budget_tokens == 1200
        assert wk.health().methodology.id == "tdd"
        wk.config.unset("methodology")
    with projects.of("") as wk:
        assert wk.health().methodology.id == "native"
    projects.close()


@pytest.mark.feature("H8")
def test_settings_say_what_they_may_be_and_which_the_page_may_change(tmp_path: Path) -> None:
    with opened(tmp_path) as wk:
        known = {one.key: one for one in wk.config.list().items}
        assert {"native", "bmad", "tdd"} <= set(known["methodology"].choices)
        assert known["context.budget_tokens"].editable
        assert not known["embedding.api_key"].editable
        with pytest.raises(UsageError, match="cannot be changed here"):
            wk.config.set("embedding.base_url", "http://x.example")
        with pytest.raises(UsageError):
            wk.config.set("context.budget_tokens", "many")
