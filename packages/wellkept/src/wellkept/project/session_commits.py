"""Checks with git whether the commits of a session survive, and whether its work was committed.

When git cannot tell (no repository, another machine, too slow), the session's own record counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from wellkept.core.git.run import ask_git

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
