"""A folder that only points at somebody's repository does not get its memory.

A clone cannot bring such pointers along, but an unpacked archive can.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.app.git_repositories import GitRepository
from tests.support.samples import Samples
from wellkept.core.git.repository import BrokenRepository, Repository, find_repository
from wellkept.core.ports.store import Store
from wellkept.project.folder_project import project_at
from wellkept.store import open_store

pytestmark = [
    pytest.mark.feature("A1", "A10"),
    pytest.mark.skipif(os.name == "nt", reason="uses links"),
]

URL = "https://github.com/acme/private"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "memory.db")) as opened:
        yield opened


@pytest.fixture
def owner(tmp_path: Path) -> GitRepository:
    made = GitRepository.create(tmp_path / "owner")
    made.commit("begin", readme="hello")
    made.git("remote", "add", "origin", URL)
    return made


def _pointer(folder: Path, owner: GitRepository) -> None:
    (folder / ".git").write_text(f"gitdir: {owner.root}/.git\n", "utf-8")


def _link(folder: Path, owner: GitRepository) -> None:
    (folder / ".git").symlink_to(owner.root / ".git")


def _common_folder(folder: Path, owner: GitRepository) -> None:
    GitRepository.create(folder)
    (folder / ".git" / "commondir").write_text(f"{owner.root}/.git\n", "utf-8")


def _bare_common_folder(folder: Path, owner: GitRepository) -> None:
    (folder / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (folder / "commondir").write_text(f"{owner.root}/.git\n", "utf-8")


def _forged_worktree(folder: Path, owner: GitRepository) -> None:
    (folder / "git").mkdir()
    (folder / "git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (folder / "git" / "commondir").write_text(f"{owner.root}/.git\n", "utf-8")
    (folder / "git" / "gitdir").write_text(f"{folder}/.git\n", "utf-8")
    (folder / ".git").write_text("gitdir: git\n", "utf-8")


def _named(folder: Path, owner: GitRepository) -> GitRepository:
    made = GitRepository.create(folder)
    made.git("remote", "add", "origin", URL)
    head = owner.git("rev-parse", "HEAD").strip()
    (folder / ".git" / "refs" / "heads" / "main").write_text(f"{head}\n", "utf-8")
    return made


def _alternates(folder: Path, owner: GitRepository) -> None:
    _named(folder, owner)
    info = folder / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{owner.root}/.git/objects\n", "utf-8")


def _linked_objects(folder: Path, owner: GitRepository) -> None:
    _named(folder, owner)
    shutil.rmtree(folder / ".git" / "objects")
    (folder / ".git" / "objects").symlink_to(owner.root / ".git" / "objects")


def _linked_commit(folder: Path, owner: GitRepository) -> None:
    _named(folder, owner)
    head = owner.git("rev-parse", "HEAD").strip()
    name = Path(".git", "objects", head[:2], head[2:])
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(owner.root / name)


@pytest.mark.parametrize(
    "borrow",
    [
        _pointer,
        _link,
        _common_folder,
        _bare_common_folder,
        _forged_worktree,
        _alternates,
        _linked_objects,
        _linked_commit,
    ],
)
def test_who_only_points_at_a_repository_stays_apart(
    store: Store,
    owner: GitRepository,
    tmp_path: Path,
    borrow: Callable[[Path, GitRepository], None],
) -> None:
    kept = project_at(store, owner.root).identity
    store.apply([Samples(seed=7, project=kept).insert("the owner's rule")])
    folder = tmp_path / "unpacked"
    folder.mkdir()
    borrow(folder, owner)
    assert project_at(store, folder).identity != kept
    # The owner is none the worse for it.
    assert project_at(store, owner.root).identity == kept


def test_what_git_made_by_itself_is_known_as_before(owner: GitRepository, tmp_path: Path) -> None:
    owner.git("worktree", "add", "-q", str(tmp_path / "side"), "-b", "side")
    owner.git("clone", "-q", "--separate-git-dir", str(tmp_path / "apart.git"), str(owner.root),
              str(tmp_path / "apart"))  # fmt: skip
    for folder in (owner.root, tmp_path / "side", tmp_path / "apart"):
        found = find_repository(folder)
        assert isinstance(found, Repository), (folder, found)
        assert not found.borrows_objects


def test_a_moved_worktree_is_told_what_is_wrong(owner: GitRepository, tmp_path: Path) -> None:
    owner.git("worktree", "add", "-q", str(tmp_path / "side"), "-b", "side")
    (tmp_path / "side").rename(tmp_path / "moved")
    found = find_repository(tmp_path / "moved")
    assert isinstance(found, BrokenRepository)
    assert "another folder" in found.reason
    owner.git("worktree", "repair", str(tmp_path / "moved"))
    assert isinstance(find_repository(tmp_path / "moved"), Repository)
