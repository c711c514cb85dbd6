"""Why an installed client stays silent, as `doctor`, the greeting and the page tell it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from wellkept.clients.hook_spec import ClientFolders, InstallScope, Programs
from wellkept.clients.install.files import InstallRecords
from wellkept.clients.install.installer import Installer

pytestmark = pytest.mark.feature("C4")

USER = InstallScope.USER


@pytest.fixture
def installer(tmp_path: Path) -> Installer:
    """An installer whose hook program is there."""
    hook = tmp_path / "wellkept" / "hook.py"
    hook.parent.mkdir()
    hook.write_text("")
    folders = ClientFolders(home=tmp_path, project=tmp_path / "project", environment={"PATH": ""})
    programs = Programs(hook=(sys.executable, str(hook)), server=("wellkept", "mcp"))
    return Installer(folders=folders, programs=programs, records=InstallRecords(tmp_path / "data"))


def told(installer: Installer, client: str) -> str:
    """The warnings about a client."""
    return " ".join(installer.status(client, scope=USER).warnings)


def test_a_client_that_is_not_installed_is_not_warned_about(installer: Installer) -> None:
    assert not told(installer, "claude-code")
    assert not told(installer, "codex")


def test_a_hook_program_that_is_gone_is_named(installer: Installer, tmp_path: Path) -> None:
    installer.install("gemini", scope=USER)
    assert not told(installer, "gemini")
    (tmp_path / "wellkept" / "hook.py").unlink()
    assert "hook.py, which is gone" in told(installer, "gemini")


def test_codex_hooks_without_trust_are_told_until_they_have_it(
    installer: Installer, tmp_path: Path
) -> None:
    installer.install("codex", scope=USER)
    assert "not trusted" in told(installer, "codex")
    config = tmp_path / ".codex" / "config.toml"
    key = f"{tmp_path / '.codex' / 'hooks.json'}:session_start:0:0"
    with config.open("a") as file:
        file.write(f'\n[hooks.state."{key}"]\ntrusted_hash = "sha256:00"\n')
    assert not told(installer, "codex")


def test_codex_is_given_no_more_time_at_the_end_than_it_allows(
    installer: Installer, tmp_path: Path
) -> None:
    installer.install("codex", scope=USER)
    hooks = json.loads((tmp_path / ".codex" / "hooks.json").read_text())["hooks"]
    limits = {event: groups[0]["hooks"][0]["timeout"] for event, groups in hooks.items()}
    assert limits["SessionEnd"] == 3
    assert limits["Stop"] == 10


def test_claude_code_without_a_rule_for_the_tools_is_told_which(
    installer: Installer, tmp_path: Path
) -> None:
    installer.install("claude-code", scope=USER)
    assert not told(installer, "claude-code")
    settings = tmp_path / ".claude" / "settings.json"
    known = json.loads(settings.read_text())
    settings.write_text(json.dumps(known | {"permissions": {"allow": ["Bash(ls)"]}}))
    assert '"mcp__wellkept"' in told(installer, "claude-code")
    settings.write_text(json.dumps(known | {"permissions": {"allow": ["mcp__wellkept"]}}))
    assert not told(installer, "claude-code")


def test_hooks_by_plugin_and_by_settings_are_told_twice(
    installer: Installer, tmp_path: Path
) -> None:
    installer.install("claude-code", scope=USER)
    settings = tmp_path / ".claude" / "settings.json"
    plugin = {"enabledPlugins": {"wellkept@wellkept": True}}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | plugin))
    assert "told twice" in told(installer, "claude-code")
