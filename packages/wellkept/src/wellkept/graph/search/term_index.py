"""Keeps the term index of a source tree and its history up to date.

Reads only files that changed on disk and commits that are new. An interrupted update continues
where it stopped: files are written in batches, commits in order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from wellkept.core.ports.code_search import CodeSearchStore, CommitText, FileText
from wellkept.core.ports.graph import GraphStore
from wellkept.core.records import record
from wellkept.core.text import clean, shorten, stem
from wellkept.graph.history.commits import ChangeStatus, PastCommit
from wellkept.graph.index.file_filter import content_skip_reason, path_skip_reason
from wellkept.graph.index.source_files import ListedFile

_BATCH: Final = 200
_MAX_COMMIT_FILES: Final = 20
"""Larger commits are stored without files, so that they do not vote."""
_SUBJECT_CHARS = 200

Progress = Callable[[int, int], None]


@record(kw_only=True)
class IndexUpdate:
    """Result of an update."""

    files: int = 0
    read: int = 0
    dropped: int = 0
    unreadable: int = 0
    commits: int = 0


class TermIndex:
    """Term index of one tree. With a code graph, its symbols are indexed too. `redact` takes the
    secrets out of a text before its words are stored."""

    def __init__(
        self,
        texts: CodeSearchStore,
        tree: str,
        *,
        root: Path,
        graph: GraphStore | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._texts = texts
        self._tree = tree
        self._root = root
        self._graph = graph
        self._redact = redact

    def update_files(
        self, files: Sequence[ListedFile], *, progress: Progress | None = None
    ) -> IndexUpdate:
        """Update the terms of files to what is on disk."""
        indexed = [file for file in files if is_indexable(file.path, file.size_bytes)]
        known = self._texts.text_stamps(self._tree)
        analysed = self._analysed()
        stamps = {file.path: _stamp(file, is_analysed=file.path in analysed) for file in indexed}
        changed = [file.path for file in indexed if known.get(file.path) != stamps[file.path]]
        gone = known.keys() - stamps.keys()
        if gone:
            self._texts.drop_texts(self._tree, sorted(gone))
        unreadable = 0
        for done, batch in _batches(changed):
            symbols = self._symbols([path for path in batch if path in analysed])
            read = (self._text(path, stamps[path], symbols.get(path, "")) for path in batch)
            texts = [text for text in read if text is not None]
            unreadable += len(batch) - len(texts)
            self._texts.put_texts(self._tree, texts)
            if progress:
                progress(done, len(changed))
        return IndexUpdate(
            files=len(indexed), read=len(changed), dropped=len(gone), unreadable=unreadable
        )

    def _analysed(self) -> frozenset[str]:
        """Files that the code graph knows."""
        if self._graph is None:
            return frozenset()
        return frozenset(file.path for file in self._graph.files(self._tree))

    def _symbols(self, paths: Sequence[str]) -> Mapping[str, str]:
        """Qualified names of the symbols of each file."""
        if self._graph is None or not paths:
            return {}
        names: dict[str, list[str]] = {path: [] for path in paths}
        for node in self._graph.symbols(self._tree, paths):
            if node.path in names:
                names[node.path].append(node.qualname)
        return {path: " ".join(found) for path, found in names.items()}

    def _text(self, path: str, stamp: str, symbols: str) -> FileText | None:
        """A file's terms; only those of its path if the content is binary or generated."""
        try:
            source = (self._root / path).read_bytes()
        except OSError:
            return None
        body = self._redact(decoded(source) or "")
        return file_text(path, body, stamp=stamp, symbols=symbols)

    # -- History ----------------------------------------------------------------------------------

    def add_commits(self, commits: Iterable[PastCommit], *, replace: bool = False) -> int:
        """Add commits newer than the known ones, oldest first. Returns how many.

        `replace` drops the known ones first, because history was rewritten.
        """
        if replace:
            self._texts.drop_commits(self._tree)
        last = self._texts.last_commit(self._tree)
        order = last.order if last else 0
        batch: list[CommitText] = []
        added = 0
        for commit in commits:
            order += 1
            added += 1
            renamed = {c.old: c.new for c in commit.changes if c.status is ChangeStatus.RENAMED}
            if renamed or len(batch) >= _BATCH:
                self._texts.put_commits(self._tree, batch)
                batch = []
            if renamed:
                self._texts.rename_in_commits(self._tree, renamed)
            batch.append(_commit_text(commit, order, self._redact))
        self._texts.put_commits(self._tree, batch)
        return added


def is_indexable(path: str, size_bytes: int) -> bool:
    """Whether a file can be a search result. Its name must be printable text."""
    return not path_skip_reason(path, size_bytes) and clean(path) == path


def file_text(path: str, body: str, *, stamp: str, symbols: str = "") -> FileText:
    """The terms of a file's path, text and symbol names."""
    return FileText(
        path=path,
        stamp=stamp,
        path_words=" ".join(words(path)),
        symbol_words=" ".join(words(symbols)),
        body_words=" ".join(words(body)),
    )


def decoded(source: bytes) -> str | None:
    """The text of a file; None if it is binary, generated or minified."""
    if b"\0" in source[:4096] or content_skip_reason(source):
        return None
    return source.decode("utf-8", "replace")


def _commit_text(commit: PastCommit, order: int, redact: Callable[[str], str]) -> CommitText:
    files = {change.new for change in commit.changes if change.status is not ChangeStatus.DELETED}
    return CommitText(
        sha=commit.sha,
        order=order,
        subject=shorten(redact(commit.message).split("\n", 1)[0], limit=_SUBJECT_CHARS),
        message_words=" ".join(words(redact(commit.message_text))),
        files=tuple(sorted(files)) if len(files) <= _MAX_COMMIT_FILES else (),
    )


def _stamp(file: ListedFile, *, is_analysed: bool) -> str:
    """Changes with the file, and when its symbols become known."""
    return f"{file.size_bytes} {file.mtime_ns}{' symbols' if is_analysed else ''}"


def _batches(paths: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    left, done = iter(paths), 0
    while batch := list(islice(left, _BATCH)):
        done += len(batch)
        yield done, batch


MAX_CHARS = 200_000
"""Longer texts are cut here."""

_IDENTIFIER = re.compile(r"[^\W\d][\w]*|\d{2,}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_ACCENT = re.compile("[\u0300-\u036f]")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]{3,}")
_STOP_WORDS = frozenset(
    "a an and are as at be but by can do does for from has have if in into is it its no not of on "
    "only or so than that the them then they this to was we were when which while will with "
    "also more use used using".split()
)


def words(text: str) -> list[str]:
    """The normalised terms of a text, in order, with repetitions."""
    plain = _without_accents(text[:MAX_CHARS])
    return [word for found in _IDENTIFIER.findall(plain) for word in _terms(found)]


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    decomposed = _ACCENT.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", decomposed)


def _terms(identifier: str) -> Iterator[str]:
    parts = _PART.findall(identifier)
    if len(parts) > 1:
        yield identifier.lower()
    for part in parts:
        lower = part.lower()
        if _UNSPACED.fullmatch(lower):
            yield from (lower[at : at + 2] for at in range(len(lower) - 1))
        elif len(lower) > 1 and lower not in _STOP_WORDS:
            yield stem(lower)
