"""The observer on this machine: projects, git and files as they really are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.model_store.store import ModelStore
from wellkept.core.ports.store import Store
from wellkept.core.settings.model import Settings
from wellkept.observe.observer.drain import (
    UNKNOWN_PROJECT,
    commit_files,
    drain_rules,
    machine_environment,
    read_git,
    read_source,
)
from wellkept.text.shell.environment import GitState, relative

pytestmark = pytest.mark.feature("C1")


@pytest.fixture
def store() -> Store:
    return ModelStore()


def git(folder: Path, *arguments: str) -> str:
    named = (
        "-c",
        "user.name=dev",
        "-c",
        "user.email=dev@example.org",
        "-c",
        "commit.gpgsign=false",
    )
    done = subprocess.run(
        ["git", *named, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "a project, with 'quotes' and é"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("def f():\n    return 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder


def test_git_tells_branch_and_commit(checkout: Path) -> None:
    sha = git(checkout, "rev-parse", "--short", "HEAD")
    assert read_git(checkout) == GitState("main", sha)
    assert commit_files(str(checkout), sha) == ("a.py",)
    git(checkout, "checkout", "-q", "--detach")
    assert read_git(checkout) == GitState(None, sha)


def test_a_repository_without_commits_has_a_branch_and_a_bare_folder_nothing(
    tmp_path: Path,
) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "-b", "trunk")
    assert read_git(fresh) == GitState("trunk", None)
    plain = tmp_path / "plain"
    plain.mkdir()
    assert read_git(plain) is None
    assert read_git(tmp_path / "gone") is None


def test_what_is_no_commit_id_is_not_put_to_git(checkout: Path) -> None:
    assert commit_files(str(checkout), "--output=/tmp/x") == ()
    assert commit_files(str(checkout), "HEAD") == ()
    assert commit_files(str(checkout), "abcd1234") == ()


def test_a_session_belongs_to_the_project_of_its_own_folder(checkout: Path, store: Store) -> None:
    world = machine_environment(store, {"WELLKEPT_PROJECT": "somewhere else"})
    inside = checkout / "deep"
    inside.mkdir()
    here, deeper = world.locate(str(checkout)), world.locate(str(inside))
    assert here.project.startswith("root:")
    assert deeper.project == here.project
    assert deeper.roots == (checkout.resolve().as_posix(),)
    worktree = checkout.parent / "tree"
    git(checkout, "worktree", "add", "-q", str(worktree))
    assert world.locate(str(worktree)).project == here.project


def test_a_folder_that_is_reached_by_a_link_names_its_files_the_same(
    checkout: Path, store: Store, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(checkout)
    place = machine_environment(store, {}).locate(str(link))
    for path in (link / "a.py", checkout / "a.py"):
        assert relative(str(path), cwd=str(link), roots=place.roots) == "a.py"


@pytest.mark.parametrize("cwd", [None, "", "\0"])
def test_an_event_without_a_folder_is_kept_apart(store: Store, cwd: str | None) -> None:
    assert machine_environment(store, {}).locate(cwd).project == UNKNOWN_PROJECT


def test_a_folder_that_is_gone_or_strange_still_names_a_project(
    store: Store, tmp_path: Path
) -> None:
    world = machine_environment(store, {})
    for name in ("gone", "new\nline", "日本語"):
        assert world.locate(str(tmp_path / name)).project.startswith("path:")


def test_sources_are_read_only_when_they_are_text_of_some_size(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "c.py").write_text("x" * 600_000)
    assert read_source(str(tmp_path / "a.py")) == "x = 1\n"
    for name in ("b.bin", "c.py", "gone.py", ".", "a\0b"):
        assert read_source(str(tmp_path / name)) is None


@pytest.mark.feature("C8")
def test_the_settings_say_when_to_sum_up() -> None:
    rules = drain_rules(Settings(capture_summary_turns=7, capture_idle_minutes=1.5))
    assert (rules.turns_between_summaries, rules.idle_minutes) == (7, 1.5)
