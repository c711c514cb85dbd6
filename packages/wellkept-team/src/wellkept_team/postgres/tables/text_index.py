"""Writes what is derived from memories: labels, words, fragments, vectors, and term counts.

`IndexWriter` collects the counts of one transaction and writes them once at its end. Numbers of
memories are taken before they are inserted, so that a batch is a few exchanges with the server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from wellkept.core.errors import UsageError
from wellkept.store import quantization
from wellkept_team.postgres.connection.database import Connection, array_text
from wellkept_team.postgres.tables.index_keys import (
    SEPARATOR,
    grams_of,
    index_key,
    stored_fold,
    text_tokens,
)

if TYPE_CHECKING:
    from array import array

    from wellkept.core.changes import IndexEntry
    from wellkept.core.memory import Memory

DERIVED = ("labels", "texts", "fragments", "vectors")


class Place(NamedTuple):
    """Where the rows of a memory are."""

    home: str
    number: int


class IndexWriter:
    """The indexes inside one write transaction. Call `finish` before the commit."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._terms: Counter[int] = Counter()
        self._memories = 0
        self._tokens = 0
        self._models: dict[str, tuple[int, int]] = {}

    # -- Words and fragments ---------------------------------------------------------------------

    def add(self, memories: Sequence[tuple[Place, Memory, IndexEntry]]) -> None:
        """Index new memories."""
        self.add_texts([(place, m.content, entry.extra) for place, m, entry in memories])
        self.add_fragments([(place, m.content) for place, m, _ in memories])
        self.add_labels([(place, m) for place, m, _ in memories])
        with_vector = [(p, e) for p, _, e in memories if e.vector is not None]
        if with_vector:
            self.put_vectors(with_vector)

    def add_texts(self, texts: Sequence[tuple[Place, str, str]]) -> None:
        """Index the words of contents and extra texts."""
        rows = [(place, text_tokens(content, extra)) for place, content, extra in texts]
        for _, tokens in rows:
            self._count(tokens, 1)
        self._db.many(
            "INSERT INTO texts (tenant, home, number, length, tokens)"
            " VALUES (%(tenant)s, %(home)s, %(number)s, %(length)s, %(tokens)s::bigint[])",
            [
                {**place._asdict(), "length": len(t) - 1, "tokens": array_text(t)}
                for place, t in rows
            ],
        )

    def drop_texts(self, place: Place) -> None:
        """Remove the words of a memory."""
        for (tokens,) in self._db.rows(
            "DELETE FROM texts WHERE tenant = %(tenant)s AND home = %(home)s"
            " AND number = %(number)s RETURNING tokens",
            **place._asdict(),
        ):
            self._count(tokens, -1)

    def add_fragments(self, contents: Sequence[tuple[Place, str]]) -> None:
        """Index the fragments of contents."""
        self._db.many(
            "INSERT INTO fragments (tenant, home, number, grams, folded)"
            " VALUES (%(tenant)s, %(home)s, %(number)s, %(grams)s::int[], %(folded)s)",
            [
                {
                    **place._asdict(),
                    "grams": array_text(grams_of(content)),
                    "folded": stored_fold(content),
                }
                for place, content in contents
            ],
        )

    def replace_text(self, place: Place, content: str, extra: str) -> None:
        """Index a changed text."""
        self.drop_texts(place)
        self.add_texts([(place, content, extra)])

    def replace_fragments(self, place: Place, content: str) -> None:
        """Index a changed content."""
        self._delete("fragments", place)
        self.add_fragments([(place, content)])

    def _count(self, tokens: Sequence[int], sign: int) -> None:
        for term in set(tokens):
            if term != SEPARATOR:
                self._terms[term] += sign
        self._memories += sign
        self._tokens += sign * (len(tokens) - 1)

    # -- Labels ----------------------------------------------------------------------------------

    def add_labels(self, memories: Sequence[tuple[Place, Memory]]) -> None:
        """Write the labels of memories that have none yet."""
        rows = [
            {
                **place._asdict(),
                "kind": kind,
                "value": (short := index_key(value)),
                "full": None if short == value else value,
            }
            for place, memory in memories
            for kind, values in (
                ("tag", memory.tags),
                ("file", memory.files),
                ("module", memory.modules),
            )
            for value in values
        ]
        if rows:
            self._db.many(
                "INSERT INTO labels (tenant, home, kind, value, number, full_value) VALUES"
                " (%(tenant)s, %(home)s, %(kind)s, %(value)s, %(number)s, %(full)s)"
                " ON CONFLICT DO NOTHING",
                rows,
            )

    def replace_labels(self, place: Place, memory: Memory) -> None:
        """Write changed labels."""
        self._delete("labels", place)
        self.add_labels([(place, memory)])

    # -- Vectors ---------------------------------------------------------------------------------

    def put_vectors(self, entries: Sequence[tuple[Place, IndexEntry]]) -> None:
        """Set the vectors of memories for the models of the entries."""
        self._db.many(
            "INSERT INTO vectors (tenant, home, model, number, codes) VALUES"
            " (%(tenant)s, %(home)s, %(model)s, %(number)s, %(codes)s::halfvec)"
            " ON CONFLICT (tenant, home, model, number) DO UPDATE SET codes = excluded.codes",
            [
                {**place._asdict(), "model": self._model(entry), "codes": vector_text(entry)}
                for place, entry in entries
            ],
        )

    def drop_vectors(self, place: Place) -> None:
        """Delete the vectors of a memory."""
        self._delete("vectors", place)

    def _model(self, entry: IndexEntry) -> int:
        if entry.vector is None or entry.model_id is None:
            raise UsageError("A vector needs the id of the model that made it.")
        quantization.require_packed(entry.vector)
        dimension = len(entry.vector) // 4
        known = self._models.get(entry.model_id) or find_model(self._db, entry.model_id)
        if known is None:
            number = self._db.value(
                "INSERT INTO models (tenant, project, model_id, dimension)"
                " VALUES (%(tenant)s, '', %(model_id)s, %(dimension)s) RETURNING model",
                model_id=entry.model_id,
                dimension=dimension,
            )
            known = int(number), dimension
        self._models[entry.model_id] = known
        quantization.require_dimension(entry.model_id, stored=known[1], given=dimension)
        return known[0]

    # -- All -------------------------------------------------------------------------------------

    def drop(self, place: Place) -> None:
        """Remove everything derived from a memory."""
        self.drop_texts(place)
        for table in ("labels", "fragments", "vectors"):
            self._delete(table, place)

    def move(self, old: Place, home: str) -> None:
        """Take everything derived from a memory to another home."""
        if old.home == home:
            return
        for table in DERIVED:
            self._db.run(
                f"UPDATE {table} SET home = %(to)s WHERE tenant = %(tenant)s"
                " AND home = %(home)s AND number = %(number)s",
                to=home,
                **old._asdict(),
            )

    def finish(self) -> None:
        """Write the counts."""
        changed = {term: n for term, n in sorted(self._terms.items()) if n}
        if changed:
            self._db.run(
                "INSERT INTO term_counts (tenant, project, term, memories)"
                " SELECT %(tenant)s, '', term, n"
                " FROM unnest(%(terms)s::bigint[], %(counts)s::bigint[]) AS d (term, n)"
                " ON CONFLICT (tenant, project, term)"
                " DO UPDATE SET memories = term_counts.memories + excluded.memories",
                terms=array_text(changed),
                counts=array_text(changed.values()),
            )
        if self._memories or self._tokens:
            self._db.run(
                "INSERT INTO text_totals (tenant, project, memories, tokens)"
                " VALUES (%(tenant)s, '', %(memories)s, %(tokens)s)"
                " ON CONFLICT (tenant, project) DO UPDATE SET"
                " memories = text_totals.memories + excluded.memories,"
                " tokens = text_totals.tokens + excluded.tokens",
                memories=self._memories,
                tokens=self._tokens,
            )

    def _delete(self, table: str, place: Place) -> None:
        self._db.run(
            f"DELETE FROM {table} WHERE tenant = %(tenant)s AND home = %(home)s"
            " AND number = %(number)s",
            **place._asdict(),
        )


def find_model(db: Connection, model_id: str) -> tuple[int, int] | None:
    """Number and dimension of a model that has had a vector."""
    found = db.row(
        "SELECT model, dimension FROM models WHERE tenant = %(tenant)s AND project = ''"
        " AND model_id = %(model_id)s",
        model_id=model_id,
    )
    return None if found is None else (int(found[0]), int(found[1]))


def vector_text(entry: IndexEntry) -> str:
    """The codes of an entry's vector as pgvector reads them."""
    assert entry.vector is not None
    return codes_text(quantization.codes(quantization.pack(entry.vector)[1]))


def codes_text(codes: Sequence[float] | array[int]) -> str:
    """Numbers as pgvector reads them."""
    return f"[{','.join(map(str, codes))}]"
