"""Commit history as the code graph uses it: commits oldest first, files tracked across renames.

A file keeps its number when it is renamed; numbers are never reused. Names are those at the time of
the commit, so that learning from a commit never uses later knowledge. Does not know git: the caller
creates the `PastCommit` records.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from posixpath import basename, splitext

from wellkept.core.records import record

_TEST_PART = re.compile(
    r"^[Tt]ests?_|_[Tt]ests?$|[._-](?:test|spec)$|^(?:[Tt]ests?|specs?|__tests__)$"
    r"|(?<=[a-z0-9])(?:Tests?|Spec)$|^Test(?=[A-Z])"
)
_TRAILER = re.compile(r"(?mi)^(?:[a-z]+(?:-[a-z]+)*-by|refs|change-id|git-svn-id): .*$")
_WORDS = re.compile(r"[a-z0-9]+")
_COMMON_WORDS = frozenset({"test", "tests", "src", "lib", "docs", "spec", "init", "main", "index"})


class ChangeStatus(StrEnum):
    """What a commit did to a file."""

    ADDED = "A"
    CHANGED = "M"
    DELETED = "D"
    RENAMED = "R"
    COPIED = "C"


@record
class CommitFile:
    """One file of a commit. `old` and `new` differ only for renames and copies."""

    status: ChangeStatus
    old: str
    new: str


@record
class PastCommit:
    """One commit (never a merge) with its changes."""

    sha: str
    message: str
    changes: tuple[CommitFile, ...]

    @property
    def message_text(self) -> str:
        """The message without trailers such as `Signed-off-by`."""
        return _TRAILER.sub("", self.message)


class FileNumbers:
    """Numbers files while commits are read, oldest first, and follows renames."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._name: list[str] = []
        self._all_names: set[str] = set()

    def number(self, name: str) -> int | None:
        """The file that has this name now, or None."""
        return self._number.get(name)

    def name(self, number: int) -> str:
        """The latest name of a file."""
        return self._name[number]

    def is_present(self, number: int) -> bool:
        """Whether the file still exists."""
        return self._number.get(self._name[number]) == number

    def ever_existed(self, name: str) -> bool:
        """Whether any file ever had this name."""
        return name in self._all_names

    def follow(self, commit: PastCommit) -> list[int]:
        """Apply a commit. Returns the numbers of its files, including deleted ones."""
        return list(dict.fromkeys(self._follow(change) for change in commit.changes))

    def _follow(self, change: CommitFile) -> int:
        if change.status is ChangeStatus.DELETED:
            number = self._number.pop(change.old, None)
            return self._add(change.old, present=False) if number is None else number
        if change.status is ChangeStatus.RENAMED and change.old in self._number:
            number = self._number.pop(change.old)
            self._number[change.new] = number
            self._name[number] = change.new
            self._all_names.add(change.new)
            return number
        known = self._number.get(change.new)
        return self._add(change.new, present=True) if known is None else known

    def _add(self, name: str, *, present: bool) -> int:
        number = len(self._name)
        self._name.append(name)
        self._all_names.add(name)
        if present:
            self._number[name] = number
        return number


# -- File names -----------------------------------------------------------------------------------


def is_test(path: str) -> bool:
    """Whether the file name or one of its folders marks it as a test."""
    parts = path.split("/")
    return any(_TEST_PART.search(splitext(part)[0]) for part in parts)


@lru_cache(50_000)
def subject(path: str) -> str:
    """The topic of a file by its name: "urls" for `tests/test_urls.py` and `src/_urls.py`."""
    stem = basename(path).split(".")[0]
    return _TEST_PART.sub("", stem).strip("_-").lower() or stem.lower()


@lru_cache(50_000)
def path_words(path: str) -> frozenset[str]:
    """The distinctive words of a path."""
    stem = splitext(path)[0].lower()
    return frozenset(_WORDS.findall(stem)) - _COMMON_WORDS
