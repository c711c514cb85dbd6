"""Compares derived data with the memories it was made from, and makes it anew.

A quick check counts and looks at the newest memories; a deep one computes the words, fragments and
labels of every memory again. Each function works inside the caller's transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from wellkept.core.errors import StoreCorruptError
from wellkept.core.ids import short_id
from wellkept.core.memory import Memory
from wellkept.core.query import Finding
from wellkept.core.types import Severity
from wellkept_team.postgres.connection.database import Connection, Row
from wellkept_team.postgres.tables.index_keys import (
    SEPARATOR,
    grams_of,
    index_key,
    stored_fold,
    text_tokens,
)
from wellkept_team.postgres.tables.memory_rows import SELECTED, to_memory
from wellkept_team.postgres.tables.text_index import IndexWriter, Place

_SAMPLE: Final = 200
_BATCH: Final = 500


def check_indexes(db: Connection, *, deep: bool) -> list[Finding]:
    """Everything that differs."""
    return [
        *_orphans(db),
        *_missing(db),
        *_dimensions(db),
        *_contents(db, deep=deep),
        *(_counts(db) if deep else ()),
    ]


def rebuild_indexes(db: Connection) -> None:
    """Make labels, words, fragments and counts anew; drop vectors that belong to no memory."""
    for table in ("labels", "texts", "fragments", "term_counts", "text_totals"):
        db.run(f"DELETE FROM {table} WHERE tenant = %(tenant)s")
    db.run(f"DELETE FROM vectors x WHERE x.tenant = %(tenant)s AND NOT EXISTS ({_OWNER})")
    db.run(f"DELETE FROM vectors v USING models d WHERE {_WRONG_DIMENSION}")
    index = IndexWriter(db)
    for batch in _batches(db):
        index.add_texts([(place, memory.content, extra) for place, memory, extra, _ in batch])
        index.add_fragments([(place, memory.content) for place, memory, _, _ in batch])
        index.add_labels([(place, memory) for place, memory, _, _ in batch])
        for _, memory, _, short in batch:
            if short != short_id(memory.id):
                db.run(
                    "UPDATE memories SET short = %(short)s"
                    " WHERE tenant = %(tenant)s AND id = %(id)s",
                    short=short_id(memory.id),
                    id=memory.id,
                )
    index.finish()


_OWNER: Final = (
    "SELECT 1 FROM memories m WHERE m.tenant = x.tenant AND m.home = x.home AND m.number = x.number"
)
_WRONG_DIMENSION: Final = (
    "v.tenant = %(tenant)s AND d.tenant = v.tenant AND d.model = v.model"
    " AND vector_dims(v.codes) <> d.dimension"
)


def _error(check: str, message: str, count: int) -> Finding:
    return Finding(check, message, Severity.ERROR, repairable=True, count=count)


def _orphans(db: Connection) -> Iterator[Finding]:
    for table in ("labels", "texts", "fragments", "vectors"):
        count = db.value(
            f"SELECT count(*) FROM {table} x WHERE x.tenant = %(tenant)s AND NOT EXISTS ({_OWNER})"
        )
        if count:
            yield _error("orphans", f"{count} rows of {table} belong to no memory.", count)


def _missing(db: Connection) -> Iterator[Finding]:
    for table in ("texts", "fragments"):
        count = db.value(
            "SELECT count(*) FROM memories m WHERE m.tenant = %(tenant)s AND NOT EXISTS"
            f" (SELECT 1 FROM {table} x WHERE x.tenant = m.tenant AND x.home = m.home"
            " AND x.number = m.number)"
        )
        if count:
            yield _error(table, f"{count} memories are missing in {table}.", count)


def _dimensions(db: Connection) -> Iterator[Finding]:
    count = db.value(f"SELECT count(*) FROM vectors v, models d WHERE {_WRONG_DIMENSION}")
    if count:
        yield _error("dimensions", f"{count} vectors have the wrong length.", count)


def _contents(db: Connection, *, deep: bool) -> Iterator[Finding]:
    """Memories whose words, fragments or labels differ from what their text gives."""
    wrong = Counter[str]()
    try:
        for batch in _batches(db, most=None if deep else _SAMPLE):
            _compare(db, batch, wrong)
    except StoreCorruptError as error:
        yield Finding("damage", error.message, Severity.ERROR, repairable=False)
    for what, count in sorted(wrong.items()):
        yield _error(what, f"The {what} of {count} memories differ from their text.", count)


_Batch = Sequence[tuple[Place, Memory, str, str]]


def _compare(db: Connection, batch: _Batch, wrong: Counter[str]) -> None:
    numbers = [place.number for place, _, _, _ in batch]
    texts = {
        (home, number): (length, tokens)
        for home, number, length, tokens in _of(db, "texts", "length, tokens", numbers)
    }
    fragments = {
        (home, number): (grams, folded)
        for home, number, grams, folded in _of(db, "fragments", "grams, folded", numbers)
    }
    labels: dict[tuple[str, int], set[tuple[str, str]]] = {}
    for home, number, kind, value in _of(db, "labels", "kind, value", numbers):
        labels.setdefault((home, number), set()).add((kind, value))
    for place, memory, extra, short in batch:
        tokens = text_tokens(memory.content, extra)
        if place in texts and texts[place] != (len(tokens) - 1, tokens):
            wrong["words"] += 1
        expected = (grams_of(memory.content), stored_fold(memory.content))
        if place in fragments and fragments[place] != expected:
            wrong["fragments"] += 1
        if labels.get(place, set()) != _labels(memory):
            wrong["labels"] += 1
        if short != short_id(memory.id):
            wrong["short ids"] += 1


def _labels(memory: Memory) -> set[tuple[str, str]]:
    return {
        (kind, index_key(value))
        for kind, values in (
            ("tag", memory.tags),
            ("file", memory.files),
            ("module", memory.modules),
        )
        for value in values
    }


def _of(db: Connection, table: str, columns: str, numbers: Sequence[int]) -> list[Row]:
    return db.rows(
        f"SELECT home, number, {columns} FROM {table}"
        " WHERE tenant = %(tenant)s AND number = ANY(%(numbers)s)",
        numbers=list(numbers),
    )


def _counts(db: Connection) -> Iterator[Finding]:
    """The counts behind BM25, against the words themselves."""
    wrong = db.value(
        "SELECT count(*) FROM (SELECT term, count(*) AS n FROM"
        " (SELECT DISTINCT t.home, t.number, u.term FROM texts t, unnest(t.tokens) AS u (term)"
        "  WHERE t.tenant = %(tenant)s AND u.term <> %(separator)s) AS words GROUP BY term) AS real"
        " FULL JOIN (SELECT term, memories FROM term_counts WHERE tenant = %(tenant)s"
        "  AND memories <> 0) AS kept ON kept.term = real.term"
        " WHERE real.n IS DISTINCT FROM kept.memories",
        separator=SEPARATOR,
    )
    if wrong:
        yield _error("term counts", f"{wrong} words are counted wrongly.", wrong)
    same = db.value(
        "SELECT coalesce((SELECT (memories, tokens) FROM text_totals WHERE tenant = %(tenant)s"
        " AND project = ''), (0::bigint, 0::bigint)) = (SELECT (count(*),"
        " coalesce(sum(length), 0)::bigint) FROM texts WHERE tenant = %(tenant)s)"
    )
    if not same:
        yield _error("totals", "The number or the length of the texts is kept wrongly.", 1)


def _batches(db: Connection, *, most: int | None = None) -> Iterator[_Batch]:
    """All memories, or the newest, with extra text and short id."""
    before = None
    while True:
        earlier = "" if before is None else " AND m.number < %(before)s"
        rows = db.rows(
            f"SELECT m.home, m.number, m.extra, m.short, {SELECTED} FROM memories m"
            f" WHERE m.tenant = %(tenant)s{earlier} ORDER BY m.number DESC LIMIT %(limit)s",
            before=before,
            limit=_BATCH if most is None else most,
        )
        if rows:
            yield [(Place(row[0], row[1]), to_memory(row[4:]), row[2], row[3]) for row in rows]
            before = rows[-1][1]
        if most is not None or len(rows) < _BATCH:
            return
