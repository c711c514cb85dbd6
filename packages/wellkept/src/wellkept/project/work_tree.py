"""State of a git work tree at one moment: branch, commits not pushed, files not committed.

Data only; `project.work_tree_reader` reads it. Paths are relative to the root of the work tree.
"""

from __future__ import annotations

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
