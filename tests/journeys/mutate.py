"""Breaks the product, one row at a time, and sees that its journey notices.

`python -m tests.journeys.mutate [ROW ...]` reads mutations.toml. Each line says what to replace in
which file and which journey must then fail. The change is made in a copy of the checkout, whose
sources come first on PYTHONPATH; the checkout is never touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
SOURCES = sorted((ROOT / "packages").glob("*/src"))


@dataclass(frozen=True, slots=True)
class Mutation:
    """What is taken away, and the journey that must notice."""

    row: str
    file: str
    old: str
    new: str
    journey: str


def mutations() -> list[Mutation]:
    """Every line of the list."""
    lines = tomllib.loads((FOLDER / "mutations.toml").read_text("utf-8"))["mutation"]
    return [Mutation(**line) for line in lines]


@contextmanager
def copied() -> Generator[Path]:
    """A copy of the checkout: what git knows, and the sources with the page that was built."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for source in SOURCES:
            shutil.copytree(source, Path(folder, source.relative_to(ROOT)), ignore=ignore)
        for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
            if (ROOT / name).is_file() and not (target := Path(folder, name)).exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target)
        yield Path(folder)


def passes(journey: str, copy: Path) -> bool:
    """Whether a journey passes in a copy."""
    paths = [str(copy / source.relative_to(ROOT)) for source in SOURCES]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:xdist",
        FOLDER.relative_to(ROOT),
    ]
    done = subprocess.run(
        [*command, "-k", journey],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{journey} could not run:\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def caught(mutation: Mutation, copy: Path) -> bool:
    """Whether the journey fails once the behaviour is gone; the copy is as it was afterwards."""
    file = copy / mutation.file
    text = file.read_text("utf-8")
    if text.count(mutation.old) != 1:
        raise SystemExit(f"{mutation.row}: {mutation.file} does not hold the text once")
    _write(file, text.replace(mutation.old, mutation.new))
    try:
        return not passes(mutation.journey, copy)
    finally:
        _write(file, text)


def _write(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")
    # Compiled code is told apart by whole seconds only.
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        compiled.unlink()


def main(rows: Sequence[str]) -> int:
    """Run all mutations, or those of some rows; 1 when one was not noticed."""
    missed = 0
    with copied() as copy:
        for one in mutations():
            if rows and one.row not in rows:
                continue
            is_caught = caught(one, copy)
            missed += not is_caught
            said = "caught" if is_caught else "NOT NOTICED"
            print(f"{one.row}: {said} by {one.journey}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
