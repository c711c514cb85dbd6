"""The manifests: valid by their schemas, in step with the code, and naming only what there is."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from scripts import dist, manifests
from wellkept.api.cli import door
from wellkept.clients import registry

pytestmark = pytest.mark.feature("I3")

SCHEMAS = Path(__file__).parent / "schemas"
MADE = manifests.files()
BY_SCHEMA = {
    "plugins/claude-code/.claude-plugin/plugin.json": "claude_plugin",
    "plugins/claude-code/hooks/hooks.json": "claude_hooks",
    "plugins/claude-code/.mcp.json": "mcp_servers",
    ".claude-plugin/marketplace.json": "claude_marketplace",
    "plugins/codex/.codex-plugin/plugin.json": "codex_plugin",
    "plugins/codex/hooks/hooks.json": "codex_hooks",
    "plugins/codex/.mcp.json": "mcp_servers",
    ".agents/plugins/marketplace.json": "codex_marketplace",
    "plugins/gemini/gemini-extension.json": "gemini_extension",
    "plugins/gemini/hooks/hooks.json": "gemini_hooks",
    "server.json": "mcp_server",
    "packaging/docker-mcp/server.yaml": "docker_mcp",
    "packaging/docker-mcp/tools.json": "docker_tools",
}


def read(name: str) -> Any:
    return yaml.safe_load(MADE[name]) if name.endswith(".yaml") else json.loads(MADE[name])


def check(schema: str, document: object) -> None:
    wanted = json.loads((SCHEMAS / f"{schema}.json").read_text("utf-8"))
    kind = jsonschema.Draft202012Validator
    kind.check_schema(wanted)
    kind(wanted).validate(document)  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize("name", BY_SCHEMA)
def test_a_manifest_keeps_to_its_schema(name: str) -> None:
    check(BY_SCHEMA[name], read(name))


def test_every_json_and_yaml_file_has_a_schema() -> None:
    assert {name for name in MADE if name.endswith((".json", ".yaml"))} == set(BY_SCHEMA)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("server.json", {"version": "^0.1"}),
        ("server.json", {"name": "wellkept"}),
        ("server.json", {"description": "x" * 101}),
        (".claude-plugin/marketplace.json", {"plugins": []}),
        ("plugins/claude-code/.claude-plugin/plugin.json", {"name": "Well Kept"}),
        ("plugins/codex/.codex-plugin/plugin.json", {"skills": "skills/"}),
        ("plugins/gemini/gemini-extension.json", {"mcpServer": {}}),
        ("packaging/docker-mcp/server.yaml", {"type": "remote"}),
    ],
)
def test_a_wrong_manifest_is_refused(name: str, change: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        check(BY_SCHEMA[name], read(name) | change)


def test_all_name_the_version_and_the_repository_of_the_project() -> None:
    project = dist.project()
    for name in BY_SCHEMA:
        document = read(name)
        if isinstance(document, dict) and "version" in document:
            assert document["version"] == dist.version(), name
    addresses = set(re.findall(r"https://github\.com/[\w-]+/[\w-]+", "".join(MADE.values())))
    assert addresses == {project["urls"]["Repository"]}
    # The registry looks for its mark in what the package index shows.
    readme = (dist.ROOT / "packages/wellkept/README.md").read_text("utf-8")
    assert f"mcp-name: {read('server.json')['name']}" in readme


def test_marketplaces_point_at_plugins_that_are_there() -> None:
    (claude,) = read(".claude-plugin/marketplace.json")["plugins"]
    (codex,) = read(".agents/plugins/marketplace.json")["plugins"]
    assert f"{claude['source'].removeprefix('./')}/.claude-plugin/plugin.json" in MADE
    folder = codex["source"]["path"].removeprefix("./")
    parts = read(f"{folder}/.codex-plugin/plugin.json")
    for part in ("hooks", "mcpServers"):
        assert f"{folder}/{parts[part].removeprefix('./')}" in MADE
    assert any(name.startswith(f"{folder}/skills/") for name in MADE)


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini"])
def test_hooks_start_an_installed_command_and_never_veto(client: str) -> None:
    scripts = dist.project()["scripts"]
    hooks = read(f"plugins/{client}/hooks/hooks.json")["hooks"]
    lines = [
        one["command"] for groups in hooks.values() for group in groups for one in group["hooks"]
    ]
    for event, line in zip(hooks, lines, strict=False):
        program, named, *_ = line.split()
        assert program in scripts
        assert named == client
        assert line.endswith("|| exit 0"), event
    assert client in registry.CLIENTS


def test_commands_and_servers_are_ours() -> None:
    for client in ("claude-code", "codex"):
        server = read(f"plugins/{client}/.mcp.json")["mcpServers"]["wellkept"]
        assert (server["command"], server["args"][0] in door.WORDS) == ("wellkept", True)
    for name, text in MADE.items():
        if name.startswith("plugins/gemini/commands/"):
            assert set(tomllib.loads(text)) == {"description", "prompt"}
    (package,) = read("server.json")["packages"]
    assert package["packageArguments"][0]["value"] in door.WORDS


def test_no_manifest_holds_a_path_of_a_machine() -> None:
    for name, text in MADE.items():
        assert not re.search(r"(?<![\w{}:])/(?:home|root|usr|opt|Users|work|tmp)/", text), name


def test_the_image_runs_the_server_without_root_and_keeps_its_data_outside() -> None:
    lines = (dist.ROOT / "Dockerfile").read_text("utf-8").splitlines()
    (entry,) = [line for line in lines if line.startswith("ENTRYPOINT")]
    (words,) = [line for line in lines if line.startswith("CMD")]
    assert json.loads(entry.partition(" ")[2]) + json.loads(words.partition(" ")[2]) == [
        "wellkept",
        "mcp",
    ]
    (volume,) = read("packaging/docker-mcp/server.yaml")["run"]["volumes"]
    inside = volume.rpartition(":")[2]
    assert f"VOLUME {inside}" in lines
    assert any(line.startswith("ENV") and f"WELLKEPT_HOME={inside}" in line for line in lines)
    users = [line for line in lines if line.startswith("USER")]
    assert users[-1] != "USER root"
    for line in lines:
        if line.startswith("COPY") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (dist.ROOT / source).exists(), source
