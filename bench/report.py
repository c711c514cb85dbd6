"""What every benchmark shares: timing, targets, memory in use, and the one JSON object at the end.

Invariant: standard output ends with exactly one line of JSON; progress goes to standard error.
Knows nothing of what is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeVar

from wellkept.core.codec import Json

OUT = Path(__file__).parent / "out"

_Item = TypeVar("_Item")


# -- Timing ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Timing:
    """How long the repetitions of one thing took, in milliseconds.

    `cpu_p50_ms` is the processor time of this process alone: on a busy machine it stays near the
    truth while the others grow. None where other processes did the work.
    """

    count: int
    p50_ms: float
    p95_ms: float
    mean_ms: float
    max_ms: float
    cpu_p50_ms: float | None = None

    @classmethod
    def of(cls, seconds: Sequence[float], *, cpu_seconds: Sequence[float] = ()) -> Timing:
        """The figures of a series; all zero when it is empty."""
        ms = sorted(s * 1000 for s in seconds)
        cpu = sorted(s * 1000 for s in cpu_seconds)
        if not ms:
            return cls(0, 0.0, 0.0, 0.0, 0.0)
        return cls(
            len(ms),
            percentile(ms, 50),
            percentile(ms, 95),
            sum(ms) / len(ms),
            ms[-1],
            percentile(cpu, 50) if cpu else None,
        )

    def as_json(self) -> dict[str, Json]:
        """The figures, rounded to a thousandth."""
        return {
            "count": self.count,
            "p50_ms": round(self.p50_ms, 3),
            "p95_ms": round(self.p95_ms, 3),
            "mean_ms": round(self.mean_ms, 3),
            "max_ms": round(self.max_ms, 3),
            "cpu_p50_ms": None if self.cpu_p50_ms is None else round(self.cpu_p50_ms, 3),
        }


def percentile(ordered: Sequence[float], percent: float) -> float:
    """A percentile of values in ascending order, between the two nearest ones."""
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def timed_each(
    action: Callable[[_Item], object],
    items: Iterable[_Item],
    *,
    budget_s: float = float("inf"),
    warm_up: int = 0,
) -> Timing:
    """Time the action on each item, after some untimed ones; stop when the budget is used up.

    Fails when most of the answers that could be counted are empty: silence is quick."""
    seconds: list[float] = []
    cpu_seconds: list[float] = []
    answered: list[bool] = []
    started = perf_counter()
    for number, item in enumerate(items):
        cpu_before, before = process_time(), perf_counter()
        answer = action(item)
        after, cpu_after = perf_counter(), process_time()
        if isinstance(answer, Sized):
            answered.append(len(answer) > 0)
        if number >= warm_up:
            seconds.append(after - before)
            cpu_seconds.append(cpu_after - cpu_before)
        if after - started > budget_s:
            break
    require_answers(sum(answered), len(answered))
    return Timing.of(seconds, cpu_seconds=cpu_seconds)


def require_answers(answered: int, asked: int) -> None:
    """Fail when fewer than half of the questions were answered."""
    if 2 * answered < asked:
        raise RuntimeError(f"{answered} of {asked} were answered: that measures silence")


def timed(action: Callable[[], object]) -> float:
    """Seconds that one run took."""
    started = perf_counter()
    action()
    return perf_counter() - started


# -- Targets and room -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that was promised, and what came out. Without a measurement it is not met."""

    name: str
    limit: float
    measured: float | None
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the promise holds."""
        if self.measured is None:
            return False
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def as_json(self) -> dict[str, Json]:
        """The target with its verdict."""
        return {
            "name": self.name,
            "wanted": f"{'>=' if self.at_least else '<='} {self.limit:g}",
            "measured": None if self.measured is None else round(self.measured, 3),
            "verdict": "pass" if self.met else ("fail" if self.measured is not None else "no data"),
        }


def ratio(value: float, reference: float) -> float | None:
    """How many times the reference, or None when there is nothing to divide by."""
    return round(value / reference, 3) if reference else None


def resident_mb() -> float:
    """Memory of this process now, in MB (Linux), or its peak where that is all there is."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except FileNotFoundError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1_000_000 if sys.platform == "darwin" else 1_000)
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


def room_bytes(path: Path) -> int:
    """Room a file or everything in a folder takes on disk."""
    if path.is_dir():
        return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    # A database's write-ahead log and its index belong to it.
    return sum(f.stat().st_size for f in path.parent.glob(path.name + "*"))


def machine() -> dict[str, Json]:
    """What the figures were taken on."""
    import platform
    import sqlite3

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load_1min": round(load, 2),
    }


# -- Saying it ------------------------------------------------------------------------------------


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the options every benchmark has."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--json", action="store_true", help="print nothing but the JSON object")
    return made


def say(message: str) -> None:
    """A line of progress for the person who waits."""
    print(message, file=sys.stderr, flush=True)


def finish(
    name: str, figures: Mapping[str, Json], *, as_json: bool, lines: Sequence[str] = ()
) -> dict[str, Json]:
    """Keep the figures in `bench/out/NAME.json`, print the lines for people, then the JSON."""
    result: dict[str, Json] = {"bench": name, **figures}
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    if not as_json:
        print("\n".join(lines))
    print(json.dumps(result), flush=True)
    return result


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Plain text columns, the first to the left and the others to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
