"""The latency table of the design documents, on a project of usual size.

`python -m bench.documents_latency [--json]`: 2,000 memories, 50 skills. Search at a session's start
is the whole context, not the search alone; matching is what a prompt costs with a model of meaning;
decay changes every memory, on a copy each. Beside each stands the dumbest way to the same end. The
fifth line of the table, what a session's end costs, is a column of `bench.session_growth`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from time import process_time

import wellkept
from bench.corpus import Corpus
from bench.report import Target, Timing, finish, machine, parser, table, timed_each
from bench.skill_index import reference, write_skills
from wellkept.core.clock import system_clock
from wellkept.core.codec import Json
from wellkept.memory.lifecycle.decay import decay

MEMORIES, SKILLS, ROUNDS = 2_000, 50, 9
WANTED = {"context at a start": 50, "skills read": 100, "skills matched": 10, "decay": 100}


def measure(folder: Path) -> dict[str, tuple[float, float]]:
    """Processor milliseconds of each line of the table, and of its dumbest way."""
    root = folder / "project"
    root.mkdir()
    files = write_skills(root, SKILLS)
    path = folder / "memory.db"
    texts = [one.content for batch in Corpus().batches(MEMORIES) for one in batch.memories]

    def opened(store: Path = path) -> wellkept.Wellkept:
        return wellkept.open(store, cwd=root, environment={"HOME": str(folder)})

    with opened() as wk:
        wk.remember_many(texts)
        words = [" ".join(text.split()[:8]) for text in texts[:60]]
        start = _cpu(timed_each(lambda _: wk.context(), range(30), warm_up=3))
        scan = _cpu(timed_each(lambda one: sum(one in t for t in texts), words))
        matched = _cpu(timed_each(wk.skills.select, words, warm_up=3))
        bodies = [file.read_text("utf-8") for file in files]
        looked = _cpu(
            timed_each(lambda one: max(sum(w in b for w in one.split()) for b in bodies), words)
        )
        reading = _cpu(timed_each(lambda _: sum(1 for _ in wk.iterate()), range(ROUNDS)))
    read = _cpu(timed_each(lambda _: _skills(opened), range(ROUNDS), warm_up=1))
    hashed = _cpu(timed_each(lambda _: reference(files), range(ROUNDS), warm_up=1))
    decays: list[float] = []
    for number in range(ROUNDS):
        copy = folder / f"{number}.db"
        shutil.copy(path, copy)
        with wellkept.open(
            copy,
            cwd=root,
            environment={"HOME": str(folder)},
            clock=lambda: system_clock() + timedelta(days=100),
        ) as wk:
            before = process_time()
            if not decay(wk.engine, project=wk.project).changed:
                raise SystemExit("Nothing decayed: silence was measured.")
            decays.append(process_time() - before)
    return {
        "context at a start": (start, scan),
        "skills read": (read, hashed),
        "skills matched": (matched, looked),
        "decay": (sorted(decays)[ROUNDS // 2] * 1000, reading),
    }


def _skills(opened: Callable[[], wellkept.Wellkept]) -> int:
    with opened() as wk:
        return len(wk.skills.index().skills)


def _cpu(timing: Timing) -> float:
    return timing.cpu_p50_ms or 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    chosen = parser(__doc__).parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-latency-") as name:
        found = measure(Path(name))
    targets = [Target(f"{name}, CPU ms", WANTED[name], ms) for name, (ms, _) in found.items()]
    figures: dict[str, Json] = {
        "machine": machine(),
        "memories": MEMORIES,
        "skills": SKILLS,
        "cpu_ms": {name: {"measured": ms, "dumbest": dumb} for name, (ms, dumb) in found.items()},
        "targets": [target.as_json() for target in targets],
    }
    rows = [[name, str(WANTED[name]), f"{ms:.1f}", f"{d:.1f}"] for name, (ms, d) in found.items()]
    head = ["CPU ms", "wanted", "measured", "dumbest way"]
    finish("documents_latency", figures, as_json=chosen.json, lines=table(head, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
