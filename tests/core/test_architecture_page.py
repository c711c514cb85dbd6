"""docs/architecture.md names files that exist, and every package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.repository

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages" / "wellkept" / "src" / "wellkept"
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", TEXT))))
def test_every_named_file_is_there(name: str) -> None:
    packages = [path.parent for path in PACKAGE.glob("*/__init__.py")]
    assert any((folder / name).is_file() for folder in (ROOT, PACKAGE, *packages))


def test_every_package_is_listed_with_the_file_to_open_first() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (`.+`) \|$", TEXT, re.MULTILINE))
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(rows) == packages
    for package, files in rows.items():
        for name in re.findall(r"`([\w/]+\.py)`", files):
            assert (PACKAGE / package / name).is_file()


def test_folders_stay_small_enough_to_read() -> None:
    crowded = {
        str(folder.relative_to(PACKAGE)): count
        for folder in [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())]
        if (count := len(list(folder.glob("*.py")))) > 23
    }
    assert crowded == {}
