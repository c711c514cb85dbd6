"""The words of `wellkept`: few are shown, all others have a place, and old words still act."""

from __future__ import annotations

import json

import click
import pytest

from tests.cli.conftest import Cli
from wellkept.api.cli import door
from wellkept.api.cli.root import command_at, leaf, root

pytestmark = pytest.mark.feature("A3")


def test_the_help_shows_the_door_and_nothing_else(cli: Cli) -> None:
    text = cli("--help").out
    shown = [
        line.split()[0] for line in text.partition("Every day:")[2].splitlines() if line[:2] == "  "
    ]
    assert shown == [name for section in door.DOOR.values() for name in section]
    assert len(door.DOOR["Every day"]) <= 15
    assert len(door.NOUNS) == 7


def test_every_command_has_a_place() -> None:
    shown = {name for section in door.DOOR.values() for name in section}
    assert {*door.WORDS} - {*door.MOVED} - {*door.UNSHOWN} - shown == set()
    for words in ("methodology", "spool", "model", "share", "remote"):
        group = command_at(words)
        assert isinstance(group, click.Group)
        for name in group.commands:
            assert f"{words} {name}" in door.MOVED, name


def test_a_place_is_the_same_command_not_a_copy() -> None:
    context = click.Context(root)
    for place, words in door.PLACES.items():
        found: click.Command | None = root
        for word in place.split():
            assert isinstance(found, click.Group)
            found = found.get_command(context, word)
        assert found is not None
        assert found.callback is leaf(command_at(words)).callback, place


@pytest.mark.parametrize(
    ("now", "before"),
    [
        (["list", "--around", "{id}"], ["timeline", "{id}"]),
        (["list", "--around={id}", "--before", "1"], ["timeline", "{id}", "--before", "1"]),
        (["list", "--count", "--type", "fact"], ["facets", "--type", "fact"]),
        (["show", "{id}", "--history"], ["history", "{id}"]),
        (["recall", "--answer", "which", "port"], ["ask", "which", "port"]),
        (["status", "--stats"], ["stats"]),
        (["status", "--learning"], ["observer", "status"]),
        (["status", "--learning"], ["observer"]),
        (["status", "--methodologies"], ["methodology"]),
        (["status", "--methodologies"], ["methodology", "list"]),
        (["status", "--spool"], ["spool"]),
        (["list", "--help"], ["timeline", "--help"]),
        (["edit", "--help"], ["bulk", "--help"]),
        (["list", "--type", "trap"], ["observer", "traps"]),
        (["session", "list"], ["sessions"]),
        (["session", "commands"], ["observer", "commands"]),
        (["why"], ["log"]),
        (["why", "--silent"], ["log", "--silent"]),
        (["config", "list"], ["config", "show"]),
        (["admin", "projects"], ["projects"]),
        (["admin", "maintain", "--only", "decay", "--dry-run"], ["decay", "--dry-run"]),
    ],
)
def test_a_word_of_before_answers_as_its_place_and_says_it(
    cli: Cli, now: list[str], before: list[str]
) -> None:
    stored = json.loads(cli("remember", "The port is 8123.", "--json").out)["memory"]["id"]
    new, old = (cli(*(one.replace("{id}", stored) for one in words)) for words in (now, before))
    assert (old.code, old.out) == (new.code, new.out)
    assert "is now" not in new.err
    assert (
        f"`wellkept {door.MOVED[' '.join(before[:2])]}`" in old.err
        if len(before) > 1 and (" ".join(before[:2]) in door.MOVED)
        else f"`wellkept {door.MOVED[before[0]]}`" in old.err
    )


@pytest.mark.parametrize("words", [["stats", "--json"], ["spool", "drain"], ["admin", "drain"]])
def test_programs_are_not_told_of_words(cli: Cli, words: list[str]) -> None:
    done = cli(*words)
    assert done.code == 0
    assert "is now" not in done.err


def test_edit_corrects_relates_and_flags(cli: Cli) -> None:
    first = json.loads(cli("remember", "The port is 8123.", "--json").out)["memory"]["id"]
    done = cli("edit", "--because", "outdated", first, "--json")
    assert json.loads(done.out)["action"] == "outdated"
    second = json.loads(cli("remember", "Tests need Redis.", "--json").out)["memory"]["id"]
    assert cli("edit", second, "--action", "flag", "--reason", "wrong").code == 0
    spread = json.loads(cli("edit", second, "--confidence", "0.4", "--json").out)["confidence"]
    assert [one["after"] for one in spread] == [0.4]


def test_an_unknown_step_of_maintenance_lists_the_steps(cli: Cli) -> None:
    done = cli("admin", "maintain", "--only", "everything")
    assert done.code == 2
    assert "'refresh', 'decay', 'prune', 'compact'" in done.err
