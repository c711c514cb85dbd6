"""Questions as people ask a project: how it is run, what fails, what was decided, who, where, why.

    python -m bench.asked [--projects FOLDER] [--seeds 4] [--show] [--json]

Asks `wk.ask` without a model. The demo of each seed is made here; FOLDER may hold clones of
spf13/cobra, encode/starlette, expressjs/express and sharkdp/fd by their short names, of which
`wellkept init` learns. `bench/data/asked.jsonl` says what a right answer has; where that is empty
nothing is known, and saying so is right. The set was written before the first run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Target, finish, machine, parser, say, table
from wellkept import open as open_memory
from wellkept.api import Wellkept

QUESTIONS = Path(__file__).parent / "data" / "asked.jsonl"
DEMO = "demo"


def _run(words: list[str], *, home: Path, at: Path) -> None:
    command = [sys.executable, "-m", "wellkept.cli", *words]
    environment = {**os.environ, "WELLKEPT_HOME": str(home)}
    subprocess.run(command, cwd=at, env=environment, check=True, capture_output=True)


def stores(folder: Path, projects: Path | None, seeds: int) -> Iterator[tuple[str, Path, Path]]:
    """Kind, root and database of each project."""
    for seed in range(1, seeds + 1):
        say(f"demo of seed {seed}")
        place = folder / f"{DEMO}{seed}"
        words = ["admin", "demo", "--seed", str(seed), "--keep", str(place), "--no-serve"]
        _run(words, home=folder / "none", at=folder)
        yield DEMO, place / "harbour", place / "home" / "memory.db"
    for root in sorted(projects.iterdir()) if projects else ():
        say(root.name)
        home = folder / f"home-{root.name}"
        _run(["init", "--json"], home=home, at=root)
        yield root.name, root, home / "memory.db"


def is_right(wk: Wellkept, question: str, wanted: str) -> bool:
    """Whether an answer has what it should; without that, whether nothing is known."""
    answer = wk.ask(question)
    if not wanted:
        return not answer.known
    return answer.known and re.search(wanted, answer.answer) is not None


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__)
    options.add_argument("--projects", type=Path, help="a folder with clones")
    options.add_argument("--seeds", type=int, default=4, help="how many demos")
    options.add_argument("--show", action="store_true", help="print every wrong answer")
    given = options.parse_args()
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    counts: dict[str, list[int]] = {}
    lines: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        opened: dict[str, list[Wellkept]] = {}
        for kind, root, database in stores(folder, given.projects, given.seeds):
            wk = stack.enter_context(open_memory(database, cwd=root))
            opened.setdefault(kind, []).append(wk)
        for number, row in enumerate(row for row in rows if row["of"] in opened):
            of = opened[row["of"]]
            right = is_right(of[number % len(of)], row["q"], row["has"])
            count = counts.setdefault(row["of"], [0, 0])
            count[0] += right
            count[1] += 1
            if not right and given.show:
                lines.append(f"wrong: {row['of']}: {row['q']}")
    asked = sum(count for _, count in counts.values())
    share = sum(right for right, _ in counts.values()) / max(asked, 1)
    finish(
        "asked",
        {
            "counts": {kind: {"right": right, "asked": of} for kind, (right, of) in counts.items()},
            "targets": [Target("right, share", 0.8, share, at_least=True).as_json()],
            "machine": machine(),
        },
        as_json=given.json,
        lines=[
            *table(
                ("project", "right", "asked"),
                [(kind, str(right), str(of)) for kind, (right, of) in counts.items()],
            ),
            *lines,
        ],
    )


if __name__ == "__main__":
    main()
