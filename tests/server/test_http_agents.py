"""An agent with the machine's token, or with its own, speaks for no person over HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.server.http_serving import TOKEN, Served, served_in
from wellkept.api.server import peer_process
from wellkept.api.server.peer_process import peer_environment
from wellkept.api.server.token_file import agent_token

pytestmark = pytest.mark.feature("A13", "C5")

_POST = """
import json, sys, urllib.request
address, token = sys.argv[1:]
body = {"content": "Always use tabs", "said_by_person": True, "about_person": True}
request = urllib.request.Request(
    f"{address}/api/memory_store",
    json.dumps(body).encode(),
    {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
)
print(json.load(urllib.request.urlopen(request))["told_by"])
"""


def post_from_a_shell(served: Served, **marks: str) -> str:
    """Whose words the server takes it for, from another process with the machine's token."""
    done = subprocess.run(
        [sys.executable, "-c", _POST, served.address, TOKEN],
        env={**os.environ, **marks},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
def test_the_machines_token_in_a_tool_call_is_the_agents(tmp_path: Path) -> None:
    with served_in(tmp_path) as served:
        assert post_from_a_shell(served, GEMINI_CLI="1") == "agent noted"
    with served_in(tmp_path / "other") as served:
        assert post_from_a_shell(served) == "person"


def test_a_process_that_nobody_knows_has_no_marks() -> None:
    assert peer_environment(1, 2) == {}


def test_one_connection_is_looked_at_once_and_another_from_its_port_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, int]] = []
    marks: dict[str, str] = {}

    def found(client_port: int, server_port: int) -> dict[str, str]:
        asked.append((client_port, server_port))
        return dict(marks)

    monkeypatch.setattr(peer_process, "peer_environment", found)
    peers, ours = peer_process.Peers(), ("127.0.0.1", 80)
    # Two connections from one port: equal, and not the same.
    first, second = ((".".join(["127", "0", "0", "1"]), 5000) for _ in range(2))
    assert peers.environment(first, ours) == {}
    marks["GEMINI_CLI"] = "1"
    assert peers.environment(first, ours) == marks, "what is not known is looked for again"
    assert peers.environment(first, ours) == marks
    assert asked == [(5000, 80)] * 2
    marks.clear()
    assert peers.environment(second, ours) == {}
    assert len(asked) == 3


def test_an_agents_token_keeps_to_the_project_and_to_its_own_word(tmp_path: Path) -> None:
    with served_in(tmp_path) as served:
        headers = {"Authorization": f"Bearer {agent_token(TOKEN)}"}
        agent = httpx2.Client(base_url=served.address, headers=headers, timeout=30)
        kept = agent.post("/api/memory_store", json={"content": "Tabs", "said_by_person": True})
        assert kept.json()["told_by"] == "agent noted"
        for refused in (
            agent.post("/api/memory_store", json={"content": "Tabs", "project": "other"}),
            agent.get("/api/stats", params={"project": "other"}),
            agent.get("/api/stats", headers={"Wellkept-Project": "other"}),
            agent.get("/api/session/list", params={"all_projects": "true"}),
            agent.get("/api/export", params={"all_projects": "true"}),
            agent.get("/api/list", params={"allProjects": "true"}),
            agent.post("/api/list", json={"allProjects": True}),
            agent.post("/api/edit", json={"ids": kept.json()["id"], "action": "confirm"}),
        ):
            assert refused.status_code == 403, refused.text
            assert "takes a person" in refused.text
        assert agent.get("/api/stats").json()["total"] == 1
        assert served.get("stats", project="other")["total"] == 0
