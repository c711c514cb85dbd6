"""Commits as proof that two repositories share their history.

A commit counts only when its content has the hash that names it: a prepared repository can list any
hash as its first commit, but it cannot make content for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha1, sha256
from typing import TYPE_CHECKING, cast

from wellkept.core.git.repository import Repository, find_repository
from wellkept.core.git.run import ask_git

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.core.ports.store import KeyValueStore

HISTORIES = "histories"
MAX_COMMITS = 256
_MAX_TIPS = 16
_MAX_SHALLOW = 200
_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# A prepared commit graph would be believed without a look at the commits.
_PLAIN = ("-c", "core.commitGraph=false")


def commits_of(folder: Path) -> tuple[str, ...] | None:
    """The commits that stand for a repository: its first ones, and where its branches are.

    Only its own branches count: what was fetched from others is theirs. A shallow clone has no
    first commits and gives the few it has. One that borrows its commits from another repository
    has none that prove anything. None when git cannot say.
    """
    if _borrows(folder):
        return ()
    shallow = ask_git(folder, ("rev-parse", "--is-shallow-repository"))
    tips = _asked(folder, "for-each-ref", f"--count={_MAX_TIPS}", "--sort=-committerdate",
                  "--format=%(objectname)", "refs/heads")  # fmt: skip
    head = _asked(folder, "rev-parse", "-q", "--verify", "HEAD") or []
    if shallow is None or tips is None:
        return None
    if shallow.strip() == b"true":
        older = _asked(folder, "rev-list", f"--max-count={_MAX_SHALLOW}", "--all", "--") or []
    else:
        roots = ("rev-list", "--first-parent", "--max-parents=0")
        older = _asked(folder, *roots, "--branches", "--") or []
        older += (_asked(folder, *roots, "HEAD", "--") if head else None) or []
    named = dict.fromkeys((*older, *head, *tips))
    return tuple(verified(folder, list(named)[:MAX_COMMITS]))


def verified(folder: Path, commits: Sequence[str]) -> list[str]:
    """Those of the commits that the repository has, with content that fits their name."""
    named = [commit for commit in commits if _SHA.fullmatch(commit.encode("ascii", "replace"))]
    if not named or _borrows(folder):
        return []
    answer = ask_git(folder, (*_PLAIN, "cat-file", "--batch"), stdin="\n".join(named).encode())
    return [commit for commit in _genuine(answer or b"") if not _is_linked(folder, commit)]


def _borrows(folder: Path) -> bool:
    found = find_repository(folder)
    return isinstance(found, Repository) and found.borrows_objects


def _is_linked(folder: Path, commit: str) -> bool:
    """Whether a commit is only a link to somebody's object."""
    found = find_repository(folder)
    if not isinstance(found, Repository):
        return False
    return (found.common_dir / "objects" / commit[:2] / commit[2:]).is_symlink()


def _asked(folder: Path, *arguments: str) -> list[str] | None:
    answer = ask_git(folder, (*_PLAIN, *arguments))
    if answer is None:
        return None
    return [line.decode() for line in answer.split() if _SHA.fullmatch(line)]


def _genuine(batch: bytes) -> Iterator[str]:
    """Names in the output of `cat-file --batch` whose content has that hash."""
    at = 0
    while (end := batch.find(b"\n", at)) >= 0:
        header = batch[at:end].split(b" ")
        at = end + 1
        if len(header) != 3 or not header[2].isdigit():
            continue
        content = batch[at : at + int(header[2])]
        at += len(content) + 1
        if header[1] != b"commit":
            continue
        algorithm = sha1 if len(header[0]) == 40 else sha256
        # The name of an object in git, not a protection of anything else.
        found = algorithm(b"commit %d\0%b" % (len(content), content), usedforsecurity=False)
        if found.hexdigest().encode() == header[0]:
            yield header[0].decode()


# -- The store ------------------------------------------------------------------------------------


def recorded_history(store: KeyValueStore, project: str) -> tuple[str, ...]:
    """The commits known to belong to a project."""
    value = store.get_value(HISTORIES, project)
    return tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else ()


def add_history(store: KeyValueStore, project: str, commits: Iterable[str]) -> None:
    """Record commits of a project; the first ones known stay."""
    known = recorded_history(store, project)
    merged = list(dict.fromkeys((*known, *commits)))[:MAX_COMMITS]
    if merged and merged != list(known):
        store.put_value(HISTORIES, project, cast("list[object]", merged))  # type: ignore[arg-type]
