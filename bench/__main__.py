"""Run every benchmark, one after another: `python -m bench [--only NAME,NAME] [--quick]`.

Each part is a process of its own that prints one JSON object last; it is kept in
`bench/out/NAME.json`. A part whose data is not given is skipped and says so. Parts that would
rewrite shipped files run in their checking mode.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from bench.report import OUT, finish, parser, say, table
from wellkept.core.codec import Json


@dataclass(frozen=True, slots=True)
class Part:
    """One benchmark: its module and what it is called with."""

    name: str
    arguments: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    data: bool = False
    repo: bool = False
    """It measures a repository that has to be given."""


PARTS = (
    Part("redaction"),
    Part("commands"),
    Part("calibrate", ("--check",)),
    Part("embedders"),
    Part("facts"),
    Part("notes"),
    Part("change", ("--split", "all")),
    Part("skills"),
    Part("skill_hints"),
    Part("skill_index", quick=("--skills", "50")),
    Part("locomo", data=True),
    Part("longmemeval", data=True),
    Part("scale", quick=("--sizes", "2000", "--queries", "60", "--cold-rounds", "3")),
    Part("backfill", quick=("--megabytes", "1.5", "--rounds", "1")),
    Part("team_load", quick=("--rows", "2000", "--clients", "8", "--seconds", "3")),
    Part("hooks", quick=("--memories", "500", "--rounds", "3")),
    Part("crash", quick=("--kills", "10", "--clients", "8", "--rounds", "1")),
    Part("compaction", quick=("--quick",)),
    Part("mcp_tokens"),
    Part("mcp_start", quick=("--rounds", "2")),
    Part("completion", quick=("--rounds", "2")),
    Part("page", quick=("--rows", "3000", "--queries", "2")),
    Part("growth", quick=("--rows", "3000", "--queries", "40")),
    Part("documents_latency"),
    Part("upkeep", quick=("--rows", "2000")),
    Part("projects", quick=("--rows", "2000", "--queries", "30")),
    Part("session_growth", quick=("--sessions", "4", "--events", "60")),
    Part("closure", quick=("--nodes", "2000", "--edges", "6000")),
    Part("graph", quick=("--updates", "2"), repo=True),
    Part("imports", repo=True),
    Part("cochange", repo=True),
    Part("localise", repo=True),
)


@dataclass(frozen=True, slots=True)
class Done:
    """How one part went."""

    name: str
    status: str
    seconds: float
    figures: Json = None


def run_part(part: Part, *, data: Path | None, repo: Path | None = None, quick: bool) -> Done:
    """Run one part to its end; it prints its own progress."""
    if find_spec(f"bench.{part.name}") is None:
        return Done(part.name, "no such part", 0.0)
    if part.data and data is None:
        return Done(part.name, f"skipped: give --{part.name} FILE", 0.0)
    if part.repo and repo is None:
        return Done(part.name, "skipped: give --repo PATH", 0.0)
    command = [sys.executable, "-m", f"bench.{part.name}", *part.arguments, "--json"]
    command += part.quick if quick else ()
    command += ["--data", str(data)] if part.data else ()
    command += ["--repo", str(repo)] if part.repo else ()
    say(f"-- {part.name}")
    started = perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    seconds = perf_counter() - started
    figures = last_object(done.stdout)
    if done.returncode:
        return Done(part.name, f"failed with exit code {done.returncode}", seconds, figures)
    if figures is None:
        return Done(part.name, "printed no JSON object", seconds)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{part.name}.json").write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    return Done(part.name, "ok", seconds, figures)


def last_object(printed: str) -> dict[str, Json] | None:
    """The JSON object in the last line, or over the last lines, of what was printed."""
    text = printed.strip()
    starts = [text.rfind("\n{") + 1, text.find("{")]
    for start in starts:
        try:
            found: object = json.loads(text[start:])
        except ValueError:
            continue
        if isinstance(found, dict):
            return found  # pyright: ignore[reportUnknownVariableType]
    return None


def main(arguments: Sequence[str]) -> int:
    """Run the parts that were asked for; fails when one of them failed."""
    options = parser(__doc__)
    options.add_argument("--only", default="", help="names of parts, with commas")
    options.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    options.add_argument("--repo", type=Path, help="a git checkout, for the parts on code graphs")
    for part in PARTS:
        if part.data:
            options.add_argument(f"--{part.name}", type=Path, metavar="FILE", help="its data file")
    chosen = options.parse_args(arguments)
    only: str = chosen.only
    wanted = {name for name in only.split(",") if name}
    done = [
        run_part(part, data=getattr(chosen, part.name, None), repo=chosen.repo, quick=chosen.quick)
        for part in PARTS
        if not wanted or part.name in wanted
    ]
    figures: dict[str, Json] = {
        part.name: {"status": part.status, "seconds": round(part.seconds, 1)} for part in done
    }
    rows = [[part.name, f"{part.seconds:.1f}", part.status] for part in done]
    finish("all", figures, as_json=chosen.json, lines=table(["part", "s", "status"], rows))
    return 1 if any(part.status.startswith(("failed", "printed")) for part in done) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
