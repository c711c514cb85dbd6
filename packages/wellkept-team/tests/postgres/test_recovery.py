"""Backup drills with the operator's own tools: a dump that is restored, and recovery to a moment."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Generator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

import wellkept
from tests.postgres_nodes import Node, Nodes, postgres_nodes

pytestmark = pytest.mark.feature("T4")

DEPLOY = Path(__file__).parents[4] / "deploy"


@pytest.fixture(scope="module")
def nodes() -> Generator[Nodes]:
    with postgres_nodes() as known:
        yield known


@pytest.fixture(scope="module")
def archive(nodes: Nodes) -> Path:
    return nodes.own(nodes.folder / "archive")


@pytest.fixture(scope="module")
def node(nodes: Nodes, archive: Path) -> Node:
    """A server that archives its log."""
    node = nodes.node("drill")
    node.make("archive_mode = on", f'archive_command = \'cp "%p" "{archive}/%f"\'')
    node.start()
    return node


def script(nodes: Nodes, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the folder deploy, with the programs of the servers."""
    path = f"{nodes.programs}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        (str(DEPLOY / name), *words),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PATH": path},
    )


def create(node: Node, *names: str) -> None:
    with closing(psycopg.connect(node.url(), autocommit=True)) as db:
        for name in names:
            db.execute(f"CREATE DATABASE {name}".encode())


def test_a_dump_is_restored_and_equal_and_a_difference_is_seen(
    nodes: Nodes, node: Node, tmp_path: Path
) -> None:
    create(node, "team", "scratch", "other", "blank")
    with wellkept.open(node.url(database="team"), project="demo", embedder="static") as wk:
        for number in range(20):
            wk.remember(f"Service {number} listens on port {8000 + number}", tags=("ports",))
    source, scratch = node.url(database="team"), node.url(database="scratch")
    dump = tmp_path / "team.dump"
    done = script(nodes, "backup-drill", source, scratch, str(dump))
    assert done.returncode == 0, done.stderr
    assert "The restored copy is equal" in done.stdout
    with wellkept.open(scratch, project="demo", embedder="static") as wk:
        assert wk.doctor(deep=True).healthy
        (best, *_) = wk.recall("which port does service 7 use?")
        assert "8007" in best.memory.content

    again = script(nodes, "backup-drill", source, scratch)
    assert (again.returncode, "not empty" in again.stderr) == (1, True)
    nothing = script(nodes, "backup-drill", node.url(database="blank"), node.url(database="other"))
    assert (nothing.returncode, "no Wellkept schema" in nothing.stderr) == (1, True)


def test_after_a_mistake_the_database_is_brought_back_to_the_moment_before(
    nodes: Nodes, node: Node, archive: Path
) -> None:
    create(node, "work")
    url = node.url(database="work")
    with wellkept.open(url, project="demo", embedder="none") as wk:
        wk.remember("Kept before the base backup was made")
    base = nodes.node("base")
    base.copy_of(node, is_standby=False)
    with wellkept.open(url, project="demo", embedder="none") as wk:
        wk.remember("Kept between the backup and the mistake")
        time.sleep(0.2)
        moment = datetime.now(UTC)
        time.sleep(0.2)
        wk.forget([memory.id for memory in wk.iterate()])
        assert wk.stats().total == 0
    with closing(psycopg.connect(url, autocommit=True)) as db:
        db.execute("SELECT pg_switch_wal()")
        for _ in range(200):
            found = db.execute(
                "SELECT count(*) FROM pg_stat_archiver WHERE last_archived_time > %s", (moment,)
            ).fetchone()
            if found == (1,):
                break
            time.sleep(0.05)

    recovered = nodes.node("recovered")
    when = moment.isoformat(sep=" ", timespec="microseconds")
    words = (str(base.data), str(archive), when, str(recovered.data))
    done = script(nodes, "point-in-time", *words)
    assert done.returncode == 0, done.stderr
    nodes.own_all(recovered.data)
    recovered.start()
    recovered.wait_for_writes()
    with wellkept.open(recovered.url(database="work"), project="demo", embedder="none") as wk:
        assert {memory.content for memory in wk.iterate()} == {
            "Kept before the base backup was made",
            "Kept between the backup and the mistake",
        }
        assert wk.doctor(deep=True).healthy
        wk.remember("It takes writes again")

    full = script(nodes, "point-in-time", *words)
    assert (full.returncode, "is not empty" in full.stderr) == (1, True)
    wrong = script(nodes, "point-in-time", *words[:2], "'; rm", str(nodes.folder / "new"))
    assert (wrong.returncode, "is not a moment" in wrong.stderr) == (1, True)
