"""A words-only recall in a new process, against the least a Python process needs for a query.

The reference is `python -c` that imports sqlite3 and json, asks the same database for any of the
same words once and prints what it found. The three take turns, so that a busy machine slows all
of them alike. Asked are questions that words alone answer. All may keep their byte code, as a
person's programs do: where the environment forbids it, most of a start would be compiling.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import wellkept
from bench.corpus import PROJECT_NAME, Query
from bench.peers import match_any
from bench.report import Timing, ratio
from wellkept.core.codec import Json

_NO_BYTE_CODE = "PYTHONDONTWRITEBYTECODE"
_REFERENCE = """
import sqlite3, json, sys
db = sqlite3.connect(sys.argv[1])
rows = db.execute(
    "SELECT m.id, m.content, -w.rank FROM words w JOIN memories m ON m.row = w.rowid"
    " WHERE words MATCH ? ORDER BY w.rank LIMIT 10", (sys.argv[2],)).fetchall()
print(json.dumps(rows))
"""
_LIBRARY = """
import sys, wellkept
with wellkept.open(sys.argv[1], project=sys.argv[3]) as wk:
    for hit in wk.recall(sys.argv[2], mode="words", min_score=0.0):
        print(hit.memory.short, hit.score, hit.memory.content)
"""


class _Took(NamedTuple):
    seconds: float
    cpu_seconds: float


def figures(database: Path, queries: Sequence[Query], *, rounds: int) -> dict[str, Json]:
    """Times of new processes, and how many times the reference they take."""
    took: dict[str, list[_Took]] = {"reference": [], "library": [], "command": []}
    environment = {
        **{name: value for name, value in os.environ.items() if name != _NO_BYTE_CODE},
        "WELLKEPT_HOME": str(database.parent),
        "WELLKEPT_PROJECT": PROJECT_NAME,
    }
    with wellkept.open(database, project=PROJECT_NAME, environment=environment) as memory:
        answered = [one for one in queries[: 8 * rounds] if memory.recall(one.text, mode="words")]
    for number in range(rounds + 1):
        query = answered[number % len(answered)]
        for name, command in _commands(database, query).items():
            run = _run(command, environment)
            if number:  # the first round fills the page cache and writes byte code
                took[name].append(run)
    timings = {
        name: Timing.of([r.seconds for r in runs], cpu_seconds=[r.cpu_seconds for r in runs])
        for name, runs in took.items()
    }
    reference, result = timings["reference"], dict[str, Json]()
    for name, timing in timings.items():
        result[name] = timing.as_json()
        result[f"{name}_ratio"] = ratio(timing.p50_ms, reference.p50_ms)
        result[f"{name}_cpu_ratio"] = ratio(timing.cpu_p50_ms or 0.0, reference.cpu_p50_ms or 0.0)
    return result


def _commands(database: Path, query: Query) -> dict[str, list[str]]:
    python, path = sys.executable, str(database)
    script = Path(sys.executable).with_name("wellkept")
    ask = ["recall", "--mode", "words", "--min-score", "0", "--json", query.text]
    return {
        "reference": [python, "-c", _REFERENCE, path, match_any(query.text)],
        "library": [python, "-c", _LIBRARY, path, query.text, PROJECT_NAME],
        "command": [str(script), *ask] if script.exists() else [python, "-m", "wellkept.cli", *ask],
    }


def _run(command: Sequence[str], environment: Mapping[str, str]) -> _Took:
    cpu_before, started = _cpu_of_children(), perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    took = _Took(perf_counter() - started, _cpu_of_children() - cpu_before)
    if done.returncode or not done.stdout.strip():
        raise RuntimeError(f"{' '.join(command[:3])} found nothing or failed: {done.stderr[-800:]}")
    return took


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
