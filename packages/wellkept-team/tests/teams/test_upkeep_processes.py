"""Two servers of a team, one database: upkeep runs by itself, once, and can be watched."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import httpx2
import psycopg
import pytest

from bench.crash_scene import wait_until
from tests.postgres_team import Team
from tests.support.samples import Samples
from tests.teams.processes import serving
from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.team.people import Role
from wellkept.core.team.records import AuditFilter, TeamPolicy

pytestmark = pytest.mark.feature("T2", "T5")
MEMORIES = 20


def test_two_servers_delete_what_is_due_once_and_say_so(
    team: Team, server_url: str, postgres_url: str, tmp_path: Path
) -> None:
    samples = Samples(project="name:shop")  # of long ago
    with closing(team.server.store_of(team.person(Role.WRITER))) as store:
        for number in range(MEMORIES):
            store.apply([Insert(samples.memory(f"Old word {number}."), IndexEntry())])
    team.operator.put_policy("", TeamPolicy(retention_days=30, audit_days=30))
    with closing(psycopg.connect(postgres_url, autocommit=True)) as db:
        db.execute("DELETE FROM wellkept.upkeep")
    logs = [tmp_path / "one.log", tmp_path / "two.log"]
    with (
        serving(server_url, tmp_path / "one", log=logs[0]) as first,
        serving(server_url, tmp_path / "two", log=logs[1]) as second,
    ):
        wait_until(
            lambda: len(team.operator.audit(AuditFilter(action="memory deleted"))) >= MEMORIES,
            "the upkeep of a server",
        )
        both = (first, second)
        wait_until(lambda: all(_ready(one)["upkeep"] == "ok" for one in both), "a first round")
        token = team.tokens[Role.ADMIN].text
        assert sum(_metric(one, token, 'deleted_total{what="memories"}') for one in both) == (
            MEMORIES
        )
        assert all(_metric(one, token, "success_seconds") > 0 for one in both)
        assert _asked("GET", first, token)["memories"] == 0
        assert _asked("POST", second, token)["is_dry_run"] is False
        reader = team.tokens[Role.READER].text
        refused = httpx2.get(f"{first}/api/team/upkeep", headers=_headers(reader), timeout=60)
        assert refused.status_code == 403
    deleted = team.operator.audit(AuditFilter(action="memory deleted", limit=1000))
    assert len(deleted) == MEMORIES
    assert {entry.person for entry in deleted} == {"(upkeep)"}
    lines = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    said = [one for one in lines if "Upkeep deleted" in json.dumps(one)]
    assert len(said) == 1
    assert "Old word" not in json.dumps(lines)


def _ready(address: str) -> dict[str, str]:
    return httpx2.get(f"{address}/api/ready", timeout=60).json()


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _asked(method: str, address: str, token: str) -> dict[str, object]:
    answer = httpx2.request(
        method, f"{address}/api/team/upkeep", headers=_headers(token), timeout=60
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def _metric(address: str, token: str, name: str) -> float:
    text = httpx2.get(f"{address}/metrics", headers=_headers(token), timeout=60).text
    found = re.search(rf"^wellkept_upkeep_{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return 0.0 if found is None else float(found[1])
