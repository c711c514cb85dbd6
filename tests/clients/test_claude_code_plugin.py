"""Claude Code's plugin folder."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from wellkept.api.cli import door
from wellkept.api.verbs.index import VERBS
from wellkept.clients import claude_code
from wellkept.clients.hook_spec import Programs
from wellkept.clients.install.claude_plugin import write_plugin
from wellkept.clients.install.slash_commands import COMMANDS
from wellkept.core.errors import ConflictError

pytestmark = pytest.mark.feature("C4")
COMMAND = ("/usr/bin/python3", "-I", "-S", "/opt/wellkept/clients/hook.py")


SERVER = ("/opt/python", "-P", "-m", "wellkept.cli", "mcp")


def _write(
    folder: Path, *, program: str = "wellkept", server: tuple[str, ...] = SERVER
) -> dict[str, str]:
    programs = Programs(hook=COMMAND, server=server, wellkept=(program,))
    written = write_plugin(folder, programs=programs, version="1.2.3")
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in written}


def test_the_folder_has_what_a_plugin_needs(tmp_path: Path) -> None:
    made = _write(tmp_path / "plugin")
    manifest = json.loads(made[".claude-plugin/plugin.json"])
    assert manifest["name"] == "wellkept"
    assert manifest["version"] == "1.2.3"
    market = json.loads(made[".claude-plugin/marketplace.json"])
    assert [plugin["source"] for plugin in market["plugins"]] == ["./"]
    on_disk = {p for p in (tmp_path / "plugin").rglob("*") if p.is_file()}
    assert {str(p.relative_to(tmp_path / "plugin")) for p in on_disk} == set(made)


def test_its_hooks_are_those_of_the_settings(tmp_path: Path) -> None:
    hooks = json.loads(_write(tmp_path)["hooks/hooks.json"])["hooks"]
    usual = [hook.event for hook in claude_code.HOOKS if not hook.before]
    assert sorted(event for event, group in hooks.items() for _ in group) == sorted(usual)
    (stop,) = hooks["Stop"]
    assert stop["hooks"][0]["command"].endswith("hook.py claude-code Stop both || exit 0")


def test_its_server_can_be_left_out(tmp_path: Path) -> None:
    servers = json.loads(_write(tmp_path)[".mcp.json"])["mcpServers"]
    assert servers == {"wellkept": {"command": SERVER[0], "args": list(SERVER[1:])}}
    assert json.loads(_write(tmp_path, server=())[".mcp.json"])["mcpServers"] == {}


def test_its_skill_keeps_to_the_rules_of_skills(tmp_path: Path) -> None:
    (path,) = [name for name in _write(tmp_path) if name.startswith("skills/")]
    text = (tmp_path / path).read_text("utf-8")
    _, head, body = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert set(fields) == {"name", "description"}
    assert fields["name"] == Path(path).parent.name
    assert len(fields["description"]) <= 1024
    assert "__" not in body


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_a_slash_command_calls_commands_that_exist(tmp_path: Path, name: str) -> None:
    text = _write(tmp_path, program="/opt/bin/wellkept")[f"commands/{name}.md"]
    assert text.startswith("---\ndescription: ")
    called = set(re.findall(r"/opt/bin/wellkept (\w+)", text))
    assert called
    assert called <= {*VERBS, *door.WORDS, *door.NOUNS}
    assert "__" not in text


def test_deleting_is_not_allowed_without_being_asked(tmp_path: Path) -> None:
    head = _write(tmp_path)["commands/forget.md"].split("---")[1]
    assert "forget:" not in head


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    assert _write(tmp_path / "plugin") == _write(tmp_path / "plugin")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConflictError, match="not Wellkept's plugin"):
        _write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    other = tmp_path / "other" / ".claude-plugin" / "plugin.json"
    other.parent.mkdir(parents=True)
    other.write_text('{"name": "another"}')
    with pytest.raises(ConflictError, match="not Wellkept's plugin"):
        _write(tmp_path / "other")
