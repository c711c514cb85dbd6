"""Memories are stale while their files are gone, and follow them when they move."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.workshop import PROJECT, START, Workshop, open_workshop
from wellkept.core.changes import Mark
from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory, Relation
from wellkept.core.payloads import CausalDependency, RecipeStep, WorkflowRecipe
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType, RelationType
from wellkept.memory.file_presence import exists_below, project_path
from wellkept.memory.lifecycle.staleness import (
    follow_renames,
    outdated_recipe,
    refresh,
)
from wellkept.testing.fakes import WordEmbedder

pytestmark = pytest.mark.feature("B8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "here.py").write_text("pass\n")
    return folder


# -- Refreshing -----------------------------------------------------------------------------------


def test_a_memory_is_stale_once_one_of_its_files_is_gone(shop: Workshop, root: Path) -> None:
    stale = shop.keep("Two files", files=("src/here.py", "src/gone.py"))
    current = shop.keep("One file", files=("src/here.py",))
    unfiled = shop.keep("No file")
    report = refresh(shop.engine, project=PROJECT, root=root)
    assert shop.read(stale).stale_at == START
    assert not shop.read(current).stale_at
    assert not shop.read(unfiled).stale_at
    assert (report.examined, report.counts) == (3, {"file gone": 1})
    assert report.items[0].reason == "gone: src/gone.py"


def test_the_mark_goes_when_the_file_comes_back(shop: Workshop, root: Path) -> None:
    memory = shop.keep("About it", files=("src/gone.py",))
    refresh(shop.engine, project=PROJECT, root=root)
    (root / "src" / "gone.py").write_text("pass\n")
    report = refresh(shop.engine, project=PROJECT, root=root)
    assert report.counts == {"file back": 1}
    assert shop.read(memory) == memory


def test_a_second_refresh_changes_nothing_and_keeps_the_first_date(
    shop: Workshop, root: Path
) -> None:
    memory = shop.keep("About it", files=("src/gone.py",))
    refresh(shop.engine, project=PROJECT, root=root)
    shop.clock.advance(days=3)
    assert refresh(shop.engine, project=PROJECT, root=root).items == ()
    assert shop.read(memory).stale_at == START


def test_a_dry_run_changes_nothing_and_reports_the_same_changes(shop: Workshop, root: Path) -> None:
    shop.keep("About it", files=("src/gone.py",))
    back = shop.keep("About that", files=("src/here.py",))
    shop.store.apply([Mark(back.id, "stale", START)])
    before = shop.all()
    preview = refresh(shop.engine, project=PROJECT, root=root, dry_run=True)
    assert shop.all() == before
    assert len(preview.items) == 2
    assert refresh(shop.engine, project=PROJECT, root=root).items == preview.items


def test_windows_separators_name_the_same_file(shop: Workshop, root: Path) -> None:
    memory = shop.keep("About it", files=("src\\here.py", ".\\src\\here.py"))
    assert refresh(shop.engine, project=PROJECT, root=root).items == ()
    assert not shop.read(memory).stale_at


def test_paths_outside_the_root_are_never_looked_at(
    shop: Workshop, root: Path, tmp_path: Path
) -> None:
    (root / "leak").symlink_to(tmp_path)
    outside = ("../gone.py", "src/../../gone.py", "/etc/gone", "C:\\gone.txt", "leak/gone.py")
    shop.keep("Elsewhere", files=outside)
    assert refresh(shop.engine, project=PROJECT, root=root).items == ()


def test_an_absolute_path_inside_the_root_is_looked_at(shop: Workshop, root: Path) -> None:
    shop.keep("Here", files=(str(root / "src" / "here.py"),))
    gone = shop.keep("Gone", files=(str(root / "src" / "gone.py"),))
    report = refresh(shop.engine, project=PROJECT, root=root)
    assert [item.id for item in report.items] == [gone.id]


def test_a_missing_root_is_an_error_and_not_a_deleted_project(
    shop: Workshop, tmp_path: Path
) -> None:
    memory = shop.keep("About it", files=("src/here.py",))
    with pytest.raises(UsageError, match="not a folder"):
        refresh(shop.engine, project=PROJECT, root=tmp_path / "unmounted")
    assert not shop.read(memory).stale_at


def test_a_name_the_system_refuses_is_not_taken_for_deleted(root: Path) -> None:
    assert exists_below(root)("x" * 5000)


@given(st.text(alphabet="ab./\\:\0 ", max_size=20))
def test_a_project_path_never_leads_out(path: str) -> None:
    inside = project_path(path)
    if inside is not None:
        assert not inside.startswith("/")
        assert ".." not in inside.split("/")
        assert "\\" not in inside
        assert project_path(inside) == inside


# -- Recipes --------------------------------------------------------------------------------------


def keep_recipe(shop: Workshop) -> Memory:
    steps = (RecipeStep("Add the route", "src/here.py"), RecipeStep("Run the tests"))
    return shop.keep(
        "How to add an endpoint",
        type=MemoryType.WORKFLOW_RECIPE,
        payload=WorkflowRecipe("add an endpoint", steps, last_validated_at="2026-03-05"),
    )


@pytest.mark.feature("A6")
def test_a_recipe_is_stale_once_a_canonical_file_changed(shop: Workshop, root: Path) -> None:
    memory = keep_recipe(shop)
    asked: list[tuple[str, datetime]] = []

    def changed_since(path: str, moment: datetime) -> bool:
        asked.append((path, moment))
        return True

    also_stale = outdated_recipe(changed_since)
    report = refresh(shop.engine, project=PROJECT, root=root, also_stale=also_stale)
    assert asked == [("src/here.py", datetime.fromisoformat("2026-03-05T00:00+00:00"))]
    assert report.counts == {"file changed": 1}
    assert shop.read(memory).stale_at == START


@pytest.mark.feature("A6")
def test_only_someone_who_can_tell_clears_a_recipe(shop: Workshop, root: Path) -> None:
    memory = keep_recipe(shop)
    shop.store.apply([Mark(memory.id, "stale", START)])
    assert refresh(shop.engine, project=PROJECT, root=root).items == ()
    unchanged = outdated_recipe(lambda path, moment: False)
    refresh(shop.engine, project=PROJECT, root=root, also_stale=unchanged)
    assert shop.read(memory).stale_at is None


# -- Renames --------------------------------------------------------------------------------------


def test_memories_follow_a_renamed_file(shop: Workshop) -> None:
    memory = shop.keep(
        "About it",
        files=("src/old.py", "src/other.py"),
        relations=(Relation(RelationType.REQUIRED_WITH, target_file="src/old.py"),),
    )
    bystander = shop.keep("About another", files=("src/old.pyi", "lib/src/old.py"))
    shop.clock.advance(days=1)
    report = follow_renames(shop.engine, project=PROJECT, renames={"src\\old.py": "lib/new.py"})
    after = shop.read(memory)
    assert after.files == ("lib/new.py", "src/other.py")
    assert after.relations[0].target_file == "lib/new.py"
    assert after.updated_at == START + timedelta(days=1)
    assert shop.read(bystander) == bystander
    assert report.rows()[0][2:4] == ("src/old.py", "lib/new.py")


def test_what_follows_a_file_is_found_by_its_new_path(shop: Workshop) -> None:
    memory = shop.keep("About it", files=("src/old.py",))
    follow_renames(shop.engine, project=PROJECT, renames={"src/old.py": "src/fresh.py"})
    where = Filter(project=PROJECT)
    hits = shop.store.search_links(files=["src/fresh.py"], modules=[], where=where, limit=5)
    assert [hit.id for hit in hits] == [memory.id]
    assert [hit.id for hit in shop.store.search_fulltext(["fresh"], where, limit=5)] == [memory.id]


def test_following_a_file_without_an_embedder_costs_no_vector(tmp_path: Path) -> None:
    shop = open_workshop(tmp_path, embedder=WordEmbedder)
    memory = shop.keep("About it", files=("src/old.py",))
    engine = replace(shop.engine, embedder=lambda: None)
    follow_renames(engine, project=PROJECT, renames={"src/old.py": "src/new.py"})
    assert shop.read(memory).files == ("src/new.py",)
    assert [share.count for share in shop.store.vector_models()] == [1]
    shop.store.close()


def test_a_renamed_folder_takes_its_files_along_and_swaps_do_not_mix(shop: Workshop) -> None:
    memory = shop.keep("Both", files=("a/x.py", "b/x.py"))
    follow_renames(shop.engine, project=PROJECT, renames={"a": "b", "b": "a"})
    assert shop.read(memory).files == ("b/x.py", "a/x.py")


def test_paths_in_typed_payloads_follow_too(shop: Workshop) -> None:
    memory = shop.keep(
        "They change together",
        type=MemoryType.CAUSAL_DEPENDENCY,
        payload=CausalDependency("src/old.py", ("src/other.py", "src/old.py")),
    )
    follow_renames(shop.engine, project=PROJECT, renames={"src/old.py": "src/new.py"})
    expected = CausalDependency("src/new.py", ("src/other.py", "src/new.py"))
    assert shop.read(memory).payload == expected


def test_a_rename_can_be_previewed(shop: Workshop) -> None:
    memory = shop.keep("About it", files=("src/old.py",))
    moves = {"src/old.py": "src/new.py"}
    preview = follow_renames(shop.engine, project=PROJECT, renames=moves, dry_run=True)
    assert shop.read(memory) == memory
    done = follow_renames(shop.engine, project=PROJECT, renames=moves)
    assert done.items == preview.items


@pytest.mark.parametrize("outside", ["../x.py", "/etc/passwd", "C:/x.py", ""])
def test_a_rename_out_of_the_project_is_refused(shop: Workshop, outside: str) -> None:
    with pytest.raises(UsageError, match="inside the project"):
        follow_renames(shop.engine, project=PROJECT, renames={"src/old.py": outside})
