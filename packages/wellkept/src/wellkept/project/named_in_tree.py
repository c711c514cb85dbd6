"""Which commits and files that a text names are really there.

Asked while a client waits, within a short time limit: what cannot be found out counts as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wellkept.core.git.run import ask_git

TIMEOUT_S = 0.25


def not_there(root: Path, shas: Sequence[str], paths: Sequence[str]) -> frozenset[str]:
    """The hashes that name no commit, and the paths that are the end of no file's path."""
    missing = [one for one in dict.fromkeys(paths) if not (root / one).exists()]
    return frozenset((*_unknown_commits(root, shas), *_untracked(root, missing)))


def _unknown_commits(root: Path, shas: Sequence[str]) -> list[str]:
    asked = list(dict.fromkeys(shas))
    if not asked:
        return []
    given = "".join(f"{one}\n" for one in asked).encode()
    found = ask_git(root, ["cat-file", "--batch-check"], stdin=given, timeout_s=TIMEOUT_S)
    answers = [] if found is None else found.decode("utf-8", "replace").splitlines()
    if len(answers) != len(asked):
        return []
    return [sha for sha, line in zip(asked, answers, strict=True) if " commit " not in line]


def _untracked(root: Path, paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    found = ask_git(root, ["ls-files", "-z"], timeout_s=TIMEOUT_S)
    if found is None:
        return [] if (root / ".git").exists() else list(paths)
    names = f"\0{found.decode('utf-8', 'replace')}"
    return [one for one in paths if f"/{one}\0" not in names and f"\0{one}\0" not in names]
