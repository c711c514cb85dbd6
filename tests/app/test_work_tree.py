"""What git says about a work tree now, read from real repositories, and silence when it cannot."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.app.git_repositories import GitRepository
from wellkept.project import work_tree_reader as work_tree
from wellkept.project.work_tree_reader import read_work_tree

pytestmark = pytest.mark.feature("C9", "B9")


@pytest.fixture
def repo(tmp_path: Path) -> GitRepository:
    return GitRepository.create(tmp_path / "repo")


def read(folder: Path, *paths: str) -> work_tree.WorkTree | None:
    return read_work_tree(folder, paths=paths, timeout_s=20.0)


def test_staged_changed_and_new_files_are_told_apart(repo: GitRepository) -> None:
    for name in ("staged.py", "changed.py", "both.py", "old name.py"):
        repo.write(name, f"{name}\nsecond\nthird\n")
    first = repo.commit("first")
    repo.write("staged.py", "x")
    repo.write("both.py", "x")
    repo.git("add", "staged.py", "both.py")
    repo.git("mv", "old name.py", "new name.py")
    repo.write("both.py", "y")
    repo.write("changed.py", "x")
    repo.write("made/é.py", "x")
    tree = read(repo.root)
    assert tree is not None
    assert set(tree.staged) == {"staged.py", "both.py", "new name.py"}
    assert set(tree.changed) == {"changed.py", "both.py"}
    assert tree.untracked == ("made/",)
    assert tree.is_dirty("made/é.py")
    assert not tree.is_dirty("made.py")
    assert (tree.branch, tree.commit, tree.ahead) == ("main", first, None)


def test_commits_ahead_of_the_upstream_are_counted(repo: GitRepository, tmp_path: Path) -> None:
    repo.commit("first")
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    clone = GitRepository(tmp_path / "clone")
    clone.commit("second")
    clone.commit("third")
    tree = read(clone.root)
    assert tree is not None
    assert (tree.ahead, tree.behind, tree.upstream) == (2, 0, "origin/main")


def test_a_detached_head_has_no_branch_and_an_empty_repository_no_commit(
    repo: GitRepository,
) -> None:
    empty = read(repo.root)
    assert empty is not None
    assert (empty.commit, empty.branch) == (None, "main")
    first = repo.commit("first")
    repo.git("checkout", "-q", "--detach")
    detached = read(repo.root)
    assert detached is not None
    assert (detached.commit, detached.branch) == (first, None)


def test_a_worktree_has_its_own_branch_and_files(repo: GitRepository, tmp_path: Path) -> None:
    repo.commit("first")
    repo.git("worktree", "add", "-qb", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "new.py").write_text("x")
    side, main = read(tmp_path / "side"), read(repo.root)
    assert side is not None
    assert main is not None
    assert (side.branch, side.untracked) == ("side", ("new.py",))
    assert (main.branch, main.untracked) == ("main", ())


def test_a_merge_that_stopped_is_in_progress(repo: GitRepository) -> None:
    repo.commit("one", a="one")
    repo.git("checkout", "-qb", "side")
    repo.commit("two", a="two")
    repo.git("checkout", "-q", "main")
    repo.commit("three", a="three")
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "-q", "side")
    tree = read(repo.root)
    assert tree is not None
    assert (tree.operation, tree.conflicts) == ("merge", ("a.txt",))


def test_a_locked_index_is_read_and_left_alone(repo: GitRepository) -> None:
    repo.commit("first")
    lock = repo.write(".git/index.lock", "")
    repo.write("new.py", "x")
    tree = read(repo.root)
    assert tree is not None
    assert tree.untracked == ("new.py",)
    assert lock.exists()


def test_no_repository_a_bare_one_or_a_broken_one_is_silence(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert read(plain) is None
    bare = GitRepository.create(tmp_path / "bare.git", "--bare")
    assert read(bare.root) is None
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / ".git").write_text("gitdir: /nowhere\n")
    assert read(broken) is None


def test_of_a_big_repository_only_the_given_paths_are_looked_at(
    repo: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repo.commit("one", a="one", b="one")
    repo.write("a.txt", "two")
    repo.write("b.txt", "two")
    monkeypatch.setattr(work_tree, "MAX_INDEX_BYTES", 10)
    some, none = read(repo.root, "a.txt"), read(repo.root)
    assert some is not None
    assert none is not None
    assert (some.changed, some.is_partial) == (("a.txt",), True)
    assert (none.changed, none.commit) == ((), first)


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands in for git")
def test_a_slow_git_is_given_up(
    repo: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    assert read_work_tree(repo.root, timeout_s=0.05) is None
