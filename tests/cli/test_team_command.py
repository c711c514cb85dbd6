"""`wellkept team`: set up, people, tokens, audit, policies, erasure; and `serve --database`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from psycopg.conninfo import conninfo_to_dict

from scripts.generate_docs import JSON_FIELDS
from tests.cli.conftest import Cli

pytestmark = pytest.mark.feature("T2")


def done(cli: Cli, *arguments: str) -> str:
    outcome = cli(*arguments)
    assert outcome.code == 0, outcome.err
    return outcome.out


def refused(cli: Cli, *arguments: str) -> str:
    outcome = cli(*arguments)
    assert outcome.code != 0
    return outcome.err


def told(cli: Cli, *arguments: str) -> Any:
    """The document that a command prints, whose fields are the documented ones; of a listing its
    items."""
    document = json.loads(done(cli, *arguments, "--json"))
    names = (" ".join(arguments[:count]) for count in (3, 2))
    assert tuple(document) == next(JSON_FIELDS[name] for name in names if name in JSON_FIELDS)
    return document.get("items", document)


@pytest.fixture
def team_url(empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("WELLKEPT_TEAM_DATABASE", empty_postgres_url)
    return empty_postgres_url


@pytest.mark.usefixtures("team_url")
def test_an_operator_looks_after_an_organisation(cli: Cli, tmp_path: Path) -> None:
    assert "no organisation yet" in refused(cli, "team", "user", "list")
    made = told(cli, "team", "org", "create", "acme", "--admin", "ada")
    assert made["token"].startswith("wkt_acme.")
    assert "lower-case" in refused(cli, "team", "org", "create", "Acme!", "--admin", "a")
    assert told(cli, "team", "user", "add", "kim", "--role", "reader")["role"] == "reader"
    assert told(cli, "team", "user", "role", "kim", "writer")["role"] == "writer"
    people = {one["name"]: one["role"] for one in told(cli, "team", "user", "list")}
    assert people == {"ada": "admin", "kim": "writer"}
    issued = told(cli, "team", "token", "issue", "kim", "--label", "laptop", "--days", "3")
    rotated = told(cli, "team", "token", "rotate", issued["id"])
    assert told(cli, "team", "token", "revoke", rotated["id"])["revoked"]
    listed = told(cli, "team", "token", "list")
    assert issued["token"] not in json.dumps(listed)
    assert {one["person"] for one in listed if one["revoked_at"]} == {"kim"}
    assert "revoked" in done(cli, "team", "token", "list")
    done(
        cli,
        "team",
        "policy",
        "set",
        "--retention-days",
        "30",
        "--injected-types",
        "gotcha,decision",
    )
    told(cli, "team", "policy", "set", "--project", "name:shop", "--retention-days", "7")
    shown = told(cli, "team", "policy", "show", "--project", "name:shop")
    assert shown == {
        "injected_types": ["gotcha", "decision"],
        "retention_days": 7,
        "audit_days": None,
    }
    assert "organisation's" in refused(
        cli, "team", "policy", "set", "--project", "name:shop", "--audit-days", "9"
    )
    assert told(cli, "team", "policy", "set", "--audit-days", "400")["audit_days"] == 400
    assert "Audit log: 400 days" in done(cli, "team", "policy", "show")
    document = tmp_path / "SKILL.md"
    document.write_text("# Release", "utf-8")
    told(cli, "team", "skill", "put", "release", str(document))
    assert [one["name"] for one in told(cli, "team", "skill", "list")] == ["release"]
    told(cli, "team", "skill", "remove", "release")
    assert told(cli, "team", "retain", "--dry-run")["projects"] == []
    assert told(cli, "team", "retain") == {
        "is_dry_run": False,
        "memories": 0,
        "audit_entries": 0,
        "projects": [],
    }
    assert "0 memories deleted" in done(cli, "team", "retain")
    actions = {one["action"] for one in told(cli, "team", "audit", "--limit", "100")}
    assert {"organisation added", "person changed", "token changed", "skill deleted"} <= actions
    preview = told(cli, "team", "user", "erase", "kim", "--dry-run")
    assert (preview["tokens"], preview["is_dry_run"]) == (2, True)
    assert "kim" in done(cli, "team", "user", "remove", "kim", "--dry-run")
    assert told(cli, "team", "user", "remove", "kim")["tokens"] == 0
    assert told(cli, "team", "user", "erase", "kim", "--yes")["is_verified"]
    assert "kim" not in done(cli, "team", "audit", "--limit", "100")
    assert "only administrator" in refused(cli, "team", "user", "remove", "ada")


@pytest.mark.feature("T5")
def test_a_team_is_served_with_the_role_that_init_makes(
    cli: Cli, team_url: str, tmp_path: Path
) -> None:
    known = conninfo_to_dict(team_url)
    role = f"{known['dbname']}_srv"
    made = told(cli, "team", "init", "--server-role", role)
    assert made["is_new"]
    assert not told(cli, "team", "init", "--server-role", role)["is_new"]
    token = told(cli, "team", "org", "create", "acme", "--admin", "ada")["token"]
    url = f"postgresql://{role}:{made['password']}@/{known['dbname']}?host={known['host']}"
    said = refused(cli, "serve", "--database", team_url, "--port", "0")
    assert "must not connect" in said
    away = refused(cli, "serve", "--database", "postgresql://x:pw-1@127.0.0.1:9/y")
    assert "cannot be reached" in away
    assert "pw-1" not in away
    command = [sys.executable, "-m", "wellkept.cli", "serve", "--port", "0", "--database", url]
    environment = {
        **os.environ,
        "WELLKEPT_HOME": str(tmp_path / "home"),
        "WELLKEPT_EMBEDDING_PROVIDER": "none",
        "PYTHONUNBUFFERED": "1",
    }
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        try:
            address = next(line for line in process.stdout if "http://" in line).split()[-1]
            headers = {"Authorization": f"Bearer {token}"}
            me = httpx2.get(f"{address}/api/team/me", headers=headers, timeout=60)
            assert me.json()["user"] == "ada"
            assert httpx2.get(f"{address}/api/team/me", timeout=60).status_code == 401
            assert httpx2.get(f"{address}/api/ready", timeout=60).status_code == 200
            stored = httpx2.post(
                f"{address}/api/memory_store", headers=headers, timeout=60,
                json={"content": "Releases go out on Tuesdays", "type": "fact"},
            )  # fmt: skip
            assert stored.status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    exported = tmp_path / "ada.jsonl"
    assert "1 memories" in done(cli, "team", "user", "export", "ada", "-o", str(exported))
    assert "Tuesdays" in exported.read_text("utf-8")
    again = told(cli, "team", "user", "export", "ada", "-o", str(tmp_path / "again.jsonl"))
    assert again["memories"] == 1
