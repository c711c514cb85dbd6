"""How Wellkept holds up as memories grow: recall, writes, load, room, memory, cold start, peers.

`python -m bench.scale [--sizes 10000,100000,1000000] [--json]` loads each size into a new store,
measures it in processes of their own, and measures ChromaDB, sqlite-vec, plain FTS5 and numpy
beside it on the same rows and questions. Texts and vectors are made up (see `bench.corpus`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from bench import coldstart, peers
from bench.corpus import Corpus, Query, is_asked
from bench.loading import load
from bench.report import (
    Target,
    finish,
    machine,
    parser,
    ratio,
    room_bytes,
    say,
    table,
)
from bench.warm import JUDGED, LIMIT
from wellkept.core.codec import Json
from wellkept.store import open_store


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure and for how long."""

    sizes: tuple[int, ...]
    queries: int
    budget_s: float
    cold_rounds: int
    chroma_rows: int
    folder: Path


# -- One size -------------------------------------------------------------------------------------


def warm_figures(database: Path, rows: int, options: Options) -> dict[str, Any]:
    """What `bench.warm` measures in a process of its own."""
    command = [sys.executable, "-m", "bench.warm", str(database), "--rows", str(rows)]
    command += ["--queries", str(options.queries), "--budget-s", str(options.budget_s)]
    # As the `wellkept` command does: more threads only get in each other's way here.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"bench.warm failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def stored(rows: int, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """Make the stores of one size, or find those of an earlier run; returns how loading went."""
    kept = folder / "loaded.json"
    if kept.exists():
        return json.loads(kept.read_text("utf-8"))
    say(f"{rows:,}: loading")
    folder.mkdir(parents=True, exist_ok=True)
    plain = peers.PlainText(folder / "plain.db")
    store = open_store(folder / "memory.db")
    seconds = load(store, corpus, rows=rows, plain=plain)
    store.close()
    plain.close()
    disk_mb = round(room_bytes(folder / "memory.db") / 1e6, 1)
    loaded = {
        "rows_per_s": round(rows / seconds),
        "seconds": round(seconds, 1),
        "disk_mb": disk_mb,
        "disk_kb_per_row": round(disk_mb * 1000 / rows, 2),
    }
    kept.write_text(json.dumps(loaded), "utf-8")
    return loaded


def measure(rows: int, options: Options) -> dict[str, Any]:
    """Everything about one size."""
    corpus, folder = Corpus(), options.folder / f"rows-{rows}"
    loaded = stored(rows, corpus, folder)
    queries = corpus.queries(options.queries, rows=rows)
    plain = peers.PlainText(folder / "plain.db")
    say(f"{rows:,}: recall and writes")
    warm = warm_figures(folder / "memory.db", rows, options)
    say(f"{rows:,}: cold start")
    cold = coldstart.figures(folder / "memory.db", queries, rounds=options.cold_rounds)
    say(f"{rows:,}: peers")
    beside, exact = _peers(corpus, rows, queries, plain=plain, options=options, folder=folder)
    found = warm.pop("found")
    guard = {
        "words_top10_overlap": words_overlap(found["words"], queries, plain),
        "vectors_top10_overlap": vectors_overlap(found["vectors"], exact),
    }
    plain.close()
    own = {"load": loaded, **warm, "cold_start": cold}
    return {
        "rows": rows,
        "wellkept": own,
        "peers": beside,
        "quality_guard": guard,
        "ratios": ratios(own, beside),
    }


def _peers(
    corpus: Corpus,
    rows: int,
    queries: Sequence[Query],
    *,
    plain: peers.PlainText,
    options: Options,
    folder: Path,
) -> tuple[dict[str, Any], list[set[int]]]:
    budget_s = options.budget_s / 2
    reference, exact = peers.numpy_figures(corpus, rows, queries, budget_s=budget_s)
    place: dict[str, Any] = {"folder": folder, "budget_s": budget_s}
    skipped = {"status": f"skipped above {options.chroma_rows:,} rows: loading takes too long"}
    beside = {
        "fts5_any_word": plain.figures(queries, budget_s=budget_s),
        "numpy_f32": reference,
        "sqlite_vec": peers.sqlite_vec_figures(corpus, rows, queries, **place),
        "chroma": (
            peers.chroma_figures(corpus, rows, queries, **place)
            if rows <= options.chroma_rows
            else skipped
        ),
    }
    return beside, exact


# -- Judging --------------------------------------------------------------------------------------


def words_overlap(
    found: Sequence[Sequence[int]], queries: Sequence[Query], plain: peers.PlainText
) -> float:
    """The share of the full ranking's best ten that was found; equal scores may replace each
    other."""
    shares: list[float] = []
    for rows, query in zip(found, queries[:JUDGED], strict=False):
        scores = {row: s for row, s in plain.scores(query).items() if is_asked(row)}
        best = sorted(scores.values(), reverse=True)[:LIMIT]
        if best:
            good = sum(scores.get(row, 0.0) >= best[-1] * (1 - 1e-6) for row in rows)
            shares.append(good / len(best))
    return round(sum(shares) / len(shares), 4) if shares else 1.0


def vectors_overlap(found: Sequence[Sequence[int]], exact: Sequence[set[int]]) -> float:
    """The share of the ten nearest by exact cosine that was found."""
    shares = [len(best & set(rows)) / len(best) for rows, best in zip(found, exact, strict=False)]
    return round(sum(shares) / len(shares), 4) if shares else 1.0


def ratios(own: dict[str, Any], beside: dict[str, Any]) -> dict[str, Json]:
    """How many times Wellkept's time the others take."""
    hybrid, vectors = own["recall"]["hybrid"]["p50_ms"], own["parts"]["vectors_arm"]["p50_ms"]
    text = _p50(beside, "fts5_any_word", "query")
    chroma, vec = _p50(beside, "chroma", "query"), _p50(beside, "sqlite_vec", "query")
    filtered = _p50(beside, "chroma", "query_in_project")
    insert = _p50(beside, "chroma", "durable_insert")
    written = own["write"]["insert_without_embedding"]["p50_ms"]
    return {
        "chroma_plus_text_to_hybrid": None if chroma is None else ratio(chroma + text, hybrid),
        "chroma_in_project_plus_text_to_hybrid": (
            None if filtered is None else ratio(filtered + text, hybrid)
        ),
        "sqlite_vec_plus_text_to_hybrid": None if vec is None else ratio(vec + text, hybrid),
        "fts5_to_words_arm": ratio(text, own["parts"]["words_arm"]["p50_ms"]),
        "numpy_f32_to_vectors_arm": ratio(_p50(beside, "numpy_f32", "query"), vectors),
        "chroma_insert_to_insert": None if insert is None else ratio(insert, written),
        "cold_command_to_reference": own["cold_start"]["command_ratio"],
        "cold_library_to_reference": own["cold_start"]["library_ratio"],
    }


def _p50(beside: dict[str, Any], peer: str, what: str) -> Any:
    return beside[peer].get(what, {}).get("p50_ms")


def targets(sizes: Sequence[dict[str, Any]]) -> list[Target]:
    """What was promised, for the sizes that were measured."""
    made: list[Target] = []
    for size in sizes:
        rows, own = size["rows"], size["wellkept"]
        hybrid = own["recall"]["hybrid"]["p50_ms"]
        if rows == 100_000:
            made.append(Target("100K hybrid recall p50 ms", 10, hybrid))
            made.append(
                Target(
                    "100K faster than Chroma + text search, times",
                    5,
                    size["ratios"]["chroma_plus_text_to_hybrid"],
                    at_least=True,
                )
            )
        if rows == 1_000_000:
            made.append(Target("1M hybrid recall p50 ms", 40, hybrid))
        written = own["write"]["insert_without_embedding"]["p50_ms"]
        made.append(Target(f"{short(rows)} durable write p50 ms", 2, written))
        for name in ("command", "library"):
            cold = own["cold_start"][f"{name}_ratio"]
            made.append(Target(f"{short(rows)} cold {name} to reference, times", 3, cold))
    return made


# -- Saying it ------------------------------------------------------------------------------------


def short(rows: int) -> str:
    """10000 as 10K."""
    for unit, name in ((1_000_000, "M"), (1_000, "K")):
        if rows >= unit and rows % unit == 0:
            return f"{rows // unit}{name}"
    return str(rows)


_SHOWN = {
    "recall, hybrid": "wellkept.recall.hybrid",
    "recall, words": "wellkept.recall.words",
    "  words arm": "wellkept.parts.words_arm",
    "  vectors arm": "wellkept.parts.vectors_arm",
    "  neighbours": "wellkept.parts.around",
    "  hydrate": "wellkept.parts.hydrate",
    "write, no embedding": "wellkept.write.insert_without_embedding",
    "remember": "wellkept.write.remember_with_embedding_and_comparison",
    "cold command": "wellkept.cold_start.command",
    "cold reference": "wellkept.cold_start.reference",
    "FTS5, any word": "peers.fts5_any_word.query",
    "numpy float32": "peers.numpy_f32.query",
    "sqlite-vec": "peers.sqlite_vec.query",
    "Chroma, no filter": "peers.chroma.query",
    "Chroma, in the project": "peers.chroma.query_in_project",
    "Chroma insert": "peers.chroma.durable_insert",
}


def lines(sizes: Sequence[dict[str, Any]], promised: Sequence[Target]) -> list[str]:
    """The main figures as tables for people."""
    header = ["p50 / p95 ms", *(short(size["rows"]) for size in sizes)]
    rows = [[name, *(_shown(size, path) for size in sizes)] for name, path in _SHOWN.items()]
    verdicts = [[str(value) for value in target.as_json().values()] for target in promised]
    return [
        *table(header, rows),
        "",
        *table(["target", "wanted", "measured", "verdict"], verdicts),
    ]


def _shown(size: dict[str, Any], path: str) -> str:
    found: Any = size
    for step in path.split("."):
        found = found.get(step, {})
    return f"{found['p50_ms']:.2f} / {found['p95_ms']:.2f}" if found else "-"


def run(options: Options) -> dict[str, Any]:
    """Measure all sizes, smallest first."""
    started = perf_counter()
    sizes = [measure(rows, options) for rows in sorted(options.sizes)]
    promised = targets(sizes)
    return {
        "machine": machine(),
        "bandwidth_gb_s": round(peers.bandwidth_gb_s(), 1),
        "sizes": sizes,
        "targets": [target.as_json() for target in promised],
        "lines": lines(sizes, promised),
        "seconds": round(perf_counter() - started),
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and print; targets that are missed do not make it fail."""
    made = parser(__doc__)
    made.add_argument("--sizes", default="10000,100000,1000000")
    made.add_argument("--queries", type=int, default=300)
    made.add_argument("--budget-s", type=float, default=30.0, help="at most, for each timing")
    made.add_argument("--cold-rounds", type=int, default=15)
    made.add_argument("--chroma-rows", type=int, default=100_000, help="no ChromaDB above this")
    made.add_argument("--keep", type=Path, help="folder to keep the loaded stores in, for reuse")
    chosen = made.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-scale-") as passing:
        options = Options(
            sizes=tuple(int(size) for size in chosen.sizes.split(",")),
            queries=chosen.queries,
            budget_s=chosen.budget_s,
            cold_rounds=chosen.cold_rounds,
            chroma_rows=chosen.chroma_rows,
            folder=chosen.keep or Path(passing),
        )
        result = run(options)
    text = result.pop("lines")
    finish("scale", result, as_json=chosen.json, lines=text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
