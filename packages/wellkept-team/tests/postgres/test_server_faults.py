"""A primary killed under load, a restart, a full disk, no free connection: clear, and no loss."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, closing
from typing import Any

import psycopg
import pytest

import wellkept
from bench.crash_scene import wait_until
from tests.postgres_nodes import Node, Nodes, postgres_nodes
from tests.postgres_team import Team
from tests.support.samples import Samples
from wellkept.core.clock import system_clock
from wellkept.core.errors import StoreBusyError, StoreError, StoreFullError, StoreReadOnlyError
from wellkept.core.query import Filter
from wellkept.core.team.people import Role
from wellkept_team.postgres.connection.database import Database
from wellkept_team.postgres.connection.pool import MAX_CONNECTIONS
from wellkept_team.postgres.migrations import STEPS, migrate
from wellkept_team.postgres.team.team_database import PostgresTeams

pytestmark = pytest.mark.feature("T4")
HERE = Filter(project="example")


@pytest.fixture(scope="module")
def nodes() -> Generator[Nodes]:
    with postgres_nodes() as known:
        yield known


def pair(nodes: Nodes, name: str) -> tuple[Node, Node]:
    """A primary and a standby that acknowledges every commit."""
    primary, standby = nodes.node(f"{name}-1"), nodes.node(f"{name}-2")
    primary.make("wal_level = replica", "max_wal_senders = 4", "max_connections = 60")
    primary.start()
    standby.copy_of(primary)
    follows = f"primary_conninfo = '{primary.url()}&application_name=standby'"
    standby.configure(follows, "hot_standby = on")
    standby.start()
    with closing(psycopg.connect(primary.url(), autocommit=True)) as db:
        db.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        db.execute("SELECT pg_reload_conf()")
        for _ in range(200):
            if db.execute("SELECT sync_state FROM pg_stat_replication").fetchall() == [("sync",)]:
                return primary, standby
            time.sleep(0.05)
    raise AssertionError("The standby does not follow.")


class Writer(threading.Thread):
    """Keeps statements until it is told to stop; knows which were acknowledged."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self.url, self.title = url, name
        self.kept: list[str] = []
        self.failed = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        with wellkept.open(self.url, project="demo", embedder="none") as wk:
            number = 0
            while not self.stopping.is_set():
                number += 1
                text = f"Statement {number} of writer {self.title} about the {self.title} mill"
                try:
                    wk.remember(text, merge_similar=False)
                except StoreError:
                    self.failed += 1
                    time.sleep(0.05)
                else:
                    self.kept.append(text)


def test_nothing_acknowledged_is_lost_and_reads_go_on_when_the_primary_is_killed(
    nodes: Nodes,
) -> None:
    primary, standby = pair(nodes, "failover")
    both = primary.url(standby)
    with wellkept.open(both, project="demo", embedder="none") as wk:
        wk.remember("Deploys go through the staging cluster first")
        writers = [Writer(both, name) for name in ("north", "south")]
        for writer in writers:
            writer.start()
        until = time.monotonic() + 30
        while sum(len(writer.kept) for writer in writers) < 30 and time.monotonic() < until:
            time.sleep(0.02)
        primary.kill()

        # The standby answers; it takes no writes, and says so.
        (best, *_) = wk.recall("how do we deploy?")
        assert best.memory.content == "Deploys go through the staging cluster first"
        with pytest.raises(StoreReadOnlyError, match="takes no writes now"):
            wk.remember("Nobody can keep this now")
        with (
            closing(Database(both, tenant="main", busy_timeout_ms=1_000)) as database,
            database.reading() as db,
        ):
            assert db.value("SELECT pg_is_in_recovery()") is True

        before = sum(len(writer.kept) for writer in writers)
        standby.promote()
        until = time.monotonic() + 60
        while sum(len(w.kept) for w in writers) < before + 4 and time.monotonic() < until:
            time.sleep(0.05)
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join()
        assert all(writer.failed for writer in writers)
        known = {memory.content for memory in wk.iterate()}
        for writer in writers:
            assert set(writer.kept) <= known
        assert sum(len(writer.kept) for writer in writers) >= before + 4
        assert wk.doctor(deep=True).healthy


def test_a_teams_reads_go_on_at_a_standby_that_is_behind_and_says_how_far(
    nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    primary, standby = pair(nodes, "behind")
    both = primary.url(standby)
    with closing(PostgresTeams(both, clock=system_clock)) as teams:
        known = Team(teams, teams, "acme")
        with closing(teams.store_of(known.person(Role.WRITER))) as store:
            old = Samples().insert("Deploys go through staging")
            store.apply([old])
            assert teams.behind_s() is None
            with closing(psycopg.connect(primary.url(), autocommit=True)) as db:
                db.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
                db.execute("SELECT pg_reload_conf()")
            with closing(psycopg.connect(standby.url(), autocommit=True)) as db:
                _until_there(db, old.memory.id)
                db.execute("SELECT pg_wal_replay_pause()")
            late = Samples(seed=1).insert("Said after the standby fell behind")
            store.apply([late])
        primary.kill()
        with closing(teams.store_of(known.person(Role.READER))) as store:
            found = store.get([old.memory.id, late.memory.id])
            assert [one.id for one in found] == [old.memory.id]  # the state of a moment ago
            assert [hit.id for hit in store.search_fulltext(["staging"], HERE, limit=5)]
        behind_s = teams.behind_s()
        assert behind_s is not None
        assert behind_s > 0
        assert "Read on a standby" in caplog.text  # the audit log cannot be written there
        assert old.memory.id in caplog.text
        assert "staging" not in caplog.text
        with (
            pytest.raises(StoreReadOnlyError, match="takes no writes now"),
            closing(teams.store_of(known.person(Role.WRITER))) as store,
        ):
            store.apply([Samples(seed=2).insert("Nobody can keep this now")])


def _until_there(db: psycopg.Connection[Any], memory_id: str) -> None:
    there = "SELECT 1 FROM wellkept.memories WHERE id = %s"
    wait_until(lambda: db.execute(there, (memory_id,)).fetchone() is not None, "the replay")


def test_a_migration_whose_connection_is_cut_leaves_nothing_and_is_done_again(nodes: Nodes) -> None:
    (primary, _) = pair(nodes, "cut")
    cut = "SELECT pg_terminate_backend(pg_backend_pid())"
    half = STEPS[-1]._replace(statements=(*STEPS[-1].statements, cut))
    with closing(Database(primary.url(), tenant="t", busy_timeout_ms=5_000)) as database:
        with pytest.raises(StoreError):
            migrate(database, clock=system_clock, steps=(*STEPS[:-1], half))
        with closing(psycopg.connect(primary.url())) as db:
            assert db.execute("SELECT to_regclass('wellkept.memories')").fetchone() == (None,)
        assert migrate(database, clock=system_clock) == len(STEPS)


def test_a_restarted_server_is_used_again_without_opening_anew(nodes: Nodes) -> None:
    node = nodes.node("restart")
    node.make()
    node.start()
    with wellkept.open(node.url(), project="demo", embedder="none") as wk:
        wk.remember("The parser skips a torn last line")
        node.stop()
        with pytest.raises(StoreError, match=r"cannot be reached|no connection"):
            wk.remember("This comes while it is away")
        node.start()
        wk.remember("Refunds are retried five times")
        assert {memory.content for memory in wk.iterate()} == {
            "The parser skips a torn last line",
            "Refunds are retried five times",
        }
        node.kill()
        node.start()
        assert wk.stats().total == 2


def keep_many(wk: wellkept.Wellkept, count: int) -> None:
    for number in range(count):
        wk.remember(f"Entry {number}: " + f"word{number} " * 400, merge_similar=False)


def test_a_full_disk_refuses_the_write_whole_and_room_mends_it(nodes: Nodes) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("mounts a tmpfs")
    node = nodes.node("small")
    nodes.own(node.data)
    mount = ("mount", "-t", "tmpfs", "-o")
    made = subprocess.run(
        (*mount, "size=400m", "wellkept-test", str(node.data)), capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    try:
        nodes.own(node.data)
        # The log lies elsewhere: without room for it PostgreSQL itself would stop.
        node.make(log_folder=nodes.own(nodes.folder / "small-log"))
        node.start()
        with wellkept.open(node.url(), project="demo", embedder="none") as wk:
            wk.remember("Deploys go through the staging cluster first")
            used = shutil.disk_usage(node.data).used
            full = (*mount, f"remount,size={used + 65_536}", "wellkept-test", str(node.data))
            subprocess.run(full, check=True)
            with pytest.raises(StoreFullError, match="no room left"):
                keep_many(wk, 4_000)
            kept = wk.stats().total
            assert kept == sum(1 for _ in wk.iterate())
            assert len(wk.recall("how do we deploy?")) > 0
            more = (*mount, "remount,size=800m", "wellkept-test", str(node.data))
            subprocess.run(more, check=True)
            wk.remember("There is room again")
            assert wk.stats().total == kept + 1
            assert wk.doctor(deep=True).healthy
        node.stop()
    finally:
        node.kill_if_up()
        subprocess.run(("umount", "-l", str(node.data)), check=False)


def test_when_all_connections_are_in_use_the_next_one_waits_and_then_says_so(nodes: Nodes) -> None:
    node = nodes.node("pool")
    node.make()
    node.start()
    with closing(Database(node.url(), tenant="main", busy_timeout_ms=300)) as database:
        with ExitStack() as stack:
            for _ in range(MAX_CONNECTIONS):
                stack.enter_context(database.reading())
            with pytest.raises(StoreBusyError, match="no connection in time"), database.reading():
                pass
        with database.reading() as db:
            assert db.value("SELECT 1") == 1
