"""How fast old transcripts are taken in, end to end and by stage, on one core.

`python -m bench.backfill [--megabytes N] [--seed N] [--json]`: one JSON object is printed last. The
transcripts are made from a seed (`bench.transcripts`); what they are made of is printed. Time is
this process's CPU time, the least of some rounds; beside it the wall clock, and as reference what
`json.loads` alone takes for the same lines. Every round takes everything into a new store.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import wellkept
from bench.report import finish, machine, parser, table
from bench.transcripts import write_transcripts
from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.registry import transcripts
from wellkept.core.chat.transcripts import ReadStats, Transcript
from wellkept.core.codec import Json
from wellkept.core.records import record
from wellkept.core.session.events import Event
from wellkept.observe.imports.transcripts import (
    TranscriptFilter,
    TranscriptReport,
    import_transcripts,
)
from wellkept.observe.session.reducer import apply_events
from wellkept.text.shell.environment import Environment, ProjectLocation

ROUNDS = 5
TARGET_MB_PER_S = 20.0


@record
class Took:
    """CPU and wall seconds of one run."""

    cpu_s: float
    wall_s: float


def main() -> None:
    """Print the figures."""
    arguments = parser(__doc__)
    arguments.add_argument("--megabytes", type=float, default=24.0)
    arguments.add_argument("--seed", type=int, default=3)
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="wellkept-backfill-") as folder:
        result, lines = figures(
            Path(folder), megabytes=options.megabytes, seed=options.seed, rounds=options.rounds
        )
    finish("backfill", result, as_json=options.json, lines=lines)


def figures(
    folder: Path, *, megabytes: float, seed: int, rounds: int
) -> tuple[dict[str, Json], list[str]]:
    """Everything that is measured, and lines for people."""
    kept = folder / "projects" / "-home-dev-shop"
    mix = write_transcripts(kept, megabytes=megabytes, seed=seed)
    size = sum(path.stat().st_size for path in kept.iterdir()) / 1e6
    found = _found(folder)
    stages = {
        "json.loads alone (reference)": _best(lambda: _parsed(kept), rounds),
        "reading into events": _best(lambda: _read(found), rounds),
        "reading and folding": _best(lambda: _folded(found), rounds),
    }
    taken = [_taken_in(folder, learn=False) for _ in range(max(1, rounds))]
    learned = [_taken_in(folder, learn=True) for _ in range(max(1, rounds))]
    stages["taken into a store"] = end = _least([took for took, _ in taken])
    stages["taken in and learned from"] = both = _least([took for took, _ in learned])
    report = taken[-1][1]
    reference = stages["json.loads alone (reference)"]
    result: dict[str, Json] = {
        "megabytes": round(size, 2),
        "seed": seed,
        "sessions": report.new,
        "events": report.events,
        "prompts": report.prompts,
        "observations": report.observations,
        "mix": {**mix.shares()},
        "cpu_mb_per_s": round(size / end.cpu_s, 1),
        "wall_mb_per_s": round(size / end.wall_s, 1),
        "with_learning_cpu_mb_per_s": round(size / both.cpu_s, 1),
        "json_loads_mb_per_s": round(size / reference.cpu_s, 1),
        "times_json_loads": round(end.cpu_s / reference.cpu_s, 2),
        "stage_cpu_mb_per_s": {name: round(size / t.cpu_s, 1) for name, t in stages.items()},
        "target_mb_per_s": TARGET_MB_PER_S,
        "met": size / end.cpu_s >= TARGET_MB_PER_S,
        "machine": machine(),
    }
    return result, _lines(size, mix.shares(), stages, report)


def _found(folder: Path) -> list[Transcript]:
    folders = ClientFolders(
        home=folder, project=folder, environment={"CLAUDE_CONFIG_DIR": str(folder)}
    )
    return [t for t in transcripts("claude-code", folders=folders) if isinstance(t, Transcript)]


def _parsed(folder: Path) -> int:
    count = 0
    for path in folder.iterdir():
        with path.open("rb") as lines:
            count += sum(1 for line in lines if json.loads(line))
    return count


def _read(found: list[Transcript]) -> int:
    return sum(1 for t in found for part in t.parts for _ in part.read(ReadStats()))


def _folded(found: list[Transcript]) -> int:
    world = Environment(locate=lambda _: ProjectLocation("name:bench"))
    count = 0
    for transcript in found:
        events: list[Event] = [s.event for part in transcript.parts for s in part.read(ReadStats())]
        count += len(apply_events(None, events, environment=world).drafts)
    return count


def _taken_in(folder: Path, *, learn: bool) -> tuple[Took, TranscriptReport]:
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    with wellkept.open(home / "memory.db", project="bench", environment={}) as wk:
        wk.engine.store.describe()
        wall, cpu = time.perf_counter(), time.process_time()
        report = import_transcripts(
            wk.services,
            "claude-code",
            _found(folder),
            wanted=TranscriptFilter(),
            environment={},
            learn=learn,
        )
        took = Took(time.process_time() - cpu, time.perf_counter() - wall)
    return took, report


def _best(run: Callable[[], int], rounds: int) -> Took:
    took: list[Took] = []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        took.append(Took(time.process_time() - cpu, time.perf_counter() - wall))
    return _least(took)


def _least(took: list[Took]) -> Took:
    return Took(min(t.cpu_s for t in took), min(t.wall_s for t in took))


def _lines(
    size: float, shares: dict[str, float], stages: dict[str, Took], report: TranscriptReport
) -> list[str]:
    rows = [
        [name, f"{t.cpu_s:.2f}", f"{size / t.cpu_s:.1f}", f"{t.wall_s:.2f}"]
        for name, t in stages.items()
    ]
    return [
        f"{size:.1f} MB in {report.new} sessions; share of bytes by kind of record:",
        ", ".join(f"{kind} {share:.1%}" for kind, share in shares.items()),
        f"{report.events} events -> {report.prompts} prompts, {report.observations} observations",
        *table(["stage", "CPU s", "MB/s of CPU", "wall s"], rows),
    ]


if __name__ == "__main__":
    main()
