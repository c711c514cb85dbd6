"""How long it takes to load an index of skills: from nothing, and again when nothing changed.

`python -m bench.skill_index [--json] [--skills N]`. A project with N skills (usual: 500, about
2.5 KB each) is written to a temporary folder. Cold is a new catalogue that reads every file; warm
is the same catalogue asked again; after an edit is the same with one file changed. The reference
reads and hashes the same files and parses their front matter with PyYAML (libyaml where it has
it), and does nothing else. Times are processor time, the best of several rounds.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from time import process_time, time

import yaml

from bench.report import Target, finish, machine, parser, ratio, table
from wellkept.core.codec import Json
from wellkept.skills.sources.catalog import SkillCatalog
from wellkept.skills.sources.locations import project_locations
from wellkept.skills.sources.scanner import FolderScanner

_ROUNDS = 9
_COLD_LIMIT_MS, _WARM_LIMIT_MS = 100.0, 5.0
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT = (
    """---
name: skill-{number}
description: Handles case {number}. Use it when the plan mentions number {number} or its files.
license: MIT
allowed-tools: Read Grep Bash(git:*)
metadata:
  author: somebody
  version: "1.{number}"
---

# Skill {number}

"""
    + "1. Look at the files, then change one thing at a time and run the tests.\n" * 30
)


def write_skills(root: Path, count: int) -> list[Path]:
    """A project with that many skills, dated long ago."""
    files: list[Path] = []
    for number in range(count):
        path = root / ".claude" / "skills" / f"skill-{number}" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(_TEXT.format(number=number), "utf-8")
        files.append(path)
    long_ago_s = time() - 10_000
    for path in (*files, *(file.parent for file in files), *files[0].parents[1:4], root):
        os.utime(path, (long_ago_s, long_ago_s))
    return files


def reference(files: Sequence[Path]) -> int:
    """The least that any reader has to do."""
    names: set[str] = set()
    for file in files:
        data = file.read_bytes()
        sha256(data).hexdigest()
        head = data.decode().split("---\n", 2)[1]
        names.add(yaml.load(head, Loader=_LOADER)["name"])
    return len(names)


def best_ms(action: Callable[[], object]) -> float:
    """The least processor time of several rounds, in milliseconds."""
    seconds: list[float] = []
    for _ in range(_ROUNDS):
        started = process_time()
        action()
        seconds.append(process_time() - started)
    return round(min(seconds) * 1000, 3)


def measure(count: int) -> dict[str, float]:
    """Every figure, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = write_skills(root, count)

        def made() -> SkillCatalog:
            return SkillCatalog([FolderScanner(place) for place in project_locations(root)])

        catalogue = made()
        if len(catalogue.index()) != count or catalogue.index().findings:
            raise SystemExit("The index is not what was written.")

        def edit() -> None:
            files[0].write_text(files[0].read_text("utf-8") + "More.\n", "utf-8")
            catalogue.index()

        return {
            "reference": best_ms(lambda: reference(files)),
            "cold": best_ms(lambda: made().index()),
            "warm": best_ms(catalogue.index),
            "after_an_edit": best_ms(edit),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--skills", type=int, default=500, help="how many skills")
    chosen = options.parse_args(arguments)
    found = measure(chosen.skills)
    targets = [
        Target("cold_ms", _COLD_LIMIT_MS, found["cold"]),
        Target("warm_ms", _WARM_LIMIT_MS, found["warm"]),
    ]
    figures: dict[str, Json] = {
        "machine": machine(),
        "skills": chosen.skills,
        "ms": dict[str, Json](found),
        "times_the_reference": {
            name: ratio(value, found["reference"]) for name, value in found.items()
        },
        "targets": [target.as_json() for target in targets],
    }
    rows = [
        [name, f"{value:.2f}", f"{ratio(value, found['reference'])}"]
        for name, value in found.items()
    ]
    finish("skill_index", figures, as_json=chosen.json, lines=table(["ms", "best", "times"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
