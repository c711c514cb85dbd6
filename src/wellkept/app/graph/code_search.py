"""`wk.code`: finding the files of the open project that a request is about.

The words are kept in a file beside the memories and brought up to date before each search: what
changed on disk is read again, new commits are taken in. Symbols count where a code graph was
built, meaning where the bundled model is installed; nothing here needs either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.app.projects.commits import read_past
from wellkept.app.projects.git import ask_git
from wellkept.codegraph.index.source_files import list_files
from wellkept.codegraph.search.embeddings import CodeEmbeddings
from wellkept.codegraph.search.file_search import FileSearch, FoundFile
from wellkept.codegraph.search.term_index import IndexUpdate, TermIndex, readable
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.records import replace

if TYPE_CHECKING:
    from wellkept.app.graph.api import GraphApi
    from wellkept.app.wiring.services import Services
    from wellkept.core.ports.code_search import CodeSearchStore
    from wellkept.core.ports.store import Progress

MAX_COMMITS = 20_000


class CodeSearch:
    """The code of one project folder, for searching."""

    def __init__(self, services: Services, graph: GraphApi) -> None:
        self._services = services
        self._graph = graph

    @property
    def path(self) -> Path:
        """The file that the words are kept in."""
        return self._services.path.with_suffix(".words.db")

    @cached_property
    def texts(self) -> CodeSearchStore:
        """The storage underneath, opened on first use."""
        from wellkept.app.wiring.services import make_private_file
        from wellkept.store import open_sqlite_code_texts

        if self._services.read_only:
            if not self.path.exists():
                raise NotFoundError(
                    f"The code of {self._root} was never read for searching.",
                    hint="Run: wellkept graph search QUERY, where the folder can be written.",
                )
        else:
            make_private_file(self.path)
        return open_sqlite_code_texts(
            self.path,
            busy_timeout_ms=self._services.settings.store_busy_timeout_ms,
            read_only=self._services.read_only,
            clock=self._services.clock,
        )

    def close(self) -> None:
        """Let go of the storage if it was opened."""
        opened: CodeSearchStore | None = self.__dict__.get("texts")
        if opened is not None:
            opened.close()

    def update(self, *, progress: Progress | None = None) -> IndexUpdate:
        """Read what changed on disk and what was committed since the last time."""
        book = TermIndex(
            self.texts, self._graph.tree, root=self._root, symbols=_GraphSymbols(self._graph)
        )
        renewed = book.renew(list_files(self._root), tell=progress)
        return replace(renewed, commits=self._take_history(book))

    def find(
        self, request: str, *, limit: int = 10, progress: Progress | None = None
    ) -> list[FoundFile]:
        """The files that a request, a bug report or a name is likely about, with reasons."""
        if limit < 1:
            raise UsageError(f"The limit must be at least 1, not {limit}.")
        if not self._services.read_only:
            self.update(progress=progress)
        finder = FileSearch(self.texts, self._graph.tree, meaning=self._meaning)
        return finder.find(request, limit=limit)

    # -- Inside -----------------------------------------------------------------------------------

    @cached_property
    def _root(self) -> Path:
        return self._services.identity.root

    @cached_property
    def _meaning(self) -> CodeEmbeddings | None:
        """Vectors of the bundled model, which is quick enough to embed code while a search waits;
        None where it is missing, or where vectors are not wanted."""
        from wellkept.providers.embedders.bundled_models import STATIC

        if self._services.embedding_choice.name == "none" or STATIC.problem():
            return None
        from wellkept.providers.embedders.static import StaticEmbedder

        return CodeEmbeddings(
            self.texts,
            self._graph.tree,
            embedder=StaticEmbedder(),
            read=self._read,
            keep=not self._services.read_only,
        )

    def _read(self, path: str) -> str | None:
        """The text of a file, as far as it is for reading."""
        try:
            source = (self._root / path).read_bytes()
        except OSError:
            return None
        return readable(source)

    def _take_history(self, book: TermIndex) -> int:
        last = self.texts.last_commit(self._graph.tree)
        if last is not None and not self._is_past(last.sha):
            return book.take_history(read_past(self._root, limit=MAX_COMMITS) or (), anew=True)
        after = last.sha if last else None
        commits = read_past(self._root, limit=MAX_COMMITS, after=after)
        return book.take_history(commits or ())

    def _is_past(self, sha: str) -> bool:
        """Whether a commit is still part of this history."""
        return ask_git(self._root, ["merge-base", "--is-ancestor", sha, "HEAD"]) is not None


class _GraphSymbols:
    """Symbols as far as a code graph knows them."""

    def __init__(self, graph: GraphApi) -> None:
        self._graph = graph

    def analysed(self) -> Collection[str]:
        if not self._graph.path.exists():
            return ()
        return [file.path for file in self._graph.files()]

    def names(self, paths: Sequence[str]) -> Mapping[str, str]:
        gathered: dict[str, list[str]] = {path: [] for path in paths}
        for node in self._graph.store.symbols(self._graph.tree, paths):
            if node.path in gathered:
                gathered[node.path].append(node.qualname)
        return {path: " ".join(names) for path, names in gathered.items()}
