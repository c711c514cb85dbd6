"""`wk.code`: searches the files of the open project.

The term index is a database file next to the memories. Each search updates it first: changed files
are read again, new commits are added. Symbols count if a code graph was built, embeddings if the
bundled model is installed; neither is required.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.git.run import ask_git
from wellkept.core.records import replace
from wellkept.core.settings.paths import make_private_file
from wellkept.graph.history.git_log import read_past
from wellkept.graph.index.source_files import list_files
from wellkept.graph.search.embeddings import CodeEmbeddings
from wellkept.graph.search.file_search import FileSearch, FoundFile
from wellkept.graph.search.term_index import IndexUpdate, TermIndex, decoded
from wellkept.text.secrets.redaction import redact

if TYPE_CHECKING:
    from wellkept.core.ports.code_search import CodeSearchStore
    from wellkept.core.ports.models import Embedder
    from wellkept.core.types import Progress
    from wellkept.graph.api import GraphApi
    from wellkept.memory.workspace import Workspace

MAX_COMMITS = 20_000


class CodeSearch:
    """Code search in one project folder."""

    def __init__(
        self,
        services: Workspace,
        graph: GraphApi,
        *,
        embedder: Callable[[], Embedder | None],
        know_secrets: Callable[[], None],
    ) -> None:
        """The embedder must be fast enough to run during a search. `know_secrets` runs before files
        are read: what is in them is redacted."""
        self._services = services
        self._graph = graph
        self._embedder = embedder
        self._know_secrets = know_secrets

    @property
    def path(self) -> Path:
        """The database file of the term index."""
        return self._services.path.with_suffix(".words.db")

    @cached_property
    def texts(self) -> CodeSearchStore:
        """The term index store, opened on first use."""
        from wellkept.store import open_code_search

        if self._services.read_only:
            if not self.path.exists():
                raise NotFoundError(
                    f"The code of {self._root} has no search index yet.",
                    hint="Run `wellkept graph search QUERY` with write access to the store.",
                )
        else:
            make_private_file(self.path)
        return open_code_search(
            self.path, read_only=self._services.read_only, clock=self._services.clock
        )

    def close(self) -> None:
        """Close the store if it was opened."""
        opened: CodeSearchStore | None = self.__dict__.get("texts")
        if opened is not None:
            opened.close()

    def update(self, *, progress: Progress | None = None) -> IndexUpdate:
        """Index files and commits that changed since the last update."""
        graph = self._graph.store if self._graph.path.exists() else None
        self._know_secrets()
        index = TermIndex(
            self.texts,
            self._graph.tree,
            root=self._root,
            graph=graph,
            redact=lambda text: redact(text).text,
        )
        updated = index.update_files(list_files(self._root), progress=progress)
        return replace(updated, commits=self._add_commits(index))

    def find(
        self, request: str, *, limit: int = 10, progress: Progress | None = None
    ) -> list[FoundFile]:
        """Files that a request, a bug report or a name is likely about, with reasons and with the
        functions and classes in them that it may mean."""
        if limit < 1:
            raise UsageError(f"The limit must be at least 1, not {limit}.")
        if not self._services.read_only:
            self.update(progress=progress)
        search = FileSearch(
            self.texts, self._graph.tree, embeddings=self._embeddings, read=self._read
        )
        return [_redacted(file) for file in search.find(request, limit=limit)]

    # -- Inside -----------------------------------------------------------------------------------

    @cached_property
    def _root(self) -> Path:
        return self._services.root

    @cached_property
    def _embeddings(self) -> CodeEmbeddings | None:
        embedder = self._embedder()
        if embedder is None:
            return None
        return CodeEmbeddings(
            self.texts,
            self._graph.tree,
            embedder=embedder,
            read=self._read,
            store=not self._services.read_only,
        )

    def _read(self, path: str) -> str | None:
        """The text of a file; None if it has none."""
        try:
            source = (self._root / path).read_bytes()
        except OSError:
            return None
        return decoded(source)

    def _add_commits(self, index: TermIndex) -> int:
        last = self.texts.last_commit(self._graph.tree)
        if last is not None and not self._is_ancestor(last.sha):
            return index.add_commits(read_past(self._root, limit=MAX_COMMITS) or (), replace=True)
        after = last.sha if last else None
        commits = read_past(self._root, limit=MAX_COMMITS, after=after)
        return index.add_commits(commits or ())

    def _is_ancestor(self, sha: str) -> bool:
        """Whether a commit is part of the current history."""
        return ask_git(self._root, ["merge-base", "--is-ancestor", sha, "HEAD"]) is not None


def _redacted(file: FoundFile) -> FoundFile:
    """A result whose quotes from the source hold no secrets."""
    symbols = (
        replace(
            symbol, signature=redact(symbol.signature).text, summary=redact(symbol.summary).text
        )
        for symbol in file.symbols
    )
    return replace(file, symbols=tuple(symbols))
