"""`wellkept status --remote` and `wellkept admin move`: what they print, and what their JSON holds."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.laptops import team_server
from scripts.generate_docs import JSON_FIELDS
from tests.cli.conftest import Cli, Outcome
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("T3")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with team_server(tmp_path / "server.db", tmp_path / "server", ManualClock()) as served:
        yield served.address


@pytest.fixture
def with_token(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Add a remote with a token on standard input."""

    def add(url: str, token: str, *more: str) -> Outcome:
        monkeypatch.setattr("sys.stdin", io.StringIO(token + "\n"))
        return cli("remote", "add", url, *more)

    return add


def test_from_nothing_to_shared_and_back(
    cli: Cli, with_token: Callable[..., Outcome], address: str
) -> None:
    assert "no remote" in cli("remote").out
    refused = with_token(address, "nobody")
    assert "401" in refused.err
    assert "an administrator issues one" in refused.err
    assert "API key" not in refused.err
    rule = cli("remember", "Deploys go through staging", "--type", "convention", "--json").json
    added = with_token(address, "writer:ann", "--json")
    assert tuple(added.json) == JSON_FIELDS["remote add"]
    shown = cli("remote").out
    assert "as ann (writer): ok" in shown
    assert "1 proposed by you" in shown
    assert "Deploys go through staging" in cli("remote", "review").out
    full_id = cli("remote", "review", "--json").json["items"][0]["id"]
    assert "403" in cli("remote", "approve", full_id).err
    with_token(address, "reviewer:rita")
    assert cli("remote", "approve", full_id[-8:]).code != 0
    assert "team" in cli("remote", "approve", full_id).out
    assert "person rita" in cli("show", full_id).out
    assert "Nothing waits." in cli("remote", "review").out
    assert "demo" in cli("remote", "list").out
    assert cli("remote", "remove").code != 0
    assert "token is forgotten" in cli("remote", "remove", "--yes").out
    assert rule


def test_the_json_of_every_command_is_as_documented(
    cli: Cli, with_token: Callable[..., Outcome], address: str
) -> None:
    cli("remember", "Deploys go through staging", "--type", "convention")
    with_token(address, "reviewer:rita")
    full_id = cli("list", "--json").json["items"][0]["id"]
    for command, *arguments in (
        ("list",),
        ("status",),
        ("sync",),
        ("review",),
        ("approve", full_id),
        ("reject", full_id, "--yes"),
        ("remove", "--yes"),
    ):
        shown = cli("remote", command, *arguments, "--json")
        assert tuple(shown.json) == JSON_FIELDS[f"remote {command}"], shown.err


@pytest.mark.feature("T4")
def test_a_store_is_moved_and_stays(cli: Cli, tmp_path: Path) -> None:
    cli("remember", "Deploys go through staging")
    target = tmp_path / "copy.db"
    dry = cli("move", "--to", str(target), "--dry-run")
    assert "Nothing was written" in dry.out
    assert not target.exists()
    done = cli("move", "--to", str(target), "--json")
    assert tuple(done.json) == JSON_FIELDS["move"]
    assert "not empty" in cli("move", "--to", str(target)).err
    assert "Deploys go through staging" in cli("list").out
