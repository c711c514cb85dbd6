"""Filling a store with the corpus, as fast as the store takes it."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from bench.corpus import Corpus, Vectors, packed
from bench.peers import PlainText
from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.memory import Memory
from wellkept.core.ports.store import Store
from wellkept.memory.engine import Engine

MODEL_ID = "bench-clustered-256"
_BATCH = 5_000


def load(
    store: Store, corpus: Corpus, *, rows: int, start: int = 0, plain: PlainText | None = None
) -> float:
    """Add the rows from `start` on; returns the seconds that the store and its cards took.

    A plain text index beside it gets the same rows, untimed.
    """
    seconds, engine, first = 0.0, Engine(store=store), start
    for batch in corpus.batches(rows, start=start, size=_BATCH):
        before = perf_counter()
        store.apply(inserts(engine, batch.memories, batch.vectors))
        seconds += perf_counter() - before
        if plain is not None:
            plain.add(batch.memories, first=first)
        first += len(batch.memories)
    return seconds


def inserts(engine: Engine, memories: Sequence[Memory], vectors: Vectors) -> list[Insert]:
    """The changes that add memories, with the shipped index cards and the corpus's vectors."""
    return [
        Insert(memory, IndexEntry(card.extra, MODEL_ID, packed(vector)))
        for memory, card, vector in zip(
            memories, engine.index_entries(list(memories)), vectors, strict=True
        )
    ]
