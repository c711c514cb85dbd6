"""What an agent uses while it works: recipes for a task, and notes that its session hears at once."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from tests.server.mcp_client import Talk, talking_in
from wellkept.api.mcp.handlers import ServerLocation
from wellkept.core.changes import PutSession
from wellkept.core.payloads import RecipeStep, WorkflowRecipe
from wellkept.core.records import replace
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.settings.model import Settings
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("C5")
SESSION = "session-one"


def opened(folder: Path, *, project: str | None = None) -> wellkept.Wellkept:
    return wellkept.open(
        folder / "data" / "memory.db",
        cwd=folder,
        project=project,
        embedder="none",
        settings=Settings(),
        clock=ManualClock(),
        environment={},
    )


def begin_session(folder: Path, *, project: str | None = None, ended: bool = False) -> None:
    with opened(folder, project=project) as wk:
        now = wk.engine.clock()
        session = SessionRecord(
            id=SESSION,
            client="claude-code",
            project=wk.project,
            started_at=now,
            last_event_at=now,
            cwd=str(folder),
        )
        session = replace(session, ended_at=now) if ended else session
        wk.engine.store.apply([PutSession(session)])


def keep_recipe(folder: Path, *, failures: int = 0) -> str:
    steps = (
        RecipeStep("edit the currency table", "src/currencies.py"),
        RecipeStep("add a rate", "src/rates.py"),
        RecipeStep("run `pytest tests/pay`"),
        RecipeStep("edit the changelog", "CHANGELOG.md"),
    )
    for step in steps:
        if step.canonical_file:
            (folder / step.canonical_file).parent.mkdir(exist_ok=True)
            (folder / step.canonical_file).touch()
    with opened(folder) as wk:
        recipe = WorkflowRecipe(
            task_pattern="add a new currency",
            steps=steps,
            last_validated_at=None if failures else "2099-01-01T00:00:00+00:00",
            success_count=4,
            failure_count=failures,
        )
        kept = wk.remember(
            "Recipe for add a new currency: edit the currency table; add a rate",
            type="workflow_recipe",
            files=[s.canonical_file for s in steps if s.canonical_file],
            payload=recipe,
        )
        return kept.memory.short


# -- Recipes --------------------------------------------------------------------------------------


@pytest.mark.feature("D6")
def test_a_task_brings_its_recipe_with_steps_and_how_often_it_held(tmp_path: Path) -> None:
    name = keep_recipe(tmp_path)
    with talking_in(tmp_path) as talk:
        (recipe,) = talk.call("get_workflow_recipe", task="Add the new currency CHF")["items"]
        assert recipe["memory"]["short"] == name
        steps = recipe["recipe"]["steps"]
        assert steps[0]["description"] == "edit the currency table"
        assert steps[0]["canonical_file"] == "src/currencies.py"
        counts = recipe["recipe"]["success_count"], recipe["recipe"]["failure_count"]
        assert counts == (4, 0)
        assert recipe["stale_reason"] is None
        text = talk.text("get_workflow_recipe", task="Add the new currency CHF")
        assert "1. edit the currency table (src/currencies.py)" in text
        assert "worked 4 times" in text


@pytest.mark.feature("D6")
def test_a_recipe_that_failed_says_so(tmp_path: Path) -> None:
    keep_recipe(tmp_path, failures=1)
    with talking_in(tmp_path) as talk:
        (recipe,) = talk.call("get_workflow_recipe", task="add a new currency")["items"]
        assert recipe["stale_reason"] == "following it failed the last time"
        assert recipe["recipe"]["failure_count"] == 1


@pytest.mark.feature("D6")
def test_another_task_brings_no_recipe(tmp_path: Path) -> None:
    keep_recipe(tmp_path)
    with talking_in(tmp_path) as talk:
        assert talk.call("get_workflow_recipe", task="translate the poem")["items"] == []
        assert "No recipe fits" in talk.text("get_workflow_recipe", task="translate the poem")
        assert "task" in talk.error("get_workflow_recipe", task="")


# -- Notes ----------------------------------------------------------------------------------------


def note(talk: Talk, content: str, **more: object) -> dict[str, object]:
    return talk.call("remember_this", content=content, type="gotcha", **more)


@pytest.mark.feature("D3", "D10")
def test_a_note_of_a_known_session_goes_on_its_scratchpad_and_is_heard_at_once(
    tmp_path: Path,
) -> None:
    begin_session(tmp_path)
    (tmp_path / "ledger.py").touch()
    with talking_in(tmp_path, place=ServerLocation(folder=tmp_path, session=SESSION)) as talk:
        assert (
            note(talk, "The ledger closes at midnight", files=["ledger.py"])["outcome"] == "noted"
        )
        assert note(talk, "The ledger closes at midnight")["outcome"] == "noted"
        told = talk.call("inject_context", files=["ledger.py"])
        assert "The ledger closes at midnight" in told["text"]
        other = talk.call("inject_context", files=["ledger.py"], session="another")
        assert "midnight" not in other["text"]
    with opened(tmp_path) as wk:
        assert wk.stats().total == 0
        pad = wk.engine.store.scratchpad(SESSION)
        assert pad is not None
        (kept,) = pad.notes
        assert kept.files == ("ledger.py",)


@pytest.mark.feature("D3")
@pytest.mark.parametrize(
    "more", [{"said_by_person": True}, {"key": "ledger"}, {"session": "unknown"}]
)
def test_what_a_person_said_or_comes_from_no_session_is_kept_at_once(
    tmp_path: Path, more: dict[str, object]
) -> None:
    begin_session(tmp_path)
    with talking_in(tmp_path, place=ServerLocation(folder=tmp_path, session=SESSION)) as talk:
        assert note(talk, "The ledger closes at midnight", **more)["outcome"] == "inserted"


@pytest.mark.feature("D3")
@pytest.mark.parametrize("how", [{"ended": True}, {"project": "elsewhere"}])
def test_a_session_that_is_over_or_of_another_project_takes_no_notes(
    tmp_path: Path, how: dict[str, object]
) -> None:
    begin_session(tmp_path, **how)  # type: ignore[arg-type]
    with talking_in(tmp_path, place=ServerLocation(folder=tmp_path, session=SESSION)) as talk:
        assert note(talk, "The ledger closes at midnight")["outcome"] == "inserted"


@pytest.mark.feature("D3", "C6")
def test_a_note_holds_no_secret(tmp_path: Path) -> None:
    begin_session(tmp_path)
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    with talking_in(tmp_path, place=ServerLocation(folder=tmp_path, session=SESSION)) as talk:
        note(talk, f"The token is {secret}")
    with opened(tmp_path) as wk:
        pad = wk.engine.store.scratchpad(SESSION)
        assert pad is not None
        assert secret not in repr(pad)


@pytest.mark.feature("D3")
def test_a_full_scratchpad_keeps_further_notes_as_memories(tmp_path: Path) -> None:
    begin_session(tmp_path)
    with talking_in(tmp_path, place=ServerLocation(folder=tmp_path, session=SESSION)) as talk:
        outcomes = [note(talk, f"Shelf {n} holds part {n}")["outcome"] for n in range(42)]
        assert outcomes[:40] == ["noted"] * 40
        assert outcomes[40:] == ["inserted"] * 2
