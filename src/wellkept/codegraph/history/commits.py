"""A repository's history as the code graph reads it: commits in order, files followed by name.

A file keeps its number through renames; a number is never given twice. Names are those of the
time, so that learning from a commit knows nothing of what came after it. Does not know git:
whoever reads a history makes `PastCommit`s of it.
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
_SAYS_NOTHING = frozenset({"test", "tests", "src", "lib", "docs", "spec", "init", "main", "index"})


class ChangeStatus(StrEnum):
    """What a commit did to a file."""

    ADDED = "A"
    CHANGED = "M"
    DELETED = "D"
    RENAMED = "R"
    COPIED = "C"


@record
class CommitFile:
    """One file of a commit; `old` and `new` differ only when it was renamed or copied."""

    status: ChangeStatus
    old: str
    new: str


@record
class PastCommit:
    """One commit that is not a merge, with what it did."""

    sha: str
    message: str
    changes: tuple[CommitFile, ...]

    @property
    def said(self) -> str:
        """The message without its trailers: who signed a change says nothing of it."""
        return _TRAILER.sub("", self.message)


class FileNumbers:
    """Which file is which while commits are read from the oldest on."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._name: list[str] = []
        self._ever: set[str] = set()

    def number(self, name: str) -> int | None:
        """The file that has this name now; None when there is none."""
        return self._number.get(name)

    def name(self, number: int) -> str:
        """The last name of a file."""
        return self._name[number]

    def is_present(self, number: int) -> bool:
        """Whether the file is still there."""
        return self._number.get(self._name[number]) == number

    def was_there(self, name: str) -> bool:
        """Whether a file ever had this name."""
        return name in self._ever

    def follow(self, commit: PastCommit) -> list[int]:
        """Take in a commit; returns the numbers of its files, deleted ones too."""
        return list(dict.fromkeys(self._follow(change) for change in commit.changes))

    def _follow(self, change: CommitFile) -> int:
        if change.status is ChangeStatus.DELETED:
            number = self._number.pop(change.old, None)
            return self._enter(change.old, present=False) if number is None else number
        if change.status is ChangeStatus.RENAMED and change.old in self._number:
            number = self._number.pop(change.old)
            self._number[change.new] = number
            self._name[number] = change.new
            self._ever.add(change.new)
            return number
        known = self._number.get(change.new)
        return self._enter(change.new, present=True) if known is None else known

    def _enter(self, name: str, *, present: bool) -> int:
        number = len(self._name)
        self._name.append(name)
        self._ever.add(name)
        if present:
            self._number[name] = number
        return number


# -- What a name says -----------------------------------------------------------------------------


def is_test(path: str) -> bool:
    """Whether a path is a test by its name or by a folder it stands in."""
    parts = path.split("/")
    return any(_TEST_PART.search(splitext(part)[0]) for part in parts)


@lru_cache(50_000)
def subject(path: str) -> str:
    """What a file is about by its name: "urls" for `tests/test_urls.py` and `src/_urls.py`."""
    stem = basename(path).split(".")[0]
    return _TEST_PART.sub("", stem).strip("_-").lower() or stem.lower()


@lru_cache(50_000)
def path_words(path: str) -> frozenset[str]:
    """The words of a path that tell one file from another."""
    stem = splitext(path)[0].lower()
    return frozenset(_WORDS.findall(stem)) - _SAYS_NOTHING
