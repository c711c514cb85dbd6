"""A words-only recall in a new process, against the least a Python process needs for a query.

The reference is `python -c` that imports sqlite3 and json, asks the same database for any of the
same words once and prints what it found. The three take turns, so that a busy machine slows all
of them alike.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from bench.corpus import PROJECT_NAME, Query
from bench.peers import match_any
from bench.report import Timing, ratio
from holdfast.core.payloads import Json

_REFERENCE = """
import sqlite3, json, sys
db = sqlite3.connect(sys.argv[1])
rows = db.execute(
    "SELECT m.id, m.content, -w.rank FROM words w JOIN memories m ON m.row = w.rowid"
    " WHERE words MATCH ? ORDER BY w.rank LIMIT 10", (sys.argv[2],)).fetchall()
print(json.dumps(rows))
"""
_LIBRARY = """
import sys, holdfast
with holdfast.open(sys.argv[1], project=sys.argv[3]) as hf:
    for hit in hf.recall(sys.argv[2], mode="words"):
        print(hit.memory.short, hit.score, hit.memory.content)
"""


def figures(database: Path, queries: Sequence[Query], *, rounds: int) -> dict[str, Json]:
    """Times of new processes, and how many times the reference they take."""
    seconds: dict[str, list[float]] = {"reference": [], "library": [], "command": []}
    environment = {**os.environ, "HOLDFAST_HOME": str(database.parent)}
    for number in range(rounds + 1):
        query = queries[number % len(queries)]
        for name, command in _commands(database, query).items():
            took = _run(command, environment)
            if number:  # the first round fills the page cache and writes byte code
                seconds[name].append(took)
    timings = {name: Timing.of(series) for name, series in seconds.items()}
    reference = timings["reference"].p50_ms
    return {
        **{name: timing.as_json() for name, timing in timings.items()},
        "library_ratio": ratio(timings["library"].p50_ms, reference),
        "command_ratio": ratio(timings["command"].p50_ms, reference),
    }


def _commands(database: Path, query: Query) -> dict[str, list[str]]:
    python, path = sys.executable, str(database)
    script = Path(sys.executable).with_name("holdfast")
    ask = ["--project", PROJECT_NAME, "recall", "--mode", "words", "--json", query.text]
    return {
        "reference": [python, "-c", _REFERENCE, path, match_any(query.text)],
        "library": [python, "-c", _LIBRARY, path, query.text, PROJECT_NAME],
        "command": [str(script), *ask] if script.exists() else [python, "-m", "holdfast.cli", *ask],
    }


def _run(command: Sequence[str], environment: Mapping[str, str]) -> float:
    started = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    took = perf_counter() - started
    if done.returncode or not done.stdout.strip():
        raise RuntimeError(f"{' '.join(command[:3])} found nothing or failed: {done.stderr[-800:]}")
    return took
