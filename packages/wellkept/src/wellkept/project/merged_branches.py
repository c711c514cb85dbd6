"""Archives the memories of work units whose branches are merged.

A unit counts as merged when its sessions worked on their own branches, their commits are in the
main branch, and nothing is left to merge. Work on the main branch and squashed merges cannot be
detected; use `wellkept session archive` for them. Invariant: a second run changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from wellkept.core.git.run import ask_git
from wellkept.core.memory import WorkUnitRef
from wellkept.core.query import Filter
from wellkept.core.records import record
from wellkept.core.types import Scope
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.pruning import archive_work_unit
from wellkept.memory.lifecycle.report import MaintenanceReport

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.core.memory import Memory

_MAIN = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/heads/trunk")
_TIMEOUT_S = 5.0


def archive_merged(
    engine: Engine, *, project: str, root: Path, dry_run: bool = False
) -> list[MaintenanceReport]:
    """Archive the memories of merged units; one report per unit."""
    units: dict[WorkUnitRef, list[Memory]] = defaultdict(list)
    where = Filter(project=project, include_user=False, scopes=(Scope.WORK_UNIT,))
    for memory in engine.store.iterate(where):
        if (unit := memory.work_unit) is not None:
            top = unit.hierarchy[:1]
            units[WorkUnitRef(unit.methodology, top, top[0])].append(memory)
    branches = _Branches.of(root) if units else None
    if branches is None:
        return []
    merged = [
        unit
        for unit, memories in units.items()
        if all(_is_merged(engine, memory, branches) for memory in memories)
    ]
    return [
        archive_work_unit(engine, ref=unit, project=project, by_rule=True, dry_run=dry_run)
        for unit in merged
    ]


def _is_merged(engine: Engine, memory: Memory, branches: _Branches) -> bool:
    session = engine.store.get_session(memory.session_id or "")
    branch = session.branch if session is not None else None
    if branch is None or branch == branches.main or memory.commit_sha is None:
        return False
    return branches.has(memory.commit_sha) and branches.is_done(branch)


@record
class _Branches:
    """The main branch of a repository, and what is merged into it."""

    main: str
    has: Callable[[str], bool]
    is_done: Callable[[str], bool]

    @classmethod
    def of(cls, root: Path) -> _Branches | None:
        """The branches of the repository at a folder; None when it has no main one."""

        def git(*arguments: str) -> str | None:
            answer = ask_git(root, arguments, timeout_s=_TIMEOUT_S)
            return None if answer is None else answer.decode("utf-8", "replace").strip()

        main = next((ref for ref in _MAIN if git("rev-parse", "-q", "--verify", ref)), None)
        if main is None:
            return None

        @cache
        def has(commit: str) -> bool:
            return git("merge-base", "--is-ancestor", commit, main) is not None

        @cache
        def is_done(branch: str) -> bool:
            ref = f"refs/heads/{branch}"
            return git("rev-parse", "-q", "--verify", ref) is None or has(ref)

        name = git("symbolic-ref", "-q", "--short", main) or main
        return cls(name.rpartition("/")[2], has, is_done)
