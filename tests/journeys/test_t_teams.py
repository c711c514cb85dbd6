"""T. Teams: laptops, servers and PostgreSQL as real processes. Only loopback and sockets are used."""

from __future__ import annotations

import json
import secrets
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from bench.crash_scene import wait_until
from tests.journeys.product import Installation
from tests.postgres_nodes import Node, postgres_nodes
from tests.postgres_team import Team
from tests.teams.processes import Desk, free_port, serving
from wellkept.core.team.people import Role

TEXTS = (
    "Releases go out through the staging cluster on Tuesdays",
    "Invoices are numbered per country, beginning anew each January",
    "The pay limit must stay below ten",
    "Money is kept in cents because floats lost a cent in March",
    "缓存每天凌晨清空一次",
)


@pytest.mark.feature("T1")
def test_t1_both_engines_give_the_same_answers(here: Installation, empty_postgres_url: str) -> None:
    with here.library() as memory:
        memory.remember_many(TEXTS)
    exported = here.wellkept("admin", "export", "-").out
    theirs = ("--store", empty_postgres_url)
    here.wellkept(*theirs, "admin", "import", "--here", "-", stdin=exported)
    for question in ("when do releases go out?", "why is money kept in cents?", "缓存 清空"):
        asked = ("recall", question, "--json")
        answers = [here.wellkept(*store, *asked).json["hits"] for store in ((), theirs)]
        ours, others = ([hit["memory"]["content"] for hit in hits] for hits in answers)
        assert ours == others, question
        assert ours
        scores = [[round(hit["score"], 3) for hit in hits] for hits in answers]
        assert scores[0] == pytest.approx(scores[1], abs=0.02)


class Person:
    """Somebody who asks a server with their token."""

    def __init__(self, address: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}", "Wellkept-Project": "shop"}
        self.web = httpx2.Client(base_url=f"{address}/api", headers=headers, timeout=60)

    def listed(self) -> list[str]:
        return [one["content"] for one in self.web.get("/list").json()["items"]]

    def store(self, text: str) -> int:
        return self.web.post("/memory_store", json={"content": text}).status_code


@pytest.mark.feature("T2")
def test_t2_people_have_roles_and_organisations_share_nothing(
    here: Installation, postgres_url: str, server_url: str
) -> None:
    def team(*words: str) -> Any:
        return here.wellkept("team", *words, "--database", postgres_url, "--json").json

    def token(made: Any) -> str:
        (found,) = [word for word in json.dumps(made).split('"') if word.startswith("wkt_")]
        return found

    org = f"acme-{secrets.token_hex(4)}"
    boss = token(team("org", "create", org, "--admin", "boss"))
    stranger = token(team("org", "create", f"not-{org}", "--admin", "boss"))
    for name in ("reader", "writer"):
        team("user", "add", name, "--role", name, "--org", org)
    tokens = {
        name: team("token", "issue", name, "--org", org)["token"] for name in ("reader", "writer")
    }
    with serving(server_url, here.home / "server") as address:
        writer, reader = (Person(address, tokens[name]) for name in ("writer", "reader"))
        assert writer.store("Deploys need the blue button") == 200
        assert reader.listed() == ["Deploys need the blue button"]
        assert reader.store("A reader writes") == 403
        assert Person(address, stranger).listed() == []
        assert Person(address, "wkt_nobody").web.get("/list").status_code == 401
        audit = Person(address, boss).web.get("/team/audit").json()["items"]
        assert {"writer", "reader"} <= {one["person"] for one in audit}
        team("user", "remove", "writer", "--org", org)
        assert writer.store("Said after the end") in (401, 403)
    assert "memory read" in json.dumps(team("audit", "--org", org, "--user", "reader"))


@pytest.mark.feature("T3")
def test_t3_two_laptops_and_a_server(team: Team, server_url: str, tmp_path: Path) -> None:
    rita, wim = Desk(tmp_path, "rita"), Desk(tmp_path, "wim")
    rita.done("remember", "Every endpoint has a rate limit", "--type", "convention")
    rita.done("remember", "I like it short", "--type", "preference", "--scope", "user")
    port = free_port()
    with serving(server_url, tmp_path / "server", port=port) as address:
        rita.done("team", "join", address, given=f"{team.tokens[Role.REVIEWER].text}\n")
        wim.done("team", "join", address, given=f"{team.tokens[Role.WRITER].text}\n")
        told = wim.session_start()
        assert "Every endpoint has a rate limit" in told
        assert "short" not in told
        # A writer proposes, a reviewer says yes.
        wim.done("remember", "Prices are shown with tax", "--type", "convention")
        wim.done("team", "sync")
        rita.done("team", "sync")
        assert "Prices are shown with tax" not in rita.contents()
        (waiting,) = rita.run("team", "review", "--json").json["items"]
        rita.done("team", "review", "--approve", waiting["id"])
    # Offline both go on; the other says so and loses nothing.
    rita.done("remember", "The port is 8080", "--key", "port", "--type", "fact")
    assert rita.run("team", "sync").code == 1
    with serving(server_url, tmp_path / "server", port=port):
        for desk in (rita, wim, rita):
            desk.done("team", "sync")
        shared = {
            "Every endpoint has a rate limit",
            "Prices are shown with tax",
            "The port is 8080",
        }
        assert shared <= wim.contents()
        assert rita.contents() == wim.contents() | {"I like it short"}


@pytest.mark.feature("T4")
def test_t4_a_store_moves_to_the_other_engine_and_back(
    here: Installation, empty_postgres_url: str
) -> None:
    with here.library() as memory:
        memory.remember_many(TEXTS)
    before = here.wellkept("admin", "export", "-").out
    here.wellkept("admin", "move", "--to", empty_postgres_url)
    back = here.repository.parent / "back.db"
    here.wellkept("admin", "move", "--from", empty_postgres_url, "--to", str(back))
    for store in (empty_postgres_url, str(back)):
        assert here.wellkept("--store", store, "admin", "export", "-").out == before
    # A backup brings back what a person deleted by mistake.
    copy = here.repository.parent / "copy.db"
    here.wellkept("admin", "backup", str(copy))
    here.wellkept("forget", "--all", "--yes")
    here.wellkept("admin", "restore", str(copy), "--yes")
    assert here.texts() == {*TEXTS}


@pytest.fixture
def pair() -> Generator[tuple[Node, Node]]:
    """A primary, and a standby that acknowledges every commit."""
    with postgres_nodes() as nodes:
        primary, standby = nodes.node("primary"), nodes.node("standby")
        primary.make("wal_level = replica", "max_wal_senders = 4", "max_connections = 60")
        primary.start()
        standby.copy_of(primary)
        follows = f"primary_conninfo = '{primary.url()}&application_name=standby'"
        standby.configure(follows, "hot_standby = on")
        standby.start()
        with closing(psycopg.connect(primary.url(), autocommit=True)) as db:
            db.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            db.execute("SELECT pg_reload_conf()")
            state = "SELECT sync_state FROM pg_stat_replication"
            wait_until(lambda: db.execute(state).fetchall() == [("sync",)], "the standby")
        yield primary, standby


@pytest.mark.feature("T4")
def test_t4_work_goes_on_when_the_primary_dies(here: Installation, pair: tuple[Node, Node]) -> None:
    primary, standby = pair
    here.environment["WELLKEPT_EMBEDDING_PROVIDER"] = "none"
    store = ("--store", primary.url(standby))
    here.wellkept(*store, "remember", TEXTS[0])
    primary.kill()
    asked = ("recall", "when do releases go out?", "--json")
    (hit,) = here.wellkept(*store, *asked).json["hits"]
    assert hit["memory"]["content"] == TEXTS[0]
    assert "takes no writes now" in here.refused(*store, "remember", TEXTS[1]).err
    standby.promote()
    standby.wait_for_writes()
    here.wellkept(*store, "remember", TEXTS[1])
    kept = here.wellkept(*store, "list", "--json").json["items"]
    assert {one["content"] for one in kept} == {*TEXTS[:2]}


@pytest.mark.feature("T5")
def test_t5_servers_keep_no_state_and_say_how_they_are(
    team: Team, server_url: str, tmp_path: Path
) -> None:
    token = team.tokens[Role.WRITER].text
    with serving(server_url, tmp_path / "one") as one:
        with serving(server_url, tmp_path / "two", log=tmp_path / "log") as two:
            assert Person(one, token).store("Deploys need the blue button") == 200
            assert Person(two, token).listed() == ["Deploys need the blue button"]
            for path in ("/api/health", "/api/ready"):
                assert httpx2.get(f"{two}{path}", timeout=60).status_code == 200, path
            admin = Person(two, team.tokens[Role.ADMIN].text)
            counted = httpx2.get(f"{two}/metrics", headers=admin.web.headers, timeout=60)
            assert 'method="GET",route="/list",status="200"' in counted.text
            log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
            assert any("/list" in str(entry.get("route")) for entry in log), log
        # The second is gone: the first has everything.
        assert Person(one, token).listed() == ["Deploys need the blue button"]
