"""Processor time of upkeep on many memories: `python -m bench.upkeep [--rows N] [--json]`.

Each pass runs once on its own copy of one store, in which a third of the notes are no longer
important, a third name files that are gone, and one in two hundred is said twice. A pass that
changes nothing fails the benchmark: it measured silence. Beside each stands the dumbest way: read
every memory and write none.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

from bench.corpus import PROJECT, Corpus
from bench.loading import load
from bench.report import Target, finish, machine, parser, ratio, say, table
from bench.warm import CorpusEmbedder
from wellkept.core.codec import Json
from wellkept.core.query import Filter
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.markdown_export import export_markdown
from wellkept.memory.lifecycle.compaction import compact
from wellkept.memory.lifecycle.decay import decay
from wellkept.memory.lifecycle.pruning import prune
from wellkept.memory.lifecycle.staleness import refresh
from wellkept.models.embedders.static import StaticEmbedder
from wellkept.store import open_store

WHERE = Filter(project=PROJECT)
LIMITS_S = {"decay": 2.0, "prune": 2.0, "compact": 5.0, "refresh": 2.0, "markdown": 2.0}
_LATER = datetime(2027, 1, 1, tzinfo=UTC)
_AGED = (
    "UPDATE memories SET importance = 0.05 WHERE row % 3 = 0",
    "UPDATE memories SET files = '[\"gone.py\"]' WHERE row % 3 = 1",
    "UPDATE memories SET content = (SELECT content FROM memories o WHERE o.row = memories.row - 1)"
    ", seq = NULL WHERE row % 200 = 4",
    "UPDATE memories SET seq = NULL, type = 'fact', payload = NULL WHERE row % 200 IN (3, 4)",
)


def passes(engine: Engine, folder: Path) -> dict[str, Callable[[], int]]:
    """What is measured, each with how many memories it changed."""
    root = folder / "root"
    root.mkdir(exist_ok=True)
    return {
        "reading": lambda: sum(1 for _ in engine.store.iterate(WHERE)),
        "decay": lambda: decay(engine, project=PROJECT).changed,
        "prune": lambda: prune(engine, project=PROJECT).changed,
        "compact": lambda: compact(engine, project=PROJECT).changed,
        "refresh": lambda: refresh(engine, project=PROJECT, root=root).changed,
        "markdown": lambda: export_markdown(engine, WHERE, folder / "markdown"),
    }


def aged_store(folder: Path, rows: int) -> Path:
    """A store that upkeep finds work in."""
    path = folder / "memory.db"
    store = open_store(path)
    load(store, Corpus(), rows=rows)
    store.close()
    with sqlite3.connect(path) as db:
        for statement in _AGED:
            db.execute(statement)
    db.close()
    return path


def measure(path: Path, folder: Path) -> dict[str, dict[str, Json]]:
    """Processor seconds and changes of every pass, each on a copy of its own."""
    figures: dict[str, dict[str, Json]] = {}
    for name in ("reading", *LIMITS_S):
        say(name)
        copy = folder / f"{name}.db"
        shutil.copy(path, copy)
        store = open_store(copy)
        engine = Engine(
            store=store, clock=lambda: _LATER, embedder=lambda: CorpusEmbedder(StaticEmbedder())
        )
        run = passes(engine, folder)[name]
        before = process_time()
        changed = run()
        used = process_time() - before
        store.close()
        copy.unlink()
        if not changed:
            raise RuntimeError(f"{name} changed nothing: there was nothing to measure")
        say(f"{name}: {used:.2f} s, {changed:,}")
        figures[name] = {"cpu_s": round(used, 2), "changed": changed}
    return figures


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--store", type=Path, help="a store of this benchmark, to use or to keep")
    chosen = options.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-upkeep-") as name:
        folder = Path(name)
        if chosen.store is None or not chosen.store.exists():
            made = aged_store(folder, chosen.rows)
            if chosen.store is not None:
                shutil.copy(made, chosen.store)
        figures = measure(chosen.store or folder / "memory.db", folder)
    targets = [
        Target(f"{name} at {chosen.rows:,}, CPU s", limit, float(str(figures[name]["cpu_s"])))
        for name, limit in LIMITS_S.items()
    ]
    reading = float(str(figures["reading"]["cpu_s"]))
    rows = [
        [name, str(f["cpu_s"]), f"{ratio(float(str(f['cpu_s'])), reading)}", f"{f['changed']:,}"]
        for name, f in figures.items()
    ]
    finish(
        "upkeep",
        {
            "machine": machine(),
            "rows": chosen.rows,
            "passes": {**figures},
            "targets": [target.as_json() for target in targets],
        },
        as_json=chosen.json,
        lines=table(["pass", "CPU s", "times reading", "memories"], rows),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
