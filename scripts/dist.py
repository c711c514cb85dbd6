"""Build the sdist and, from it, the wheel; refuse what should not be published.

    python -m scripts.dist [--out DIST] [--without-page]

The page must have been built (`make page`): a wheel without it serves no page, so it is refused
unless `--without-page` says that this is wanted.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "wellkept/api/page/index.html"
NEEDED = ("wellkept/py.typed", "wellkept/clients/hook.py", "wellkept/server/mcp/tools.json")
# What goes into a build; the rest of the repository is for people who work on it.
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src")
UNWANTED = ("tests/", "bench/", "__pycache__", ".pyc", "/.env")


def build(out: Path) -> tuple[Path, Path]:
    """Build both from a copy of the sources; returns the sdist and the wheel."""
    with tempfile.TemporaryDirectory(prefix="wellkept-dist-") as folder:
        copy = Path(folder)
        for name in SOURCES:
            _copy(ROOT / name, copy / name)
        subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    (sdist,) = out.glob(f"wellkept-{version()}.tar.gz")
    (wheel,) = out.glob(f"wellkept-{version()}-*.whl")
    return sdist, wheel


def version() -> str:
    """The version in pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def problems(sdist: Path, wheel: Path, *, page: bool) -> list[str]:
    """Why the two must not be published."""
    with tarfile.open(sdist) as archive:
        # Without the folder `wellkept-VERSION/` and the source folder below it.
        inside = [name.partition("/")[2] for name in archive.getnames()]
    found = list(_problems("sdist", [name.removeprefix("src/") for name in inside], page=page))
    with zipfile.ZipFile(wheel) as archive:
        found += _problems("wheel", archive.namelist(), page=page)
    return found


def _problems(kind: str, names: Iterable[str], *, page: bool) -> Iterable[str]:
    listed = set(names)
    for name in (*NEEDED, *((PAGE,) if page else ())):
        if name not in listed:
            hint = " Run `make page` first." if name == PAGE else ""
            yield f"The {kind} lacks {name}.{hint}"
    for name in sorted(listed):
        if any(part in name for part in UNWANTED):
            yield f"The {kind} has {name}, which is not to be published."


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.pyc")
        shutil.copytree(source, target, ignore=left_out)
    else:
        shutil.copy2(source, target)


def main(arguments: list[str]) -> int:
    """Build, check, and name what was built."""
    parser = argparse.ArgumentParser(prog="python -m scripts.dist")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--without-page", action="store_true")
    chosen = parser.parse_args(arguments)
    sdist, wheel = build(chosen.out)
    found = problems(sdist, wheel, page=not chosen.without_page)
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(sdist, wheel, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
