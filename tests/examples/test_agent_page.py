"""docs/guides/agent.md: its examples run, and its tables say what is there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import wellkept
from tests.support.chat_server import ChatServer
from wellkept.api.cli.root import root
from wellkept.models.chat.catalog import builtin_catalog
from wellkept.testing.scripted_model import ScriptedModel
from wellkept_agent import HookPoint, PermissionMode
from wellkept_agent.mcp_client.config import parse_servers
from wellkept_agent.terminal.chat import COMMANDS
from wellkept_agent.wiring.settings import agent_key

pytestmark = pytest.mark.feature("G1", "G2")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "agent.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def column(heading: str) -> list[str]:
    """The names in backticks in the first column of the table with this heading."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_an_example_runs_as_it_stands(number: int, project: Path, home: Path) -> None:
    with ChatServer(["Done: it works."]) as server:
        done = subprocess.run(
            [sys.executable, "-c", blocks("python")[number]],
            cwd=project,
            env={
                **os.environ,
                "WELLKEPT_HOME": str(home),
                "WELLKEPT_EMBEDDING_PROVIDER": "none",
                "WELLKEPT_AGENT_BASE_URL": server.url,
                "ANTHROPIC_API_KEY": "a-key-for-tests",
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stdout.strip()) == (0, "Done: it works."), done.stderr
    assert len(server.requests) == 1


def test_every_command_line_is_one_that_is_understood() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("wellkept ")]
    assert len(commands) > 5
    for words in commands:
        command: click.Command = root
        context, rest = click.Context(root), list(words)
        while isinstance(command, click.Group):
            found = command.get_command(context, rest[0])
            assert found is not None, words
            command, rest = found, rest[1:]
            context = click.Context(command, parent=context)
        command.make_parser(context).parse_args(rest)


def test_settings_and_servers_are_valid() -> None:
    (settings,) = blocks("toml")

    def keys(table: dict[str, object], prefix: str) -> list[str]:
        return [
            key
            for name, value in table.items()
            for key in (
                keys(value, f"{prefix}{name}.")  # pyright: ignore[reportUnknownArgumentType]
                if isinstance(value, dict)
                else [f"{prefix}{name}"]
            )
        ]

    named = [*keys(tomllib.loads(settings), ""), *re.findall(r"`(agent\.[a-z_.]+[a-z])`", PAGE)]
    for key in named:
        assert agent_key(key).key == key
    (servers,) = blocks("json")
    assert [one.transport for one in parse_servers(json.loads(servers), source="page")] == [
        "stdio",
        "http",
    ]


def test_the_tables_name_what_there_is(project: Path) -> None:
    address = {"WELLKEPT_AGENT_WEB_SEARCH_ADDRESS": "http://127.0.0.1:9/search"}
    environment = {**os.environ, **address, "WELLKEPT_AGENT_TOOLS": "all"}
    with wellkept.open(cwd=project, embedder="none", environment=environment) as wk:
        tools = wk.agent(ScriptedModel([])).session().tools.names()
    assert sorted(column("tool")) == sorted(tools)
    assert column("point") == [one.value for one in HookPoint]
    assert column("mode") == [one.value for one in PermissionMode]
    assert column("command in a chat") == [f"/{name}" for name in COMMANDS]
    catalog = builtin_catalog()
    providers = {name: catalog.preset(name).key_variables for name in catalog.providers()}
    rows = re.findall(
        r"^\| `(\w+)` \| (?:`(\w+)`|none) \| (?:OpenAI|Anthropic)", PAGE, re.MULTILINE
    )
    assert {name for name, _ in rows} == set(providers)
    assert all(not key or key in providers[name] for name, key in rows)
