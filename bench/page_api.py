"""How fast the page's questions are answered on a large store.

    python -m bench.page_api --rows 100000

Each question is asked of the library in one warm process; beside it stands the plainest way to the
same counts, reading every row in Python.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median
from time import perf_counter

import wellkept
from tests.support.samples import Samples
from wellkept.core.memory import WorkUnitRef
from wellkept.core.query import Filter
from wellkept.core.types import MemoryType, Source

_WORDS = (
    "invoice export retry timeout cache token session upload parser schema migration queue worker"
    " deploy staging login password search index vector graph module payment ledger currency"
).split()
_TYPES = tuple(MemoryType)
_SOURCES = tuple(Source)


def fill(wk: wellkept.Wellkept, rows: int, *, seed: int = 1) -> None:
    """Put so many memories into a store."""
    chance = random.Random(seed)
    samples = Samples(seed=seed, project=wk.project)
    unit = WorkUnitRef("native", ("login",), "login")
    for start in range(0, rows, 1000):
        changes = [
            samples.insert(
                " ".join(chance.choices(_WORDS, k=12)) + f" {number}",
                type=chance.choice([one for one in _TYPES if not _needs_payload(one)]),
                source=chance.choice(_SOURCES),
                confidence=round(chance.random(), 3),
                needs_review=chance.random() < 0.1,
                user_verified=chance.random() < 0.2,
                work_unit=unit if chance.random() < 0.3 else None,
                tags=tuple({chance.choice(_WORDS), chance.choice(_WORDS)}),
                files=(f"src/{chance.choice(_WORDS)}/{chance.randrange(40)}.py",),
                modules=(f"src/{chance.choice(_WORDS)}",),
                valid_to=samples.now + timedelta(days=1) if chance.random() < 0.1 else None,
            )
            for number in range(start, min(rows, start + 1000))
        ]
        wk.engine.store.apply(changes)


def _needs_payload(kind: MemoryType) -> bool:
    from wellkept.core.types import TYPE_RULES

    return TYPE_RULES[kind].payload_required


def timed_ms(work: Callable[[], object], *, times: int = 7) -> float:
    """The median time of a call, after one to warm up."""
    if not work():
        raise RuntimeError("nothing was answered: that measures silence")
    found: list[float] = []
    for _ in range(times):
        started = perf_counter()
        work()
        found.append((perf_counter() - started) * 1000)
    return median(found)


def count_in_python(wk: wellkept.Wellkept) -> Counter[str]:
    """The baseline for facets: read every row."""
    counts: Counter[str] = Counter()
    for memory in wk.engine.store.iterate(Filter(project=wk.project)):
        counts.update((memory.type.value, memory.source.value, *memory.tags))
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with wellkept.open(root / "memory.db", project="p", cwd=root, embedder="none") as wk:
            fill(wk, options.rows)
            questions: dict[str, Callable[[], object]] = {
                "health": wk.health,
                "facets, no filter": lambda: wk.list(count=True),
                "facets, one type": lambda: wk.list(count=True, types=["gotcha"]),
                "facets, a tag and a file": lambda: wk.list(
                    count=True, tags=["retry"], files=["src/cache/1.py"]
                ),
                "find, two words": lambda: wk.recall("invoice retry", count_access=False),
                "find, two words, one type": lambda: wk.recall(
                    "invoice retry", count_access=False, types=["gotcha"]
                ),
                "list, first page": wk.list,
            }
            for name, work in questions.items():
                print(f"{name:28} {timed_ms(work):8.1f} ms")
            plain = timed_ms(lambda: count_in_python(wk), times=1)
            print(f"{'baseline: count in Python':28} {plain:8.1f} ms")


if __name__ == "__main__":
    main()
