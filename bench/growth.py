"""Recall time against size, as one store grows: `python -m bench.growth [--rows 100000] [--json]`.

Questions about the rows there are so far are asked at each size. Plots go to `bench/out/growth.png`
(time of a recall and of its parts) and `bench/out/growth_room.png` (disk and memory).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import report
from bench.corpus import Corpus
from bench.loading import load
from bench.report import Timing, finish, machine, parser, resident_mb, room_bytes, say, table
from bench.warm import Warm
from wellkept.core.codec import Json
from wellkept.store import open_store

_FIRST_STEP = 1_000


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured at one size."""

    rows: int
    hybrid: Timing
    words: Timing
    vectors: Timing
    insert_ms: float
    disk_mb: float
    resident_mb: float

    def as_json(self) -> dict[str, Json]:
        """The figures."""
        return {
            "rows": self.rows,
            "hybrid": self.hybrid.as_json(),
            "words_arm": self.words.as_json(),
            "vectors_arm": self.vectors.as_json(),
            "bulk_insert_ms_per_row": round(self.insert_ms, 3),
            "disk_mb": round(self.disk_mb, 1),
            "resident_mb": round(self.resident_mb, 1),
        }


def steps(rows: int) -> list[int]:
    """1,000, 2,000, 5,000, 10,000, … and the size asked for at the end."""
    found: list[int] = []
    step = min(_FIRST_STEP, rows)
    while step < rows:
        found.extend(step * factor for factor in (1, 2, 5) if step * factor < rows)
        step *= 10
    return [*found, rows]


def measure(database: Path, sizes: Sequence[int], *, queries: int, budget_s: float) -> list[Point]:
    """Grow one store through the sizes and ask at each of them."""
    corpus, points, start = Corpus(), list[Point](), 0
    store = open_store(database)
    for rows in sizes:
        say(f"growth: {rows:,}")
        seconds = load(store, corpus, rows=rows, start=start)
        warm = Warm(store, corpus.queries(queries, rows=rows), budget_s=budget_s)
        timings = [
            report.timed_each(
                action, warm.queries, budget_s=budget_s, warm_up=len(warm.queries) // 4
            )
            for action in (warm.ask, warm.by_words, warm.by_vector)
        ]
        points.append(
            Point(
                rows,
                *timings,
                insert_ms=seconds * 1000 / (rows - start),
                disk_mb=room_bytes(database) / 1e6,
                resident_mb=resident_mb(),
            )
        )
        start = rows
    store.close()
    return points


# -- Plots ----------------------------------------------------------------------------------------


def plot(points: Sequence[Point]) -> list[str]:
    """Draw both pictures; returns their names, none when matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        return []
    report.OUT.mkdir(parents=True, exist_ok=True)
    rows = [point.rows for point in points]
    times = {
        "recall p50": [point.hybrid.p50_ms for point in points],
        "recall p95": [point.hybrid.p95_ms for point in points],
        "words arm p50": [point.words.p50_ms for point in points],
        "vectors arm p50": [point.vectors.p50_ms for point in points],
    }
    room = {
        "disk": [point.disk_mb for point in points],
        "memory of the process": [point.resident_mb for point in points],
    }
    draw("growth.png", rows, times, title="Recall as memory grows", unit="milliseconds")
    draw("growth_room.png", rows, room, title="Room as memory grows", unit="MB")
    return ["growth.png", "growth_room.png"]


def draw(
    name: str, rows: Sequence[int], series: Mapping[str, Sequence[float]], *, title: str, unit: str
) -> None:
    """Draw lines over sizes into a file of `bench/out`."""
    # Typed as Any: matplotlib's own annotations are partial.
    agg: Any = import_module("matplotlib.backends.backend_agg")
    figure: Any = import_module("matplotlib.figure").Figure(figsize=(7, 4.2), dpi=130)
    agg.FigureCanvasAgg(figure)
    axes = figure.subplots()
    for label, values in series.items():
        axes.plot(rows, values, marker="o", markersize=4, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("memories")
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend()
    figure.tight_layout()
    figure.savefig(report.OUT / name)


def main(arguments: Sequence[str]) -> int:
    """Measure, draw and print."""
    made = parser(__doc__)
    made.add_argument("--rows", type=int, default=100_000, help="how far to grow")
    made.add_argument("--queries", type=int, default=120)
    made.add_argument("--budget-s", type=float, default=15.0, help="at most, for each timing")
    chosen = made.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-growth-") as folder:
        points = measure(
            Path(folder) / "memory.db",
            steps(chosen.rows),
            queries=chosen.queries,
            budget_s=chosen.budget_s,
        )
    figures: dict[str, Json] = {
        "machine": machine(),
        "points": [point.as_json() for point in points],
        "plots": list[Json](plot(points)),
    }
    rows = [
        [f"{p.rows:,}", *(f"{t.p50_ms:.2f}" for t in (p.hybrid, p.words, p.vectors)),
         f"{p.disk_mb:.0f}", f"{p.resident_mb:.0f}"]
        for p in points
    ]  # fmt: skip
    header = ["memories", "recall ms", "words ms", "vectors ms", "disk MB", "memory MB"]
    finish("growth", figures, as_json=chosen.json, lines=table(header, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
