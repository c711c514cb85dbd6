"""The `SearchIndex` port: one method per retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.query import Candidate, Filter, RetrieverHit, SessionPosition
from wellkept.store.queries import merged_spans, require_limit
from wellkept_team.postgres.connection.database import Component, bindable
from wellkept_team.postgres.search import fulltext, vectors
from wellkept_team.postgres.search import trigrams as fragments
from wellkept_team.postgres.tables.filters import condition
from wellkept_team.postgres.tables.index_keys import index_key
from wellkept_team.postgres.tables.memory_rows import SELECTED_CANDIDATE, to_candidate

if TYPE_CHECKING:
    from wellkept.core.ports.models import Vector
    from wellkept_team.postgres.search.phrase_counts import PhraseCounts
    from wellkept_team.postgres.search.selective_filters import NarrowFilters
    from wellkept_team.postgres.search.vector_index import VectorIndexes
    from wellkept_team.postgres.tables.project_of_id import KnownHomes


class PostgresSearch(Component):
    """Finds memories by words, fragments, vectors and links."""

    _vector_indexes: VectorIndexes
    _narrow: NarrowFilters
    _phrases: PhraseCounts
    _homes: KnownHomes

    def search_fulltext(
        self, terms: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        with self._database.reading() as db:
            found = fulltext.search_fulltext(
                db,
                terms,
                where,
                limit=limit,
                narrow=self._narrow.is_narrow(db, where),
                phrases=self._phrases,
            )
        return self._learned(found, where)

    def search_substrings(
        self, substrings: Sequence[str], where: Filter, *, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        with self._database.reading() as db:
            found = fragments.search_substrings(db, substrings, where, limit=limit)
        return self._learned(found, where)

    def search_vectors(
        self, vector: Vector, *, model_id: str, where: Filter, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        with self._database.reading() as db:
            found = vectors.nearest(
                db,
                vector,
                model_id=model_id,
                where=where,
                limit=limit,
                indexes=self._vector_indexes,
                narrow=self._narrow,
            )
        return self._learned(found, where)

    def similarities(
        self, vector: Vector, *, model_id: str, ids: Sequence[str]
    ) -> dict[str, float]:
        with self._database.reading() as db:
            return self._homes.read(
                ids,
                lambda wanted, homes: vectors.similarities(
                    db, vector, model_id=model_id, ids=wanted, homes=homes
                ),
            )

    def _learned(self, found: list[RetrieverHit], where: Filter) -> list[RetrieverHit]:
        self._homes.learn(found, condition(where).homes)
        return found

    def search_links(
        self, *, files: Sequence[str], modules: Sequence[str], where: Filter, limit: int
    ) -> list[RetrieverHit]:
        require_limit(limit)
        links = {*(("file", f) for f in files), *(("module", m) for m in modules)}
        if not links:
            return []
        filter_sql = condition(where)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SELECTED_CANDIDATE}, l.ties FROM (SELECT l.home, l.number,"
                " count(*) AS ties FROM unnest(%(kinds)s::text[], %(values)s::text[])"
                " AS asked (kind, value) JOIN labels l ON l.kind = asked.kind"
                f" AND l.value = asked.value WHERE {filter_sql.within('l')}"
                " GROUP BY l.home, l.number) AS l JOIN memories m ON m.tenant = %(tenant)s"
                f" AND m.home = l.home AND m.number = l.number WHERE {filter_sql.sql}"
                " ORDER BY l.ties DESC, m.number DESC LIMIT %(limit)s",
                **filter_sql.params,
                kinds=[kind for kind, _ in links],
                values=[index_key(bindable(value)) for _, value in links],
                limit=limit,
            )
        return self._learned(
            [RetrieverHit(to_candidate(row), float(row[-1])) for row in rows], where
        )

    def session_neighbours(
        self, positions: Sequence[SessionPosition], where: Filter, *, span: int
    ) -> list[Candidate]:
        if span < 0:
            raise UsageError(f"span must be at least 0, not {span}.")
        spans = merged_spans(positions, span)
        if not spans:
            return []
        filter_sql = condition(where)
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SELECTED_CANDIDATE} FROM unnest(%(sessions)s::text[],"
                " %(firsts)s::bigint[], %(lasts)s::bigint[]) AS s (session, first, last)"
                " JOIN memories m ON m.session_id = s.session"
                " AND m.seq BETWEEN s.first AND s.last"
                f" WHERE {filter_sql.sql} ORDER BY m.number",
                **filter_sql.params,
                sessions=[bindable(session) for session, _, _ in spans],
                firsts=[first for _, first, _ in spans],
                lasts=[last for _, _, last in spans],
            )
        found = list(map(to_candidate, rows))
        self._homes.learn(found, filter_sql.homes)
        return found
