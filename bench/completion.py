"""Processor time of a Tab in a shell, beside the start of an empty Python process.

    python -m bench.completion [--rounds 15] [--json]

Each round starts, in turn: an empty Python process; one that imports what the console script and
its table need (`re`, `json`); and completions of a command, an id and a skill, on a store
with a few hundred memories. Counted is the processor time of the whole process, in which the load
of the machine shows little.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from statistics import median
from tempfile import TemporaryDirectory

import wellkept
from bench.report import Target, finish, machine, parser, table
from wellkept.core.codec import Json

MEMORIES = 300
ALLOWED_RATIO = 5.0
_TAB = ("-c", "from wellkept.api.cli import main; main()")
_PROCESSES: dict[str, tuple[tuple[str, ...], str]] = {
    "empty Python": (("-c", "pass"), ""),
    "with re and json": (("-c", "import re, json"), ""),
    "a command": (_TAB, "wellkept re"),
    "a memory's id": (_TAB, "wellkept show "),
    "a skill": (_TAB, "wellkept skill show "),
}


def took_ms(arguments: tuple[str, ...], line: str, *, home: str) -> float:
    """Processor time of one process."""
    environment = {**os.environ, "WELLKEPT_HOME": home, "WELLKEPT_PROJECT": "bench"}
    if line:
        environment |= {"_WELLKEPT_COMPLETE": "bash", "_WELLKEPT_LINE": line}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if line and not done.stdout:
        raise RuntimeError(f"Nothing was offered for {line!r}.")
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> int:
    """Measure, print, and hold the ratios against the target."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=15)
    given = options.parse_args()
    took: dict[str, list[float]] = {name: [] for name in _PROCESSES}
    with TemporaryDirectory() as home:
        with wellkept.open(f"{home}/memory.db", project="bench", embedder="none") as wk:
            for number in range(MEMORIES):
                wk.remember(f"Fact number {number} is {number * 7}", merge_similar=False)
        for number in range(given.rounds + 1):
            for name, (arguments, line) in _PROCESSES.items():
                ms = took_ms(arguments, line, home=home)
                if number:  # the first round writes byte code
                    took[name].append(ms)
    middle = {name: median(each) for name, each in took.items()}
    bare = middle["empty Python"]
    worst = max(ms for name, ms in middle.items() if _PROCESSES[name][1]) / bare
    target = Target("slowest Tab, times an empty Python", ALLOWED_RATIO, worst)
    figures: dict[str, Json] = {
        "rounds": given.rounds,
        "processor_ms": {name: round(ms, 1) for name, ms in middle.items()},
        "times_empty_python": {name: round(ms / bare, 2) for name, ms in middle.items()},
        "targets": [target.as_json()],
        "machine": machine(),
    }
    rows = [(name, f"{ms:.1f}", f"{ms / bare:.2f}") for name, ms in middle.items()]
    lines = table(("median", "processor ms", "times empty Python"), rows)
    finish("completion", figures, as_json=given.json, lines=lines)
    return 0 if target.met else 1


if __name__ == "__main__":
    raise SystemExit(main())
