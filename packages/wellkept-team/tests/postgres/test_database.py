"""The database itself: keys, tenants, migrations, notifications, copies, a server that is away."""

from __future__ import annotations

import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import wellkept
from bench.crash_scene import wait_until
from tests.postgres.tenants import open_tenant
from tests.support.samples import Samples
from wellkept.core.changes import Insert
from wellkept.core.clock import system_clock
from wellkept.core.errors import (
    ConflictError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreReadOnlyError,
    StoreVersionError,
    UsageError,
)
from wellkept.core.query import Filter
from wellkept.store import open_store
from wellkept_team.postgres.connection.database import Database
from wellkept_team.postgres.migrations import LOCK, STEPS, migrate
from wellkept_team.postgres.store import PostgresStore

pytestmark = pytest.mark.feature("T1")
HERE = Filter(project="example")


@pytest.fixture
def store(postgres_url: str, tmp_path: Path) -> Iterator[PostgresStore]:
    opened = open_tenant(postgres_url, tmp_path)
    yield opened
    opened.close()


@pytest.mark.feature("A1")
@pytest.mark.usefixtures("store")
def test_every_key_begins_with_tenant_and_project(postgres_url: str) -> None:
    with closing(psycopg.connect(postgres_url)) as db:
        rows = db.execute(
            "SELECT c.relname, i.indexrelid::regclass::text, (SELECT array_agg(a.attname::text"
            " ORDER BY k.n) FROM unnest(i.indkey[:1]) WITH ORDINALITY AS k (number, n)"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number)"
            " FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
            " JOIN pg_namespace s ON s.oid = c.relnamespace"
            " WHERE s.nspname = 'wellkept' AND i.indisunique AND c.relname <> 'schema_steps'"
        ).fetchall()
    assert len(rows) > 20
    for table, index, columns in rows:
        assert columns[:2] in (["tenant", "project"], ["tenant", "home"]), (table, index)


@pytest.mark.feature("A1")
def test_every_table_has_a_primary_key_and_the_large_ones_are_partitions(
    store: PostgresStore, postgres_url: str
) -> None:
    with closing(psycopg.connect(postgres_url)) as db:
        without = db.execute(
            "SELECT relname FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace"
            " WHERE s.nspname = 'wellkept' AND c.relkind IN ('r', 'p') AND NOT EXISTS"
            " (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)"
        ).fetchall()
        spread = db.execute(
            "SELECT relname FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace"
            " WHERE s.nspname = 'wellkept' AND c.relkind = 'p' ORDER BY 1"
        ).fetchall()
    assert without == []
    assert [name for (name,) in spread] == ["fragments", "labels", "memories", "texts", "vectors"]


@pytest.mark.feature("A1")
def test_tenants_of_one_database_see_nothing_of_each_other(
    store: PostgresStore, postgres_url: str, tmp_path: Path
) -> None:
    samples = Samples()
    vector = samples.vector()
    mine = samples.insert("alpha", key="k", files=("f.py",), model_id="m", vector=vector)
    store.apply([mine])
    store.put_value("space", "key", 1)
    other = open_tenant(postgres_url, tmp_path / "other")
    assert other.get([mine.memory.id]) == []
    assert other.search_fulltext(["alpha"], HERE, limit=5) == []
    assert other.search_substrings(["lph"], HERE, limit=5) == []
    assert other.search_vectors(vector, model_id="m", where=HERE, limit=5) == []
    assert other.search_links(files=["f.py"], modules=[], where=HERE, limit=5) == []
    assert (other.projects(), other.vector_models(), other.values("space")) == ([], [], {})
    assert (other.activity_range().newest, store.activity_range().newest) == (0, 1)
    other.apply([mine])  # the same id and key are free there
    assert other.check(deep=True) == store.check(deep=True) == []
    other.close()


@pytest.mark.feature("A3")
def test_an_id_is_used_once_although_its_key_has_the_project_in_it(store: PostgresStore) -> None:
    first = Samples().insert("first")
    store.apply([first])
    elsewhere = Samples().memory("second", id=first.memory.id, project="elsewhere")
    with pytest.raises(ConflictError):
        store.apply([Insert(elsewhere, first.index_entry)])
    twice = Samples().insert("new", id="01890a5d-ac96-774b-bcce-b302099a8057")
    with pytest.raises(ConflictError):
        store.apply([twice, twice])


@pytest.mark.feature("A1")
def test_several_processes_may_migrate_at_once(empty_postgres_url: str) -> None:
    done: list[int] = []

    def run() -> None:
        database = Database(empty_postgres_url, tenant="t", busy_timeout_ms=5_000)
        done.append(migrate(database, clock=system_clock))
        database.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with closing(psycopg.connect(empty_postgres_url, autocommit=True)) as db:
        db.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        for thread in threads:
            thread.start()
        # All have seen an empty database before the first may begin.
        wait_until(lambda: db.execute(waiting).fetchone() == (4,), "four that wait")
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 0, 0, len(STEPS)]


@pytest.mark.feature("A1")
def test_a_migration_that_fails_leaves_nothing_and_a_reader_changes_nothing(
    empty_postgres_url: str,
) -> None:
    database = Database(empty_postgres_url, tenant="t", busy_timeout_ms=1_000)
    broken = STEPS[0]._replace(statements=("CREATE TABLE half (x INT)", "no statement"))
    with pytest.raises(StoreError):
        migrate(database, clock=system_clock, steps=[broken])
    with closing(psycopg.connect(empty_postgres_url)) as db:
        assert db.execute("SELECT to_regclass('wellkept.half')").fetchone() == (None,)
    reader = Database(empty_postgres_url, tenant="t", busy_timeout_ms=1_000, read_only=True)
    with pytest.raises(StoreReadOnlyError):
        migrate(reader, clock=system_clock)
    assert migrate(database, clock=system_clock) == len(STEPS)


@pytest.mark.feature("A1")
def test_one_newer_schema_is_used_when_it_says_so_and_refused_otherwise(
    empty_postgres_url: str,
) -> None:
    database = Database(empty_postgres_url, tenant="t", busy_timeout_ms=1_000)
    migrate(database, clock=system_clock)
    newest = STEPS[-1].number
    with closing(psycopg.connect(empty_postgres_url, autocommit=True)) as db:
        added = "INSERT INTO wellkept.schema_steps VALUES (%s, 'later', 0, %s)"
        db.execute(added, (newest + 1, newest))
        assert migrate(database, clock=system_clock) == 0
        db.execute(added, (newest + 2, newest + 1))
    with pytest.raises(StoreVersionError):
        migrate(database, clock=system_clock)


@pytest.mark.feature("C6")
def test_a_listener_is_told_of_its_tenant_at_the_commit(
    store: PostgresStore, postgres_url: str, tmp_path: Path
) -> None:
    told: list[int] = []
    listening = threading.Event()

    def listen() -> None:
        follower = open_tenant(postgres_url, tmp_path)
        for _ in follower.notifications(timeout_s=30, on_ready=listening.set):
            told.append(follower.activity_range().newest)
            if told[-1] >= 2:
                break
        follower.close()

    thread = threading.Thread(target=listen)
    thread.start()
    assert listening.wait(30)
    stranger = open_tenant(postgres_url, tmp_path / "stranger")
    stranger.apply([Samples().insert("elsewhere")])
    samples = Samples()
    store.apply([samples.insert("one")])
    store.apply([samples.insert("two")])
    thread.join(30)
    stranger.close()
    assert told[-1] == 2
    assert len(told) <= 2


@pytest.mark.feature("A1")
def test_writers_in_parallel_lose_nothing_and_number_without_gaps(
    store: PostgresStore, postgres_url: str, tmp_path: Path
) -> None:
    samples = Samples()
    batches = [[samples.insert(f"w{who} {n}") for n in range(10)] for who in range(4)]

    def write(changes: list[Insert]) -> None:
        handle = open_tenant(postgres_url, tmp_path)
        for change in changes:
            handle.apply([change])
        handle.close()

    threads = [threading.Thread(target=write, args=(batch,)) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.stats(HERE).total == 40
    assert [one.number for one in store.activity(after=0, project=None, limit=99)] == [
        *range(1, 41)
    ]
    assert store.check(deep=True) == []


@pytest.mark.feature("A1")
def test_a_reader_writes_nothing(store: PostgresStore, postgres_url: str, tmp_path: Path) -> None:
    store.apply([Samples().insert("kept")])
    reader = open_tenant(postgres_url, tmp_path, read_only=True)
    assert len(reader.search_fulltext(["kept"], HERE, limit=3)) == 1
    for write in (lambda: reader.apply([]), lambda: reader.put_value("a", "k", 1)):
        with pytest.raises(StoreReadOnlyError):
            write()
    assert reader.describe()["access"] == "read only"
    reader.close()


@pytest.mark.feature("A1")
def test_a_write_that_waits_too_long_says_busy(store: PostgresStore, postgres_url: str) -> None:
    tenant = store.describe()["tenant"]
    with closing(psycopg.connect(postgres_url)) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (tenant,))
        hasty = PostgresStore.open(
            postgres_url, tenant=tenant, clock=system_clock, busy_timeout_ms=50
        )
        with pytest.raises(StoreBusyError):
            hasty.put_value("a", "k", 1)
        hasty.record_access(["x"], at=system_clock())
        hasty.close()  # does not wait for what can be lost


@pytest.mark.feature("A1")
def test_connections_that_the_server_ended_are_replaced(
    store: PostgresStore, postgres_url: str
) -> None:
    store.put_value("a", "k", 1)
    ours = (
        "FROM pg_stat_activity WHERE application_name = 'wellkept' AND datname = current_database()"
    )
    with closing(psycopg.connect(postgres_url, autocommit=True)) as db:
        db.execute(f"SELECT pg_terminate_backend(pid) {ours}".encode())
        while db.execute(f"SELECT 1 {ours}".encode()).fetchone():
            time.sleep(0.01)
    assert store.get_value("a", "k") == 1


@pytest.mark.feature("A1")
@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("postgresql://robin:pa55word@127.0.0.1:1/none", StoreError),
        ("postgresql://robin:pa55word@/none?host=/no/such/folder", StoreError),
        ("postgresql://robin:pa55word@localhost/none?no_such_option=1", UsageError),
    ],
)
def test_a_server_that_is_away_is_named_without_its_password(
    url: str, error: type[Exception]
) -> None:
    pytest.importorskip("psycopg_pool")
    with pytest.raises(error) as caught:
        open_store(url)
    assert "pa55word" not in str(caught.value)
    assert "postgres" in str(caught.value).lower()


@pytest.mark.feature("A11")
def test_a_damaged_copy_is_refused_and_leaves_nothing(
    store: PostgresStore, postgres_url: str, tmp_path: Path
) -> None:
    samples = Samples()
    store.apply([samples.insert(f"n{n}", model_id="m", vector=samples.vector()) for n in range(9)])
    copy = tmp_path / "copy.zip"
    store.backup(copy)
    with pytest.raises(UsageError):
        store.restore(copy)  # it is not empty
    target = open_tenant(postgres_url, tmp_path / "target")
    cut, foreign = tmp_path / "cut.zip", tmp_path / "foreign.zip"
    cut.write_bytes(copy.read_bytes()[:-400])
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("manifest.json", "{}")
    for bad in (cut, foreign):
        with pytest.raises(StoreCorruptError):
            target.restore(bad)
        assert target.projects() == []
    target.restore(copy)
    assert target.stats(HERE).total == 9
    assert target.check(deep=True) == []
    target.close()


@pytest.mark.feature("A11")
def test_drift_is_found_and_repaired(store: PostgresStore, postgres_url: str) -> None:
    samples = Samples()
    store.apply([samples.insert(f"word{n} text", tags=("t",)) for n in range(5)])
    tenant = store.describe()["tenant"]
    with closing(psycopg.connect(postgres_url, autocommit=True)) as db:
        for statement in (
            "UPDATE wellkept.memories SET content = 'changed', short = 'x' WHERE tenant = %s"
            " AND number = (SELECT min(number) FROM wellkept.memories WHERE tenant = %s)",
            "DELETE FROM wellkept.labels WHERE tenant = %s AND tenant = %s",
            "UPDATE wellkept.term_counts SET memories = 9 WHERE tenant = %s AND tenant = %s",
            "UPDATE wellkept.text_totals SET tokens = 0 WHERE tenant = %s AND tenant = %s",
        ):
            db.execute(statement.encode(), (tenant, tenant))
    found = {finding.check for finding in store.check(deep=True)}
    assert {"words", "fragments", "labels", "short ids", "term counts", "totals"} <= found
    assert {finding.check for finding in store.repair()} == found
    assert store.check(deep=True) == []
    assert len(store.search_fulltext(["changed"], HERE, limit=3)) == 1


@pytest.mark.feature("T1")
def test_servers_of_two_versions_work_on_one_database_while_it_is_upgraded(
    empty_postgres_url: str,
) -> None:
    """A server of the first schema goes on while another migrates; neither misses a write."""
    samples = Samples()
    before, during, after = (samples.insert(text, key=text) for text in ("one", "two", "three"))
    database = Database(empty_postgres_url, tenant="t", busy_timeout_ms=5_000)
    assert migrate(database, clock=system_clock, steps=STEPS[:1]) == 1
    old = PostgresStore(database, clock=system_clock)
    old.apply([before])
    new = PostgresStore.open(empty_postgres_url, tenant="t", clock=system_clock)
    old.apply([during])
    new.apply([after])
    assert migrate(database, clock=system_clock, steps=STEPS[:1]) == 0
    for store in (old, new):
        found = store.search_fulltext(["one", "two", "three"], HERE, limit=9)
        assert {hit.id for hit in found} == {c.memory.id for c in (before, during, after)}
        with pytest.raises(ConflictError):
            store.apply([samples.insert("again", key="two")])
        assert store.check(deep=True) == []
        store.close()


def _scans(url: str) -> dict[str, int]:
    """How often each partition was read, by any way."""
    with closing(psycopg.connect(url, autocommit=True)) as db:
        rows = db.execute(
            "SELECT relname, coalesce(seq_scan, 0) + coalesce(idx_scan, 0)"
            " FROM pg_stat_user_tables WHERE schemaname = 'wellkept'"
        ).fetchall()
    return dict(rows)


@pytest.mark.feature("T1")
def test_a_recall_reads_the_partitions_of_its_project_and_of_the_person_only(
    empty_postgres_url: str,
) -> None:
    """So a server that holds other projects is not asked."""
    with wellkept.open(empty_postgres_url, project="shop", embedder="static") as wk:
        for number in range(30):
            wk.remember(
                f"Rule {number}: the {number} blue deploy needs a ticket", type="convention"
            )
        wk.remember("I prefer short answers", scope="user")
        home = wk.project
    with closing(psycopg.connect(empty_postgres_url, autocommit=True)) as db:
        db.execute("ANALYZE")
        used = {
            str(name)
            for table in ("memories", "texts", "vectors", "fragments", "labels")
            for (name,) in db.execute(
                f"SELECT DISTINCT tableoid::regclass::text FROM wellkept.{table}"
                " WHERE home IN (%s, '')".encode(),
                (home,),
            )
        }

    def cost(times: int) -> dict[str, int]:
        before = _scans(empty_postgres_url)
        with wellkept.open(empty_postgres_url, project="shop", embedder="static") as wk:
            for _ in range(times):
                assert wk.recall("which deploy needs a ticket?", count_access=False)
        after = _scans(empty_postgres_url)
        return {name: after[name] - before.get(name, 0) for name in after}

    # What opening reads falls out, also when the server counts it late.
    once, often = cost(1), cost(4)
    read = {name for name in often if name.rpartition("_")[2].isdigit()} & {
        name for name in often if often[name] - once[name] >= 3
    }
    assert {name.rpartition("_")[0] for name in read} >= {"memories", "texts", "vectors"}
    assert read <= {name.removeprefix("wellkept.") for name in used}
