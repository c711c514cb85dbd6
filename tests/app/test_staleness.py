"""Memories follow their files: renamed, deleted, brought back, restructured; and what is recalled
from files that are gone is marked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wellkept
from tests.app.git_repositories import GitRepository
from tests.app.opening import open_in
from wellkept.core.payloads import RecipeStep, WorkflowRecipe
from wellkept.graph.history.commits import ChangeStatus, CommitFile, PastCommit
from wellkept.observe.upkeep.renames import current_names, read_moves
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("B8")
TEXT = "one line\nand another\nand a third\n"


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository.create(tmp_path / "shop")
    made.commit("Start", old=TEXT, other="other", doomed="doomed")
    return made


def renamed(repository: GitRepository, old: str, new: str) -> None:
    (repository.root / new).parent.mkdir(parents=True, exist_ok=True)
    repository.git("mv", old, new)
    repository.commit(f"Move {old}")


def test_memories_follow_a_rename(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        kept = wk.remember("Mind the tabs", type="gotcha", files="old.txt").memory
        wk.refresh()
        renamed(repository, "old.txt", "src/new.txt")
        report = wk.refresh()
        assert report.counts == {"renamed": 1}
        assert wk.get(kept.id).files == ("src/new.txt",)
        assert wk.get(kept.id).stale_at is None


def test_memories_follow_a_file_through_several_renames(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        kept = wk.remember("Mind the tabs", type="gotcha", files="old.txt").memory
        for old, new in (("old.txt", "b.txt"), ("b.txt", "c.txt"), ("c.txt", "d.txt")):
            renamed(repository, old, new)
        wk.refresh()
        assert wk.get(kept.id).files == ("d.txt",)


def test_a_name_that_is_in_use_again_is_not_followed(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        kept = wk.remember("Mind the tabs", type="gotcha", files="old.txt").memory
        renamed(repository, "old.txt", "new.txt")
        repository.commit("Again", old="something else entirely")
        wk.refresh()
        assert wk.get(kept.id).files == ("old.txt",)


def test_a_deleted_file_makes_a_memory_stale_until_it_is_back(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        kept = wk.remember("Mind the tabs", type="gotcha", files="doomed.txt").memory
        repository.git("rm", "-q", "doomed.txt")
        repository.commit("Delete")
        assert wk.refresh().counts == {"file gone": 1}
        assert wk.get(kept.id).stale_at is not None
        assert wk.context(files=["doomed.txt"]).items == ()
        repository.commit("Restore", doomed="doomed")
        assert wk.refresh().counts == {"file back": 1}
        assert wk.get(kept.id).stale_at is None


def test_a_preview_changes_nothing_and_tells_what_would_happen(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        moved = wk.remember("Mind the tabs", type="gotcha", files="old.txt").memory
        gone = wk.remember("Mind the dates", type="gotcha", files="doomed.txt").memory
        renamed(repository, "old.txt", "new.txt")
        repository.git("rm", "-q", "doomed.txt")
        repository.commit("Delete")
        preview = wk.refresh(dry_run=True)
        assert preview.counts == {"renamed": 1, "file gone": 1}
        assert wk.get(moved.id) == moved
        assert wk.get(gone.id) == gone
        assert wk.refresh().counts == preview.counts


def test_sweeping_twice_equals_sweeping_once(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        for name in ("old.txt", "doomed.txt", "other.txt"):
            wk.remember(f"About {name}", type="gotcha", files=name)
        renamed(repository, "old.txt", "new.txt")
        repository.git("rm", "-q", "doomed.txt")
        repository.commit("Delete")
        assert wk.refresh().changed == 2
        once = list(wk.iterate())
        assert wk.refresh().items == ()
        assert list(wk.iterate()) == once


def test_a_rewritten_history_is_read_from_its_latest_commits(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        kept = wk.remember("Mind the tabs", type="gotcha", files="old.txt").memory
        wk.refresh()
        repository.git("checkout", "-q", "--orphan", "fresh")
        repository.commit("All anew")
        repository.git("branch", "-q", "-D", "main")
        repository.git("gc", "-q", "--prune=now")
        renamed(repository, "old.txt", "new.txt")
        wk.refresh()
        assert wk.get(kept.id).files == ("new.txt",)


def test_without_git_only_existence_counts(tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_text("x")
    with open_in(tmp_path) as wk:
        wk.remember("About here", type="gotcha", files="here.txt")
        wk.remember("About there", type="gotcha", files="there.txt")
        assert wk.refresh().counts == {"file gone": 1}
        assert read_moves(tmp_path) is None


def test_the_daily_upkeep_follows_renames_too(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        kept = wk.remember("Mind the tabs", type="gotcha", files="old.txt").memory
        renamed(repository, "old.txt", "new.txt")
        assert wk.maintain_if_due() is not None
        assert wk.get(kept.id).files == ("new.txt",)
        assert wk.get(kept.id).stale_at is None


def test_another_project_keeps_its_paths(repository: GitRepository, tmp_path: Path) -> None:
    data = repository.root / "data" / "memory.db"
    with open_in(repository.root, project=None) as wk:
        wk.remember("Mind the tabs", type="gotcha", files="old.txt")
        with wellkept.open(data, project="elsewhere", cwd=tmp_path, embedder="none") as other:
            theirs = other.remember("Old is gold", files="old.txt").memory
        renamed(repository, "old.txt", "new.txt")
        wk.refresh()
        with wellkept.open(data, project="elsewhere", cwd=tmp_path, embedder="none") as other:
            assert other.get(theirs.id).files == ("old.txt",)


@given(
    st.lists(st.tuples(st.sampled_from("rda"), st.sampled_from("abcd"), st.sampled_from("abcd")))
)
def test_names_lead_to_where_their_files_are(steps: list[tuple[str, str, str]]) -> None:
    """Held against a plain model: each name leads to the file that had it last."""
    files: dict[str, int] = {}
    last_owner: dict[str, int] = {}
    commits: list[PastCommit] = []

    def told(status: ChangeStatus, old: str, new: str) -> None:
        commits.append(PastCommit("", "", (CommitFile(status, old, new),)))

    for number, (what, one, two) in enumerate(steps):
        if what == "a" and one not in files:
            files[one] = last_owner[one] = number
            told(ChangeStatus.ADDED, one, one)
        elif what == "d" and one in files:
            del files[one]
            told(ChangeStatus.DELETED, one, one)
        elif what == "r" and one in files and two not in files:
            files[two] = last_owner[two] = files.pop(one)
            told(ChangeStatus.RENAMED, one, two)
    places = {owner: name for name, owner in files.items()}
    renamed, deleted = current_names(commits)
    for name, owner in last_owner.items():
        expected = places.get(owner)
        if expected is None:
            assert name in deleted
        elif expected != name:
            assert renamed[name] == expected
        else:
            assert name not in renamed


@pytest.mark.feature("D6")
def test_a_recipe_goes_stale_when_other_work_changes_its_file(repository: GitRepository) -> None:
    clock = ManualClock()
    recipe = WorkflowRecipe(
        task_pattern="add a currency",
        steps=(RecipeStep("Add it to the table", "other.txt"),),
        last_validated_at=clock().isoformat(),
    )
    with open_in(repository.root, project=None, clock=clock) as wk:
        kept = wk.remember(
            "Recipe for a currency", type="workflow_recipe", files="other.txt", payload=recipe
        ).memory
        wk.refresh()
        stale = wk.get(kept.id).stale_at is not None
        clock.advance(days=61)
        assert wk.refresh().changed == (0 if stale else 1)
        assert wk.get(kept.id).stale_at is not None


def test_a_part_of_the_code_that_is_gone_makes_its_memories_stale(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_python")
    (tmp_path / "shop.py").write_text(
        "def charge():\n    return 1\n\ndef refund():\n    return 2\n"
    )
    with open_in(tmp_path) as wk:
        wk.graph.build(workers=1)
        about = wk.remember(
            "charge rounds down", files="shop.py", graph_node="shop.py::charge"
        ).memory
        other = wk.remember("refund is slow", files="shop.py", graph_node="shop.py::refund").memory
        assert wk.refresh().items == ()
        (tmp_path / "shop.py").write_text("def refund():\n    return 2\n")
        report = wk.refresh()
        assert [item.id for item in report.items] == [about.id]
        assert "no shop.py::charge any more" in report.items[0].reason
        assert wk.get(other.id).stale_at is None
        (tmp_path / "shop.py").write_text("def charge():\n    return 1\n\ndef refund(): ...\n")
        assert wk.refresh().counts == {"file back": 1}


def test_recall_marks_what_lost_its_file_since_the_last_sweep(repository: GitRepository) -> None:
    with open_in(repository.root, project=None) as wk:
        gone = wk.remember("Tabs break the parser of dates", files="doomed.txt").memory
        here = wk.remember("Tabs break the printer", files="other.txt").memory
        first = wk.recall("tabs parser dates", min_score=0)
        assert [hit.stale for hit in first] == [False, False]
        (repository.root / "doomed.txt").unlink()
        found = {hit.memory.id: hit for hit in wk.recall("tabs parser dates", min_score=0)}
        assert found[gone.id].stale
        assert not found[here.id].stale
        assert found[gone.id].score == pytest.approx(first[0].score / 2)
        assert wk.get(gone.id).stale_at is None


def test_a_project_opened_by_name_from_elsewhere_takes_no_file_for_gone(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        wk.remember("Tabs break the parser", files="src/parser.py")
        assert [hit.stale for hit in wk.recall("tabs parser")] == [False]


def test_git_that_cannot_be_asked_stops_nothing(
    repository: GitRepository,
) -> None:
    with open_in(repository.root, project=None) as wk:
        wk.remember("Mind the tabs", type="gotcha", files="old.txt")
        (repository.root / ".git" / "HEAD").write_text("ref: refs/heads/nowhere")
        assert wk.refresh().items == ()
