"""The MCP server and the slash commands in clients' files, beside the hooks."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wellkept.api.cli import door
from wellkept.api.verbs.index import VERBS
from wellkept.clients.hook_spec import ClientFolders, InstallPart, InstallScope, Programs
from wellkept.clients.install import toml_tables
from wellkept.clients.install.client_files import CLIENTS, client_files
from wellkept.clients.install.files import FileSnapshot, InstallRecord, InstallRecords
from wellkept.clients.install.installer import Installer, InstallPlan, InstallState
from wellkept.clients.install.mcp_entries import PermissionEntry
from wellkept.clients.install.slash_commands import COMMANDS
from wellkept.core.errors import ConflictError, StoreError, UsageError
from wellkept.core.records import replace
from wellkept.core.session.injected_text import is_wellkept_command

pytestmark = pytest.mark.feature("C4", "C5", "H6")

BEFORE = {"claude-code": "PreToolUse", "codex": "PreToolUse"}
HOOK = ("/usr/bin/python3", "-I", "-S", "/opt/wellkept/clients/hook.py")
SERVER = ("/opt/it's mine/python", "-P", "-m", "wellkept.cli", "mcp")
FULL = Programs(hook=HOOK, server=SERVER, wellkept=("/opt/it's mine/wellkept",))
SLASHED = ("claude-code", "gemini", "cursor", "opencode")
COMMENTED = '{\n  // keep me\n  "theme": "dark", /* me too */\n}\n'


def _installer(folder: Path, programs: Programs = FULL) -> Installer:
    folders = ClientFolders(home=folder / "home", project=folder / "project", environment={})
    return Installer(folders=folders, programs=programs, records=InstallRecords(folder / "data"))


@pytest.fixture
def installer(tmp_path: Path) -> Installer:
    return _installer(tmp_path)


def _paths(
    installer: Installer, client: str, part: InstallPart, scope: InstallScope = InstallScope.USER
) -> list[Path]:
    targets = client_files(client).targets(scope, installer.folders)
    return [target.path for target in targets if target.part is part]


def _server_file(
    installer: Installer, client: str, scope: InstallScope = InstallScope.USER
) -> Path:
    (path,) = _paths(installer, client, InstallPart.SERVER, scope)
    return path


def _read(path: Path) -> Any:
    text = path.read_text("utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def _put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def _tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def _changed(change: InstallPlan) -> set[str]:
    return {file.path.name for file in change.files if not file.is_unchanged}


# -- The MCP server -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "user", "project"),
    [
        ("claude-code", "home/.claude.json", "home/.claude.json"),
        ("codex", "home/.codex/config.toml", "project/.codex/config.toml"),
        ("gemini", "home/.gemini/settings.json", "project/.gemini/settings.json"),
        ("cursor", "home/.cursor/mcp.json", "project/.cursor/mcp.json"),
        ("opencode", "home/.config/opencode/opencode.json", "project/.opencode/opencode.json"),
    ],
)
def test_each_client_looks_for_servers_in_its_own_place(
    tmp_path: Path, client: str, user: str, project: str
) -> None:
    installer = _installer(tmp_path)
    assert _server_file(installer, client) == tmp_path / user
    assert _server_file(installer, client, InstallScope.PROJECT) == tmp_path / project


def test_each_client_is_told_in_its_own_form(installer: Installer) -> None:
    found: dict[str, Any] = {}
    for client in CLIENTS:
        installer.install(client, scope=InstallScope.USER)
        found[client] = _read(_server_file(installer, client))
    program, *rest = SERVER
    plain = {"command": program, "args": rest}
    assert found["claude-code"]["mcpServers"]["wellkept"] == {"type": "stdio", **plain}
    assert found["gemini"]["mcpServers"]["wellkept"] == plain
    assert found["qwen"]["mcpServers"]["wellkept"] == plain
    assert found["windsurf"]["mcpServers"]["wellkept"] == plain
    assert found["amp"]["amp.mcpServers"]["wellkept"] == plain
    assert found["crush"]["mcp"]["wellkept"] == {"type": "stdio", **plain}
    assert found["copilot"]["mcpServers"]["wellkept"] == {"type": "local", **plain, "tools": ["*"]}
    assert found["cursor"]["mcpServers"]["wellkept"] == plain
    in_codex = found["codex"]["mcp_servers"]["wellkept"]
    assert {name: in_codex[name] for name in plain} == plain
    assert "WELLKEPT_HOME" in in_codex["env_vars"]
    in_opencode = found["opencode"]["mcp"]["wellkept"]
    assert in_opencode == {"type": "local", "command": list(SERVER), "enabled": True}


def test_windsurf_gets_a_rule_in_a_project_that_asks_for_it(installer: Installer) -> None:
    change = installer.install("windsurf", scope=InstallScope.PROJECT)
    assert change.path == installer.folders.project / ".windsurf" / "rules" / "wellkept.md"
    rule = change.path.read_text("utf-8")
    assert rule.startswith("---\ntrigger: always_on\n")
    assert "`memory_recall`" in rule
    assert "__WELLKEPT__" not in rule
    assert installer.status("windsurf", scope=InstallScope.PROJECT).parts == (InstallPart.RULES,)


def test_a_projects_server_is_the_persons_own_in_claude_code(installer: Installer) -> None:
    installer.install("claude-code", scope=InstallScope.PROJECT)
    (project,) = _read(_server_file(installer, "claude-code"))["projects"].items()
    assert project[0] == str(installer.folders.project)
    assert list(project[1]["mcpServers"]) == ["wellkept"]
    assert not (installer.folders.project / ".mcp.json").exists()


@pytest.mark.parametrize("scope", list(InstallScope))
@pytest.mark.parametrize("client", list(CLIENTS))
def test_everything_goes_in_once_and_leaves_nothing(
    installer: Installer, tmp_path: Path, client: str, scope: InstallScope
) -> None:
    assert not installer.install(client, scope=scope).is_unchanged
    once = _tree(tmp_path)
    assert installer.install(client, scope=scope).is_unchanged
    assert _tree(tmp_path) == once
    status = installer.status(client, scope=scope)
    wanted = [part for part in InstallPart if _paths(installer, client, part, scope)]
    assert (status.state, list(status.parts)) == (InstallState.INSTALLED, wanted)
    installer.uninstall(client, scope=scope)
    assert _tree(tmp_path) == {"data": None}


@pytest.mark.parametrize("text", [COMMENTED, '{"mcpServers": {}, "mcp": {}}', "{}", ""])
@pytest.mark.parametrize("client", ["claude-code", "gemini", "cursor", "opencode"])
def test_settings_get_back_every_byte(installer: Installer, client: str, text: str) -> None:
    path = _put(_server_file(installer, client), text)
    installer.install(client, scope=InstallScope.USER)
    assert "// keep me" in path.read_text("utf-8") or text != COMMENTED
    installer.uninstall(client, scope=InstallScope.USER)
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("client", ["claude-code", "gemini", "cursor", "opencode"])
def test_after_other_changes_only_the_server_is_taken_out(
    installer: Installer, client: str
) -> None:
    path = _put(_server_file(installer, client), '{"mcpServers": {"mine": {"command": "x"}}}')
    installer.install(client, scope=InstallScope.USER)
    path.write_text(json.dumps(_read(path) | {"later": 1}))
    installer.uninstall(client, scope=InstallScope.USER)
    left = _read(path)
    left.pop("$schema", None)
    assert left == {"mcpServers": {"mine": {"command": "x"}}, "later": 1}


TOML = """\
# mine
model = "gpt-5"

[mcp_servers.other] # and this
command = "x"
text = '''
[mcp_servers.wellkept]
'''
"""


@pytest.mark.parametrize("text", ["", "model = 1", TOML, TOML.replace("\n", "\r\n")])
def test_codex_configuration_gets_back_every_byte(installer: Installer, text: str) -> None:
    path = _put(_server_file(installer, "codex"), text)
    installer.install("codex", scope=InstallScope.USER)
    assert path.read_bytes().startswith(text.encode())
    assert installer.install("codex", scope=InstallScope.USER).is_unchanged
    installer.uninstall("codex", scope=InstallScope.USER)
    assert path.read_bytes() == text.encode()


def test_after_other_changes_only_our_table_leaves_codex(installer: Installer) -> None:
    path = _put(_server_file(installer, "codex"), 'model = "gpt-5" # best\n')
    installer.install("codex", scope=InstallScope.USER)
    more = (
        "startup_timeout_sec = 20\n\n[mcp_servers.wellkept.env]\nA = '1'\n\n# about b\n[b]\nc = 1\n"
    )
    path.write_text(path.read_text("utf-8") + more)
    installer.uninstall("codex", scope=InstallScope.USER)
    assert path.read_text("utf-8") == 'model = "gpt-5" # best\n\n# about b\n[b]\nc = 1\n'


_TABLE = ("mcp_servers", "wellkept")
_FIELDS: dict[str, toml_tables.Json] = {"command": "/p", "args": ["mcp"]}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_before_the_next_table_and_line_ends_survive_every_edit(newline: str) -> None:
    head, tail = "# mine\na = 1\n", "# after ours\n\n# about b\n[b]\nc = 1\n"
    ours = "\n[mcp_servers.wellkept] # ours\ncommand = '/old' # kept\n"
    text = (head + ours + tail).replace("\n", newline)
    changed = toml_tables.with_table(text, _TABLE, _FIELDS)
    wanted = head + ours.replace("'/old'", '"/p"') + 'args = ["mcp"]\n' + tail
    assert changed == wanted.replace("\n", newline)
    assert toml_tables.without_table(changed, _TABLE) == (head + tail).replace("\n", newline)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_table_is_added_after_everything_else_with_the_files_line_ends(newline: str) -> None:
    text = "[mcp_servers.other]\nx = 1\n\n# about b\n[b]\nc = 1\n".replace("\n", newline)
    added = toml_tables.with_table(text, _TABLE, _FIELDS)
    assert added.startswith(text)
    assert added.replace("\r\n", "").count("\n") == (0 if newline == "\r\n" else 10)
    assert toml_tables.without_table(added, _TABLE) == text


def test_a_table_is_added_to_an_inline_table_and_removed_again() -> None:
    text = "mcp_servers = { other = { command = 'x' } } # mine\n"
    added = toml_tables.with_table(text, _TABLE, _FIELDS)
    assert toml_tables.table(added, _TABLE) == _FIELDS
    assert "# mine" in added
    assert toml_tables.without_table(added, _TABLE) == text


def test_removal_that_would_lose_a_comment_is_refused() -> None:
    split = (
        "[mcp_servers.wellkept]\na = 1\n# about b\n[b]\nc = 1\n[mcp_servers.wellkept.env]\nd = 1\n"
    )
    with pytest.raises(ConflictError):
        toml_tables.without_table(split, _TABLE)
    uncommented = split.replace("# about b\n", "")
    assert toml_tables.without_table(uncommented, _TABLE) == "[b]\nc = 1\n"


def test_a_server_list_that_is_no_table_is_refused() -> None:
    with pytest.raises(ConflictError, match=r"mcp_servers\.wellkept cannot be edited safely"):
        toml_tables.with_table("mcp_servers = 1\n", _TABLE, _FIELDS)


def test_what_a_person_added_to_our_server_stays_when_it_moves(tmp_path: Path) -> None:
    first = _installer(tmp_path)
    for client in ("codex", "cursor"):
        first.install(client, scope=InstallScope.USER)
    toml, cursor = _server_file(first, "codex"), _server_file(first, "cursor")
    toml.write_text(toml.read_text("utf-8") + "startup_timeout_sec = 20\n")
    with_env = _read(cursor)
    with_env["mcpServers"]["wellkept"]["env"] = {"A": "1"}
    cursor.write_text(json.dumps(with_env))
    moved = ("/new/python", "-m", "wellkept.cli", "mcp")
    second = _installer(tmp_path, Programs(hook=HOOK, server=moved))
    for client in ("codex", "cursor"):
        assert second.status(client, scope=InstallScope.USER).state is InstallState.OUTDATED
        second.install(client, scope=InstallScope.USER)
    assert _read(toml)["mcp_servers"]["wellkept"]["command"] == "/new/python"
    assert _read(toml)["mcp_servers"]["wellkept"]["startup_timeout_sec"] == 20
    assert _read(cursor)["mcpServers"]["wellkept"]["env"] == {"A": "1"}
    assert _read(cursor)["mcpServers"]["wellkept"]["command"] == "/new/python"


@pytest.mark.parametrize("client", list(CLIENTS))
def test_the_server_can_be_left_out_and_taken_out(tmp_path: Path, client: str) -> None:
    without = Programs(hook=HOOK, wellkept=FULL.wellkept)
    _installer(tmp_path, without).install(client, scope=InstallScope.USER)
    bare = _tree(tmp_path)
    assert "mcp" not in _installer(tmp_path).status(client, scope=InstallScope.USER).parts
    _installer(tmp_path).install(client, scope=InstallScope.USER)
    assert "mcp" in _installer(tmp_path).status(client, scope=InstallScope.USER).parts
    _installer(tmp_path, without).install(client, scope=InstallScope.USER)
    ours = {name: raw for name, raw in bare.items() if not name.startswith("data/")}
    assert ours.items() <= _tree(tmp_path).items()


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("claude-code", '{"mcpServers": {"wellkept": {"command": "other"}}}'),
        ("codex", '[mcp_servers.wellkept]\ncommand = "other"\n'),
        ("codex", "mcp_servers = [1]\n"),
    ],
)
def test_what_cannot_be_had_without_harm_is_refused_and_nothing_is_changed(
    installer: Installer, tmp_path: Path, client: str, text: str
) -> None:
    _put(_server_file(installer, client), text)
    before = _tree(tmp_path)
    with pytest.raises(ConflictError):
        installer.install(client, scope=InstallScope.USER)
    assert _tree(tmp_path) == before
    without = _installer(tmp_path, Programs(hook=HOOK))
    assert not without.install(client, scope=InstallScope.USER).is_unchanged


@pytest.mark.parametrize(
    ("client", "text", "problem"),
    [
        ("codex", "model = ", "not valid TOML"),
        ("cursor", '{"mcpServers": []}', '"mcpServers" is not an object'),
    ],
)
def test_a_file_that_cannot_be_understood_leaves_the_others_alone(
    installer: Installer, tmp_path: Path, client: str, text: str, problem: str
) -> None:
    _put(_server_file(installer, client), text)
    before = _tree(tmp_path)
    with pytest.raises(UsageError, match=problem):
        installer.install(client, scope=InstallScope.USER)
    assert _tree(tmp_path) == before


def test_a_file_that_cannot_be_written_leaves_the_others_as_they_were(
    installer: Installer, tmp_path: Path
) -> None:
    hooks = _put(installer.folders.home / ".cursor" / "hooks.json", COMMENTED)
    _put(_server_file(installer, "cursor"), "{}").chmod(0o444)
    with pytest.raises(StoreError, match="read-only"):
        installer.install("cursor", scope=InstallScope.USER)
    assert hooks.read_text("utf-8") == COMMENTED
    assert {name for name in _tree(tmp_path / "home") if name.endswith(".md")} == set()
    assert installer.status("cursor", scope=InstallScope.USER).state is InstallState.ABSENT


def test_opencodes_own_file_is_chosen_when_it_allows_comments(installer: Installer) -> None:
    folder = installer.folders.home / ".config" / "opencode"
    path = _put(folder / "opencode.jsonc", COMMENTED)
    installer.install("opencode", scope=InstallScope.USER)
    assert "wellkept" in path.read_text("utf-8")
    # A file that comes later does not hide where we are.
    _put(folder / "opencode.json", "{}")
    installer.uninstall("opencode", scope=InstallScope.USER)
    assert path.read_text("utf-8") == COMMENTED


# -- Slash commands -------------------------------------------------------------------------------


@pytest.mark.parametrize("client", SLASHED)
def test_each_client_has_the_commands(installer: Installer, client: str) -> None:
    installer.install(client, scope=InstallScope.USER)
    names = [path.stem for path in _paths(installer, client, InstallPart.COMMANDS)]
    own_memory = client in ("claude-code", "gemini")
    last = "wellkept-memory" if own_memory else "memory"
    assert names == ["remember", "recall", "forget", "run-skill", "review-memory", "flag", last]


@pytest.mark.parametrize("client", SLASHED)
def test_a_command_names_programs_tools_and_arguments_that_exist(
    installer: Installer, client: str
) -> None:
    from wellkept.api.mcp.toolsets import listed_tools

    installer.install(client, scope=InstallScope.USER)
    arguments = {"gemini": "{{args}}", "cursor": ""}.get(client, "$ARGUMENTS")
    tools = {"memory_remember", "memory_recall", "memory_show", "memory_context", "memory_forget"}
    assert tools <= {tool["name"] for tool in listed_tools({"default"})}
    for command, path in zip(
        COMMANDS, _paths(installer, client, InstallPart.COMMANDS), strict=True
    ):
        text = path.read_text("utf-8")
        text = tomllib.loads(text)["prompt"] if path.suffix == ".toml" else text
        assert "__" not in text
        assert {run.split()[0] for run in command.runs} <= {*VERBS, *door.WORDS, *door.NOUNS}
        if command.hint:
            assert arguments in text
        assert all(f"'/opt/it'\"'\"'s mine/wellkept' {run}" in text for run in command.runs)


def test_what_a_command_runs_is_known_as_our_own(installer: Installer) -> None:
    line = "'/opt/my tools/wellkept' recall -- x"
    assert is_wellkept_command(line)
    assert is_wellkept_command("/opt/python -P -m wellkept.cli recall -- x")
    assert not is_wellkept_command("/opt/python -m pytest wellkept")
    assert not is_wellkept_command("cat wellkept")


@pytest.mark.parametrize("client", SLASHED)
def test_a_persons_own_command_of_that_name_stays(
    installer: Installer, tmp_path: Path, client: str
) -> None:
    path = _put(_paths(installer, client, InstallPart.COMMANDS)[0], "my own way\n")
    change = installer.install(client, scope=InstallScope.USER)
    assert [note for note in change.notes if path.name in note]
    assert path.read_text("utf-8") == "my own way\n"
    assert installer.status(client, scope=InstallScope.USER).state is InstallState.INSTALLED
    installer.uninstall(client, scope=InstallScope.USER)
    assert path.read_text("utf-8") == "my own way\n"
    assert installer.status(client, scope=InstallScope.USER).state is InstallState.ABSENT


@pytest.mark.parametrize("client", SLASHED)
def test_a_command_that_was_edited_is_not_deleted(installer: Installer, client: str) -> None:
    installer.install(client, scope=InstallScope.USER)
    path = _paths(installer, client, InstallPart.COMMANDS)[0]
    path.write_text(path.read_text("utf-8") + "\n# and more\n")
    change = installer.uninstall(client, scope=InstallScope.USER)
    assert [note for note in change.notes if path.name in note]
    assert path.exists()
    assert not client_files(client).main(InstallScope.USER, installer.folders).exists()


@pytest.mark.parametrize("client", SLASHED)
def test_the_commands_can_be_left_out_and_taken_out(tmp_path: Path, client: str) -> None:
    _installer(tmp_path).install(client, scope=InstallScope.USER)
    without = _installer(tmp_path, Programs(hook=HOOK, server=SERVER))
    gone = {path.name for path in _paths(without, client, InstallPart.COMMANDS)}
    assert _changed(without.install(client, scope=InstallScope.USER)) == gone
    assert [path for path in _paths(without, client, InstallPart.COMMANDS) if path.exists()] == []


def test_codex_has_no_commands_that_could_be_installed(installer: Installer) -> None:
    assert _paths(installer, "codex", InstallPart.COMMANDS) == []


# -- Before a tool runs ---------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_is_started_before_a_tool_unless_that_is_asked_for(
    tmp_path: Path, client: str
) -> None:
    _installer(tmp_path).install(client, scope=InstallScope.USER)
    path = client_files(client).main(InstallScope.USER, _installer(tmp_path).folders)
    assert not re.search(r"PreToolUse|BeforeTool|preToolUse|tool.execute.before", path.read_text())


@pytest.mark.parametrize("client", BEFORE)
def test_the_moment_before_a_tool_is_hooked_when_asked_for_and_goes_again(
    tmp_path: Path, client: str
) -> None:
    plain, asked = _installer(tmp_path), _installer(tmp_path, replace(FULL, before_tools=True))
    plain.install(client, scope=InstallScope.USER)
    path = client_files(client).main(InstallScope.USER, plain.folders)
    before = path.read_bytes()
    assert asked.status(client, scope=InstallScope.USER).state is InstallState.OUTDATED
    asked.install(client, scope=InstallScope.USER)
    (entry,) = _read(path)["hooks"][BEFORE[client]]
    assert entry["hooks"][0]["command"].endswith(f"{client} {BEFORE[client]} answer || exit 0")
    plain.install(client, scope=InstallScope.USER)
    assert path.read_bytes() == before


def test_reading_and_remembering_is_allowed_and_forgetting_is_not(tmp_path: Path) -> None:
    folders = ClientFolders(home=tmp_path, project=tmp_path / "shop", environment={})
    targets = client_files("claude-code").targets(InstallScope.USER, folders)
    (entry,) = (one for one in targets if isinstance(one, PermissionEntry))
    assert "mcp__wellkept__memory_remember" in entry.rules
    assert not any("forget" in rule or "clear" in rule for rule in entry.rules)
    mine = b'{"permissions": {"allow": ["Bash(ls)"]}}\n'
    after = entry.with_wellkept(FileSnapshot(entry.path, mine), FULL)
    assert after is not None
    allowed = json.loads(after)["permissions"]["allow"]
    assert allowed == ["Bash(ls)", *entry.rules]
    again = FileSnapshot(entry.path, after.encode())
    assert entry.with_wellkept(again, FULL) == after
    left = entry.without_wellkept(again, InstallRecord("", mine))
    assert left is not None
    assert json.loads(left) == json.loads(mine)
