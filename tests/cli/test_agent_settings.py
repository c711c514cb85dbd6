"""`wellkept config` knows the agent's settings: the table `[agent]` and its variables (G1, G11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from wellkept_agent.wiring.settings import agent_keys

pytestmark = pytest.mark.feature("G11")


def test_every_setting_of_the_agent_can_be_read_and_listed(cli: Cli) -> None:
    listed = cli("config", "show", "--agent", "--json").json["items"]
    assert [item["key"] for item in listed] == [one.key for one in agent_keys()]
    for key, value in (
        ("agent.max_steps", 100),
        ("agent.thinking.level", None),
        ("agent.tools.disabled", ""),
    ):
        got = cli("config", "get", key, "--json").json
        assert (got["value"], got["origin"]) == (value, "default")
    plain = [item["key"] for item in cli("config", "show", "--json").json["items"]]
    assert not any(key.startswith("agent.") for key in plain)


def test_what_is_set_is_in_force_and_named_with_its_origin(cli: Cli, home: Path) -> None:
    assert cli("config", "set", "agent.max_steps", "60").code == 0
    assert cli("config", "set", "agent.compaction.restore_max_files", "8").code == 0
    assert cli("config", "set", "agent.tools.disabled", "Bash, WebFetch").code == 0
    assert cli("config", "set", "agent.memory_auto_extract", "off").code == 0
    written = (home / "config.toml").read_text(encoding="utf-8")
    assert "max_steps = 60" in written
    assert "memory_auto_extract = false" in written
    shown = {item["key"]: item for item in cli("config", "show", "--json").json["items"]}
    assert shown["agent.compaction.restore_max_files"]["value"] == 8
    assert shown["agent.tools.disabled"]["value"] == "Bash, WebFetch"
    assert shown["agent.max_steps"]["origin"].startswith(str(home / "config.toml"))
    assert cli("config", "unset", "agent.max_steps").code == 0
    assert cli("config", "get", "agent.max_steps").out == "100\n"


def test_a_variable_wins_and_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASH_DEFAULT_TIMEOUT_MS", "5000")
    done = cli("config", "set", "agent.tools.bash_timeout_ms", "9000")
    assert "Overridden by BASH_DEFAULT_TIMEOUT_MS" in done.err
    got = cli("config", "get", "agent.tools.bash_timeout_ms", "--json").json
    assert (got["value"], got["origin"]) == (5000, "BASH_DEFAULT_TIMEOUT_MS")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("agent.max_step", "3", "agent.max_steps"),
        ("agent.max_steps", "0", "below 1"),
        ("agent.max_steps", "many", "max_steps"),
        ("agent.permission_mode", "yolo", "accept_edits"),
        ("agent.tools.profile", "some", "read_only"),
        ("agent.thinking.level", "deepest", "ultra"),
    ],
)
def test_what_does_not_fit_is_refused_and_not_written(
    cli: Cli, home: Path, key: str, value: str, said: str
) -> None:
    done = cli("config", "set", key, value)
    assert done.code == 2
    assert said in done.err
    assert not (home / "config.toml").exists()


@pytest.mark.feature("A10")
def test_the_key_of_the_model_is_never_printed(cli: Cli) -> None:
    assert cli("config", "get", "agent.api_key").out == ""
    cli("config", "set", "agent.api_key", "very-secret-value")
    for command in (("show",), ("show", "--agent", "--json"), ("get", "agent.api_key")):
        done = cli("config", *command)
        assert "very-secret-value" not in done.out + done.err
        assert "(set)" in done.out


def test_a_projects_file_takes_none_of_them(cli: Cli) -> None:
    refused = cli("config", "set", "agent.permission_mode", "bypass", "--project-file")
    assert refused.code == 2
    assert not Path(".wellkept.toml").exists()


def test_a_wrong_value_in_the_file_is_named_and_hides_nothing(cli: Cli, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        "[agent]\nmax_steps = 0\nsmall = true\nmax_tokens = 5\n", encoding="utf-8"
    )
    shown = cli("config", "show", "--agent", "--json").json
    assert any("max_steps" in problem for problem in shown["problems"])
    assert any("agent.small is no longer a setting" in problem for problem in shown["problems"])
    assert {"key": "agent.max_tokens", "value": 5}.items() <= next(
        item for item in shown["items"] if item["key"] == "agent.max_tokens"
    ).items()
