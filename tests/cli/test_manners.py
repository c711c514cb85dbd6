"""`wellkept` alone, `off` and `on`, `open`, `log` and `why`: what people reach for first."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx2
import pytest

import wellkept
from tests.app.test_injected import given
from tests.cli.conftest import Cli
from tests.server.http_serving import Served, served_in
from tests.server.mcp_client import talking_in
from wellkept.core.ports.injections import LineOutcome

pytestmark = pytest.mark.feature("I3", "H6", "C4")


@pytest.fixture
def person(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Somebody with an empty home and no client."""
    home = tmp_path / "person"
    home.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return cli


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with an empty memory."""
    with served_in(tmp_path_factory.mktemp("served")) as web:
        yield web


# -- The greeting ---------------------------------------------------------------------------------


def test_alone_it_says_what_it_is_and_the_next_step(person: Cli, home: Path) -> None:
    said = person()
    assert said.code == 0
    assert "gives coding agents a memory" in said.out
    assert "Clients:      none found" in said.out
    assert "This project: nothing yet" in said.out
    assert "Next:         wellkept init" in said.out
    assert len(said.out.splitlines()) <= 8
    assert not (home / "memory.db").exists()


def test_the_next_step_follows_what_is_there(person: Cli) -> None:
    (Path(os.environ["HOME"]) / ".claude").mkdir()
    assert "wellkept install claude-code" in person().out
    person("install", "claude-code")
    said = person().out
    assert "claude-code (connected)" in said
    assert "Next:         wellkept init" in said
    person("remember", "Deploys go through staging")
    said = person().out
    assert "demo: 1 statement known" in said
    assert "Next:         wellkept open" in said
    person("remember", "Something an agent said", "--source", "agent_explicit")
    person("flag", person("list", "--json").json["items"][0]["short"])
    assert "wait for review" in person().out
    assert "Next:         wellkept review" in person().out
    person("off")
    assert "Off:          Hooks say nothing" in person().out


def test_a_damaged_store_does_not_stop_the_greeting(person: Cli, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "memory.db").write_bytes(b"this is no database" * 1_000)
    said = person()
    assert said.code == 0
    assert "cannot be read" in said.out
    assert "wellkept admin doctor" in said.out


# -- Off and on -----------------------------------------------------------------------------------


def test_off_is_shown_by_status_doctor_and_health_until_on(cli: Cli) -> None:
    cli("remember", "anything")
    assert cli("off", "--for", "1h").out.startswith("Hooks say nothing until 20")
    assert cli("off", "--here", "--capture", "--json").json["added"]["capture"] is True
    for command in ("status", "health"):
        shown = cli(command)
        assert "Hooks say nothing until" in shown.out
        assert f"Hooks say and capture nothing in {Path.cwd()}" in shown.out
        assert len(cli(command, "--json").json["off"]) == 2
    found = cli("doctor", "--json").json["health"]["findings"]
    assert [one["severity"] for one in found if "wellkept on" in one["message"]] == ["warning"] * 2
    assert cli("doctor").code == 0
    assert "until" in cli("on", "--here").err
    assert "Hooks speak" in cli("on").out
    assert "Nothing was off" in cli("on").err
    assert cli("status", "--json").json["off"] == []
    assert cli("off", "--for", "soon").code == 2


# -- Log and why ----------------------------------------------------------------------------------


@pytest.fixture
def short(cli: Cli) -> str:
    """A memory that was given twice, beside a line that no memory holds."""
    kept = cli("remember", "The gateway times out", "--source", "agent_explicit", "--json")
    name = str(kept.json["memory"]["short"])
    with wellkept.open(project=os.environ["WELLKEPT_PROJECT"], embedder="none") as wk:
        given(wk, wk.get(name), 1, outcome=LineOutcome.USED)
        given(wk, wk.get(name), 2, outcome=LineOutcome.IGNORED)
    return name


def test_log_and_its_other_name_are_one_command(cli: Cli, short: str) -> None:
    assert short in cli("log").out
    assert cli("log", "--json").json == cli("injected", "--json").json


@pytest.mark.parametrize(
    "pasted",
    [
        "{short}",
        "m:{short}",
        "- [WARN] The gateway times out [m:{short}]",
        "the GATEWAY times",
        "gateway   times out.",
        "see [m:{short}] for that",
    ],
)
def test_why_takes_an_id_a_line_or_part_of_it(cli: Cli, short: str, pasted: str) -> None:
    told = cli("why", *pasted.format(short=short).split(" "))
    assert told.code == 0, told.err
    assert told.out.startswith(f"m:{short}")
    assert "2 times in 2 sessions" in told.out


def test_why_tells_of_a_line_that_no_memory_holds(cli: Cli, short: str) -> None:
    for text in ("line:1", "Asked: a thing", "- Asked: a thing"):
        told = cli("why", text)
        assert told.code == 0, told.err
        assert told.out.startswith("line:1 left_off")
        assert "session session-2 of claude-code" in told.out
        assert "no memory holds it" in told.err
    document = cli("why", "asked: a", "--json").json
    assert (document["memory"], document["line"]["line"]["line_id"]) == (None, "line:1")


def test_why_says_when_nothing_or_too_much_fits(cli: Cli, short: str) -> None:
    assert cli("why", "nobody said this").code == 3
    assert "wellkept why" in cli("why", "nobody said this").err
    several = cli("why", "t")
    assert several.code == 4
    assert "line:1" in several.err
    assert cli("why", "   ").code in (2, 3)


def test_why_finds_the_line_of_a_memory_that_is_gone(cli: Cli, short: str) -> None:
    cli("forget", short, "--yes")
    assert cli("why", "gateway times").code == 3


# -- Open -----------------------------------------------------------------------------------------


def test_open_starts_a_server_says_its_address_and_stops_cleanly(
    home: Path, tmp_path: Path
) -> None:
    environment = {
        **os.environ,
        "WELLKEPT_HOME": str(home),
        "WELLKEPT_EMBEDDING_PROVIDER": "none",
        "PYTHONUNBUFFERED": "1",
    }
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "wellkept.cli", "open"]
    with subprocess.Popen(
        [*command, "--port", "0"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = next(line for line in process.stdout if line.startswith("Open the page"))
            assert "token" not in line  # standard output may be a log
            # A second one finds the first and starts nothing; whoever runs it wants the address.
            again = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
            )
            page = again.stdout.removeprefix("Open the page: ").strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=\S{20,}", page)
            with httpx2.Client() as client:
                assert client.get(page.partition("?")[0]).status_code in (200, 401, 403)
                assert client.get(page, follow_redirects=True).status_code == 200
        finally:
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate()
    assert process.returncode == 0, errors
    assert rest.endswith("Stopped.\n")
    assert "no browser here" in errors


def test_open_hands_the_page_to_the_browser(home: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.part && mv {seen}.part {seen}\n')
    browser.chmod(0o700)
    environment = {**os.environ, "WELLKEPT_HOME": str(home), "BROWSER": str(browser)}
    environment |= {"WELLKEPT_EMBEDDING_PROVIDER": "none", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "wellkept.cli", "open", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = next(one for one in process.stdout if "Wellkept is at" in one).split()[-1]
        next(line for line in process.stdout if "Ctrl-C" in line)
        for _ in range(600):
            if seen.exists():
                break
            subprocess.run(["sleep", "0.1"], check=True)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert seen.read_text().startswith(f"{address}/?token=")


# -- Plugins --------------------------------------------------------------------------------------


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_status_names_a_plugin_of_claude_code(person: Cli) -> None:
    """The files are what Claude Code 2.1.325 writes."""
    home = Path(os.environ["HOME"])
    settings = home / ".claude" / "settings.json"
    _write(settings, {"enabledPlugins": {"wellkept@wellkept": True, "other@x": True}})
    place = {"scope": "user", "installPath": "/cache/wellkept/0.1.0", "version": "0.1.0"}
    known = {"version": 2, "plugins": {"wellkept@wellkept": [place]}}
    _write(home / ".claude/plugins/installed_plugins.json", known)
    row = next(line for line in person("status").out.splitlines() if line.startswith("claude-code"))
    assert row.split("\t")[2:] == ["installed as a plugin", "plugin", "/cache/wellkept/0.1.0"]
    assert "claude-code (connected)" in person().out
    person("install", "claude-code")
    assert "captured twice" in person("status").err
    person("uninstall", "claude-code")
    _write(settings, {"enabledPlugins": {"wellkept@wellkept": False}})
    assert "plugin, switched off" in person("status").out
    assert "claude-code (not connected)" in person().out


def test_status_names_extensions_of_gemini_and_plugins_of_codex(person: Cli) -> None:
    home = Path(os.environ["HOME"])
    _write(home / ".gemini/extensions/wellkept/gemini-extension.json", {"name": "wellkept"})
    config = home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text('[plugins."wellkept@wellkept"]\nenabled = true\n')
    items = {(one["client"], one["scope"]): one for one in person("status", "--json").json["items"]}
    assert items["gemini", "user"]["plugin"]["enabled"] is True
    assert items["codex", "user"]["plugin"]["name"] == "wellkept@wellkept"
    assert items["codex", "project"]["plugin"] is None
    _write(
        home / ".gemini/extensions/extension-enablement.json", {"wellkept": {"overrides": ["!/*"]}}
    )
    config.write_text("not toml at all [")
    items = {(one["client"], one["scope"]): one for one in person("status", "--json").json["items"]}
    assert items["gemini", "user"]["plugin"]["enabled"] is False
    assert items["codex", "user"]["plugin"] is None


# -- Words that people type -----------------------------------------------------------------------


def test_help_and_version_are_words_too(person: Cli) -> None:
    assert person("help").out == person("--help").out
    assert person("help", "recall").out == person("recall", "--help").out
    assert person("version").out == person("--version").out


def test_remember_reads_a_pipe(person: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Tabs are four wide\n")))
    said = person("remember", "--type", "rule")
    assert said.code == 0
    assert person("list", "--type", "rule", "--json").json["items"][0]["type"] == "convention"


def test_an_unknown_type_lists_the_few_that_people_use(person: Cli) -> None:
    said = person("remember", "x", "--type", "hunch")
    assert said.code == 2
    assert "rule, fact, decision, trap, recipe, event" in said.err


def test_recall_asks_for_words_unless_filters_are_given(person: Cli, home: Path) -> None:
    for words in ((), ("",), ("  ",)):
        said = person("recall", *words)
        assert said.code == 2
        assert "Hint: " in said.err
    assert not (home / "memory.db").exists()
    person("remember", "Migrations are run by hand", "--type", "decision")
    said = person("recall", "--type", "decision")
    assert said.code == 0
    assert "run by hand" in said.out
    assert "No question was given" in said.err


@pytest.mark.parametrize(
    "command",
    "list|recall x|recall x --answer|show x|why|pages|status|review|session list|skill list"
    "|graph status|admin projects|admin export -".split("|"),
)
def test_reading_makes_no_file(person: Cli, home: Path, command: str) -> None:
    assert person(*command.split()).code in (0, 1, 3)
    assert not home.exists() or not list(home.glob("memory*"))


@pytest.mark.parametrize("command", [("list",), ("recall", "generated"), ("pages", "rules")])
def test_thirty_columns_are_enough(
    person: Cli, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    person("remember", "Never edit the generated files in src/generated", "--type", "rule")
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = click.unstyle(person(*command).out)
    assert "src/generated" in shown
    assert max(map(len, shown.splitlines())) <= 30


@pytest.mark.parametrize("command", ["--help", "recall --help", "skill --help"])
def test_thirty_columns_are_enough_for_help(home: Path, command: str) -> None:
    environment = {**os.environ, "WELLKEPT_HOME": str(home), "COLUMNS": "30"}
    done = subprocess.run(
        [sys.executable, "-m", "wellkept.cli", *command.split()],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Usage: wellkept" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 30


# -- Wrong values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "given", "named", "said"),
    [
        ("remember", None, {}, "content: expected a value, not None"),
        ("remember", "x", {"type": 5}, "type: expected a text, not int"),
        ("remember", "x", {"type": "hunch"}, "rule, fact, decision, trap, recipe, event"),
        ("remember", "x", {"tags": 5}, "tags: expected texts, not int"),
        ("remember", "x", {"tags": [5]}, "must be a string, not int"),
        ("remember", "x", {"scope": 5}, "scope: expected a text, not int"),
        ("remember", "x", {"importance": "high"}, "importance: expected a number, not str"),
        ("remember_many", None, {}, "takes a list, not NoneType"),
        ("remember_many", ["x", None], {}, "must be a string, not NoneType"),
        ("recall", 5, {}, "query: expected a text, not int"),
        ("recall", "", {}, "query is empty"),
        ("recall", "x", {"limit": "3"}, "limit: expected a whole number, not str"),
        ("recall", "x", {"types": 5}, "types: expected texts, not int"),
        ("get", None, {}, "its id or key, not NoneType"),
        ("forget", 5, {}, "ids: expected texts, not int"),
    ],
)
def test_wrong_values_are_refused_in_words(
    tmp_path: Path, verb: str, given: object, named: dict[str, Any], said: str
) -> None:
    with wellkept.open(tmp_path / "memory.db", project="demo") as wk:
        with pytest.raises(wellkept.UsageError, match=re.escape(said)):
            getattr(wk, verb)(given, **named)
        assert wk.stats().total == 0


def test_an_open_memory_cannot_be_pickled(tmp_path: Path) -> None:
    with (
        wellkept.open(tmp_path / "memory.db", project="demo") as wk,
        pytest.raises(TypeError, match="open it again"),
    ):
        pickle.dumps(wk)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("recall", {}, "query is empty"),
        ("recall", {"query": " "}, "query is empty"),
        ("recall", {"query": 5}, "query: expected a text, not 5"),
        ("recall", {"query": "x", "types": ["hunch"]}, "Unknown memory type 'hunch'"),
        ("show", {}, "ids: is missing"),
        ("memory_store", {"content": None}, "content: is missing"),
        ("memory_store", {"content": 5}, "content: expected a text, not 5"),
        ("memory_store", {"content": "x", "type": "hunch"}, "Unknown memory type 'hunch'"),
    ],
)
def test_http_names_the_problem(
    served: Served, path: str, body: dict[str, object], said: str
) -> None:
    answer = served.client.post(f"/api/{path}", json=body)
    assert answer.status_code in (400, 422)
    assert said in answer.json()["detail"]
    assert answer.json()["hint"]


def test_an_empty_search_of_a_tool_says_so(served: Served, tmp_path: Path) -> None:
    said = "No question was given: the newest are listed."
    assert served.get("search", query="")["notes"] == [said]
    with talking_in(tmp_path) as talk:
        assert said in talk.text("memory_recall")
        assert "query: expected a text, not 5" in talk.error("memory_recall", query=5)
