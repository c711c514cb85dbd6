"""Drift between the rows and what is derived from them is found, named and mended."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import EVERYTHING, HERE
from tests.support.samples import Samples
from wellkept.core.changes import Delete
from wellkept.core.errors import StoreError, UsageError
from wellkept.core.ports.store import Store
from wellkept.core.types import Severity
from wellkept.store import open_store

pytestmark = pytest.mark.feature("A1")

# What is done behind the engine's back, and which check names it.
DRIFTS = {
    "an entry missing from the word index": (
        "INSERT INTO words (words, rowid, content, extra)"
        " SELECT 'delete', row, content, extra FROM memories WHERE row = 3",
        "words",
    ),
    "a changed text the word index did not follow": (
        "DROP TRIGGER memories_index_words; UPDATE memories SET content = 'other' WHERE row = 3",
        "words",
    ),
    "an entry too many in the word index": (
        "INSERT INTO words (rowid, content, extra) VALUES (999, 'ghost', '')",
        "words",
    ),
    "an entry missing from the fragment index": (
        "INSERT INTO fragments (fragments, rowid, content)"
        " SELECT 'delete', row, content FROM fragment_source WHERE row = 3",
        "fragments",
    ),
    "a word index that cannot be read": ("UPDATE words_data SET block = x'00ff00ff'", "words"),
    "a lost label": ("DELETE FROM labels WHERE value = 'tag3'", "labels"),
    "a label too many": ("INSERT INTO labels VALUES ('tag', 'ghost', 1)", "labels"),
    "a vector of nobody": (
        "INSERT INTO vectors (memory, model, home, scale, codes) VALUES (999, 1, '', 1.0, x'00')",
        "orphans",
    ),
    "a vector of the wrong size": (
        "UPDATE vectors SET codes = x'0102' WHERE seq = 2",
        "dimensions",
    ),
    "a vector under the wrong project": (
        "UPDATE vectors SET home = 'elsewhere' WHERE seq = 2",
        "homes",
    ),
    "a wrong short id": ("UPDATE memories SET short = 'wrong' WHERE row = 2", "short ids"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = open_store(path)
    samples = Samples()
    opened.apply(
        [
            samples.insert(
                f"word{i} and more", tags=(f"tag{i}",), model_id="m", vector=samples.vector()
            )
            for i in range(1, 9)
        ]
    )
    yield opened
    opened.close()


def meddle(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in script.split("; "):
            db.execute(statement)


@pytest.mark.parametrize("drift", DRIFTS)
def test_drift_is_found_and_mended(store: Store, path: Path, drift: str) -> None:
    script, check = DRIFTS[drift]
    meddle(path, script)
    rows = list(store.iterate(EVERYTHING))
    findings = store.check(deep=True)
    assert check in {f.check for f in findings}
    assert all(f.repairable for f in findings)
    mended = store.repair()
    assert check in {f.check for f in mended}
    assert store.check(deep=True) == []
    assert list(store.iterate(EVERYTHING)) == rows
    for memory in rows:
        first = memory.content.split()[0]
        assert memory.id in {h.id for h in store.search_fulltext([first], HERE, limit=9)}
        assert memory.id in {h.id for h in store.search_substrings([first], HERE, limit=9)}


def test_a_quick_check_sees_missing_entries_too(store: Store, path: Path) -> None:
    meddle(path, DRIFTS["an entry missing from the word index"][0])
    assert {f.check for f in store.check()} == {"words"}


def test_checking_changes_nothing(store: Store, path: Path) -> None:
    meddle(path, DRIFTS["a lost label"][0])
    before = store.check(deep=True)
    assert store.check(deep=True) == before != []


def test_a_successor_that_is_not_here_is_only_a_warning(store: Store) -> None:
    samples = Samples(seed=3)
    closed = samples.insert("closed", valid_to=samples.now, superseded_by=samples.memory().id)
    store.apply([closed])
    (finding,) = store.check(deep=True)
    assert (finding.check, finding.severity) == ("successors", Severity.WARNING)
    assert not finding.repairable
    assert store.repair() == []


def test_a_backup_that_cannot_be_written_leaves_nothing_behind(
    store: Store, tmp_path: Path
) -> None:
    with pytest.raises(StoreError):
        store.backup(tmp_path / "no such folder" / "copy.db")
    taken = tmp_path / "taken.db"
    taken.write_text("precious")
    with pytest.raises(UsageError):
        store.backup(taken)
    assert taken.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.glob("*.partial")) == []


def test_a_backup_runs_while_others_write(store: Store, path: Path, tmp_path: Path) -> None:
    samples = Samples(seed=7)
    store.apply([samples.insert("filler " * 400) for _ in range(1_500)])
    other = open_store(path)

    def write_meanwhile(done: int, total: int) -> None:
        other.apply([samples.insert(f"meanwhile {done} of {total}")])

    store.backup(tmp_path / "copy.db", progress=write_meanwhile)
    copy = open_store(tmp_path / "copy.db")
    assert copy.stats(EVERYTHING).total == 1_508
    assert store.stats(EVERYTHING).total > 1_508
    assert copy.check(deep=True) == []
    copy.close()
    other.close()


def test_compacting_gives_room_back(store: Store) -> None:
    samples = Samples(seed=7)
    store.apply([samples.insert("filler " * 400) for _ in range(500)])
    store.compact_storage()
    large = store.size_bytes()
    store.apply([Delete(m.id) for m in store.iterate(HERE) if m.content.startswith("filler")])
    store.compact_storage()
    assert store.size_bytes() < large / 2
    assert store.check(deep=True) == []
