"""Installing into clients' settings and out again, on real files."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.clients.hook_spec import ClientFolders, InstallScope, Programs, Shell
from wellkept.clients.install.client_files import client_files
from wellkept.clients.install.files import (
    InstallRecord,
    InstallRecords,
    digest,
    read_snapshot,
    write_file,
)
from wellkept.clients.install.hook_entries import command_line, harmless_line
from wellkept.clients.install.installer import Installer, InstallPlan, InstallState, PlannedFile
from wellkept.core.errors import ConflictError, StoreError, UsageError

pytestmark = pytest.mark.feature("C4")

HOOK = "/opt/my tools/it's/wellkept/clients/hook.py"
COMMAND = ("/usr/bin/python3", "-I", "-S", HOOK)
JSON_CLIENTS = ("claude-code", "codex", "gemini", "cursor", "qwen", "copilot")
CLIENTS = (*JSON_CLIENTS, "opencode")


@pytest.fixture
def installer(tmp_path: Path) -> Installer:
    return _installer(tmp_path)


def _installer(folder: Path, *, command: tuple[str, ...] = COMMAND) -> Installer:
    folders = ClientFolders(home=folder / "home", project=folder / "project", environment={})
    programs = Programs(hook=command)
    return Installer(folders=folders, programs=programs, records=InstallRecords(folder / "data"))


def _file(installer: Installer, client: str, scope: InstallScope = InstallScope.USER) -> Path:
    return client_files(client).main(scope, installer.folders)


def _given(installer: Installer, client: str, raw: bytes | str) -> Path:
    path = _file(installer, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return path


def _changed(change: InstallPlan) -> list[PlannedFile]:
    return [file for file in change.files if not file.is_unchanged]


def _commands(client: str, settings: Any) -> list[tuple[str, str]]:
    """Every hook command in a settings file, with its event."""
    found: list[tuple[str, str]] = []
    for event, entries in settings["hooks"].items():
        for entry in entries:
            handlers = [entry] if client in ("cursor", "copilot") else entry["hooks"]
            found += [(event, handler["command"]) for handler in handlers]
    return found


def _tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


# -- What is written ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "user", "project"),
    [
        ("claude-code", ".claude/settings.json", ".claude/settings.local.json"),
        ("codex", ".codex/hooks.json", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
        ("cursor", ".cursor/hooks.json", ".cursor/hooks.json"),
        ("opencode", ".config/opencode/plugins/wellkept.js", ".opencode/plugins/wellkept.js"),
        ("qwen", ".qwen/settings.json", ".qwen/settings.json"),
        ("copilot", ".copilot/settings.json", ".github/copilot/settings.local.json"),
    ],
)
def test_each_client_has_its_own_place(
    installer: Installer, client: str, user: str, project: str
) -> None:
    assert _file(installer, client) == installer.folders.home / user
    assert _file(installer, client, InstallScope.PROJECT) == installer.folders.project / project


@pytest.mark.parametrize(
    ("client", "variable"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR"),
        ("codex", "CODEX_HOME"),
        ("opencode", "XDG_CONFIG_HOME"),
        ("qwen", "QWEN_HOME"),
        ("copilot", "COPILOT_HOME"),
    ],
)
def test_a_client_that_was_moved_is_found(tmp_path: Path, client: str, variable: str) -> None:
    moved = tmp_path / "moved"
    folders = ClientFolders(home=tmp_path, project=tmp_path, environment={variable: str(moved)})
    assert client_files(client).main(InstallScope.USER, folders).is_relative_to(moved)


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_every_hook_starts_the_program_with_client_event_and_mode(
    installer: Installer, client: str
) -> None:
    installer.install(client, scope=InstallScope.USER)
    settings = json.loads(_file(installer, client).read_text("utf-8"))
    ending = ["||", "exit", "0"]
    for event, command in _commands(client, settings):
        words = shlex.split(command)
        assert words[:6] == [*COMMAND, client, event]
        assert words[6:] in (ending, ["both", *ending], ["answer", *ending])


def test_claude_code_gets_these_entries(installer: Installer) -> None:
    installer.install("claude-code", scope=InstallScope.USER)
    hooks = json.loads(_file(installer, "claude-code").read_text("utf-8"))["hooks"]
    line = f"{shlex.join(COMMAND)} claude-code"
    assert hooks["Stop"] == [
        {"hooks": [{"type": "command", "command": f"{line} Stop both || exit 0", "timeout": 10}]}
    ]
    matchers = [entry.get("matcher") for entry in hooks["PostToolUse"]]
    assert matchers == [None, "Bash|Read|Edit|MultiEdit|Write|NotebookEdit"]
    assert hooks["SessionStart"][0]["hooks"][0]["command"].endswith(" SessionStart both || exit 0")


def test_gemini_counts_in_milliseconds(installer: Installer) -> None:
    installer.install("gemini", scope=InstallScope.USER)
    hooks = json.loads(_file(installer, "gemini").read_text("utf-8"))["hooks"]
    assert hooks["AfterTool"][0]["hooks"][0]["timeout"] == 10_000


def test_cursor_has_its_version_and_flat_entries(installer: Installer) -> None:
    installer.install("cursor", scope=InstallScope.USER)
    settings = json.loads(_file(installer, "cursor").read_text("utf-8"))
    assert settings["version"] == 1
    assert set(settings["hooks"]["stop"][0]) == {"command"}


def test_codex_says_that_its_hooks_must_be_trusted(installer: Installer) -> None:
    notes = installer.install("codex", scope=InstallScope.USER).notes
    assert any("trust" in note for note in notes)


def test_opencodes_plugin_starts_the_program_without_a_shell(installer: Installer) -> None:
    installer.install("opencode", scope=InstallScope.USER)
    text = _file(installer, "opencode").read_text("utf-8")
    assert f"const COMMAND = {json.dumps(list(COMMAND))}\n" in text


# -- Twice, and back ------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", list(InstallScope))
@pytest.mark.parametrize("client", CLIENTS)
def test_installing_twice_is_installing_once_and_uninstalling_leaves_nothing(
    installer: Installer, tmp_path: Path, client: str, scope: InstallScope
) -> None:
    before = _tree(tmp_path)
    installer.install(client, scope=scope)
    once = _tree(tmp_path)
    assert installer.install(client, scope=scope).is_unchanged
    assert _tree(tmp_path) == once
    assert installer.status(client, scope=scope).state is InstallState.INSTALLED
    installer.uninstall(client, scope=scope)
    assert _tree(tmp_path) == before | {"data": None}
    assert installer.uninstall(client, scope=scope).is_unchanged


_SETTINGS = [
    "{}",
    "",
    "\n",
    '{"model":"opus"}',
    '{\n    "model": "opus",\n    "hooks": {}\n}\n',
    '{\r\n\t"model": "opus"\r\n}\r\n',
    '\ufeff{"a": "é 中 😀"}',
    """{
  // keep me
  "permissions": {"allow": ["Bash(ls:*)"],}, /* and me */
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}, // mine
    ],
    "Extra": [], "SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]
  },
}
""",
]


@pytest.mark.parametrize("client", JSON_CLIENTS)
@pytest.mark.parametrize("text", _SETTINGS)
def test_uninstalling_gives_back_every_byte(installer: Installer, client: str, text: str) -> None:
    path = _given(installer, client, text)
    path.chmod(0o640)
    installer.install(client, scope=InstallScope.USER)
    changed = path.read_bytes()
    assert changed != text.encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert installer.status(client, scope=InstallScope.USER).state is InstallState.INSTALLED
    assert installer.install(client, scope=InstallScope.USER).is_unchanged
    installer.uninstall(client, scope=InstallScope.USER)
    assert path.read_bytes() == text.encode()


def test_comments_order_and_other_hooks_stay_as_they_are(installer: Installer) -> None:
    path = _given(installer, "claude-code", _SETTINGS[-1])
    installer.install("claude-code", scope=InstallScope.USER)
    lines = path.read_text("utf-8").splitlines()
    gone = [line for line in ndiff(_SETTINGS[-1].splitlines(), lines) if line.startswith("- ")]
    # The one line that holds a list in itself is opened; nothing else is touched.
    assert [line for line in gone if '"Extra"' not in line] == []
    assert lines.count("  // keep me") == 1


@pytest.mark.parametrize("client", JSON_CLIENTS)
@pytest.mark.parametrize("text", _SETTINGS)
def test_after_other_changes_only_our_entries_are_taken_out(
    installer: Installer, client: str, text: str
) -> None:
    path = _given(installer, client, text)
    installer.install(client, scope=InstallScope.USER)
    raw = path.read_bytes()
    end = raw.rstrip().removesuffix(b"}").rstrip().removesuffix(b",")
    path.write_bytes(end + b',\n"added": "later" // yes\n}\n')
    installer.uninstall(client, scope=InstallScope.USER)
    left = path.read_text("utf-8")
    assert "wellkept" not in left
    assert '"added": "later" // yes' in left
    again = installer.install(client, scope=InstallScope.USER)
    assert not again.is_unchanged
    installer.uninstall(client, scope=InstallScope.USER)
    assert path.read_text("utf-8") == left
    for own in ("say done", "Bash(ls:*)", "opus", "é 中 😀", "// keep me", "Extra"):
        assert (own in left) == (own in text)


def test_a_handler_put_into_our_group_is_left_there(installer: Installer) -> None:
    installer.install("claude-code", scope=InstallScope.USER)
    path = _file(installer, "claude-code")
    settings = json.loads(path.read_text("utf-8"))
    settings["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    path.write_text(json.dumps(settings))
    installer.uninstall("claude-code", scope=InstallScope.USER)
    hooks = json.loads(path.read_text("utf-8"))["hooks"]
    assert hooks == {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}


def test_a_moved_installation_replaces_its_entries_and_still_restores(tmp_path: Path) -> None:
    first = _installer(tmp_path)
    path = _given(first, "claude-code", _SETTINGS[-1])
    first.install("claude-code", scope=InstallScope.USER)
    second = _installer(tmp_path, command=("/new/python", "/new/wellkept/clients/hook.py"))
    assert second.status("claude-code", scope=InstallScope.USER).state is InstallState.OUTDATED
    second.install("claude-code", scope=InstallScope.USER)
    text = path.read_text("utf-8")
    assert "/new/python" in text
    assert HOOK not in text
    second.uninstall("claude-code", scope=InstallScope.USER)
    assert path.read_text("utf-8") == _SETTINGS[-1]


def test_entries_are_found_when_the_record_is_lost(tmp_path: Path) -> None:
    _installer(tmp_path).install("codex", scope=InstallScope.USER)
    folders = _installer(tmp_path).folders
    other = Installer(
        folders=folders,
        programs=Programs(hook=COMMAND),
        records=InstallRecords(tmp_path / "elsewhere"),
    )
    other.uninstall("codex", scope=InstallScope.USER)
    assert json.loads(_file(other, "codex").read_text("utf-8")) == {}


def test_a_record_that_is_damaged_is_done_without(installer: Installer, tmp_path: Path) -> None:
    path = _given(installer, "codex", '{"a": 1}')
    installer.install("codex", scope=InstallScope.USER)
    for record in (tmp_path / "data").glob("*.json"):
        record.write_text("{")
    installer.uninstall("codex", scope=InstallScope.USER)
    assert json.loads(path.read_text("utf-8")) == {"a": 1}


def test_records_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    records = InstallRecords(tmp_path / "new" / "data" / "installed")
    folders = _installer(tmp_path).folders
    Installer(folders=folders, programs=Programs(hook=COMMAND), records=records).install(
        "codex", scope=InstallScope.USER
    )
    made = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert [path for path in made if path.stat().st_mode & 0o077] == []


def test_the_clients_do_not_touch_each_other(installer: Installer) -> None:
    for client in CLIENTS:
        installer.install(client, scope=InstallScope.USER)
    installer.uninstall("codex", scope=InstallScope.USER)
    states = [installer.status(client, scope=InstallScope.USER).state for client in CLIENTS]
    assert states.count(InstallState.INSTALLED) == len(CLIENTS) - 1


# -- Files that are in the way --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"hooks": ', "not valid JSON: line 1"),
        ("[]", "the root is not an object"),
        ('{"hooks": []}', '"hooks" is not an object'),
        ('{"hooks": {"SessionStart": {}}}', '"hooks.SessionStart" is not a list'),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
    ],
)
def test_settings_that_cannot_be_understood_are_refused_and_left_alone(
    installer: Installer, tmp_path: Path, text: str | bytes, problem: str
) -> None:
    _given(installer, "claude-code", text)
    before = _tree(tmp_path)
    with pytest.raises(UsageError, match=problem):
        installer.install("claude-code", scope=InstallScope.USER)
    assert _tree(tmp_path) == before


def test_broken_settings_are_shown_as_such(installer: Installer) -> None:
    _given(installer, "gemini", "{")
    status = installer.status("gemini", scope=InstallScope.USER)
    assert status.state is InstallState.BROKEN
    assert "not valid JSON" in status.problem


def test_a_link_stays_a_link(installer: Installer, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}')
    path = _file(installer, "claude-code")
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    installer.install("claude-code", scope=InstallScope.USER)
    assert path.is_symlink()
    assert "wellkept" in real.read_text("utf-8")
    installer.uninstall("claude-code", scope=InstallScope.USER)
    assert path.is_symlink()
    assert real.read_text("utf-8") == '{"a": 1}'


def test_a_link_that_leads_to_itself_is_refused(installer: Installer) -> None:
    path = _file(installer, "claude-code")
    path.parent.mkdir(parents=True)
    path.symlink_to(path)
    with pytest.raises(UsageError, match="cannot be read"):
        installer.install("claude-code", scope=InstallScope.USER)


def test_a_read_only_file_is_left_alone(installer: Installer, tmp_path: Path) -> None:
    path = _given(installer, "codex", "{}")
    path.chmod(0o444)
    with pytest.raises(StoreError, match="read-only"):
        installer.install("codex", scope=InstallScope.USER)
    assert path.read_text("utf-8") == "{}"


def test_a_folder_in_place_of_the_file_is_refused(installer: Installer) -> None:
    _file(installer, "codex").mkdir(parents=True)
    with pytest.raises(UsageError, match="cannot be read"):
        installer.install("codex", scope=InstallScope.USER)


def test_a_file_in_place_of_the_folder_is_refused(installer: Installer) -> None:
    folder = _file(installer, "codex").parent
    folder.parent.mkdir(parents=True)
    folder.write_text("")
    with pytest.raises(UsageError, match="cannot be read"):
        installer.install("codex", scope=InstallScope.USER)


def test_another_plugin_of_that_name_is_left_alone(installer: Installer) -> None:
    path = _given(installer, "opencode", "export const Mine = async () => ({})\n")
    with pytest.raises(ConflictError, match="not Wellkept's"):
        installer.install("opencode", scope=InstallScope.USER)
    assert installer.uninstall("opencode", scope=InstallScope.USER).is_unchanged
    assert "Mine" in path.read_text("utf-8")


def test_a_plugin_that_was_changed_is_not_deleted(installer: Installer) -> None:
    installer.install("opencode", scope=InstallScope.USER)
    path = _file(installer, "opencode")
    path.write_text(path.read_text("utf-8") + "// mine\n")
    assert installer.status("opencode", scope=InstallScope.USER).state is InstallState.OUTDATED
    with pytest.raises(ConflictError, match="edited since"):
        installer.uninstall("opencode", scope=InstallScope.USER)
    assert path.exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_dry_run_shows_the_change_and_makes_none(
    installer: Installer, tmp_path: Path, client: str
) -> None:
    (change,) = _changed(installer.install(client, scope=InstallScope.USER, dry_run=True))
    assert (change.before, change.after is None) == (None, False)
    assert _tree(tmp_path) == {}
    installer.install(client, scope=InstallScope.USER)
    before = _tree(tmp_path)
    (back,) = _changed(installer.uninstall(client, scope=InstallScope.USER, dry_run=True))
    assert back.after is None
    assert _tree(tmp_path) == before


def test_an_unknown_client_is_named_with_those_that_are_known(installer: Installer) -> None:
    with pytest.raises(UsageError, match="claude-code, codex, gemini, cursor, opencode"):
        installer.install("emacs", scope=InstallScope.USER)


# -- Command lines --------------------------------------------------------------------------------


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1))
def test_a_shell_reads_the_words_that_were_meant(words: list[str]) -> None:
    assert shlex.split(command_line(words, Shell.SH)) == words


@pytest.mark.parametrize(
    "folder", ["plain", "with space", "it's", 'say "hi"', "a$b`c`", "naïve 中文", "a\nb", "a&b;c"]
)
def test_a_hook_below_any_folder_is_started_by_a_real_shell(tmp_path: Path, folder: str) -> None:
    program = tmp_path / folder / "wellkept" / "hook.py"
    program.parent.mkdir(parents=True)
    program.write_text("import sys; print(sys.argv[1:])")
    line = command_line([sys.executable, "-I", "-S", str(program), "codex", "Stop"], Shell.SH)
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "['codex', 'Stop']\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["C:\\Py\\python.exe", "-I"], "& C:\\Py\\python.exe -I"),
        (["C:\\Program Files\\it's\\python.exe"], "& 'C:\\Program Files\\it''s\\python.exe'"),
        (["$x", "中"], "& '$x' '中'"),
    ],
)
def test_powershell_is_told_to_call_the_program(words: list[str], line: str) -> None:
    assert command_line(words, Shell.POWERSHELL) == line


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["C:\\Py\\python.exe", "-I"], "C:\\Py\\python.exe -I"),
        (["C:\\Program Files\\python.exe"], '"C:\\Program Files\\python.exe"'),
        (["C:\\a&b\\python.exe"], '"C:\\a&b\\python.exe"'),
    ],
)
def test_cmd_is_told_where_a_word_ends(words: list[str], line: str) -> None:
    assert command_line(words, Shell.CMD) == line


@pytest.mark.parametrize(
    ("shell", "ending"),
    [(Shell.SH, " || exit 0"), (Shell.CMD, " || exit 0"), (Shell.POWERSHELL, "; exit 0")],
)
def test_every_shell_is_told_to_end_well(shell: Shell, ending: str) -> None:
    assert harmless_line(["python"], shell) == command_line(["python"], shell) + ending


@pytest.mark.parametrize("gone", ["interpreter", "hook"])
@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_a_hook_whose_program_is_gone_still_ends_well(
    tmp_path: Path, client: str, gone: str
) -> None:
    missing = str(tmp_path / "wellkept" / "gone")
    command = (missing, "x") if gone == "interpreter" else (sys.executable, missing)
    installer = _installer(tmp_path, command=command)
    installer.install(client, scope=InstallScope.USER)
    for _, line in _commands(client, json.loads(_file(installer, client).read_text("utf-8"))):
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, b"")


def test_cmd_is_not_told_what_it_would_change() -> None:
    with pytest.raises(UsageError, match=r"cmd\.exe cannot quote '%'"):
        command_line(["C:\\100%\\python.exe"], Shell.CMD)


# -- Interruptions --------------------------------------------------------------------------------


def test_a_crash_after_the_record_leaves_nothing_to_take_back(
    installer: Installer, tmp_path: Path
) -> None:
    path = _given(installer, "codex", '{"a": 1}')
    record = InstallRecord(digest(b"what would have been written"), b'{"a": 1}')
    installer.records.write("codex", path, record)
    assert installer.status("codex", scope=InstallScope.USER).state is InstallState.ABSENT
    assert installer.uninstall("codex", scope=InstallScope.USER).is_unchanged
    assert path.read_text("utf-8") == '{"a": 1}'


def test_a_file_that_changes_under_our_hands_is_not_overwritten(installer: Installer) -> None:
    path = _given(installer, "codex", "{}")
    seen = read_snapshot(path)
    path.write_text('{"a": 1}')
    with pytest.raises(ConflictError, match="another program"):
        write_file(seen, b"{}")
    assert path.read_text("utf-8") == '{"a": 1}'
    assert [p.name for p in path.parent.iterdir()] == [path.name]
