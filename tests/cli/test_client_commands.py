"""`wellkept install`, `uninstall` and `status` from the command line, and the hooks they write."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.clients.recorded import recorded
from wellkept.clients.install.client_files import CLIENTS
from wellkept.clients.registry import translate
from wellkept.core.session.events import Event, PromptSubmitted, ToolCalled
from wellkept.core.session.sessions import SpoolEntry
from wellkept.store.spool_reader import files, read

pytestmark = pytest.mark.feature("C4")
_AT = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without any settings of the person running the tests."""
    folder = tmp_path / "person"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.mark.parametrize("client", list(CLIENTS))
def test_a_client_is_hooked_in_and_out_again(cli: Cli, person: Path, client: str) -> None:
    done = cli("install", client)
    assert (done.code, done.out.startswith("Wellkept installed: ")) == (0, True)
    assert "already installed" in cli("install", client).out
    assert f"{client}\tuser\tinstalled\t" in cli("status").out
    assert "removed" in cli("uninstall", client).out
    assert "not installed" in cli("uninstall", client).out
    assert list(person.iterdir()) == []


def test_codex_users_are_told_to_trust_the_hooks(cli: Cli) -> None:
    assert "trust" in cli("install", "codex").err


def test_a_dry_run_prints_a_diff_and_writes_nothing(cli: Cli, person: Path) -> None:
    settings = person / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"theme": "dark"}')
    shown = cli("install", "gemini", "--dry-run").out
    assert shown.startswith(f"--- {settings}\n+++ {settings}\n")
    assert '-{"theme": "dark"}\n\\ No newline at end of file\n' in shown
    assert settings.read_text("utf-8") == '{"theme": "dark"}'
    patched = subprocess.run(
        ["git", "apply", "--unsafe-paths", "--directory=/", "-p1", "--check", "-"],
        input=shown.replace(f"--- {settings}", f"--- a{settings}").replace("+++ ", "+++ b"),
        text=True,
        cwd=person,
        capture_output=True,
        check=False,
    )
    assert patched.returncode == 0, patched.stderr


def test_a_project_has_hooks_of_its_own(cli: Cli) -> None:
    done = cli("install", "claude-code", "--project", "--json").json
    assert Path(done["path"]) == Path.cwd() / ".claude" / "settings.local.json"
    items = cli("status", "--json").json["items"]
    installed = [(i["client"], i["scope"]) for i in items if i["state"] == "installed"]
    assert installed == [("claude-code", "project")]


def test_json_tells_what_was_done(cli: Cli) -> None:
    done = cli("install", "cursor", "--json").json
    assert (done["client"], done["changed"], done["dry_run"]) == ("cursor", True, False)
    assert done["diff"].startswith("--- /dev/null\n+++ ")
    assert cli("install", "cursor", "--json").json["changed"] is False


def test_settings_that_are_no_json_are_refused_with_their_place(cli: Cli, person: Path) -> None:
    settings = person / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "a": 1\n  "b": 2\n}')
    refused = cli("install", "claude-code")
    assert (refused.code, refused.out) == (2, "")
    assert "line 3, column 3" in refused.err
    shown = cli("status")
    assert f"claude-code\tuser\tbroken\t-\t{settings}" in shown.out
    assert "not valid JSON" in shown.err


def test_hooks_of_another_installation_are_called_outdated(cli: Cli, person: Path) -> None:
    cli("install", "codex")
    hooks = person / ".codex" / "hooks.json"
    hooks.write_text(hooks.read_text("utf-8").replace(" -I -S ", " -S "))
    assert "codex\tuser\toutdated" in cli("status").out
    cli("install", "codex")
    assert "codex\tuser\tinstalled" in cli("status").out


def test_what_was_installed_really_catches_events(cli: Cli, home: Path, person: Path) -> None:
    cli("install", "claude-code")
    settings = json.loads((person / ".claude" / "settings.json").read_text("utf-8"))
    for event, name in (
        ("UserPromptSubmit", "UserPromptSubmit"),
        ("PostToolUse", "PostToolUse-Edit"),
    ):
        command = settings["hooks"][event][0]["hooks"][0]["command"]
        assert " -I -S " in command
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=json.dumps(recorded("claude-code", name)),
            text=True,
            capture_output=True,
            env=os.environ | {"WELLKEPT_HOME": str(home)},
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert [type(event) for event in _caught(home)] == [PromptSubmitted, ToolCalled]


def test_a_plugin_folder_can_be_had_instead(cli: Cli, person: Path) -> None:
    done = cli("install", "claude-code", "--plugin", "my plugin")
    assert (done.code, done.out) == (0, f"Plugin written to: {Path.cwd() / 'my plugin'}\n")
    assert "--plugin-dir" in done.err
    assert "twice" not in done.err
    assert list(person.iterdir()) == []
    cli("install", "claude-code")
    again = cli("install", "claude-code", "--plugin", "my plugin", "--json")
    assert {Path(file).name for file in again.json["files"]} >= {"plugin.json", "hooks.json"}
    assert "twice" in cli("install", "claude-code", "--plugin", "my plugin").err
    assert cli("install", "codex", "--plugin", "other").code == 2


def test_parts_can_be_left_out_and_status_names_those_that_are_in(cli: Cli) -> None:
    cli("install", "cursor", "--no-mcp", "--no-commands")
    assert "cursor\tuser\tinstalled\thooks\t" in cli("status").out
    shown = cli("install", "cursor", "--dry-run").out
    assert "mcp.json" in shown
    assert "remember.md" in shown
    done = cli("install", "cursor", "--json").json
    assert {Path(file["path"]).name for file in done["files"] if file["changed"]} == {
        "mcp.json", "remember.md", "recall.md", "forget.md", "run-skill.md", "review-memory.md",
        "flag.md", "memory.md"
    }  # fmt: skip
    assert "cursor\tuser\tinstalled\thooks, mcp, commands\t" in cli("status").out


@pytest.mark.feature("C5")
def test_the_server_that_was_registered_starts_without_a_path(
    cli: Cli, home: Path, person: Path
) -> None:
    cli("install", "cursor")
    entry = json.loads((person / ".cursor" / "mcp.json").read_text("utf-8"))
    server = entry["mcpServers"]["wellkept"]
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    done = subprocess.run(
        [server["command"], *server["args"]],
        input=json.dumps(hello) + "\n",
        text=True,
        capture_output=True,
        env={"PATH": "/nowhere", "WELLKEPT_HOME": str(home)},
        check=True,
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "wellkept"
    assert answer["result"]["protocolVersion"] == "2025-06-18"


def _caught(home: Path) -> list[Event]:
    """The events in the spool."""
    return [
        event
        for file in files(home / "spool")
        for entry in read(file.path)
        if isinstance(entry, SpoolEntry)
        for event in translate(
            entry.client, entry.event, entry.payload, event_id=entry.event_id, at=_AT
        )
    ]
