"""Keeps the words of a source tree and of its history up to date.

Only files that changed on disk are read again, and only commits that are new. Stopped half-way,
the next update goes on from there: files are kept in batches, commits in order. When history was
rewritten, its commits are taken in anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from wellkept.codegraph.history.commits import ChangeStatus, PastCommit
from wellkept.codegraph.index.file_filter import reason_by_content, reason_by_path
from wellkept.codegraph.index.source_files import ListedFile
from wellkept.codegraph.search.tokens import words
from wellkept.core.ports.code_search import CodeSearchStore, CommitText, FileText
from wellkept.core.records import record
from wellkept.core.text import clean, shorten

BATCH: Final = 200
VOTER_FILES: Final = 20
"""A commit of more files says nothing of any of them, and is left out."""
_SUBJECT_CHARS = 200

Tell = Callable[[int, int], None]


class GraphSymbols(Protocol):
    """What a code graph knows of files."""

    def analysed(self) -> Collection[str]:
        """The files whose symbols are known."""
        ...

    def names(self, paths: Sequence[str]) -> Mapping[str, str]:
        """For some of them, the names of the symbols that each defines."""
        ...


@record(kw_only=True)
class IndexUpdate:
    """What an update did."""

    files: int = 0
    read: int = 0
    dropped: int = 0
    unreadable: int = 0
    commits: int = 0


class TermIndex:
    """The words of one tree."""

    def __init__(
        self, texts: CodeSearchStore, tree: str, *, root: Path, symbols: GraphSymbols | None = None
    ) -> None:
        self._texts = texts
        self._tree = tree
        self._root = root
        self._symbols = symbols

    def renew(self, files: Sequence[ListedFile], *, tell: Tell | None = None) -> IndexUpdate:
        """Bring the words of files up to date with what is on disk."""
        worth = [file for file in files if is_worth_reading(file.path, file.size_bytes)]
        known = self._texts.text_stamps(self._tree)
        analysed = frozenset(self._symbols.analysed()) if self._symbols else frozenset[str]()
        stamps = {file.path: _stamp(file, is_analysed=file.path in analysed) for file in worth}
        changed = [file.path for file in worth if known.get(file.path) != stamps[file.path]]
        gone = known.keys() - stamps.keys()
        if gone:
            self._texts.drop_texts(self._tree, sorted(gone))
        unreadable = 0
        for done, batch in _batches(changed):
            names = self._names([path for path in batch if path in analysed])
            read = (self._text(path, stamps[path], names.get(path, "")) for path in batch)
            texts = [text for text in read if text is not None]
            unreadable += len(batch) - len(texts)
            self._texts.put_texts(self._tree, texts)
            if tell:
                tell(done, len(changed))
        return IndexUpdate(
            files=len(worth), read=len(changed), dropped=len(gone), unreadable=unreadable
        )

    def _names(self, paths: Sequence[str]) -> Mapping[str, str]:
        return self._symbols.names(paths) if self._symbols and paths else {}

    def _text(self, path: str, stamp: str, names: str) -> FileText | None:
        """A file's words; only those of its path where its content is not for reading."""
        try:
            source = (self._root / path).read_bytes()
        except OSError:
            return None
        return file_text(path, readable(source) or "", stamp=stamp, names=names)

    # -- History ----------------------------------------------------------------------------------

    def take_history(self, commits: Iterable[PastCommit], *, anew: bool = False) -> int:
        """Take in commits that are newer than those known, oldest first; returns how many."""
        if anew:
            self._texts.drop_commits(self._tree)
        last = self._texts.last_commit(self._tree)
        order = last.order if last else 0
        kept: list[CommitText] = []
        taken = 0
        for commit in commits:
            order += 1
            taken += 1
            moved = {c.old: c.new for c in commit.changes if c.status is ChangeStatus.RENAMED}
            if moved or len(kept) >= BATCH:
                self._texts.put_commits(self._tree, kept)
                kept = []
            if moved:
                self._texts.rename_in_commits(self._tree, moved)
            kept.append(_commit_text(commit, order))
        self._texts.put_commits(self._tree, kept)
        return taken


def is_worth_reading(path: str, size_bytes: int) -> bool:
    """Whether a file may be an answer. One whose name is no text, as disks allow, cannot be named
    in one."""
    return not reason_by_path(path, size_bytes) and clean(path) == path


def file_text(path: str, body: str, *, stamp: str, names: str = "") -> FileText:
    """The words of a file: of its path, its text and the names of its symbols."""
    return FileText(
        path=path,
        stamp=stamp,
        path_words=" ".join(words(path)),
        symbol_words=" ".join(words(names)),
        body_words=" ".join(words(body)),
    )


def readable(source: bytes) -> str | None:
    """The text of a file's content; None for what is not for reading."""
    if b"\0" in source[:4096] or reason_by_content(source):
        return None
    return source.decode("utf-8", "replace")


def _commit_text(commit: PastCommit, order: int) -> CommitText:
    """A commit as it is kept; a bulk one stands there without files, so that it is known."""
    files = {change.new for change in commit.changes if change.status is not ChangeStatus.DELETED}
    return CommitText(
        sha=commit.sha,
        order=order,
        subject=shorten(commit.message.split("\n", 1)[0], limit=_SUBJECT_CHARS),
        message_words=" ".join(words(commit.said)),
        files=tuple(sorted(files)) if len(files) <= VOTER_FILES else (),
    )


def _stamp(file: ListedFile, *, is_analysed: bool) -> str:
    """Changes with the file, and when its symbols become known."""
    return f"{file.size_bytes} {file.mtime_ns}{' symbols' if is_analysed else ''}"


def _batches(paths: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    left, done = iter(paths), 0
    while batch := list(islice(left, BATCH)):
        done += len(batch)
        yield done, batch
