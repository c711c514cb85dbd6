"""Shell completion: the same as click would offer, without click, in three real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from tests.cli.conftest import Cli
from tests.skills.reading import document, put
from wellkept.api.cli.completion.answer import split_line, suggestions
from wellkept.api.cli.completion.scripts import SCRIPTS
from wellkept.api.cli.names import Name
from wellkept.api.cli.root import root
from wellkept.api.views.completion_names import database_path
from wellkept.api.wiring.services import DATABASE_NAME
from wellkept.core.query import RAW_TYPES
from wellkept.core.settings import paths
from wellkept.store.sqlite import completion_names as short_lists

pytestmark = pytest.mark.feature("I3", "A3")


def offered(*words: str, current: str = "") -> list[str]:
    return [value for value, _ in suggestions(list(words), current, os.environ)]


def _paths(
    command: click.Command, words: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _paths(inner, (*words, name))


EVERY = list(_paths(root, ()))


@pytest.mark.parametrize("begun", ["", "-", "--", "--j", "--p", "re", "s"])
def test_commands_options_and_choices_are_those_that_click_offers(cli: Cli, begun: str) -> None:
    """Click is asked about every command; what only the store knows is left out on both sides."""
    click_itself = ShellComplete(root, {}, "wellkept", "_X")
    for words, command in EVERY:
        waits_for = {type(one.type) for one in command.params if isinstance(one, click.Argument)}
        if not begun.startswith("-") and waits_for & {Name, click.Path, click.File}:
            continue
        expected = click_itself.get_completions(list(words), begun)
        values = [one.value for one in expected if one.type == "plain"]
        found = offered(*words, current=begun)
        if begun == "-":  # a single dash offers the short ones too
            found = [one for one in found if one in values]
        assert set(found) == {one for one in values if one.startswith("--") or begun != "--"}, words


def test_what_the_door_has_is_offered_and_its_places_below() -> None:
    assert offered() == root.list_commands(click.Context(root))
    assert offered("why", current="--sil") == ["--silent"]
    assert {"import", "doctor"} <= {*offered("admin")}


def test_values_of_options_are_offered_in_both_forms() -> None:
    assert offered("list", "--type", current="dec") == ["decision"]
    assert offered("list", current="--type=dec") == ["--type=decision"]
    assert offered("--store") == []
    assert offered("--store", "x.db", current="reca") == ["recall"]
    assert offered("admin", "restore") == [":file"]
    assert offered("no-such-command", current="--") == []
    assert offered("install", "--", current="--d") == []


def test_clients_are_offered() -> None:
    assert {"claude-code", "codex"} <= set(offered("install"))
    assert offered("uninstall", current="cl") == ["claude-code"]


def test_ids_of_this_project_are_offered_with_their_text(cli: Cli) -> None:
    here = cli("remember", "--json", "Deploys go through staging").json["memory"]["short"]
    there = cli("remember", "--json", "--project", "other", "Not of here").json["memory"]["short"]
    assert suggestions(["show"], "", os.environ) == [(here, "Deploys go through staging")]
    assert offered("forget", here, current=here[:3]) == [here]
    assert offered("show", current=f"m:{here[:2]}") == [f"m:{here}"]
    assert offered("why", current=there) == []
    assert offered("list", "--project") == ["demo", "other"]
    assert offered("list", "--project", current="o") == ["other"]
    cli("forget", here, "--yes")
    assert offered("show") == []


def test_names_of_skills_are_offered_where_they_lie(cli: Cli) -> None:
    put(Path.cwd() / ".claude" / "skills", "water-plants", document("water-plants"))
    assert offered("skill", "show", current="wat") == ["water-plants"]
    assert "recall-first" in offered("skill", "show", current="re")


def test_nothing_is_made_and_nothing_breaks_without_a_store(cli: Cli, home: Path) -> None:
    assert offered("show") == offered("sessions", "show") == offered("list", "--project") == []
    assert not (home / DATABASE_NAME).exists()
    home.mkdir(exist_ok=True)
    (home / DATABASE_NAME).write_bytes(b"this is no database" * 100)
    assert offered("show") == []


def test_the_store_is_found_where_the_settings_put_it(
    cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert database_path(os.environ) == str(home / DATABASE_NAME)
    cli("config", "set", "store.path", str(tmp_path / "moved.db"))
    assert database_path(os.environ) == str(tmp_path / "moved.db")
    monkeypatch.setenv("WELLKEPT_STORE_PATH", str(tmp_path / "said.db"))
    assert database_path(os.environ) == str(tmp_path / "said.db")


@pytest.mark.parametrize("data", ["", "relative", "/absolute"])
def test_folders_are_those_of_the_settings(data: str) -> None:
    environment = {"XDG_DATA_HOME": data, "XDG_CONFIG_HOME": data}
    assert database_path(environment) == str(paths.data_folder(environment) / DATABASE_NAME)


def test_records_of_capture_are_not_offered() -> None:
    for kind in RAW_TYPES:
        assert f"'{kind.value}'" in short_lists.QUERIES["memory"]


@pytest.mark.parametrize(
    ("line", "words", "current"),
    [
        ("wellkept", [], ""),
        ("wellkept ", [], ""),
        ("wellkept sh", [], "sh"),
        ("wellkept show  m:ab", ["show"], "m:ab"),
        ("wellkept remember 'two words' --ty", ["remember", "two words"], "--ty"),
        ('wellkept remember "an open', ["remember"], "an open"),
        ("wellkept import a\\ b/c", ["import"], "a b/c"),
        ("wellkept remember '' x", ["remember", ""], "x"),
        ("wellkept x\\", [], "x"),
    ],
)
def test_a_line_is_split_as_a_shell_splits_it(line: str, words: list[str], current: str) -> None:
    assert split_line(line) == (words, current)


HEAVY = (
    "click,typing,pathlib,tomllib,numpy,pydantic,rich,wellkept.api.cli.root,wellkept.api.wellkept"
)


@pytest.mark.parametrize("line", ["wellkept sho", "wellkept show ", "wellkept list --project "])
def test_a_tab_loads_nothing_heavy(cli: Cli, line: str) -> None:
    cli("remember", "anything")
    code = (
        "import os, sys\nfrom wellkept.api.cli.completion.answer import main\nmain(os.environ)\n"
        f"sys.stderr.write(str([n for n in '{HEAVY}'.split(',') if n in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "_WELLKEPT_COMPLETE": "bash", "_WELLKEPT_LINE": line},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip()
    assert done.stderr == "[]"


# -- Real shells ----------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with a `wellkept` that runs this checkout."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "wellkept"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m wellkept.cli \"$@\"\n")
    program.chmod(0o700)
    return f"{folder}:{os.environ['PATH']}"


def _run(shell: str, script: str, path: str) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [shell, "-c", script],
        env={**os.environ, "PATH": path, "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bash_completes(cli: Cli, path: str) -> None:
    short = cli(
        "remember", "--json", "--project", "git:host/one", "Deploys go through staging"
    ).json["memory"]["short"]
    script = f"""{SCRIPTS["bash"]}
compopt() {{ echo "compopt $*"; }}
tab() {{ COMP_LINE=$1; COMP_POINT=${{#1}}; _wellkept_complete wellkept; echo "${{COMPREPLY[*]}}"; }}
tab 'wellkept reme'
tab 'wellkept list --project git:ho'
tab 'wellkept admin export '
WELLKEPT_PROJECT=git:host/one tab 'wellkept show m:{short[:3]}'
"""
    words, project, export, memory = _run("bash", script, path).splitlines()[:4]
    assert words == "remember"
    # bash has `git` and `:` behind it already.
    assert project == "host/one"
    assert export == "compopt -o default"
    assert memory in (short, "")


def test_fish_completes(cli: Cli, path: str) -> None:
    short = cli("remember", "--json", "Deploys go through staging").json["memory"]["short"]
    script = f"{SCRIPTS['fish']}\ncomplete -C 'wellkept reme'\ncomplete -C 'wellkept show '"
    first, second = _run("fish", script, path).splitlines()
    assert first == "remember\tStore a memory."
    assert second == f"{short}\tDeploys go through staging"


def test_zsh_completes(cli: Cli, path: str) -> None:
    """Without a terminal only the function is run, with the builtins of completion replaced."""
    short = cli("remember", "--json", "Deploys go through staging").json["memory"]["short"]
    script = f"""compdef() {{ : }}
{SCRIPTS["zsh"]}
_describe() {{ print -rl -- "${{(@P)3}}" }}
_files() {{ print files $* }}
tab() {{ words=("$@"); CURRENT=$#; _wellkept_complete || true }}
tab wellkept reme
tab wellkept show ''
tab wellkept backup ''
"""
    lines = _run("zsh", script, path).splitlines()
    assert lines[:3] == ["remember:Store a memory.", f"{short}:Deploys go through staging", "files"]
