"""Real coding clients with Wellkept installed: they are remembered, told, and never disturbed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.running_clients.endpoints import Endpoint, Say, Until
from tests.running_clients.starting import Client, Machine, every_client

pytestmark = pytest.mark.feature("C1", "C4", "C5")

KNOWN = "Greet the zebra with MARKER-KNOWN, never without"
PROMPT = "Please greet the zebra."


@pytest.fixture
def fresh(tmp_path: Path) -> Machine:
    """A project with one file, in which nothing is known."""
    made = Machine(tmp_path)
    made.home.mkdir()
    made.project.mkdir()
    (made.project / "hello.txt").write_text("hello\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        who = ["-c", "user.name=Dev", "-c", "user.email=dev@example.org"]
        subprocess.run(["git", *who, *words], cwd=made.project, check=True)
    return made


@pytest.fixture
def machine(fresh: Machine) -> Machine:
    """The same, with one thing known."""
    fresh.wellkept("remember", "--type", "convention", KNOWN)
    return fresh


def _memories(machine: Machine, kind: str) -> list[dict[str, Any]]:
    """What was taken in, once nothing waits any more."""
    for _ in range(100):
        if not machine.json("spool", "drain")["busy"]:
            break
    return machine.json("list", "--type", kind)["items"]


@pytest.mark.parametrize("client", every_client())
def test_a_session_is_remembered_and_the_model_is_told_what_is_known(
    machine: Machine, client: Client
) -> None:
    machine.wellkept("install", client.name)
    with Endpoint(client.script(machine.project / "hello.txt")) as endpoint:
        machine.start(client, endpoint, PROMPT)
    assert (machine.project / "hello.txt").read_text("utf-8") == "goodbye\n"
    assert endpoint.last.count("MARKER-KNOWN") == 1
    (prompt,) = _memories(machine, "prompt")
    assert prompt["content"].strip('"') == PROMPT
    assert any("hello.txt" in each["content"] for each in _memories(machine, "observation"))
    assert "MARKER-KNOWN" not in str(_memories(machine, "observation"))


@pytest.mark.parametrize("client", every_client()[:1])
def test_claude_codes_plugin_does_what_its_hooks_do(machine: Machine, client: Client) -> None:
    machine.wellkept("install", client.name, "--plugin", str(machine.folder / "plugin"))
    extra = ("--plugin-dir", str(machine.folder / "plugin"))
    with Endpoint(client.script(machine.project / "hello.txt")) as endpoint:
        machine.start(replace(client, arguments=(*extra, *client.arguments)), endpoint, PROMPT)
    assert endpoint.last.count("MARKER-KNOWN") == 1
    assert [prompt["content"] for prompt in _memories(machine, "prompt")] == [PROMPT]


@pytest.mark.parametrize("client", every_client()[:2])
@pytest.mark.feature("D10")
def test_before_a_tool_runs_the_model_is_warned_and_the_tool_runs_all_the_same(
    machine: Machine, client: Client
) -> None:
    machine.wellkept("config", "set", "capture.before_tools", "on")
    machine.wellkept("install", client.name)
    machine.wellkept(
        "remember", "--type", "error_pattern", "`make zoo` keeps failing with: MARKER-COMMAND"
    )
    machine.wellkept("remember", "--type", "gotcha", "--file", "hello.txt", "MARKER-FILE is a trap")
    file = machine.project / "hello.txt"
    turns = [client.edit(file), client.runs("make zoo || echo done > out.txt"), Say("Done.")]
    with Endpoint(turns) as endpoint:
        machine.start(client, endpoint, PROMPT)
    assert file.read_text("utf-8") == "goodbye\n"
    assert (machine.project / "out.txt").read_text("utf-8") == "done\n"
    assert endpoint.last.count("MARKER-COMMAND") == 1
    assert endpoint.last.count("MARKER-FILE") == 1


@pytest.mark.parametrize("client", every_client())
@pytest.mark.feature("D11", "C9")
def test_what_got_a_command_to_work_is_told_in_the_next_session(
    fresh: Machine, client: Client
) -> None:
    fresh.wellkept("install", client.name)
    ship = 'test -n "$$ZOO_REGION" || (echo ZOO_REGION is not set; exit 3)'
    fresh.project.joinpath("Makefile").write_text(f"ship:\n\t@{ship}\n\t@echo shipped\n")
    works = "ZOO_REGION=savanna make ship"
    turns = [client.runs("make ship"), client.runs(works), Say("Shipped.")]
    with Endpoint(turns) as endpoint:
        fresh.start(client, endpoint, "Ship the zoo, please.")
    assert "shipped" in endpoint.last
    _memories(fresh, "prompt")
    with Endpoint([client.runs("make ship"), Say("It failed.")]) as endpoint:
        fresh.start(client, endpoint, "Ship the zoo again, please.")
    assert endpoint.last.count(works) == 1


@pytest.mark.parametrize("client", every_client())
@pytest.mark.feature("C13")
def test_a_correction_and_a_decision_of_day_one_are_told_on_day_two(
    fresh: Machine, client: Client
) -> None:
    fresh.wellkept("install", client.name)
    for said in (
        "No, don't use float for money, integer cents everywhere.",
        "Let's go with SQLite for the orders, we don't want to run a server.",
    ):
        with Endpoint([Say("Understood.")]) as endpoint:
            fresh.start(client, endpoint, said)
    _memories(fresh, "prompt")
    with Endpoint([Say("Done.")]) as endpoint:
        fresh.start(client, endpoint, "Set up the SQLite database that holds the orders.")
    told = "".join(endpoint.seen)
    assert "integer cents everywhere" in told
    assert "want to run a server" in told


@pytest.mark.parametrize("client", every_client())
def test_what_is_private_is_not_remembered(machine: Machine, client: Client) -> None:
    machine.wellkept("install", client.name)
    with Endpoint([]) as endpoint:
        machine.start(client, endpoint, f"{PROMPT} <private>the key is under the mat</private>")
    assert "under the mat" not in str(_memories(machine, "prompt"))


@pytest.mark.parametrize("client", every_client())
def test_the_model_is_offered_the_tools_and_calls_them(machine: Machine, client: Client) -> None:
    machine.wellkept("install", client.name)
    turns = [
        # A server may come up after the first turn.
        Until("memory_search", client.runs("sleep 1")),
        client.asks("memory_store", content="The giraffe is greeted last", type="convention"),
        client.asks("memory_search", query="giraffe"),
        Say("Done."),
    ]
    with Endpoint(turns) as endpoint:
        machine.start(client, endpoint, PROMPT)
    assert "inserted" in endpoint.last
    assert endpoint.last.count("The giraffe is greeted last") > 1
    kept = [memory["content"] for memory in machine.json("list")["items"]]
    assert "The giraffe is greeted last" in kept


SLASHED = [each for each in every_client() if each.id not in ("codex", "copilot")]


@pytest.mark.parametrize("client", SLASHED)
def test_a_slash_command_tells_the_model_what_to_do(fresh: Machine, client: Client) -> None:
    # Without a terminal Gemini CLI puts a session's context before the prompt and then sees no
    # command in it, so nothing is known here.
    fresh.wellkept("install", client.name)
    words = ["/recall greeting of zebras"]
    if client.name == "opencode":
        words = ["--command", "recall", "greeting of zebras"]
    with Endpoint([]) as endpoint:
        fresh.start(client, endpoint, *words)
    # A client's own upkeep may come last.
    asked = next(one for one in endpoint.seen if re.search(r'Question: (?:\\")?greeting of', one))
    assert "memory_search" in asked


def _no_folder(machine: Machine, client: Client) -> None:
    machine.folder.joinpath("wellkept").rename(machine.folder / "gone")
    machine.folder.joinpath("wellkept").write_text("not a folder")


def _corrupt_database(machine: Machine, client: Client) -> None:
    for path in machine.folder.joinpath("wellkept").glob("memory.db*"):
        path.write_bytes(b"This is no database. " * 1000)


def _no_interpreter(machine: Machine, client: Client) -> None:
    machine.replace_programs(client, None)


def _full_disk(machine: Machine, client: Client) -> None:
    machine.replace_programs(client, f'ulimit -f 0; exec "{sys.executable}" "$@"')


def _hanging(machine: Machine, client: Client) -> None:
    machine.replace_programs(client, "exec sleep 15")


@pytest.mark.parametrize(
    "break_it", [_no_folder, _corrupt_database, _no_interpreter, _full_disk, _hanging]
)
@pytest.mark.parametrize("client", every_client())
def test_a_client_works_on_when_wellkept_is_broken(
    machine: Machine, client: Client, break_it: Callable[[Machine, Client], None]
) -> None:
    machine.wellkept("install", client.name)
    break_it(machine, client)
    with Endpoint(client.script(machine.project / "hello.txt")) as endpoint:
        machine.start(client, endpoint, PROMPT)
    assert (machine.project / "hello.txt").read_text("utf-8") == "goodbye\n"
    assert break_it is _full_disk or "MARKER-KNOWN" not in endpoint.last


@pytest.mark.parametrize("client", every_client())
def test_after_uninstalling_nothing_is_caught_or_said(machine: Machine, client: Client) -> None:
    machine.wellkept("install", client.name)
    machine.wellkept("uninstall", client.name)
    assert [path for path in machine.files(client) if path.exists()] == []
    with Endpoint([]) as endpoint:
        machine.start(client, endpoint, PROMPT)
    assert "MARKER-KNOWN" not in endpoint.last
    assert _memories(machine, "prompt") == []
