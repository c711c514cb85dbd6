"""Finds the git repository of a folder by reading files, without running git.

Follows git's rules for `.git` folders, `.git` files (worktrees, submodules), the common folder of
worktrees, and bare repositories. Stricter than git in one thing: a folder that only points at the
repository of another folder, as an unpacked archive can, does not get that one's memory.
"""

from __future__ import annotations

import os
from pathlib import Path

from wellkept.core.records import record

_MAX_POINTER_BYTES = 4_096


@record
class Repository:
    """`root` is the work tree (the folder itself when bare); `common_dir` holds config and refs.

    `home` is the folder that every worktree of the repository has in common.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    home: Path

    @property
    def is_shallow(self) -> bool:
        """Whether the oldest commits are missing, so that the first one seen is not the root."""
        return (self.common_dir / "shallow").exists()

    @property
    def borrows_objects(self) -> bool:
        """Whether commits can come from another repository: by alternates, or by links."""
        objects = self.common_dir / "objects"
        if objects.is_symlink() or any(
            (objects / "info" / name).exists() for name in ("alternates", "http-alternates")
        ):
            return True
        return any(_holds_link(folder) for folder in (objects, objects / "pack"))


@record
class BrokenRepository:
    """A `.git` that points nowhere; `root` is its folder."""

    root: Path
    reason: str


def find_repository(start: Path) -> Repository | BrokenRepository | None:
    """The innermost repository around a folder; None when there is none."""
    for folder in (start, *start.parents):
        marker = folder / ".git"
        if _is_file(marker):
            return _through_pointer(folder, marker)
        if _is_git_dir(marker):
            return _checked(folder, marker, _resolved(marker))
        if _is_git_dir(folder):
            common = _common_dir(folder)
            if common not in (folder, folder.parent.parent):
                return BrokenRepository(folder, f"{folder} names {common}, which is not around it")
            return _repository(folder.parent if folder.name == ".git" else folder, folder)
    return None


def _through_pointer(folder: Path, marker: Path) -> Repository | BrokenRepository:
    """A worktree or a submodule: its `.git` is a file that names the real folder."""
    text = _pointer(marker)
    if not text.startswith("gitdir:"):
        return BrokenRepository(folder, f"{marker} does not name a git folder")
    target = _resolved(folder / text.removeprefix("gitdir:").strip(" \t"))
    if not _is_git_dir(target):
        return BrokenRepository(folder, f"{marker} leads to {target}, which is not a git folder")
    return _checked(folder, marker, target)


def _checked(folder: Path, marker: Path, git_dir: Path) -> Repository | BrokenRepository:
    if _belongs_to(folder, git_dir):
        return _repository(folder, git_dir)
    return BrokenRepository(
        folder, f"{marker} leads to {git_dir}, the repository of another folder"
    )


def _belongs_to(folder: Path, git_dir: Path) -> bool:
    """Whether a git folder knows the folder that leads to it. What git made by itself does: a
    worktree is named in its `gitdir`, a submodule in its config."""
    folder = _resolved(folder)
    if (git_dir / "commondir").exists():
        back = _pointer(git_dir / "gitdir")
        is_listed = git_dir.parent == _common_dir(git_dir) / "worktrees"
        return is_listed and bool(back) and _resolved(git_dir / back) == folder / ".git"
    if git_dir == folder / ".git":
        return True
    from wellkept.core.git.config import read_config

    config = read_config(git_dir / "config")
    if named := config.core("worktree"):
        return _resolved(git_dir / named) == folder
    # `git init --separate-git-dir` leaves no trace; a `.git` is that of the folder it lies in.
    return git_dir.name != ".git" and config.core("bare").lower() != "true"


def _holds_link(folder: Path) -> bool:
    try:
        with os.scandir(folder) as items:
            return any(item.is_symlink() for item in items)
    except OSError:
        return False


def _repository(root: Path, git_dir: Path) -> Repository:
    common = _common_dir(git_dir)
    if common == git_dir:
        return Repository(root, git_dir, common, root)
    return Repository(root, git_dir, common, common.parent if common.name == ".git" else common)


def _common_dir(git_dir: Path) -> Path:
    pointer = _pointer(git_dir / "commondir")
    return _resolved(git_dir / pointer) if pointer else git_dir


def _is_git_dir(folder: Path) -> bool:
    """Git's own test: a HEAD, and objects and refs here or in the common folder.

    A config that is a pipe or a folder rules it out: reading one could wait for ever.
    """
    try:
        if not (folder / "HEAD").is_file() or not _is_file_or_absent(folder / "commondir"):
            return False
        common = _common_dir(folder)
        parts = (common / "objects", common / "refs")
        return _is_file_or_absent(common / "config") and all(part.is_dir() for part in parts)
    except OSError:
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _is_file_or_absent(path: Path) -> bool:
    return path.is_file() or not path.exists()


def _pointer(path: Path) -> str:
    """The path in a pointer file such as `.git`; empty when there is none."""
    if not _is_file(path):
        return ""
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_POINTER_BYTES)
    except OSError:
        return ""
    if b"\0" in raw:
        return ""
    # As git reads it: all of the file but the line end, since a path may hold one.
    return raw.decode("utf-8", errors="surrogateescape").rstrip("\r\n").strip(" \t")


def _resolved(path: Path) -> Path:
    """The real path; one that cannot be followed (a loop of links) stays as it is."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def current_branch(folder: Path | None) -> str | None:
    """The branch checked out in a folder, read from its files; None when there is none."""
    found = find_repository(folder) if folder is not None else None
    if not isinstance(found, Repository):
        return None
    try:
        head = (found.git_dir / "HEAD").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None
