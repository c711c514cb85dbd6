"""Sync of many laptops with one server over real HTTP: requests, time, and what broke.

    python -m bench.sync [--laptops 20] [--rounds 20] [--seed 1] [--bad 0.3] [--json]

Each laptop has its own SQLite file and a clock up to nine days off; connections are cut or doubled
at random. In the end all must say the same, or it fails and prints what differs: each memory with
its record on the server, and what each group of laptops holds.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from time import perf_counter, process_time

import wellkept
from bench.bad_line import BadLine
from bench.laptop_work import Simulation, settle
from bench.laptops import PROJECT, Laptop, team_server
from bench.report import finish, parser, table
from wellkept.core.team.records import SharedRecord
from wellkept.memory.edit import Bases
from wellkept.testing.fakes import ManualClock


def main(arguments: Sequence[str]) -> int:
    """Run it; fails when two laptops differ."""
    options = parser(__doc__)
    options.add_argument("--laptops", type=int, default=20)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--bad", type=float, default=0.3)
    chosen = options.parse_args(arguments)
    chance, clock = random.Random(chosen.seed), ManualClock()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        served = stack.enter_context(team_server(folder / "server.db", folder / "s", clock))
        line = stack.enter_context(BadLine(served.address, seed=chosen.seed, bad=0.0))
        laptops = [
            Laptop(
                folder / f"l{number}",
                f"p{number:02}",
                role="reviewer" if number < 4 else "writer",
                skew=timedelta(days=chance.uniform(-9, 9)),
            )
            for number in range(chosen.laptops)
        ]
        for one in laptops:
            stack.callback(one.wk.close)
            one.join(line.address)
        work = Simulation(laptops, seed=chosen.seed)
        line.bad = chosen.bad
        started, cpu = perf_counter(), process_time()
        for _ in range(chosen.rounds):
            clock.advance(days=1)
            work.round()
        line.bad = 0.0
        settle(laptops, laptops[0])
        views = {frozenset(one.view()) for one in laptops}
        told = _differences(laptops, _records(folder, clock)) if len(views) > 1 else []
        figures = {
            "laptops": chosen.laptops,
            "rounds": chosen.rounds,
            "statements": len(work.said),
            "held_in_the_end": len(laptops[0].says()),
            "cut": line.cuts,
            "doubled": line.doubled,
            "sent_bytes": line.sent,
            "seconds": round(perf_counter() - started, 1),
            "processor_seconds": round(process_time() - cpu, 1),
            "different_views": len(views),
        }
    print("\n".join(told), file=sys.stderr, end="\n" if told else "")
    rows = [[name, str(value)] for name, value in figures.items()]
    finish("sync", dict(figures), as_json=chosen.json, lines=table(["figure", "value"], rows))
    return 0 if len(views) == 1 else 1


def _records(folder: Path, clock: ManualClock) -> dict[str, SharedRecord]:
    """The records of the server, by id."""
    with wellkept.open(
        folder / "server.db",
        project=PROJECT,
        cwd=folder,
        embedder="none",
        clock=clock,
        environment={"WELLKEPT_HOME": str(folder / "s")},
    ) as server:
        found = server.engine.store.shared_changes(
            server.project, after=0, limit=100_000, seen_by=None
        )
    return {one.id: one for one in found}


def _differences(laptops: list[Laptop], records: dict[str, SharedRecord]) -> list[str]:
    """Each memory that is not the same everywhere: on the server, and by what laptops hold."""
    held = [{str(row[0]): row for row in one.view()} for one in laptops]
    lines: list[str] = []
    for memory_id in sorted({name for view in held for name in view}):
        groups: dict[object, list[Laptop]] = {}
        for laptop, view in zip(laptops, held, strict=True):
            groups.setdefault(view.get(memory_id), []).append(laptop)
        if len(groups) == 1:
            continue
        lines += [f"{memory_id} differs", f"  server: {records.get(memory_id)}"]
        for group in groups.values():
            first = group[0].wk
            lines += [
                f"  {', '.join(one.name for one in group)}:",
                f"    memory: {next(iter(first.engine.store.get([memory_id])), None)}",
                f"    base: {Bases(first.engine, first.project).get(memory_id)}",
            ]
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
