"""Wellkept in a process of its own that stays up: recall, its parts, writes, memory in use.

Started by `bench.scale` so that nothing else counts towards its memory. Questions go through the
shipped `wellkept.memory.recall.recall`. The real default embedder embeds each, so that its time
is part of the figure; its vector is then put aside for the corpus's own, which is what the rows
have. Words are compared one by one as for everybody. Prints one JSON object; fails when fewer than
half of the questions are answered, since silence is quick.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter

from bench.corpus import BLOCK, DIMENSION, PROJECT, Corpus, Query, packed, row_of
from bench.loading import MODEL_ID, inserts
from bench.report import parser, resident_mb, timed, timed_each
from wellkept.core.changes import Delete
from wellkept.core.codec import Json
from wellkept.core.memory import MemoryDraft
from wellkept.core.ports.models import Vector
from wellkept.core.ports.store import Store
from wellkept.core.query import Candidate, Filter, RetrieverHit
from wellkept.core.text import query_terms
from wellkept.memory.engine import Engine
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import RecallRequest, SearchMode
from wellkept.memory.recall.retrievers import NEIGHBOUR_SPAN, RETRIEVER_CAP, WITH_NEIGHBOURS
from wellkept.memory.remember import remember
from wellkept.models.embedders.static import StaticEmbedder
from wellkept.store import open_store

WHERE = Filter(project=PROJECT)
LIMIT = 10
JUDGED = 100


class CorpusEmbedder:
    """Does the default embedder's work, and gives the corpus's vector for the text at hand."""

    model_id = MODEL_ID
    dimension = DIMENSION

    def __init__(self, real: StaticEmbedder) -> None:
        self._real = real
        self.next_vector: Vector = b""

    def embed_query(self, text: str) -> Vector:
        """The vector that was put ready."""
        self._real.embed_query(text)
        return self.next_vector

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """The vector that was put ready, for each text."""
        return [self.embed_query(text) for text in texts]


class Warm:
    """One open store with its questions."""

    def __init__(self, store: Store, queries: Sequence[Query], *, budget_s: float) -> None:
        self.store = store
        self.queries = queries
        self._budget_s = budget_s
        self.embedder = CorpusEmbedder(StaticEmbedder())
        self.engine = Engine(store=store, embedder=lambda: self.embedder)

    def ask(self, query: Query, *, mode: SearchMode = SearchMode.HYBRID) -> list[str]:
        """The ids that the shipped recall gives."""
        self.embedder.next_vector = packed(query.vector)
        request = RecallRequest(query=query.text, where=WHERE, limit=LIMIT, mode=mode)
        return [hit.memory.id for hit in recall(self.engine, request)]

    def timings(self, actions: Mapping[str, Callable[[Query], object]]) -> dict[str, Json]:
        """Each action over all the questions, a third of which only warm up."""
        return {
            name: timed_each(
                action, self.queries, budget_s=self._budget_s, warm_up=len(self.queries) // 3
            ).as_json()
            for name, action in actions.items()
        }

    def recall_figures(self) -> dict[str, Json]:
        """Whole recalls by mode."""
        early = self.queries[: len(self.queries) // 3]
        first: dict[str, Json] = {
            "hybrid_first_questions": timed_each(self.ask, early, budget_s=self._budget_s).as_json()
        }
        answered = sum(bool(self.ask(query)) for query in early)
        if 2 * answered < len(early):
            raise SystemExit(f"Only {answered} of {len(early)} questions were answered.")
        return first | self.timings(
            {
                "hybrid": self.ask,
                "words": lambda query: self.ask(query, mode=SearchMode.WORDS),
                "vectors": lambda query: self.ask(query, mode=SearchMode.VECTORS),
            }
        )

    def part_figures(self) -> dict[str, Json]:
        """The store's share of a recall, part by part; ranking is the rest."""
        asked = self.queries[:50]
        best = {query.about: self._best(query) for query in asked}

        def hydrate(query: Query) -> object:
            return self.store.get([c.id for c in best[query.about][:LIMIT]])

        def around(query: Query) -> object:
            places = [c.place for c in best[query.about] if c.place]
            return self.store.session_neighbours(places, WHERE, span=NEIGHBOUR_SPAN)

        parts = self.timings({"words_arm": self.by_words, "vectors_arm": self.by_vector})
        for name, action in (("around", around), ("hydrate", hydrate)):
            parts[name] = timed_each(action, asked, budget_s=self._budget_s).as_json()
        return parts

    def by_words(self, query: Query) -> list[RetrieverHit]:
        """What the words arm finds."""
        return self.store.search_fulltext(query_terms(query.text), WHERE, limit=RETRIEVER_CAP)

    def by_vector(self, query: Query) -> list[RetrieverHit]:
        """What the vectors arm finds."""
        return self.store.search_vectors(
            packed(query.vector), model_id=MODEL_ID, where=WHERE, limit=RETRIEVER_CAP
        )

    def write_figures(self, corpus: Corpus, *, rows: int, count: int) -> dict[str, Json]:
        """Single writes of new memories: the store's part, then all that `remember` does."""
        block = corpus.block(-(-rows // BLOCK), count=2 * count)
        changes = inserts(Engine(store=self.store), block.memories, block.vectors)

        def insert(number: int) -> object:
            return self.store.apply([changes[number]])

        def keep(number: int) -> None:
            self.embedder.next_vector = packed(block.vectors[number])
            draft = MemoryDraft(content=block.memories[number].content)
            new.append(remember(self.engine, draft, project=PROJECT).memory.id)

        new = [change.memory.id for change in changes[:count]]
        inserted = timed_each(insert, range(count), warm_up=5)
        kept = timed_each(keep, range(count, 2 * count), budget_s=self._budget_s, warm_up=5)
        # A store that is kept for another run should be as it was.
        self.store.apply([Delete(memory_id) for memory_id in dict.fromkeys(new)])
        return {
            "insert_without_embedding": inserted.as_json(),
            "remember_with_embedding_and_comparison": kept.as_json(),
        }

    def _best(self, query: Query) -> list[Candidate]:
        """What both arms find, as far as a recall looks at its neighbours."""
        hits = (*self.by_words(query)[:WITH_NEIGHBOURS], *self.by_vector(query)[:WITH_NEIGHBOURS])
        return list({hit.id: hit.candidate for hit in hits}.values())


def rows_of(hits: Sequence[RetrieverHit]) -> Json:
    """The best hits as rows of the corpus."""
    return [row_of(hit.id) for hit in hits[:LIMIT]]


def main(arguments: Sequence[str]) -> int:
    """Measure one database and print the figures."""
    options = parser(__doc__)
    options.add_argument("database", type=Path)
    options.add_argument("--rows", type=int, required=True)
    options.add_argument("--queries", type=int, default=300)
    options.add_argument("--budget-s", type=float, default=30.0)
    chosen = options.parse_args(arguments)
    corpus = Corpus()
    queries = corpus.queries(chosen.queries, rows=chosen.rows)
    resident_before = resident_mb()
    started = perf_counter()
    store = open_store(chosen.database)
    warm = Warm(store, queries, budget_s=chosen.budget_s)
    opened = perf_counter() - started
    first = timed(lambda: warm.ask(queries[0]))
    judged = queries[:JUDGED]
    figures: dict[str, Json] = {
        "open_ms": round(opened * 1000, 1),
        "first_recall_ms": round(first * 1000, 1),
        "recall": warm.recall_figures(),
        "parts": warm.part_figures(),
        "resident_mb": round(resident_mb(), 1),
        "resident_before_mb": round(resident_before, 1),
        "found": {
            "words": [rows_of(warm.by_words(query)) for query in judged],
            "vectors": [rows_of(warm.by_vector(query)) for query in judged],
        },
    }
    figures["write"] = warm.write_figures(corpus, rows=chosen.rows, count=200)
    store.close()
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
