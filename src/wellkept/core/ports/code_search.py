"""What searching code needs from a storage engine: the words of files, and of past commits.

Words come already split and folded by whoever asks; an engine only counts them. Scores are BM25:
larger is better, and only comparable within one answer. A tree is an opaque text, as in
`core.graph_ports`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from wellkept.core.records import record


@record(kw_only=True)
class FileText:
    """The words of one file: of its path, of the symbols it defines, and of all the rest."""

    path: str
    stamp: str
    """Whatever tells the file as it was read from the file as it is."""
    path_words: str
    symbol_words: str
    body_words: str


@record(kw_only=True)
class TextHit:
    """A file that holds some of the words: a score for all of it, in which a word of the path
    counts three times and one of a symbol twice, and one for each part."""

    path: str
    score: float
    path_score: float
    symbol_score: float
    body_score: float
    body_length: int


@record(kw_only=True)
class CommitText:
    """The words of a commit's message and the files it touched, under their names of today.

    `order` counts commits from the oldest on.
    """

    sha: str
    order: int
    subject: str
    message_words: str
    files: tuple[str, ...]


@record(kw_only=True)
class CommitHit:
    """A past commit whose message holds some of the words."""

    sha: str
    order: int
    subject: str
    score: float
    files: tuple[str, ...]


@record(kw_only=True)
class CommitCount:
    """How often commits touched a file, and which commit did last."""

    times: int
    last_order: int


@record(kw_only=True)
class CoChangedFile:
    """A file that commits touched along with another; `share`: in how many of 1 such commits."""

    path: str
    share: float


class VectorKind(StrEnum):
    """What the vectors of a file are made of."""

    CODE = "code"
    SAID = "said"


@record
class FileVectors:
    """The vectors of a file, as opaque bytes, with whatever tells whether they still hold."""

    stamp: str
    data: bytes


class CodeSearchStore(Protocol):
    """Words of trees. Each method that writes is one transaction."""

    def close(self) -> None:
        """Let go of the storage."""
        ...

    def text_stamps(self, tree: str) -> dict[str, str]:
        """The stamp of each file whose words are kept."""
        ...

    def put_texts(self, tree: str, texts: Sequence[FileText]) -> None:
        """Keep the words of files, in place of what was kept of them."""
        ...

    def drop_texts(self, tree: str, paths: Collection[str]) -> None:
        """Forget the words and the vectors of files."""
        ...

    def search_texts(self, tree: str, words: Sequence[str], *, limit: int) -> list[TextHit]:
        """Files that hold any of the words, best first."""
        ...

    def last_commit(self, tree: str) -> CommitHit | None:
        """The newest commit that is kept."""
        ...

    def put_commits(self, tree: str, commits: Sequence[CommitText]) -> None:
        """Keep commits; one that is already kept is replaced."""
        ...

    def drop_commits(self, tree: str) -> None:
        """Forget every commit, because history was rewritten."""
        ...

    def rename_in_commits(self, tree: str, names: Mapping[str, str]) -> None:
        """Files, by their old names, have new ones from now on; past commits follow.

        All at once: two files may swap their names.
        """
        ...

    def search_commits(self, tree: str, words: Sequence[str], *, limit: int) -> list[CommitHit]:
        """Commits whose message holds any of the words, best first."""
        ...

    def touches(self, tree: str, paths: Collection[str]) -> dict[str, CommitCount]:
        """How often and when commits touched these files; untouched ones are left out."""
        ...

    def recent(self, tree: str, *, commits: int) -> list[str]:
        """The files that the last so many commits touched, the latest first."""
        ...

    def together(self, tree: str, path: str, *, limit: int) -> list[CoChangedFile]:
        """Files that past commits touched along with this one, the most frequent first."""
        ...

    def subjects(self, tree: str, path: str, *, limit: int) -> list[str]:
        """The subjects of the commits that touched a file, the newest first."""
        ...

    def vectors(
        self, tree: str, kind: VectorKind, paths: Collection[str]
    ) -> dict[str, FileVectors]:
        """The vectors that are kept of files; those without are left out."""
        ...

    def put_vectors(self, tree: str, kind: VectorKind, vectors: Mapping[str, FileVectors]) -> None:
        """Keep vectors of files, in place of what was kept of them."""
        ...
