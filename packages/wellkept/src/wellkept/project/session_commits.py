"""Checks with git whether the commits of a session survive, and whether its work was committed.

When git cannot tell (no repository, another machine, too slow), the session's own record counts.

Memories of work units are archived when the branches of their sessions are merged and nothing is
left to merge. Work on the main branch and squashed merges cannot be told; use `wellkept session
archive` for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
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

_TIMEOUT_S = 5.0
_MOST_LINES, _MOST_FILES, _SHORTEST_LINE = 200, 12, 8
_MOST_COMMITS = 200
_WITHIN = timedelta(days=1)
_SLACK = timedelta(minutes=15)
"""People commit while the agent still sums up what it did."""
_ABOUT, _COVERED, _WHOLE, _LIVES = 0.5, 0.6, 0.9, 0.5
_SEVERAL = 2


def commit_stays(cwd: str | None, sha: str) -> bool:
    """Whether a commit is still on a branch, or its lines are: a squashed branch is gone, but its
    work is not."""
    folder = _folder(cwd)
    if folder is None:
        return True
    known = _git(folder, "cat-file", "-e", f"{sha}^{{commit}}")
    if known is None:
        return True
    found = _git(
        folder, "for-each-ref", "--contains", sha, "--count=1", "refs/heads", "refs/remotes"
    )
    return found is None or bool(found.strip()) or _lives_on(folder, sha)


def committed_afterwards(cwd: str | None, files: Sequence[str], *, since: datetime) -> str | None:
    """The last commit within a day that contains most of a session's files, or None."""
    folder, edited = _folder(cwd), set(files)
    if folder is None or not edited:
        return None
    output = _git(
        folder, "log", "--branches", "--no-merges", "--name-only", "--no-renames", "-z",
        f"--max-count={_MOST_COMMITS}", "--format=%x01%H",
        f"--since={int((since - _SLACK).timestamp())}",
        f"--until={int((since + _WITHIN).timestamp())}",
    )  # fmt: skip
    mine = [
        (sha, named & edited) for sha, named in _commits(output or "") if _is_about(named, edited)
    ]
    covered = set[str]().union(*(found for _, found in mine))
    return mine[0][0][:12] if len(covered) >= _COVERED * len(edited) and mine else None


def _is_about(named: set[str], edited: set[str]) -> bool:
    """Whether a commit is mostly about a session's files, or contains nearly all of several files:
    some users commit the work of a day at once."""
    mine = len(named & edited)
    is_whole = len(edited) >= _SEVERAL and mine >= _WHOLE * len(edited)
    return mine > 0 and (mine >= _ABOUT * len(named) or is_whole)


def _commits(output: str) -> Iterator[tuple[str, set[str]]]:
    for part in output.split("\x01")[1:]:
        sha, *names = part.replace("\0", "\n").split("\n")
        yield sha, {name for name in names if name}


def _lives_on(folder: Path, sha: str) -> bool:
    """Whether most of the lines that a commit added are in the same files now."""
    output = _git(folder, "show", "--format=", "--unified=0", "--no-ext-diff", "--no-renames", sha)
    added: dict[str, list[str]] = {}
    for path, line in _added(output or ""):
        if path in added or len(added) < _MOST_FILES:
            added.setdefault(path, []).append(line)
    kept, total = 0, 0
    for path, lines in added.items():
        now = set(map(str.strip, (_git(folder, "show", f"HEAD:{path}") or "").splitlines()))
        kept += sum(line in now for line in lines[:_MOST_LINES])
        total += len(lines[:_MOST_LINES])
    return total > 0 and kept >= _LIVES * total


def _added(diff: str) -> Iterable[tuple[str, str]]:
    path = ""
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            path = line[6:]
        elif line.startswith("+") and path and len(line.strip()) > _SHORTEST_LINE:
            yield path, line[1:].strip()


def _folder(cwd: str | None) -> Path | None:
    folder = Path(cwd) if cwd and "\0" not in cwd else None
    return folder if folder is not None and folder.is_dir() else None


def _git(folder: Path, *arguments: str) -> str | None:
    output = ask_git(folder, arguments, timeout_s=_TIMEOUT_S)
    return None if output is None else output.decode("utf-8", "replace")


_MAIN = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/heads/trunk")
_TIMEOUT_S_merged_branches = 5.0


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
            answer = ask_git(root, arguments, timeout_s=_TIMEOUT_S_merged_branches)
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
