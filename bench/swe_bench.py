"""Reports of SWE-bench as queries for `bench.localise`, a line of JSON each.

    python -m bench.swe_bench --tasks FOLDER [--split development|held_out] [--all] > queries.jsonl

FOLDER is a copy of github.com/SWE-bench/swe-bench-tasks: a folder for each task with `task.yaml`,
`problem_statement.md` and `gold.patch`. Without `--all` only the tasks of SWE-bench Lite are taken,
whose fixes change one file. The split is by repository: what ranks reports is set on the reports
of the first ones, and measured on the others, which share neither code nor habits with them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.report import parser

HELD_OUT = frozenset(
    {
        "astropy/astropy", "django/django", "matplotlib/matplotlib", "scikit-learn/scikit-learn",
        "sympy/sympy",
    }
)  # fmt: skip
_FIELD = re.compile(r"^(repo|base_commit|instance_id): (\S+)$", re.M)
_LITE = re.compile(r"^- .*\bSWE-bench_Lite$", re.M)


def reports(folder: Path, *, split: str | None, lite_only: bool) -> Iterator[dict[str, str]]:
    """The tasks of a folder as entries that `bench.queries` reads."""
    for task in sorted(path.parent for path in folder.rglob("task.yaml")):
        described = (task / "task.yaml").read_text("utf-8")
        fields = dict(_FIELD.findall(described))
        is_held_out = fields.get("repo") in HELD_OUT
        wanted = split is None or is_held_out == (split == "held_out")
        if wanted and (not lite_only or _LITE.search(described)):
            yield {
                **fields,
                "problem_statement": (task / "problem_statement.md").read_text("utf-8"),
                "patch": (task / "gold.patch").read_text("utf-8"),
            }


def main(arguments: Sequence[str]) -> int:
    """Print the entries."""
    made = parser(__doc__)
    made.add_argument("--tasks", type=Path, required=True)
    made.add_argument("--split", choices=("development", "held_out"))
    made.add_argument("--all", action="store_true", help="not only those of Lite")
    chosen = made.parse_args(arguments)
    found = list(reports(chosen.tasks, split=chosen.split, lite_only=not chosen.all))
    if not found:
        raise SystemExit(f"{chosen.tasks} holds no tasks: give a copy of swe-bench-tasks.")
    for entry in found:
        print(json.dumps(entry, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
