"""Sync of many laptops with one server over real HTTP: requests, time, and what broke.

    python -m bench.sync [--laptops 20] [--rounds 20] [--seed 1] [--bad 0.3] [--json]

Each laptop has its own SQLite file and a clock up to nine days off; connections are cut or doubled
at random. In the end all must say the same, or it fails.
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

from bench.report import finish, parser, table
from tests.server.laptops import BadLine, Laptop, team_server
from tests.server.test_sync_laptops import Simulation, settle
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
    rows = [[name, str(value)] for name, value in figures.items()]
    finish("sync", dict(figures), as_json=chosen.json, lines=table(["figure", "value"], rows))
    return 0 if len(views) == 1 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
