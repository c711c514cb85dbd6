"""Storage port of code search: terms of files and commits, vectors of files.

The caller tokenises and normalises; an engine only counts terms. Scores are BM25: larger is better,
comparable within one result only. A tree is an opaque name, as in `core.ports.graph`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from wellkept.core.records import record


@record(kw_only=True)
class FileText:
    """Terms of one file: of its path, its symbols and its text."""

    path: str
    stamp: str
    """Changes whenever the file must be read again."""
    path_words: str
    symbol_words: str
    body_words: str


@record(kw_only=True)
class TextHit:
    """A matching file: a total score (path terms count three times, symbols twice), and a score for
    each part."""

    path: str
    score: float
    path_score: float
    symbol_score: float
    body_score: float
    body_length: int


@record(kw_only=True)
class CommitText:
    """Terms of a commit message, and the files it changed, under their current names.

    `order` numbers commits from the oldest.
    """

    sha: str
    order: int
    subject: str
    message_words: str
    files: tuple[str, ...]


@record(kw_only=True)
class CommitHit:
    """A commit whose message matches."""

    sha: str
    order: int
    subject: str
    score: float
    files: tuple[str, ...]


@record(kw_only=True)
class CommitCount:
    """Number of commits that changed a file, and the latest of them."""

    times: int
    last_order: int


@record(kw_only=True)
class CoChangedFile:
    """A file that changes with another. `share` is the fraction of commits that changed both."""

    path: str
    share: float


class VectorKind(StrEnum):
    """Source of a file's vectors: its text, or the subjects of its commits."""

    CODE = "code"
    HISTORY = "history"


@record
class FileVectors:
    """Vectors of a file as opaque bytes, and the stamp of what they were made from."""

    stamp: str
    data: bytes


class CodeSearchStore(Protocol):
    """Term index of trees. Each method that writes is one transaction."""

    def close(self) -> None:
        """Close the storage."""
        ...

    def text_stamps(self, tree: str) -> dict[str, str]:
        """Stamps of the indexed files, by path."""
        ...

    def put_texts(self, tree: str, texts: Sequence[FileText]) -> None:
        """Write or replace the terms of files."""
        ...

    def drop_texts(self, tree: str, paths: Collection[str]) -> None:
        """Delete the terms and vectors of files."""
        ...

    def search_texts(self, tree: str, words: Sequence[str], *, limit: int) -> list[TextHit]:
        """Files with any of the words, best first."""
        ...

    def last_commit(self, tree: str) -> CommitHit | None:
        """The newest stored commit."""
        ...

    def put_commits(self, tree: str, commits: Sequence[CommitText]) -> None:
        """Write or replace commits."""
        ...

    def drop_commits(self, tree: str) -> None:
        """Delete all commits, because history was rewritten."""
        ...

    def rename_in_commits(self, tree: str, names: Mapping[str, str]) -> None:
        """Rename files (old name -> new name) in all stored commits.

        Applied at once, because two files may swap their names.
        """
        ...

    def search_commits(self, tree: str, words: Sequence[str], *, limit: int) -> list[CommitHit]:
        """Commits whose message has any of the words, best first."""
        ...

    def commit_counts(self, tree: str, paths: Collection[str]) -> dict[str, CommitCount]:
        """Commit counts of these files; files without commits are left out."""
        ...

    def recent_files(self, tree: str, *, commits: int) -> list[str]:
        """Files changed by the last `commits` commits, latest first."""
        ...

    def co_changed(self, tree: str, path: str, *, limit: int) -> list[CoChangedFile]:
        """Files that commits changed together with this one, most frequent first."""
        ...

    def subjects(self, tree: str, path: str, *, limit: int) -> list[str]:
        """Subjects of the commits that changed a file, newest first."""
        ...

    def vectors(
        self, tree: str, kind: VectorKind, paths: Collection[str]
    ) -> dict[str, FileVectors]:
        """Stored vectors of files; files without are left out."""
        ...

    def put_vectors(self, tree: str, kind: VectorKind, vectors: Mapping[str, FileVectors]) -> None:
        """Write or replace vectors of files."""
        ...
