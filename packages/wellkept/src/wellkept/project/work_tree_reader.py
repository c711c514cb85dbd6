"""The state of a git work tree, read with one `git status`, within a short time limit.

Called while a client waits, so it never blocks: too slow, locked, bare or broken means None. In a
big repository only the given paths are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from wellkept.core.git.repository import Repository, find_repository
from wellkept.core.git.run import ask_git
from wellkept.core.records import record


@record(kw_only=True)
class WorkTree:
    """What git says about a work tree now.

    `branch` is None when HEAD is detached, `commit` None before the first commit. `ahead` and
    `behind` are None without an upstream. A file may be both staged and changed. `is_partial` when
    only some paths were asked for. `operation` is one that was begun and not ended, such as
    "rebase".
    """

    branch: str | None = None
    commit: str | None = None
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    staged: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    operation: str | None = None
    is_partial: bool = False

    def is_dirty(self, path: str) -> bool:
        """Whether a file differs from the last commit; a new folder counts as all its files."""
        if path in self.staged or path in self.changed or path in self.conflicts:
            return True
        return any(
            path == one or (one.endswith("/") and path.startswith(one)) for one in self.untracked
        )


TIMEOUT_S = 0.25
MAX_INDEX_BYTES = 4 << 20
"""About 40,000 files; looking at all of them takes longer than the limit on a slow disk."""
MAX_FILES = 400
_MAX_PATHS = 60
_NO_FILE = ".git/wellkept-none"
_OPERATIONS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


def read_work_tree(
    folder: Path, *, paths: Sequence[str] = (), timeout_s: float = TIMEOUT_S
) -> WorkTree | None:
    """The state of the work tree around a folder; `paths` are those that matter most, relative to
    the folder."""
    repository = find_repository(folder)
    if not isinstance(repository, Repository):
        return None
    only = (*paths[:_MAX_PATHS], _NO_FILE) if _is_big(repository) else ()
    arguments = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"]
    arguments += ["--ignore-submodules=all", *(["--", *only] if only else [])]
    output = ask_git(folder, arguments, timeout_s=timeout_s)
    if output is None:
        return None
    return _parsed(
        output.decode("utf-8", "replace"),
        operation=_operation(repository.git_dir),
        is_partial=bool(only),
    )


def _is_big(repository: Repository) -> bool:
    try:
        return (repository.git_dir / "index").stat().st_size > MAX_INDEX_BYTES
    except OSError:
        return False


def _operation(git_dir: Path) -> str | None:
    try:
        return next((name for mark, name in _OPERATIONS if (git_dir / mark).exists()), None)
    except OSError:
        return None


def _parsed(output: str, *, operation: str | None, is_partial: bool) -> WorkTree:
    head: dict[str, str] = {}
    files: dict[str, list[str]] = {"staged": [], "changed": [], "untracked": [], "conflicts": []}
    for where, value in _entries(output):
        if where in files:
            if len(files[where]) < MAX_FILES:
                files[where].append(value)
        else:
            head[where] = value
    ahead, behind = _distance(head.get("branch.ab", ""))
    commit, branch = head.get("branch.oid"), head.get("branch.head")
    return WorkTree(
        branch=None if branch == "(detached)" else branch,
        commit=None if commit == "(initial)" else commit,
        upstream=head.get("branch.upstream"),
        ahead=ahead,
        behind=behind,
        staged=tuple(files["staged"]),
        changed=tuple(files["changed"]),
        untracked=tuple(files["untracked"]),
        conflicts=tuple(files["conflicts"]),
        operation=operation,
        is_partial=is_partial,
    )


def _entries(output: str) -> Iterator[tuple[str, str]]:
    """Header fields and files by where they stand; a renamed file is followed by its old name."""
    parts = iter(output.split("\0"))
    for part in parts:
        kind, _, rest = part.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            yield name, value
        elif kind == "?":
            yield "untracked", rest
        elif kind == "u":
            yield "conflicts", rest.split(" ", 9)[-1]
        elif kind in ("1", "2"):
            fields = rest.split(" ", 7 if kind == "1" else 8)
            if kind == "2":
                next(parts, None)
            if fields[0][:1] not in ("", "."):
                yield "staged", fields[-1]
            if fields[0][1:2] not in ("", "."):
                yield "changed", fields[-1]


def _distance(text: str) -> tuple[int | None, int | None]:
    """Ahead and behind from "+1 -0"."""
    ahead, _, behind = text.partition(" ")
    if ahead[1:].isdigit() and behind[1:].isdigit():
        return int(ahead[1:]), int(behind[1:])
    return None, None
