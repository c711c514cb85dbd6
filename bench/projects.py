"""Recall among many projects: `python -m bench.projects [--rows N] [--projects N] [--json]`.

The same rows and questions twice: as one project, and dealt out to many in turn. Processor time of
the shipped recall; a question that finds nothing fails the run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench.corpus import Corpus, Query, packed
from bench.loading import inserts
from bench.report import Timing, finish, machine, parser, ratio, say, table, timed_each
from bench.warm import LIMIT, CorpusEmbedder
from wellkept.core.query import Filter
from wellkept.memory.engine import Engine
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import RecallRequest
from wellkept.models.embedders.static import StaticEmbedder
from wellkept.store import open_store


def measure(folder: Path, *, rows: int, projects: int, queries: Sequence[Query]) -> Timing:
    """The questions, each in the project that the row it is about belongs to."""
    say(f"{projects} projects: loading")
    store = open_store(folder / f"{projects}.db")
    embedder = CorpusEmbedder(StaticEmbedder())
    engine, first = Engine(store=store, embedder=lambda: embedder), 0
    for batch in Corpus().batches(rows, size=5_000):
        dealt = [
            replace(memory, project=f"name:{(first + number) % projects}")
            for number, memory in enumerate(batch.memories)
        ]
        store.apply(inserts(engine, dealt, batch.vectors))
        first += len(dealt)
    timing = timed_each(
        _asking(engine, embedder, projects), queries, warm_up=len(queries) // 3, budget_s=120
    )
    store.close()
    return timing


def _asking(engine: Engine, embedder: CorpusEmbedder, projects: int) -> Callable[[Query], None]:
    def ask(query: Query) -> None:
        embedder.next_vector = packed(query.vector)
        where = Filter(project=f"name:{query.about % projects}")
        request = RecallRequest(query=query.text, where=where, limit=LIMIT)
        if not recall(engine, request).hits:
            raise RuntimeError(f"{query.text!r} found nothing")

    return ask


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--projects", type=int, default=10)
    options.add_argument("--queries", type=int, default=300)
    chosen = options.parse_args(arguments)
    queries = Corpus().queries(chosen.queries, rows=chosen.rows)
    with tempfile.TemporaryDirectory(prefix="wellkept-projects-") as folder:
        one, many = (
            measure(Path(folder), rows=chosen.rows, projects=count, queries=queries)
            for count in (1, chosen.projects)
        )
    times = ratio(many.cpu_p50_ms or 0.0, one.cpu_p50_ms or 0.0)
    rows = [
        [str(count), f"{timing.cpu_p50_ms:.2f}", f"{timing.p50_ms:.2f}"]
        for count, timing in ((1, one), (chosen.projects, many))
    ]
    finish(
        "projects",
        {"machine": machine(), "rows": chosen.rows, "one": one.as_json(), "many": many.as_json(),
         "many_to_one": times},
        as_json=chosen.json,
        lines=table(["projects", "CPU p50 ms", "p50 ms"], rows),
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
