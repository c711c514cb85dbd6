"""The manifests under which clients and registries know Wellkept, made from one place.

`files()` gives each as (path, text): the Claude Code plugin with its marketplace, the Codex plugin
with its marketplace, the Gemini CLI extension, the MCP registry's `server.json`, and the entry for
Docker's MCP catalog. Hooks and commands come from the installer's own tables, so that a plugin
never says anything else than `wellkept install` writes. `scripts.generate_docs` writes them and
checks that they are fresh.

They hold no path of a machine: they start `wellkept` and `wellkept-hook` from PATH.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, Final

import yaml

from scripts.dist import ROOT, project
from wellkept import __version__
from wellkept.clients.hook_spec import ClientFolders, InstallPart, InstallScope, Programs
from wellkept.clients.install.claude_plugin import plugin_files
from wellkept.clients.install.client_files import client_files
from wellkept.clients.install.hook_entries import HookTarget
from wellkept.clients.install.mcp_entries import command_and_args
from wellkept.clients.install.slash_commands import COMMANDS, PROGRAM_MARK, gemini_format

NAME: Final = "wellkept"
REGISTRY_NAME: Final = "io.github.wellkept/wellkept"
SERVER_SCHEMA: Final = (
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
)
SHARED: Final = Programs(
    hook=("wellkept-hook",), server=("wellkept", "mcp"), wellkept=("wellkept",)
)
SUMMARY: Final = "A memory for coding agents that outlives the session. Local; no key, no model."
_TAGLINE: Final = (
    "What was decided, corrected and found out is kept, and the few lines that matter come back."
)
_NOWHERE: Final = ClientFolders(home=Path("home"), project=Path("project"), environment={})
_SKILL: Final = "skills/project-memory/SKILL.md"


def files() -> dict[str, str]:
    """Every manifest and what belongs to it, by its path in the repository."""
    made: dict[str, str] = {}
    for folder, contents in (
        ("plugins/claude-code", _claude_code()),
        ("plugins/codex", _codex()),
        ("plugins/gemini", _gemini()),
    ):
        made |= {f"{folder}/{name}": text for name, text in contents}
    made[".claude-plugin/marketplace.json"] = _json(_claude_market())
    made[".agents/plugins/marketplace.json"] = _json(_codex_market())
    made["server.json"] = _json(_server())
    made["packaging/docker-mcp/server.yaml"] = _yaml(_docker_entry())
    made["packaging/docker-mcp/tools.json"] = _json(list(_docker_tools()))
    return made


def _identity() -> dict[str, Any]:
    known = project()
    return {
        "name": NAME,
        "version": known["version"],
        "description": f"{SUMMARY} {_TAGLINE}",
        "author": {"name": "Wellkept"},
        "homepage": known["urls"]["Repository"],
        "repository": known["urls"]["Repository"],
        "license": known["license"],
        "keywords": ["memory", "recall", "mcp", "hooks"],
    }


def _readme(client: str, start: str) -> str:
    return (
        f"# Wellkept for {client}\n\n{SUMMARY} {_TAGLINE}\n\n"
        "1. Install the program, so that `wellkept` and `wellkept-hook` are on your PATH:\n"
        f"   `pipx install wellkept`.\n2. {start}\n"
        "3. `wellkept admin doctor` says whether all is well.\n\n"
        "Use either this or `wellkept install`: with both, every event is captured twice. Without\n"
        "the program, the hooks end quietly and nothing is captured. Nothing leaves your machine.\n"
    )


def _claude_code() -> Iterator[tuple[str, str]]:
    for name, text in plugin_files(SHARED, version=__version__):
        if name == ".claude-plugin/plugin.json":
            yield name, _json(_identity())
        elif name == "README.md":
            yield name, _readme("Claude Code", "`claude plugin install wellkept@wellkept`.")
        elif not name.endswith("marketplace.json"):
            yield name, text


def _claude_market() -> dict[str, Any]:
    entry = {"name": NAME, "source": "./plugins/claude-code", "description": SUMMARY}
    return {
        "name": NAME,
        "owner": {"name": "Wellkept"},
        "metadata": {"description": SUMMARY, "version": project()["version"]},
        "plugins": [entry | {"category": "productivity", "license": project()["license"]}],
    }


def _codex() -> Iterator[tuple[str, str]]:
    shown = {
        "displayName": "Wellkept",
        "shortDescription": "A memory that outlives the session",
        "longDescription": f"{SUMMARY} {_TAGLINE}",
        "developerName": "Wellkept",
        "category": "Developer Tools",
        "capabilities": ["Interactive", "Read", "Write"],
        "websiteURL": project()["urls"]["Repository"],
    }
    parts = {"skills": "./skills/", "hooks": "./hooks/hooks.json", "mcpServers": "./.mcp.json"}
    yield ".codex-plugin/plugin.json", _json(_identity() | parts | {"interface": shown})
    yield ".mcp.json", _json({"mcpServers": {NAME: command_and_args(SHARED.server)}})
    yield "hooks/hooks.json", _json({"hooks": _hooks("codex")})
    yield _SKILL, _skill()
    start = "Add this repository as a marketplace, install `wellkept`, and trust its hooks once."
    yield "README.md", _readme("Codex", start)


def _codex_market() -> dict[str, Any]:
    source = {"source": "local", "path": "./plugins/codex"}
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    entry = {"name": NAME, "source": source, "policy": policy, "category": "Developer Tools"}
    return {"name": NAME, "interface": {"displayName": "Wellkept"}, "plugins": [entry]}


def _gemini() -> Iterator[tuple[str, str]]:
    known = _identity()
    manifest = {key: known[key] for key in ("name", "version", "description")}
    server = {NAME: command_and_args(SHARED.server)}
    yield "gemini-extension.json", _json(manifest | {"mcpServers": server})
    yield "hooks/hooks.json", _json({"hooks": _hooks("gemini")})
    for command in COMMANDS:
        # Gemini CLI has a /memory of its own.
        name = f"wellkept-{command.name}" if command.name == "memory" else command.name
        yield f"commands/{name}.toml", gemini_format(command, "wellkept")
    yield _SKILL, _skill()
    start = "`gemini extensions install PATH`, with this folder or the archive of a release."
    yield "README.md", _readme("Gemini CLI", start)


def _hooks(client: str) -> dict[str, Any]:
    """The hooks that `wellkept install CLIENT` writes, by event."""
    targets = client_files(client).targets(InstallScope.USER, _NOWHERE)
    (target,) = [one for one in targets if one.part is InstallPart.HOOKS]
    assert isinstance(target, HookTarget)
    by_event: dict[str, list[Any]] = {}
    for event, entry in target.entries(SHARED):
        by_event.setdefault(event, []).append(entry)
    return by_event


def _skill() -> str:
    text = (package_files("wellkept.clients") / "data/skill/SKILL.md").read_text("utf-8")
    return text.replace(PROGRAM_MARK, "wellkept")


def _server() -> dict[str, Any]:
    known = project()
    package = {
        "registryType": "pypi",
        "identifier": known["name"],
        "version": known["version"],
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "environmentVariables": [
            {
                "name": "WELLKEPT_HOME",
                "description": "Where memory is kept; your data folder by default.",
                "format": "filepath",
                "isRequired": False,
            }
        ],
    }
    return {
        "$schema": SERVER_SCHEMA,
        "name": REGISTRY_NAME,
        "title": "Wellkept",
        "description": SUMMARY,
        "repository": {"url": known["urls"]["Repository"], "source": "github"},
        "version": known["version"],
        "packages": [package],
    }


def _docker_entry() -> dict[str, Any]:
    return {
        "name": NAME,
        "image": "mcp/wellkept",
        "type": "server",
        "meta": {"category": "productivity", "tags": ["memory", "developer-tools", "local"]},
        "about": {"title": "Wellkept", "description": SUMMARY},
        "source": {"project": project()["urls"]["Repository"], "branch": "main"},
        "run": {"volumes": ["{{wellkept.data}}:/data"], "disableNetwork": True},
        "config": {
            "description": "Where memory is kept",
            "parameters": {
                "type": "object",
                "properties": {
                    "data": {
                        "type": "string",
                        "description": "A folder of yours, kept between runs",
                    }
                },
                "required": ["data"],
            },
        },
    }


def _docker_tools() -> Iterator[dict[str, Any]]:
    listed = json.loads(
        (ROOT / "packages/wellkept/src/wellkept/api/mcp/tools.json").read_text("utf-8")
    )
    for one in listed:
        if one["toolset"] == "default":
            tool = one["tool"]
            asked = tool["inputSchema"].get("properties", {})
            arguments = [
                {"name": name, "type": _type(field), "desc": field.get("description", "")}
                for name, field in asked.items()
            ]
            described = {"name": tool["name"], "description": tool["description"]}
            yield described | {"arguments": arguments}


def _type(field: dict[str, Any]) -> str:
    return str(field.get("type", "string"))


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _yaml(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=96)
