"""Many clients of one server: recalls and writes at once over HTTP, on SQLite and on PostgreSQL.

`python -m bench.team_load [--rows 100000] [--clients 64,256] [--seconds 20]` loads the corpus of
`bench.corpus` with vectors of the shipped embedder into both engines, starts `wellkept serve` on
each and lets clients on loopback ask (nine of ten requests) and write. The baseline is pgvector
alone: the nearest neighbours by index, as many threads (64 at most), without a server. `--soak 30`
keeps 16 clients on PostgreSQL busy for so many minutes and samples memory and connections.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg

import wellkept
from bench.corpus import PROJECT, PROJECT_NAME, Corpus, Query
from bench.report import finish, machine, parser, percentile, require_answers, say, table
from bench.team import new_database, server
from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.codec import Json
from wellkept.core.ports.models import Embedder
from wellkept.core.ports.store import Store
from wellkept.memory.engine import Engine
from wellkept.store import open_store
from wellkept_team.postgres.search.vectors import query_text

_WRITE_EVERY = 10
_CLIENTS_PER_ADDRESS = 64
_BATCH = 5_000
_ADDRESS = re.compile(r"Wellkept is at (http://\S+)")


# -- Loading --------------------------------------------------------------------------------------


def shipped_embedder(folder: Path) -> Embedder:
    """The embedder that a server takes by default."""
    with wellkept.open(folder / "none.db", project="none", embedder="static") as wk:
        embedder = wk.engine.embedder()
    assert embedder is not None
    return embedder


def load(store: Store, corpus: Corpus, embedder: Embedder, *, rows: int) -> None:
    """Add the rows with real vectors."""
    engine = Engine(store=store)
    for batch in corpus.batches(rows, start=0, size=_BATCH):
        memories = list(batch.memories)
        cards = engine.index_entries(memories)
        vectors = embedder.embed_documents([memory.content for memory in memories])
        store.apply(
            [
                Insert(memory, IndexEntry(card.extra, embedder.model_id, vector))
                for memory, card, vector in zip(memories, cards, vectors, strict=True)
            ]
        )
    while store.continue_upgrade():
        pass


# -- The server -----------------------------------------------------------------------------------


@dataclass
class Serving:
    """A running `wellkept serve`."""

    process: psutil.Process
    address: str
    token: str

    def memory_bytes(self) -> int:
        return self.process.memory_info().rss


@contextmanager
def serving(location: str, home: Path) -> Generator[Serving]:
    """`wellkept serve` on a store, until the end of the block."""
    environment = {**os.environ, "WELLKEPT_HOME": str(home), "OPENBLAS_NUM_THREADS": "1"}
    command = (
        str(Path(sys.executable).with_name("wellkept")),
        "--store",
        location,
        "serve",
        "--port",
        "0",
    )
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=home, bufsize=1
    )
    try:
        assert started.stdout is not None
        found = next(m for line in started.stdout if (m := _ADDRESS.search(line)))
        threading.Thread(target=started.stdout.read, daemon=True).start()
        (file,) = home.rglob("server.token")
        yield Serving(psutil.Process(started.pid), found[1], file.read_text().strip())
    finally:
        started.terminate()
        started.wait(30)


# -- The clients ----------------------------------------------------------------------------------


@dataclass
class Counts:
    """What the clients saw."""

    recalls: list[float] = field(default_factory=list[float])
    writes: list[float] = field(default_factory=list[float])
    answered: int = 0
    errors: dict[str, int] = field(default_factory=dict[str, int])

    def error(self, what: str) -> None:
        self.errors[what] = self.errors.get(what, 0) + 1


async def client(number: int, at: Serving, asked: Sequence[Query], until: float, c: Counts) -> None:
    """One person: asks, now and then keeps something, never waits in between."""
    # A server limits each address; a team comes from several.
    local = f"127.0.0.{2 + number // _CLIENTS_PER_ADDRESS}"
    async with httpx2.AsyncClient(
        base_url=at.address,
        headers={"Authorization": f"Bearer {at.token}"},
        timeout=60,
        transport=httpx2.AsyncHTTPTransport(local_address=local),
    ) as http:
        turn = number
        while time.perf_counter() < until:
            turn += 1
            is_write = turn % _WRITE_EVERY == 0
            if is_write:
                text = f"Client {number} saw build {turn} pass on runner {turn % 97}"
                path, body = "/api/memory_store", {"content": text, "project": PROJECT_NAME}
            else:
                path = "/api/memory_recall"
                body = {"query": asked[turn % len(asked)].text, "project": PROJECT_NAME}
            before = time.perf_counter()
            try:
                answer = await http.post(path, json=body)
            except httpx2.HTTPError as error:
                c.error(type(error).__name__)
                continue
            if answer.status_code != 200:
                c.error(str(answer.status_code))
                continue
            (c.writes if is_write else c.recalls).append(time.perf_counter() - before)
            c.answered += not is_write and bool(answer.json()["hits"])


async def _all(at: Serving, asked: Sequence[Query], clients: int, seconds: float) -> Counts:
    counts, until = Counts(), time.perf_counter() + seconds
    await asyncio.gather(*(client(n, at, asked, until, counts) for n in range(clients)))
    return counts


def measured(at: Serving, asked: Sequence[Query], *, clients: int, seconds: float) -> Any:
    """Throughput and times of so many clients."""
    before = at.process.cpu_times()
    counts = asyncio.run(_all(at, asked, clients, seconds))
    after = at.process.cpu_times()
    require_answers(counts.answered, max(len(counts.recalls), 1))
    done = len(counts.recalls) + len(counts.writes)
    cpu_s = (after.user + after.system) - (before.user + before.system)
    return {
        "requests_per_s": round(done / seconds, 1),
        "server_cpu_ms_per_request": round(cpu_s * 1000 / max(done, 1), 2),
        "recall": _times(counts.recalls),
        "write": _times(counts.writes),
        "errors": dict(counts.errors),
    }


def _times(seconds: Sequence[float]) -> dict[str, Json]:
    ms = sorted(one * 1000 for one in seconds)
    if not ms:
        return {"count": 0, "p50_ms": 0.0, "p99_ms": 0.0}
    return {
        "count": len(ms),
        "p50_ms": round(percentile(ms, 50), 1),
        "p99_ms": round(percentile(ms, 99), 1),
    }


# -- The baseline ---------------------------------------------------------------------------------


def pgvector_alone(
    url: str, embedder: Embedder, asked: Sequence[Query], *, threads: int, seconds: float
) -> Any:
    """The nearest ten by cosine in one project, through the same index: no words, no ranking, no
    server in between."""
    vectors = [query_text(embedder.embed_query(query.text)) for query in asked]
    kind = f"halfvec({embedder.dimension})"
    # The model is written out, because the index holds the vectors of one model.
    nearest = (
        "SELECT number FROM vectors WHERE tenant = 'main' AND home = %s AND model = 1"
        f" ORDER BY codes::{kind} <=> %s::{kind} LIMIT 10"
    ).encode()
    taken: list[float] = []
    until = time.perf_counter() + seconds

    def ask(number: int) -> None:
        with closing(psycopg.connect(url, autocommit=True)) as db:
            db.execute("SET search_path = wellkept, public")
            turn = number
            while time.perf_counter() < until:
                turn += 1
                before = time.perf_counter()
                db.execute(nearest, (PROJECT, vectors[turn % len(vectors)])).fetchall()
                taken.append(time.perf_counter() - before)

    running = [threading.Thread(target=ask, args=(n,)) for n in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return {"requests_per_s": round(len(taken) / seconds, 1), "recall": _times(taken)}


# -- Soak -----------------------------------------------------------------------------------------


def soak(at: Serving, url: str, asked: Sequence[Query], *, clients: int, minutes: float) -> Any:
    """Memory and connections over time, under load."""
    samples: list[dict[str, Json]] = []
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(10):
            with closing(psycopg.connect(url, autocommit=True)) as db:
                row = db.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'wellkept'"
                ).fetchone()
            memory = round(at.memory_bytes() / 1e6)
            samples.append({"memory_mb": memory, "connections": row[0] if row else 0})

    watching = threading.Thread(target=sample)
    watching.start()
    try:
        figures = measured(at, asked, clients=clients, seconds=minutes * 60)
    finally:
        ended.set()
        watching.join()
    quarter = max(len(samples) // 4, 1)
    first, last = samples[quarter : 2 * quarter] or samples, samples[-quarter:]
    return {
        "minutes": minutes,
        **figures,
        "memory_mb_second_quarter": max(int(str(s["memory_mb"])) for s in first),
        "memory_mb_last_quarter": max(int(str(s["memory_mb"])) for s in last),
        "connections_most": max(int(str(s["connections"])) for s in samples),
        "samples": samples[:: max(len(samples) // 60, 1)],
    }


# -- All ------------------------------------------------------------------------------------------


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--clients", default="64,256")
    options.add_argument("--seconds", type=float, default=20.0)
    options.add_argument("--engines", default="sqlite,postgres")
    options.add_argument("--soak", type=float, default=0.0, help="minutes")
    given = options.parse_args()
    sizes = [int(one) for one in given.clients.split(",")]
    figures: dict[str, Any] = {"machine": machine(), "rows": given.rows}
    corpus = Corpus()
    asked = corpus.queries(200, rows=given.rows)
    with server() as started, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        embedder = shipped_embedder(folder)
        url = new_database(started, "load")
        both = {"sqlite": str(folder / "memory.db"), "postgres": url}
        locations = {engine: both[engine] for engine in given.engines.split(",")}
        for engine, location in locations.items():
            say(f"{engine}: loading {given.rows:,}")
            with closing(open_store(location)) as store:
                load(store, corpus, embedder, rows=given.rows)
                figures[f"{engine}_bytes_per_row"] = round(store.size_bytes() / given.rows)
        for engine, location in locations.items():
            home = folder / engine
            home.mkdir()
            with serving(location, home) as at:
                measured(at, asked, clients=4, seconds=5)  # warm
                for clients in sizes:
                    say(f"{engine}: {clients} clients")
                    one = measured(at, asked, clients=clients, seconds=given.seconds)
                    figures[f"{engine}_{clients}"] = one
                if engine == "postgres" and given.soak:
                    say(f"soak: {given.soak:g} minutes")
                    figures["soak"] = soak(at, url, asked, clients=16, minutes=given.soak)
        for clients in sizes if "postgres" in locations else ():
            alone = pgvector_alone(
                url, embedder, asked, threads=min(clients, 64), seconds=given.seconds
            )
            figures[f"pgvector_alone_{clients}"] = alone
    finish("team_load", figures, as_json=given.json, lines=_lines(figures, sizes))


def _lines(figures: dict[str, Any], sizes: Sequence[int]) -> list[str]:
    rows: list[list[str]] = []
    for clients in sizes:
        for name in ("sqlite", "postgres", "pgvector_alone"):
            one = figures.get(f"{name}_{clients}")
            if one is None:
                continue
            write = one.get("write", {})
            rows.append(
                [
                    f"{name} {clients}",
                    f"{one['requests_per_s']}",
                    f"{one['recall']['p50_ms']}",
                    f"{one['recall']['p99_ms']}",
                    f"{write.get('p50_ms', '')}",
                    f"{write.get('p99_ms', '')}",
                    str(sum(one.get("errors", {}).values())),
                ]
            )
    header = ("clients", "requests/s", "recall p50", "p99", "write p50", "p99", "errors")
    return table(header, rows)


if __name__ == "__main__":
    main()
