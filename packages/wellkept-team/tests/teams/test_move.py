"""A store moves to PostgreSQL and back: everything, verified, after a kill too, source untouched."""

from __future__ import annotations

import io
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import wellkept
from tests.postgres_team import Team
from tests.store.every_record import fill
from tests.support.conformance.injections import injection, line
from tests.support.conformance.sessions import session
from tests.support.samples import START
from wellkept.core.changes import PutInjection, PutSession, PutSilence, SaveReadPosition
from wellkept.core.errors import ConflictError, NotFoundError, StoreError, UsageError
from wellkept.core.ports.injections import SilentLine
from wellkept.core.ports.store import Store
from wellkept.core.query import FileLink, Filter
from wellkept.core.records import replace
from wellkept.core.session.sessions import ReadPosition
from wellkept.core.skills import SkillRun
from wellkept.core.team.people import Role
from wellkept.core.team.records import SharedRecord, SharedState
from wellkept.store import open_store
from wellkept.testing.fakes import WordEmbedder
from wellkept_team.moving.move import move_store, shown

pytestmark = pytest.mark.feature("T4")


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A file with at least one record of every kind."""
    path = tmp_path / "source.db"
    with wellkept.open(
        path, project="shop", cwd=tmp_path, embedder=WordEmbedder(), environment={}
    ) as wk:
        for number in range(40):
            wk.remember(
                f"Rule {number} about café 日本.", merge_similar=False, tags=["a", f"t{number}"]
            )
        first = next(iter(wk.list(limit=1)))
        wk.edit(first.id, content="A corrected rule.")
        wk.remember("I like it short.", scope="user", type="preference")
        ids = [one.id for one in wk.list(limit=5)]
        wk.edit(ids[0], relate="derived_from", to=ids[1])
        wk.edit(ids[2:4], action="delete")
    store = open_store(path)
    fill(store)
    _fill_the_rest(store)
    store.close()
    return path


def _fill_the_rest(store: Store) -> None:
    """What `fill` leaves out."""
    store.merge_projects("older", into="example")
    store.put_file_links("example", [FileLink("a.py", "b.py", 0.5, 3)])
    events = replace(session("session-9"), title="With events")
    store.apply([PutSession(events, ("event-1", "event-2"))])
    store.apply([SaveReadPosition(ReadPosition("spool-1", "event-1", 120))])
    store.record_skill_use("add-a-route", project="example", at=START)
    run = SkillRun(skill_id="skill-1", session_id="session-1", used_by="agent", at=START)
    store.put_skill_run(replace(run, succeeded=True))
    store.apply(
        [
            PutInjection(injection(1, line("l1"), line("l2"))),
            PutSilence("example", "l1", SilentLine("l1", START, "ignored")),
        ]
    )
    shared = SharedRecord(
        id="r1",
        project="example",
        state=SharedState.TEAM,
        owner="ann",
        statement="s",
        waiting=True,
        body="{}",
    )
    store.put_shared_records("example", [shared])


def _export(location: Path | str, folder: Path) -> bytes:
    out = io.StringIO()
    with wellkept.open(location, project="shop", cwd=folder, embedder="none", environment={}) as wk:
        wk.export(out)
    return out.getvalue().encode()


def test_there_and_back_again_nothing_differs(
    full: Path, tmp_path: Path, empty_postgres_url: str
) -> None:
    before = full.read_bytes()
    steps: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        steps.append((done, total))

    there = move_store(full, empty_postgres_url, progress=tell)
    back = tmp_path / "back.db"
    again = move_store(empty_postgres_url, back)
    assert full.read_bytes() == before
    assert there.tables == again.tables
    by_name = {one.name: one.records for one in there.tables}
    assert by_name["memories"] > 40
    assert by_name["vectors"] > 40
    empty = [name for name, count in by_name.items() if not count]
    assert not empty, f"nothing of these was there to move: {empty}"
    assert steps[-1][0] == steps[-1][1]
    exported = [_export(one, tmp_path) for one in (full, empty_postgres_url, back)]
    assert exported[0] == exported[1] == exported[2]
    assert exported[0].count(b"\n") > 40
    for location in (empty_postgres_url, back):
        store = open_store(location)
        assert store.check(deep=True) == []
        store.close()


def test_search_finds_the_same_on_both_sides(
    full: Path, tmp_path: Path, empty_postgres_url: str
) -> None:
    move_store(full, empty_postgres_url)
    found: list[list[str]] = []
    for location in (full, empty_postgres_url):
        with wellkept.open(
            location, project="shop", cwd=tmp_path, embedder=WordEmbedder(), environment={}
        ) as wk:
            found.append([hit.memory.id for hit in wk.recall("rule 7 café", limit=5)])
    assert found[0]
    assert found[0] == found[1]


def _first_step(location: Path | str, folder: Path) -> None:
    """Undo what was archived, on whichever engine."""
    with wellkept.open(location, project="shop", cwd=folder, embedder="none", environment={}) as wk:
        (step, *_) = wk.undo()
        wk.undo(step.id)


def test_what_could_be_undone_can_be_undone_on_the_other_side(
    full: Path, tmp_path: Path, empty_postgres_url: str
) -> None:
    move_store(full, empty_postgres_url)
    back = tmp_path / "back.db"
    move_store(empty_postgres_url, back)
    exported: list[bytes] = []
    for location in (full, empty_postgres_url, back):
        _first_step(location, tmp_path)
        exported.append(_export(location, tmp_path))
        store = open_store(location)
        assert store.check(deep=True) == []
        store.close()
    assert exported[0] == exported[1] == exported[2]


def test_a_vector_that_differs_is_found(full: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"

    def spoil(done: int, total: int) -> None:
        if done == total:
            with closing(sqlite3.connect(target)) as db, db:
                db.execute(
                    "UPDATE vectors SET codes = (SELECT codes FROM vectors ORDER BY seq DESC)"
                    " WHERE seq = (SELECT min(seq) FROM vectors)"
                )

    with pytest.raises(StoreError, match="differs from the source in vectors"):
        move_store(full, target, progress=spoil)


@pytest.mark.feature("T2")
def test_a_store_moves_into_an_organisation_and_out_of_it(
    full: Path, tmp_path: Path, team: Team, postgres_url: str
) -> None:
    with pytest.raises(UsageError, match="needs an owner"):
        move_store(full, postgres_url, organisation=team.tenant)
    with pytest.raises(NotFoundError, match="no member"):
        move_store(full, postgres_url, organisation=team.tenant, person="nobody")
    there = move_store(full, postgres_url, organisation=team.tenant, person="writer")
    own = "I like it short."
    seen: dict[Role, set[str]] = {}
    for role in (Role.WRITER, Role.ADMIN):
        store = team.server.store_of(team.person(role))
        seen[role] = {
            one.content for one in store.list(Filter(project="name:shop"), limit=500).items
        }
        store.close()
    assert own in seen[Role.WRITER]
    assert seen[Role.WRITER] - seen[Role.ADMIN] == {own}
    back = tmp_path / "back.db"
    again = move_store(postgres_url, back, organisation=team.tenant)
    assert again.tables == there.tables
    assert _export(full, tmp_path) == _export(back, tmp_path)


def test_a_dry_run_writes_nothing(full: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    report = move_store(full, target, dry_run=True)
    assert report.dry_run
    assert report.records > 40
    assert not target.exists()


@pytest.mark.parametrize("engine", ["file", "server"])
def test_a_move_that_was_killed_goes_on(
    full: Path, tmp_path: Path, empty_postgres_url: str, engine: str
) -> None:
    target = tmp_path / "target.db" if engine == "file" else empty_postgres_url
    code = (
        "import sys, time; from pathlib import Path;"
        "from wellkept_team.moving import move as m; m.CHUNK = 2;"
        "m.move_store(Path(sys.argv[1]), Path(sys.argv[2]) if '://' not in sys.argv[2] else"
        " sys.argv[2],"
        " progress=lambda done, total: (print(done, flush=True), time.sleep(0.02)))"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(full), str(target)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for _ in range(8):
        assert child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    other = tmp_path / "other.db"
    open_store(other).close()
    with pytest.raises(ConflictError, match="cut off"):
        move_store(other, target)
    report = move_store(full, target)
    assert report.resumed
    assert report.tables == move_store(full, tmp_path / "fresh.db").tables


def test_a_target_in_use_and_a_missing_source_are_refused(full: Path, tmp_path: Path) -> None:
    with pytest.raises(ConflictError, match="not empty"):
        move_store(tmp_path / "source.db", _used(tmp_path))
    with pytest.raises(UsageError, match="no store"):
        move_store(tmp_path / "nothing.db", tmp_path / "t.db")
    with pytest.raises(UsageError, match="same"):
        move_store(full, full)
    assert shown("postgresql://me:secret@db.example:5/x?a=b") == "postgresql://db.example:5/x"


def test_what_is_written_meanwhile_is_found_and_the_next_run_takes_it_along(
    full: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target.db"
    written: list[int] = []

    def write(done: int, total: int) -> None:
        if done == total and not written:
            written.append(done)
            _remember(full, tmp_path, "Said while it was moved.")

    with pytest.raises(StoreError, match="differs from the source in memories"):
        move_store(full, target, progress=write)
    assert move_store(full, target).resumed
    assert _export(full, tmp_path) == _export(target, tmp_path)


def _remember(path: Path, folder: Path, text: str) -> None:
    with wellkept.open(path, project="shop", cwd=folder, embedder="none", environment={}) as wk:
        wk.remember(text)


def _used(folder: Path) -> Path:
    path = folder / "used.db"
    _remember(path, folder, "Already here.")
    return path
