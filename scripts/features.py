"""The manifest: every row with the journey that proves it, checked in both directions.

`python -m scripts.features` writes docs/features.md; `--check` fails when it is not fresh, when a
test cites no row or an unknown one, when a row that is called done has no test, or when a row in
part does not say why. A row shows its journeys and the tests that carry it; only where it has
neither yet, the files of the tests that cite it. Tests marked `repository` cite no row.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "docs" / "features" / "rows.toml"
PAGE = ROOT / "docs" / "features.md"
JOURNEYS = "tests/journeys/"
STATES = {"done": "yes", "part": "in part", "planned": "planned"}


@dataclass(frozen=True, slots=True)
class Row:
    """One promise."""

    id: str
    area: str
    promise: str
    state: str
    why: str = ""
    carried: tuple[str, ...] = ()


@dataclass(slots=True)
class Citations:
    """A pytest plugin that notes which rows each collected test cites."""

    by_row: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    silent: list[str] = field(default_factory=list[str])

    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        """Called by pytest once everything is collected."""
        for item in items:
            rows = [str(a) for mark in item.iter_markers("feature") for a in mark.args]
            test = item.nodeid.split("[")[0]
            if not rows and item.get_closest_marker("repository") is None:
                self.silent.append(test)
            for row in rows:
                self.by_row.setdefault(row, set()).add(test)


def read_rows() -> list[Row]:
    """The promises, in order."""
    areas = tomllib.loads(ROWS.read_text("utf-8"))["area"]
    return [
        Row(
            row["id"],
            area["name"],
            row["promise"],
            row["state"],
            row.get("why", ""),
            tuple(row.get("carried", ())),
        )
        for area in areas
        for row in area["rows"]
    ]


def collect() -> Citations:
    """Collect every test without running any."""
    citations = Citations()
    with redirect_stdout(StringIO()) as said:
        code = pytest.main(["--collect-only", "-qq", "--no-header"], [citations])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(f"{said.getvalue()}\nCollecting the tests failed ({code!r}).")
    return citations


def problems(rows: Sequence[Row], citations: Citations) -> list[str]:
    """What is wrong between the promises and the tests."""
    known = {row.id for row in rows}
    found = [f"{test} cites no row" for test in sorted(set(citations.silent))]
    found += [f"row {row} is cited but unknown" for row in sorted(set(citations.by_row) - known)]
    found += [
        f"row {row.id} is called done but no test cites it"
        for row in rows
        if row.state == "done" and not proof(row, citations)
    ]
    found += [f"row {row.id} is in part and does not say why" for row in rows if lacks_reason(row)]
    found += [
        f"row {row.id} is carried by {path}, which is not there"
        for row in rows
        for path in row.carried
        if not (ROOT / path).exists()
    ]
    return found + [
        f"row {r.id} has the unknown state {r.state}" for r in rows if r.state not in STATES
    ]


def lacks_reason(row: Row) -> bool:
    """Whether a row in part says nothing of what is missing."""
    return row.state == "part" and not row.why


def proof(row: Row, citations: Citations) -> list[str]:
    """The journeys of a row and the tests that carry it, else the files that cite it."""
    tests = sorted(citations.by_row.get(row.id, ()))
    journeys = [
        f"{Path(file).stem}: {name}"
        for file, _, name in (test.partition("::") for test in tests)
        if file.startswith(JOURNEYS)
    ]
    carried = [path.removeprefix("tests/") for path in row.carried]
    # No counts: the page would go stale with every new test.
    cited = sorted({test.split("::")[0].removeprefix("tests/") for test in tests})
    return [*journeys, *carried] or cited


def render(rows: Sequence[Row], citations: Citations) -> str:
    """The page: a table for each area."""
    lines = ["# Features and the journeys that prove them", ""]
    lines += ["You can see here what works, and which journey proves it: a user's way through the"]
    lines += ["installed product that fails when the behaviour is gone (`make test-journeys`).", ""]
    lines += ["Made by `python -m scripts.features` from `docs/features/rows.toml`.", ""]
    area = ""
    for row in rows:
        if row.area != area:
            area = row.area
            lines += [
                "",
                f"## {area}",
                "",
                "| row | works | promise | journeys and tests |",
                "|---|---|---|---|",
            ]
        shown = ", ".join(proof(row, citations)) or "-"
        state = f"{STATES[row.state]}: {row.why}" if row.why else STATES[row.state]
        lines.append(f"| {row.id} | {state} | {row.promise} | {shown} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or check it."""
    rows, citations = read_rows(), collect()
    found = problems(rows, citations)
    page = render(rows, citations)
    if "--check" not in arguments:
        PAGE.write_text(page, "utf-8")
    elif not PAGE.exists() or PAGE.read_text("utf-8") != page:
        found.append("docs/features.md is not fresh: run `python -m scripts.features`")
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
