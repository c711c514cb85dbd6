"""The `SearchIndex` port: one method per retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.query import Candidate, Filter, RetrieverHit, SessionPosition
from wellkept.store.sqlite.connection.database import Component, SqlValue, bindable, require_limit
from wellkept.store.sqlite.connection.errors import readable_index
from wellkept.store.sqlite.search import fulltext, trigrams
from wellkept.store.sqlite.tables.filters import condition
from wellkept.store.sqlite.tables.memory_rows import SELECTED_CANDIDATE, to_candidate

if TYPE_CHECKING:
    from wellkept.core.ports.models import Vector
    from wellkept.store.sqlite.search.candidates import CandidateReader
    from wellkept.store.sqlite.search.term_cache import TermCache
    from wellkept.store.sqlite.search.vectors import VectorSearch


class SqliteSearch(Component):
    """Finds memories by words, fragments, vectors and links."""

    _candidates: CandidateReader
    _term_cache: TermCache
    _project_sizes: fulltext.ProjectSizes
    _vector_search: VectorSearch

    def search_fulltext(
        self, terms: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        with readable_index(self._database.path), self._database.snapshot() as db:
            return fulltext.search_fulltext(
                db,
                terms,
                where,
                limit=limit,
                candidates=self._candidates,
                term_cache=self._term_cache,
                project_sizes=self._project_sizes,
            )

    def search_substrings(
        self, substrings: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        with readable_index(self._database.path), self._database.snapshot() as db:
            return trigrams.search_substrings(
                db, substrings, where, limit=limit, candidates=self._candidates
            )

    def search_vectors(
        self, vector: Vector, *, model_id: str, where: Filter, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        with readable_index(self._database.path), self._database.snapshot() as db:
            return self._vector_search.nearest(
                db, vector, model_id=model_id, where=where, limit=limit, candidates=self._candidates
            )

    def similarities(
        self, vector: Vector, *, model_id: str, ids: Sequence[str]
    ) -> dict[str, float]:
        with readable_index(self._database.path), self._database.snapshot() as db:
            return self._vector_search.similarities(
                db, vector, model_id=model_id, ids=ids, candidates=self._candidates
            )

    def search_links(
        self, *, files: Sequence[str], modules: Sequence[str], where: Filter, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        links = [*(("file", f) for f in files), *(("module", m) for m in modules)]
        if not links:
            return []
        pairs = ",".join(["(?, ?)"] * len(links))
        flat: list[SqlValue] = [bindable(part) for link in links for part in link]
        filter_sql = condition(where)
        with self._database.reading() as db:
            rows = db.execute(
                f"SELECT {SELECTED_CANDIDATE}, l.ties FROM (SELECT memory, count(*) AS ties"
                f" FROM labels WHERE (kind, value) IN (VALUES {pairs}) GROUP BY memory) l"
                f" CROSS JOIN memories m ON m.row = l.memory WHERE {filter_sql.sql}"
                " ORDER BY l.ties DESC, m.row DESC LIMIT ?",
                (*flat, *filter_sql.params, limit),
            ).fetchall()
        return [RetrieverHit(to_candidate(row), float(row[-1])) for row in rows]

    def session_neighbours(
        self, positions: Sequence[SessionPosition], where: Filter, *, span: int
    ) -> list[Candidate]:
        if span < 0:
            raise UsageError(f"span must be at least 0, not {span}.")
        with self._database.snapshot() as db:
            return self._candidates.session_neighbours(db, positions, where, span=span)
