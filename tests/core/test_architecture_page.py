"""docs/architecture.md names files that exist, and every room and distribution."""

from __future__ import annotations

import re

import pytest

from scripts.architecture import ROOMS, ROOT, folder, layers

pytestmark = pytest.mark.repository

TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMES = [name for row in layers() for name in row]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", TEXT))))
def test_every_named_file_is_there(name: str) -> None:
    folders = (ROOT, ROOMS, *(folder(one) for one in NAMES))
    assert any((one / name).is_file() for one in folders)


def test_every_room_is_listed_with_the_file_to_open_first() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (`.+`) \|$", TEXT, re.MULTILINE))
    assert set(rows) == set(NAMES)
    for room, files in rows.items():
        for name in re.findall(r"`([\w/]+\.py)`", files):
            assert (folder(room) / name).is_file()


def test_every_room_is_drawn() -> None:
    packages = {path.parent.name for path in ROOMS.glob("*/__init__.py")}
    others = {path.name for path in ROOT.glob("packages/*/src/wellkept_*") if path.is_dir()}
    assert set(NAMES) == packages - {"testing"} | {one for one in others if "." not in one}
