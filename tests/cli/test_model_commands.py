"""Choosing the model that reads sessions, at install and later; trying it; seeing how it does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.generate_docs import JSON_FIELDS
from tests.cli.conftest import Cli
from tests.cli.test_exit_codes_and_terminals import (
    _drain as read_terminal,  # pyright: ignore[reportPrivateUsage]
)
from tests.providers import tiny_onnx
from tests.support.embedding_server import Behaviour, FakeEmbeddingServer, Fault
from tests.support.model_hub import FakeModelHub

pytestmark = pytest.mark.feature("C10")


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which only Claude Code is installed."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return program


def test_without_a_choice_there_is_no_model_and_the_choices_are_shown(
    cli: Cli, claude: Path
) -> None:
    shown = cli("model", "--json").json
    assert shown["model"]["provider"] == "none"
    usable = {one["name"] for one in shown["choices"] if one["available"]}
    assert usable == {"claude"}
    assert "tokens a day" in shown["cost"]
    assert "rules alone" in cli("model").out
    assert cli("model", "test").code != 0


def test_a_choice_is_written_with_the_whole_path_of_its_program(cli: Cli, claude: Path) -> None:
    assert cli("model", "choose", "claude").code == 0
    assert cli("config", "get", "text_model.provider").out.strip() == "claude"
    assert cli("config", "get", "text_model.command").out.strip() == str(claude)
    assert "claude/haiku" in cli("model").out
    assert cli("model", "choose", "none").code == 0
    assert cli("config", "get", "text_model.command").out.strip() == ""
    assert cli("model", "choose", "gpt").code == 2


def test_a_client_that_is_not_logged_in_says_so_and_doctor_remembers(
    cli: Cli, claude: Path
) -> None:
    cli("model", "choose", "claude")
    tried = cli("model", "test")
    assert tried.code != 0
    assert "not logged in" in tried.err
    assert "not logged in" in cli("doctor").out + cli("doctor").err


def test_a_model_is_tried_and_a_failing_one_is_left_alone_until_it_works(cli: Cli) -> None:
    with FakeEmbeddingServer(Behaviour(completion='{"ok": true}')) as server:
        for key, value in (
            ("provider", "anthropic"), ("base_url", server.url), ("name", "small"),
        ):  # fmt: skip
            cli("config", "set", f"text_model.{key}", value)
        server.fail_next(Fault(status=529))
        assert "529" in cli("model", "test").err
        assert "is not asked before" in cli("model").out
        tried = cli("model", "test", "--json").json
        assert tried["model_id"] == "anthropic/small"
        assert tuple(tried) == JSON_FIELDS["model test"]
        health = cli("model", "--json").json["model"]
        assert health["state"]["failures"] == 0
        assert health["usage"]["calls"] == 2


@pytest.mark.parametrize("name", ["none", "claude"])
def test_install_takes_the_choice_as_an_option(cli: Cli, claude: Path, name: str) -> None:
    assert cli("install", "codex", "--model", name).code == 0
    assert cli("config", "get", "text_model.provider").out.strip() == name


def test_install_without_a_terminal_asks_nothing(cli: Cli, claude: Path) -> None:
    assert cli("install", "codex").code == 0
    assert cli("config", "get", "text_model.provider").out.strip() == ""
    assert cli("install", "codex", "--dry-run", "--model", "claude").code == 0
    assert cli("config", "get", "text_model.provider").out.strip() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("typed", "chosen"), [("\n", "none"), ("claude\n", "claude")])
def test_on_a_terminal_install_asks_once_with_cost_and_none_as_default(
    home: Path, tmp_path: Path, claude: Path, typed: str, chosen: str
) -> None:
    import pty

    environment = {**os.environ, "TERM": "xterm", "HOME": str(tmp_path)}
    words = [sys.executable, "-m", "wellkept.cli"]

    def install(answer: str) -> str:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [*words, "install", "codex"],
            env=environment, stdin=slave, stdout=slave, stderr=slave, cwd=tmp_path,
        )  # fmt: skip
        os.close(slave)
        os.write(master, answer.encode())
        shown = read_terminal(master).decode("utf-8", "replace")
        assert process.wait() == 0
        return shown

    shown = install(typed)
    assert "Which model shall read your sessions?" in shown
    assert "tokens a day" in shown
    assert "- codex: codex is not installed" in shown
    asked = [*words, "config", "get", "text_model.provider"]
    got = subprocess.run(asked, env=environment, cwd=tmp_path, capture_output=True, check=True)
    assert got.stdout.decode().strip() == chosen
    assert "Which model" not in install("")


EMBEDDER, RERANKER = "BAAI/bge-small-en-v1.5", "Xenova/ms-marco-MiniLM-L-6-v2"
needs_models = pytest.mark.skipif(
    find_spec("fastembed") is None, reason="the extra `models` is optional"
)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelHub]:
    files = tiny_onnx.repository("deploy", "harbour", "vault")
    with FakeModelHub({RERANKER: files}) as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        yield found


@needs_models
@pytest.mark.feature("B4")
def test_models_are_listed_and_a_download_without_a_network_is_refused(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    shown = cli("models", "--json")
    assert {row["kind"] for row in shown.json["models"]} == {"embedding", "reranker"}
    assert shown.json["downloaded"] == []
    refused = cli("models", "get", "no/such-model")
    assert refused.code == 2
    assert "No model is called" in refused.err
    offline = cli("models", "get", EMBEDDER)
    assert offline.code == 6
    assert "could not be downloaded: its hub cannot be reached" in offline.err
    assert not list(home.rglob("*bge*"))
    assert cli("models", "remove", EMBEDDER).code == 2


@needs_models
@pytest.mark.feature("B4", "B7")
def test_a_downloaded_reranker_is_listed_used_and_removed(cli: Cli, hub: FakeModelHub) -> None:
    said = cli("models", "get", RERANKER.lower())
    assert f"{RERANKER}: 5 files, 0 MB, SHA-256 checked." in said.out
    assert f"config set reranker.name {RERANKER}" in said.err
    again = cli("models", "get", RERANKER, "--json").json
    assert tuple(again) == JSON_FIELDS["models get"]
    (row,) = (row for row in cli("models").out.splitlines() if RERANKER in row)
    assert row.split()[-1] == "yes"
    cli("config", "set", "reranker.name", RERANKER)
    for text in ("deploy from the harbour", "deploy from the vault", "deploy by hand"):
        cli("remember", text)
    found = cli("recall", "deploy", "--json", "--explain").json
    assert "vault" in found["hits"][0]["memory"]["content"]
    assert any(part["name"] == "reranker" for part in found["hits"][0]["parts"])
    assert tuple(cli("models", "remove", RERANKER, "--json").json) == JSON_FIELDS["models remove"]
    left = cli("recall", "deploy", "--json").json
    assert len(left["hits"]) == 3
    assert any("Not reranked" in note and "models get" in note for note in left["notes"])


@needs_models
@pytest.mark.feature("B4")
def test_two_downloads_of_one_model_do_not_meet(cli: Cli, home: Path, hub: FakeModelHub) -> None:
    hub.hold_after = 1_000
    words = [sys.executable, "-m", "wellkept.cli", "models", "get", RERANKER]
    first = subprocess.Popen(words, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert hub.holding.wait(60)
        second = cli("models", "get", RERANKER)
        assert second.code == 6
        assert "Another process is downloading" in second.err
        hub.hold_after = None
        hub.go_on.set()
        first.communicate(timeout=60)
        assert first.returncode == 0
    finally:
        first.kill()
    assert cli("models", "get", RERANKER).code == 0
