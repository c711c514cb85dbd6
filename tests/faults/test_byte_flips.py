"""A damaged file ends in a clear error or is found by a deep check; never in a traceback."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import wellkept
from bench.byte_flips import GARBAGE, VERBS, Flipper, columns, environment, flips, make_home
from wellkept.core.errors import StoreCorruptError
from wellkept.core.settings.model import Settings
from wellkept.store.sqlite.database import readable_index

pytestmark = pytest.mark.feature("A2")

FLIPS = 60


def _open(path: Path) -> wellkept.Wellkept:
    return wellkept.open(
        path,
        project="demo",
        cwd=path.parent,
        embedder="none",
        settings=Settings(),
        environment={},
    )


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("healthy"))


@pytest.fixture
def flipper(healthy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Flipper:
    monkeypatch.chdir(tmp_path)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return Flipper(healthy, tmp_path)


@pytest.mark.parametrize("seed", range(FLIPS // 15))
def test_a_flipped_byte_is_harmless_found_or_ends_in_a_clear_error(
    flipper: Flipper, seed: int
) -> None:
    for number, (at, bit) in enumerate(flips(flipper.raw, flipper.page, 15, seed=seed + 100)):
        flipper.flip(at, bit, verbs=(VERBS[(seed + number) % len(VERBS)],))
    assert flipper.figures.failures == []
    assert flipper.figures.found_deep + flipper.figures.refused > 0


def test_no_damaged_column_ends_in_a_traceback(flipper: Flipper, healthy: Path) -> None:
    known = columns(healthy)
    assert {"memories", "sessions", "scratchpads", "key_values"} <= {table for table, _, _ in known}
    # Each column once here; `bench.byte_flips` tries everything that damage can leave.
    for number, (table, column, kind) in enumerate(known):
        value, verb = GARBAGE[kind][number % len(GARBAGE[kind])], VERBS[number % len(VERBS)]
        flipper.damage(f"UPDATE OR IGNORE {table} SET {column} = {value}", verbs=(verb,))
    assert flipper.figures.failures == []


def test_damaged_text_is_found_by_a_deep_check(healthy: Path, tmp_path: Path) -> None:
    raw = healthy.read_bytes()
    places = [found.start() + 6 for found in re.finditer(rb"The [a-z]+ number \d+ is limited", raw)]
    assert len(places) >= 80
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
