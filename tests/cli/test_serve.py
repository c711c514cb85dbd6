"""`serve`, `mcp` and `events` as processes of their own: live parts, signals, registration."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Cli
from wellkept.api.processes import FOLDER_NAME, RunningProcess, announced, running_processes
from wellkept.api.server.token_file import TOKEN_NAME
from wellkept.clients.answers.protocol import NoServerError, ask, is_server_running
from wellkept.store import spool

pytestmark = pytest.mark.feature("C5")

_ROOT = Path(__file__).resolve().parents[2]
SESSION = "5e551040-0000-4000-8000-000000000002"


@dataclass(frozen=True)
class Served:
    """A server process that is up."""

    process: subprocess.Popen[str]
    address: str
    client: httpx2.Client


def _environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "WELLKEPT_HOME": str(home),
        "WELLKEPT_EMBEDDING_PROVIDER": "none",
        "PYTHONUNBUFFERED": "1",
    }


@contextmanager
def serving(home: Path, folder: Path, *arguments: str) -> Generator[Served]:
    """`wellkept serve` on a free port, until it is told to end."""
    command = [sys.executable, "-m", "wellkept.cli", "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=_environment(home), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            address = next(line for line in process.stdout if "http://" in line).split()[-1]
            token = (home / TOKEN_NAME).read_text("ascii").strip()
            headers = {"Authorization": f"Bearer {token}"}
            with httpx2.Client(base_url=address, headers=headers, timeout=60) as client:
                assert client.get("/api/health").json()["status"] == "ok"
                yield Served(process, address, client)
        finally:
            process.terminate()
            process.wait(timeout=60)


def catch(home: Path, folder: Path, event: str, **payload: object) -> bytes:
    """Spool an event as a hook would; returns its payload."""
    whole = {"session_id": SESSION, "cwd": str(folder), "hook_event_name": event, **payload}
    raw = json.dumps(whole).encode()
    spool.append(
        str(home / spool.FOLDER_NAME),
        client="claude-code",
        session=SESSION,
        event=event,
        payload=raw,
        now_ms=1_790_000_000_000,
    )
    return raw


def _next_event(client: httpx2.Client, kind: str) -> dict[str, object]:
    """The next event of a kind, from all that were and will be."""
    with client.stream("GET", "/api/events", params={"after": "0"}) as answer:
        lines = answer.iter_lines()
        for line in lines:
            if line == f"event: {kind}":
                return json.loads(next(lines).removeprefix("data: "))
    raise AssertionError(f"no {kind} came")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "a project with spaces"
    made.mkdir()
    return made


@pytest.mark.feature("C2", "C6")
def test_what_hooks_catch_is_drained_told_and_answered_while_it_serves(
    home: Path, folder: Path
) -> None:
    with serving(home, folder) as web:
        catch(home, folder, "SessionStart", source="startup")
        catch(home, folder, "UserPromptSubmit", prompt="Remember that we greet in French.")
        catch(home, folder, "SessionEnd", reason="exit")
        assert _next_event(web.client, "session_ended")["session_id"] == SESSION
        found = web.client.get("/api/recall", params={"query": "greet French"}).json()
        assert found["hits"]
        assert is_server_running(str(home))
        asked = {
            "session_id": "another", "cwd": str(folder), "hook_event_name": "UserPromptSubmit",
            "prompt": "Do we greet in French?",
        }  # fmt: skip
        answer = ask(
            str(home),
            client="claude-code",
            event="UserPromptSubmit",
            payload=json.dumps(asked).encode(),
            timeout_s=30,
        )
        assert b"French" in answer
    with pytest.raises(NoServerError):
        ask(str(home), client="claude-code", event="Stop", payload=b"{}", timeout_s=1)


@pytest.mark.feature("C2", "C6")
def test_two_servers_drain_each_event_once_and_both_tell_of_it(home: Path, folder: Path) -> None:
    with serving(home, folder) as one, serving(home, folder) as other:
        for number in range(20):
            catch(home, folder, "UserPromptSubmit", prompt=f"Look at part {number} of the plan")
        catch(home, folder, "SessionEnd", reason="exit")
        told = [_next_event(web.client, "session_ended") for web in (one, other)]
        assert told[0] == told[1]
        sessions = one.client.get("/api/session/show", params={"name": SESSION}).json()
        assert sessions["session"]["prompt_count"] == 20
        assert [one["kind"] for one in sessions["entries"]].count("prompt") == 20
        assert len(running_processes(home)) == 2
    assert running_processes(home) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_also_with_a_subscriber(
    home: Path, folder: Path, number: signal.Signals
) -> None:
    with serving(home, folder) as web, web.client.stream("GET", "/api/events") as events:
        assert next(events.iter_lines())
        web.process.send_signal(number)
        assert web.process.wait(timeout=60) == 0
        assert running_processes(home) == []
        assert not (home / "answer.sock").exists()


def test_a_busy_port_is_refused_with_what_to_do(home: Path, folder: Path) -> None:
    with serving(home, folder) as web:
        port = web.address.rsplit(":", 1)[1]
        done = subprocess.run(
            [sys.executable, "-m", "wellkept.cli", "serve", "--port", port],
            cwd=folder, env=_environment(home), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "--port" in done.stderr
        assert len(running_processes(home)) == 1


def test_mcp_is_served_at_the_same_address_behind_the_same_guard(home: Path, folder: Path) -> None:
    with serving(home, folder) as web:
        hello = {
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        }  # fmt: skip
        accept = {"Accept": "application/json, text/event-stream"}
        answer = web.client.post("/mcp", json=hello, headers=accept)
        assert answer.status_code == 200
        assert '"serverInfo"' in answer.text
        assert httpx2.post(f"{web.address}/mcp", json=hello, headers=accept).status_code == 401
        foreign = web.client.post("/mcp", json=hello, headers=accept | {"Origin": "http://x.test"})
        assert foreign.status_code == 403


def test_another_database_leaves_the_hooks_events_alone(home: Path, folder: Path) -> None:
    catch(home, folder, "UserPromptSubmit", prompt="Not for that database")
    command = [
        sys.executable, "-m", "wellkept.cli", "--store", str(folder / "own.db"), "serve",
        "--port", "0",
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=folder, env=_environment(home), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert next(line for line in process.stdout if "http://" in line)
        process.terminate()
        process.wait(timeout=60)
    assert list((home / spool.FOLDER_NAME).glob(f"*{spool.SUFFIX}"))


@pytest.mark.feature("C2")
def test_an_mcp_server_drains_too_and_shows_in_status(home: Path, folder: Path) -> None:
    catch(home, folder, "UserPromptSubmit", prompt="Seen by an MCP server")
    catch(home, folder, "SessionEnd", reason="exit")
    with subprocess.Popen(
        [sys.executable, "-m", "wellkept.cli", "mcp"],
        cwd=folder, env=_environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process, serving(home, folder, "--verbose") as web:  # fmt: skip
        _next_event(web.client, "session_ended")
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)


def test_make_serve_shows_the_tour_and_serves_until_it_is_stopped(home: Path) -> None:
    here = f"HERE=WELLKEPT_HOME='{home}' WELLKEPT_EMBEDDING_PROVIDER=none PYTHONUNBUFFERED=1"
    # What is installed is what the tests run with, so nothing is set up anew.
    command = ["make", "-o", ".venv/run.stamp", "-o", "page", "serve", "PORT=0", here]
    environment = {**os.environ, "CI": "true"}
    with subprocess.Popen(
        command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        printed: list[str] = []
        for line in process.stdout:
            printed.append(line)
            if "Press Ctrl-C" in line:
                break
        address = next(line for line in printed if "http://" in line).split()[-1]
        token = (home / TOKEN_NAME).read_text("ascii").strip()
        headers = {"Authorization": f"Bearer {token}"}
        known = httpx2.get(f"{address}/api/stats", headers=headers, timeout=60).json()
        assert known["total"] > 10
        (running,) = running_processes(home)
        os.kill(running.pid, signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    assert any("memories" in line for line in printed)


# -- In process -----------------------------------------------------------------------------------


def test_a_missing_extra_is_named_with_what_to_install(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    done = cli("serve", "--port", "0")
    assert done.code == 2
    assert "starlette" in done.err
    assert "pip install --upgrade wellkept" in done.err


def test_the_dead_are_not_taken_for_running(tmp_path: Path) -> None:
    me = RunningProcess(
        kind="serve", pid=os.getpid(), started_at="2026-01-01", version="1", address="x"
    )
    left = tmp_path / FOLDER_NAME / "999999.json"
    with announced(tmp_path, me):
        left.write_text('{"kind": "serve", "pid": 999999, "started_at": "", "version": "1"}')
        (tmp_path / FOLDER_NAME / "1.json").write_text("no json")
        file = tmp_path / FOLDER_NAME / f"{os.getpid()}.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert running_processes(tmp_path) == [me]
        assert not left.exists()
    assert running_processes(tmp_path) == []


def test_status_shows_what_runs(cli: Cli, home: Path) -> None:
    assert cli("status", "--json").json["running"] == []
    me = RunningProcess(
        kind="serve", pid=os.getpid(), started_at="2026-01-01", version="1", address="x"
    )
    with announced(home, me):
        assert f"wellkept serve running at x (process {os.getpid()})" in cli("status").out
        assert cli("status", "--json").json["running"][0]["kind"] == "serve"


@pytest.mark.feature("C6")
def test_events_are_shown_and_as_json(cli: Cli) -> None:
    assert cli("events", "--json").json == {"items": []}
    cli("remember", "We deploy on Fridays")
    cli("remember", "Elsewhere it rains", "--project", "other")
    shown = cli("events").out
    assert "memory_stored" in shown
    assert "We deploy on Fridays" in shown
    assert "rains" not in shown
    (item,) = cli("events", "--json").json["items"]
    assert (item["kind"], item["number"], item["type"]) == ("memory_stored", 1, "fact")
    everything = cli("events", "--json", "--all-projects", "--after", "0").json["items"]
    assert [one["number"] for one in everything] == [1, 2]
    assert cli("events", "--json", "--limit", "0").json == {"items": []}


@pytest.mark.feature("C6")
def test_events_are_followed_line_by_line(home: Path, folder: Path) -> None:
    base = [sys.executable, "-m", "wellkept.cli"]
    remember = [*base, "remember", "--project", "demo"]
    subprocess.run([*remember, "Said before"], env=_environment(home), cwd=folder, check=True)
    with subprocess.Popen(
        [*base, "events", "--follow", "--json", "--project", "demo"],
        cwd=folder, env=_environment(home), stdout=subprocess.PIPE, text=True,
        preexec_fn=_hears_ctrl_c,  # noqa: PLW1509 - the test has no threads
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["title"] == "Said before"
            said = [*remember, "Said after"]
            subprocess.run(said, env=_environment(home), cwd=folder, check=True)
            assert json.loads(process.stdout.readline())["title"] == "Said after"
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()


def _hears_ctrl_c() -> None:
    """A job in the background of a script is started deaf to it, and so are its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
