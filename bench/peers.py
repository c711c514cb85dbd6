"""What Wellkept is measured against, in the same run on the same rows and questions.

ChromaDB and sqlite-vec are real peers and may be missing; plain FTS5 is the text search a person
would put beside a vector store; numpy over float32 is the physical reference. Peers are asked
without the project filter that Wellkept applies, which is in their favour; ChromaDB is also asked
with it, to show what it costs there.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bench.corpus import BLOCK, DIMENSION, PROJECT, Corpus, Query, Vectors, packed
from bench.report import room_bytes, timed_each
from wellkept.core.codec import Json
from wellkept.core.memory import Memory
from wellkept.core.text import query_terms
from wellkept.memory.engine import extra_text

TOP = 10
_BATCH = 2_000


def missing(*modules: str) -> dict[str, Json] | None:
    """The figures of a peer that is not there or does not load, or None when it does."""
    absent = [name for name in modules if find_spec(name) is None]
    if absent:
        return {"status": f"not installed: {', '.join(absent)}"}
    try:
        for name in modules:
            import_module(name)
    except ImportError as error:
        return {"status": f"does not load: {error}"}
    return None


def match_any(text: str) -> str:
    """An FTS5 expression for any content word of a question."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in query_terms(text))


# -- Text -----------------------------------------------------------------------------------------


class PlainText:
    """One FTS5 table with the same text that Wellkept indexes, asked for any of the words."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5"
            " (content, extra, tokenize = 'porter unicode61 remove_diacritics 2')"
        )

    def add(self, memories: Sequence[Memory], *, first: int) -> None:
        """Put memories under their corpus rows, in one transaction."""
        with self._db:
            self._db.executemany(
                "INSERT INTO texts (rowid, content, extra) VALUES (?, ?, ?)",
                (
                    (first + i, memory.content, extra_text(memory))
                    for i, memory in enumerate(memories)
                ),
            )

    def search(self, query: Query) -> list[int]:
        """The best rows."""
        found = self._db.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?",
            (match_any(query.text), TOP),
        )
        return [row for (row,) in found]

    def scores(self, query: Query) -> dict[int, float]:
        """Every match with its score, for judging another ranking."""
        found = self._db.execute(
            "SELECT rowid, -rank FROM texts WHERE texts MATCH ?", (match_any(query.text),)
        )
        return dict(found.fetchall())

    def figures(self, queries: Sequence[Query], *, budget_s: float) -> dict[str, Json]:
        """Query time and room."""
        timing = timed_each(self.search, queries, budget_s=budget_s, warm_up=5)
        return {"status": "ok", "query": timing.as_json(), "disk_mb": _mb(self._path)}

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


# -- Vectors --------------------------------------------------------------------------------------


def chroma_figures(
    corpus: Corpus, rows: int, queries: Sequence[Query], *, folder: Path, budget_s: float
) -> dict[str, Json]:
    """ChromaDB on disk with the same vectors and texts: load, query, one durable insert."""
    os.environ["ANONYMIZED_TELEMETRY"] = "False"
    absent = missing("chromadb")
    if absent:
        return absent
    # Typed as Any: the checks also run where the peers are not installed.
    chromadb: Any = import_module("chromadb")
    settings: Any = import_module("chromadb.config").Settings(anonymized_telemetry=False)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        client = chromadb.PersistentClient(place, settings=settings)
        shelf = client.create_collection("bench", metadata={"hnsw:space": "cosine"})
        seconds = 0.0
        for batch in corpus.batches(rows, size=_BATCH):
            before = perf_counter()
            shelf.add(
                ids=[memory.id for memory in batch.memories],
                embeddings=batch.vectors,
                documents=[memory.content for memory in batch.memories],
                metadatas=[{"project": memory.project} for memory in batch.memories],
            )
            seconds += perf_counter() - before

        def ask(query: Query) -> object:
            return shelf.query(query_embeddings=[query.vector], n_results=TOP)

        def ask_in_project(query: Query) -> object:
            return shelf.query(
                query_embeddings=[query.vector], n_results=TOP, where={"project": PROJECT}
            )

        def insert(number: int) -> object:
            memory, vector = extra.memories[number], extra.vectors[number]
            return shelf.add(
                ids=[memory.id],
                embeddings=[vector],
                documents=[memory.content],
                metadatas=[{"project": memory.project}],
            )

        query_time = timed_each(ask, queries, budget_s=budget_s, warm_up=5)
        filtered_time = timed_each(ask_in_project, queries, budget_s=budget_s, warm_up=5)
        extra = corpus.block(-(-rows // BLOCK), count=100)
        insert_time = timed_each(insert, range(100), budget_s=budget_s, warm_up=5)
        return {
            "status": "ok",
            "version": chromadb.__version__,
            "query": query_time.as_json(),
            "query_in_project": filtered_time.as_json(),
            "durable_insert": insert_time.as_json(),
            "load_rows_per_s": round(rows / seconds),
            "disk_mb": _mb(Path(place)),
        }


def sqlite_vec_figures(
    corpus: Corpus, rows: int, queries: Sequence[Query], *, folder: Path, budget_s: float
) -> dict[str, Json]:
    """sqlite-vec, which compares the question with every float32 vector."""
    absent = missing("apsw", "sqlite_vec")
    if absent:
        return absent
    apsw: Any = import_module("apsw")
    sqlite_vec: Any = import_module("sqlite_vec")
    path = folder / f"vec-{rows}.db"
    db = apsw.Connection(str(path))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(
        "CREATE VIRTUAL TABLE items USING vec0"
        f" (row INTEGER PRIMARY KEY, vector FLOAT[{DIMENSION}] distance_metric=cosine)"
    )
    seconds = 0.0
    for number in range(-(-rows // BLOCK)):
        first = number * BLOCK
        vectors = corpus.vectors(number, count=min(BLOCK, rows - first))
        before = perf_counter()
        with db:
            db.executemany(
                "INSERT INTO items VALUES (?, ?)",
                ((first + i, packed(vector)) for i, vector in enumerate(vectors)),
            )
        seconds += perf_counter() - before

    def ask(query: Query) -> object:
        return db.execute(
            "SELECT row, distance FROM items WHERE vector MATCH ? AND k = ?",
            (packed(query.vector), TOP),
        ).fetchall()

    timing = timed_each(ask, queries, budget_s=budget_s, warm_up=2)
    disk_mb = _mb(path)
    db.close()
    for part in folder.glob(path.name + "*"):
        part.unlink()
    return {
        "status": "ok",
        "version": sqlite_vec.__version__,
        "query": timing.as_json(),
        "load_rows_per_s": round(rows / seconds),
        "disk_mb": disk_mb,
    }


def numpy_figures(
    corpus: Corpus, rows: int, queries: Sequence[Query], *, budget_s: float
) -> tuple[dict[str, Json], list[set[int]]]:
    """float32 in memory, all compared: its time, and the exact best rows for each question."""
    vectors = np.empty((rows, DIMENSION), dtype=np.float32)
    for first in range(0, rows, BLOCK):
        count = min(BLOCK, rows - first)
        vectors[first : first + count] = corpus.vectors(first // BLOCK, count=count)

    def ask(query: Query) -> object:
        return best_rows(vectors @ query.vector)

    timing = timed_each(ask, queries, budget_s=budget_s, warm_up=2)
    asked = np.arange(rows) % 5 != 0
    truth = [
        set(best_rows(np.where(asked, vectors @ query.vector, -2.0))) for query in queries[:100]
    ]
    figures: dict[str, Json] = {
        "status": "ok",
        "query": timing.as_json(),
        "resident_mb": round(vectors.nbytes / 1e6, 1),
    }
    return figures, truth


def best_rows(scores: Vectors) -> list[int]:
    """Positions of the largest scores."""
    kept = min(TOP, len(scores))
    return np.argpartition(-scores, kept - 1)[:kept].tolist()


def bandwidth_gb_s() -> float:
    """What one core moves: bytes read and written by a copy, the best of several."""
    source = np.ones(32 * 2**20, dtype=np.float32)
    target = np.empty_like(source)
    timing = timed_each(lambda _: np.copyto(target, source), range(6), warm_up=1)
    return 2 * source.nbytes / 1e6 / (timing.p50_ms or 1.0)


def _mb(path: Path) -> float:
    return round(room_bytes(path) / 1e6, 1)
