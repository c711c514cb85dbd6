"""Build the four distributions, each sdist and wheel; refuse what should not be published.

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
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = "wellkept/api/page/index.html"
# Each distribution, with the files that it is nothing without.
DISTRIBUTIONS = {
    "wellkept": ("wellkept/py.typed", "wellkept/clients/hook.py", "wellkept/api/mcp/tools.json"),
    "wellkept-agent": ("wellkept_agent/py.typed", "wellkept_agent/plugin.py"),
    "wellkept-team": ("wellkept_team/py.typed", "wellkept_team/plugin.py"),
    "wellkept-adapters": ("wellkept_adapters/py.typed",),
}
# What goes into a build; the rest of its folder is for people who work on it.
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src")
UNWANTED = ("tests/", "bench/", "__pycache__", ".pyc", "/.env")


def build(out: Path, name: str = "wellkept") -> tuple[Path, Path]:
    """Build a distribution from a copy of its sources; returns the sdist and the wheel."""
    with tempfile.TemporaryDirectory(prefix="wellkept-dist-") as folder:
        copy = Path(folder)
        for source in SOURCES:
            _copy(ROOT / "packages" / name / source, copy / source)
        subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    stem = f"{name.replace('-', '_')}-{version()}"
    (wheel,) = out.glob(f"{stem}-*.whl")
    return out / f"{stem}.tar.gz", wheel


def project(name: str = "wellkept") -> dict[str, Any]:
    """The table `[project]` of a distribution."""
    text = (ROOT / "packages" / name / "pyproject.toml").read_text("utf-8")
    return tomllib.loads(text)["project"]


def version() -> str:
    """The one version of all distributions."""
    return project()["version"]


def problems(sdist: Path, wheel: Path, *, needed: Iterable[str]) -> list[str]:
    """Why the two must not be published."""
    with tarfile.open(sdist) as archive:
        # Without the folder `wellkept-VERSION/` and the source folder below it.
        inside = [name.partition("/")[2] for name in archive.getnames()]
    found = list(_problems("sdist", [name.removeprefix("src/") for name in inside], needed))
    with zipfile.ZipFile(wheel) as archive:
        found += _problems("wheel", archive.namelist(), needed)
    return found


def _problems(kind: str, names: Iterable[str], needed: Iterable[str]) -> Iterable[str]:
    listed = set(names)
    for name in needed:
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
    """Build, name and check each."""
    parser = argparse.ArgumentParser(prog="python -m scripts.dist")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--without-page", action="store_true")
    chosen = parser.parse_args(arguments)
    complaints: list[str] = []
    for name, needed in DISTRIBUTIONS.items():
        page = () if chosen.without_page or name != "wellkept" else (PAGE,)
        sdist, wheel = build(chosen.out, name)
        complaints += problems(sdist, wheel, needed=(*needed, *page))
        print(sdist, wheel, sep="\n")
    for line in complaints:
        print(line, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
