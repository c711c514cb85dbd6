"""A damaged file ends in a clear error or is found by a deep check; never in a traceback."""

from __future__ import annotations

import math
import random
import re
import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

import wellkept
from wellkept.app.settings.model import Settings
from wellkept.core.errors import StoreCorruptError, WellkeptError
from wellkept.store import open_store
from wellkept.store.sqlite.connection.errors import readable_index

pytestmark = pytest.mark.feature("A2")

FLIPS = 150
_SUBJECTS = ("parser", "cache", "ledger", "router", "schema")


def _open(path: Path) -> wellkept.Wellkept:
    return wellkept.open(
        path,
        project="demo",
        cwd=path.parent,
        embedder="none",
        settings=Settings(recall_mode="words"),
        environment={},
    )


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("healthy") / "memory.db"
    chance = random.Random(5)
    with _open(path) as wk:
        for number in range(120):
            subject = chance.choice(_SUBJECTS)
            wk.remember(
                f"The {subject} number {number} is limited to {chance.randrange(10**6)} items",
                merge_similar=False,
                files=[f"src/{subject}.py"],
                tags=[subject],
                key=f"k{number}",
            )
    with closing(open_store(path)) as store:
        store.compact_storage()
    return path


def _use(path: Path) -> None:
    """Everything a user does, each thing by itself: one failure must not hide another."""
    with suppress(WellkeptError), _open(path) as wk:
        acts: list[Callable[[], object]] = [
            lambda: wk.recall("parser limited to items"),
            lambda: wk.recall('"number 7"'),
            lambda: wk.context("Change the cache"),
            wk.context,
            lambda: list(wk.iterate()),
            lambda: wk.list(limit=20),
            wk.stats,
            lambda: wk.get("k7"),
            lambda: wk.remember("The widget is new"),
            lambda: wk.doctor(deep=True),
            lambda: wk.maintain(dry_run=True),
        ]
        for act in acts:
            with suppress(WellkeptError):
                act()


@pytest.mark.parametrize("seed", range(FLIPS // 10))
def test_a_flipped_byte_never_ends_in_a_traceback(healthy: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(f"flip {seed}")
    size = healthy.stat().st_size
    for number in range(10):
        path = tmp_path / f"{number}" / "memory.db"
        path.parent.mkdir()
        shutil.copyfile(healthy, path)
        at = chance.randrange(size)
        with path.open("r+b") as file:
            file.seek(at)
            was = file.read(1)[0]
            file.seek(at)
            file.write(bytes([was ^ (1 << chance.randrange(8))]))
        _use(path)


def test_damaged_text_is_found_by_a_deep_check(healthy: Path, tmp_path: Path) -> None:
    raw = healthy.read_bytes()
    places = [found.start() + 6 for found in re.finditer(rb"The [a-z]+ number \d+ is limited", raw)]
    assert len(places) >= 120
    for number, at in enumerate(places[::12]):
        path = tmp_path / f"{number}.db"
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        path.chmod(0o600)
        with _open(path) as wk:
            assert not wk.doctor(deep=True).healthy


def test_an_index_with_values_that_cannot_be_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreCorruptError, match=r"search index .* is damaged") as caught,
        readable_index(tmp_path / "memory.db"),
    ):
        math.log(-1)
    assert "math domain" not in str(caught.value)
    assert "doctor --repair" in (caught.value.hint or "")
