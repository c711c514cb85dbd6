"""Sharing end to end: `wellkept serve --database`, commands, hooks, HTTP, tokens of real people."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from bench.crash_scene import wait_until
from scripts.generate_docs import JSON_FIELDS
from tests.postgres_team import Team
from tests.teams.processes import WAIT_S, Desk, Line, free_port, serving
from wellkept.core.records import replace
from wellkept.core.team.people import Role, new_token
from wellkept.core.team.records import TeamPolicy
from wellkept.core.types import MemoryType
from wellkept_team.sync.state import get_remote, put_remote, put_token

pytestmark = pytest.mark.feature("T3")


@pytest.fixture
def address(server_url: str, tmp_path: Path) -> Iterator[str]:
    with serving(server_url, tmp_path / "server") as served:
        yield served


def joined(folder: Path, name: str, address: str, token: str) -> Desk:
    desk = Desk(folder, name)
    desk.done("remote", "add", address, given=f"{token}\n")
    return desk


def test_a_new_member_joins_with_one_command_and_the_first_session_knows_the_conventions(
    team: Team, address: str, tmp_path: Path
) -> None:
    rita = Desk(tmp_path, "rita")
    rita.done("remember", "Every endpoint has a rate limit.", "--type", "convention")
    rita.done("remember", "The cache lies after a restart.", "--type", "gotcha")
    policy = TeamPolicy(injected_types=(MemoryType.CONVENTION,))
    team.operator.put_policy("git:github.com/acme/shop", policy)
    rita.done("remote", "add", address, given=f"{team.tokens[Role.REVIEWER].text}\n")
    newcomer = joined(tmp_path, "newcomer", address, team.tokens[Role.WRITER].text)
    told = newcomer.session_start()
    assert "Every endpoint has a rate limit." in told
    assert "cache lies" not in told  # the organisation's policy holds on the laptop, too
    assert "cache lies" in newcomer.done("recall", "what does the cache do?")
    state = newcomer.state()
    assert (state["remote"]["person"], state["remote"]["role"]) == ("writer", "writer")
    assert state["shared"] == 2


def test_a_reader_is_told_everything_and_pushes_nothing(
    team: Team, address: str, tmp_path: Path
) -> None:
    rita = joined(tmp_path, "rita", address, team.tokens[Role.REVIEWER].text)
    rita.done("remember", "Money is counted in cents.", "--type", "convention")
    rita.done("remote", "sync")
    reader = Desk(tmp_path, "reader")
    reader.done("remember", "The reader's own note.", "--type", "convention")
    reader.done("remote", "add", address, given=f"{team.tokens[Role.READER].text}\n")
    assert reader.contents() == {"Money is counted in cents.", "The reader's own note."}
    rita.done("remote", "sync")
    assert rita.run("remote", "review", "--json").json["items"] == []
    assert "The reader's own note." not in rita.contents()
    shown = reader.done("remote", "status")
    assert "a reader: nothing is pushed" in shown
    team.operator.put_person("reader", Role.WRITER)  # holds from the next request on
    reader.done("remote", "sync")
    (waiting,) = rita.run("remote", "review", "--json").json["items"]
    assert waiting["owner"] == "reader"


@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_a_token_that_ended_is_a_clear_state_and_the_next_one_goes_on(
    team: Team, address: str, tmp_path: Path, how: str
) -> None:
    token = new_token(team.tenant)
    soon = datetime.now(UTC) + timedelta(seconds=25) if how == "expired" else None
    team.operator.add_token(token, person="writer", label="laptop", expires=soon)
    desk = joined(tmp_path, "wim", address, token.text)
    if soon is None:
        team.operator.revoke_token(token.id)
    else:
        wait_until(lambda: team.server.authenticate(token.text) is None, "the end of the token")
    desk.done("remember", "Said while the token was over.", "--type", "convention")
    ended = desk.run("remote", "sync")
    assert ended.code == 1
    state = desk.state()
    assert state["remote"]["condition"] == "login"
    shown = desk.run("remote", "status").out
    assert "wellkept team join" in shown
    assert "Said while the token was over." in desk.contents()
    fresh = new_token(team.tenant)
    team.operator.add_token(fresh, person="writer", label="laptop", expires=None)
    desk.done("remote", "add", address, given=f"{fresh.text}\n")
    state = desk.state()
    assert (state["remote"]["condition"], state["proposed"]) == ("ok", 1)


def test_a_token_is_rotated_by_one_command_and_the_old_one_ends(
    team: Team, address: str, tmp_path: Path
) -> None:
    old = team.tokens[Role.WRITER]
    desk = joined(tmp_path, "wim", address, old.text)
    shown = desk.done("remote", "rotate")
    assert old.text not in shown
    assert "wkt_" not in shown
    assert team.server.authenticate(old.text) is None
    again = desk.run("remote", "rotate", "--json")
    assert "wkt_" not in again.out
    assert tuple(again.json) == JSON_FIELDS["remote rotate"]
    desk.done("remember", "Said with the new token.", "--type", "convention")
    desk.done("remote", "sync")
    assert desk.state()["proposed"] == 1


def test_what_is_personal_trusted_or_secret_is_in_no_byte_sent_and_in_no_table(
    team: Team, address: str, tmp_path: Path, postgres_url: str
) -> None:
    private = {name: f"{name}{secrets.token_hex(6)}" for name in ("taste", "note", "skill", "env")}
    secret = "ghp_" + secrets.token_hex(18)
    with Line(address) as line:
        desk = Desk(tmp_path, "rita")
        (desk.checkout / ".env").write_text(f"SHOP_PASSWORD={private['env']}\n")
        skill = desk.checkout / ".skills" / private["skill"]
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(
            f"---\nname: {private['skill']}\ndescription: Deploys.\nhooks:\n  Stop:\n"
            "    - command: echo done\n---\nDeploy.\n"
        )
        desk.done("skill", "trust", private["skill"], "--yes")
        desk.done("remember", f"I like {private['taste']}.", "--type", "preference",
                  "--scope", "user")  # fmt: skip
        desk.done("remember", f"Only here: {private['note']}.", "--scope", "session")
        desk.done("remember", "Deploys go through staging.", "--type", "convention")
        desk.done("remember", f"The deploy key is {secret}.", "--type", "fact")
        desk.done("remember", f"The password is {private['env']}.", "--type", "fact")
        payload = desk.machine.payload(prompt=f"Please mind {private['note']}")
        desk.machine.hook("claude-code", "UserPromptSubmit", payload=payload)
        desk.done("spool", "drain")
        desk.done("remote", "add", line.address, given=f"{team.tokens[Role.REVIEWER].text}\n")
        desk.done("remote", "sync")
        sent = bytes(line.sent)
    assert b"Deploys go through staging." in sent
    kept = everything_in(postgres_url)
    assert "Deploys go through staging." in kept
    for hidden in (*private.values(), secret):
        assert hidden.encode() not in sent
        assert hidden not in kept


def test_the_end_of_a_session_pushes_and_pulls_behind_the_hook_and_recovers_after_a_failure(
    team: Team, server_url: str, tmp_path: Path
) -> None:
    port = free_port()
    folder = tmp_path / "server"
    with serving(server_url, folder, port=port) as address:
        rita = joined(tmp_path, "rita", address, team.tokens[Role.REVIEWER].text)
        wim = joined(tmp_path, "wim", address, team.tokens[Role.WRITER].text)
        wim.done("install", "claude-code", "--no-mcp")  # knows how to drain from now on
        rita.done("remember", "Releases go out on Tuesdays.", "--type", "convention")
        rita.done("remote", "sync")
        wim.done("remember", "Wim's proposal.", "--type", "convention")
        end_session(wim, "s-1")
        wait_until(lambda: wim.state()["proposed"] == 1, "the push of an ended session")
        assert "Releases go out on Tuesdays." in wim.contents()
    wim.done("remember", "Said while the server was down.", "--type", "convention")
    end_session(wim, "s-2")
    wait_until(lambda: wim.state()["remote"]["condition"] == "offline", "the failed sync")
    state = wim.state()["remote"]
    assert state["next_at"] > state["synced_at"]
    with serving(server_url, folder, port=port):
        again_at = datetime.fromisoformat(state["next_at"])
        while datetime.now(UTC) < again_at:
            time.sleep(0.5)
        end_session(wim, "s-3")
        wait_until(lambda: wim.state()["proposed"] == 2, "the push after the server came back")
        assert wim.state()["remote"]["condition"] == "ok"


def test_a_server_that_never_answers_holds_up_no_hook(
    team: Team, address: str, tmp_path: Path
) -> None:
    wim = joined(tmp_path, "wim", address, team.tokens[Role.WRITER].text)
    wim.done("install", "claude-code", "--no-mcp")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with wim.machine.memory() as wk:
            known = get_remote(wk.engine.store, wk.project)
            assert known is not None
            put_token(wim.machine.environment, url, team.tokens[Role.WRITER].text)
            put_remote(wk.engine.store, wk.project, replace(known, url=url))
        end_session(wim, "s-1")  # comes back although nobody will answer
        silent.settimeout(WAIT_S)
        asked, _ = silent.accept()
        with asked:
            assert asked.recv(1)
    wait_until(lambda: wim.state()["remote"]["condition"] == "offline", "the end of the attempt")


def end_session(desk: Desk, session: str) -> None:
    for event, more in (("UserPromptSubmit", {"prompt": "Go on"}), ("SessionEnd", {})):
        payload = desk.machine.payload(session=session, reason="exit", **more)
        assert desk.machine.hook("claude-code", event, payload=payload).code == 0


def everything_in(url: str) -> str:
    """Every row of every table, as text."""
    found: list[str] = []
    with closing(psycopg.connect(url)) as db:
        tables = db.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname = 'wellkept'"
        ).fetchall()
        for (table,) in tables:
            found += (str(row) for row in db.execute(f"SELECT t::text FROM {table} t".encode()))
    return "\n".join(found)
