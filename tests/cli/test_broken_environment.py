"""The command line in a broken environment: closed streams, full devices, odd paths."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Cli
from wellkept.api.cli.exit_codes import EXIT_CODES, NOTHING, SYSTEM_REFUSED, USAGE
from wellkept.api.cli.output import indented
from wellkept.core.errors import NotFoundError

pytestmark = pytest.mark.feature("A3")


def _shell(command: str, *, home: Path) -> subprocess.CompletedProcess[bytes]:
    """Run `wk ...` with the redirections of a shell."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("WELLKEPT_")}
    env = kept | {"WELLKEPT_HOME": str(home), "WELLKEPT_EMBEDDING_PROVIDER": "none"}
    script = f'wk() {{ "{sys.executable}" -m wellkept.cli "$@"; }}; {command}'
    return subprocess.run(
        ["/bin/sh", "-c", script], env=env, capture_output=True, cwd=home.parent, check=False
    )


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_closed_streams_are_no_crash_and_never_take_a_database_for_the_output(home: Path) -> None:
    assert _shell("wk remember 'The parser is slow' >&- 2>&-", home=home).returncode == 0
    listed = _shell("wk list <&- && wk list >&-", home=home)
    assert listed.returncode == 0
    assert listed.stdout.count(b"The parser is slow") == 1
    assert b"Traceback" not in listed.stderr
    nothing = _shell("wk remember - <&-", home=home)
    assert nothing.returncode == USAGE
    assert b"No text was given" in nothing.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_cannot_be_written_is_told_in_one_line(home: Path) -> None:
    ended = _shell("wk remember 'The parser is slow' && wk list > /dev/full", home=home)
    assert ended.returncode == SYSTEM_REFUSED
    assert b"No space left on device" in ended.stderr
    assert b"Traceback" not in ended.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")
@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "long name"])
def test_a_store_that_is_no_file_is_refused_before_anything_is_written(
    cli: Cli, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "odd"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path = Path("/dev/null")
        case _:
            path = tmp_path / ("x" * 300)
    for command in (("list",), ("remember", "hello")):
        ended = cli("--store", str(path), *command)
        assert ended.code == USAGE
        assert "Hint:" in ended.err


def test_the_home_of_an_unknown_user_is_a_clear_error(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WELLKEPT_HOME", "~no-such-user-here/memory")
    ended = cli("list")
    assert ended.code == USAGE
    assert "~no-such-user-here" in ended.err


def test_a_listing_of_nothing_says_what_to_do(cli: Cli) -> None:
    assert "`wellkept remember`" in cli("list").err
    assert "`wellkept install`" in cli("sessions").err
    assert "No projects yet" in cli("projects").err
    assert "--all-projects" in cli("events").err
    assert "No skill here has hooks." in cli("skill", "trust").err
    taken = cli("init").err
    assert "not a git repository" in taken
    assert "Run this in a project folder" in taken


def test_a_search_of_code_that_finds_nothing_ends_like_grep(cli: Cli) -> None:
    assert cli("graph", "search", "kiwis").code == NOTHING
    assert cli("graph", "search", "kiwis", "--json").code == NOTHING


def test_options_of_a_server_that_is_not_asked_for_are_refused(cli: Cli) -> None:
    for option in (["--port", "1"], ["--no-token"]):
        ended = cli("mcp", *option)
        assert ended.code == USAGE
        assert "--http" in ended.err


def test_no_editor_is_opened_where_nobody_could_use_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object, **__: object) -> None:
        pytest.fail("an editor was opened")

    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    monkeypatch.setattr("click.edit", opened)
    cli("remember", "The parser is slow", "--key", "slow")
    cli("skill", "new", "tidy-up", "--description", "Tidy up when asked.", "--body", "Do so.")
    for command, instead in (
        (("edit", "slow"), "--content"),
        (("skill", "edit", "tidy-up"), "--set"),
    ):
        ended = cli(*command)
        assert ended.code == USAGE
        assert instead in ended.err


def test_settings_are_listed_as_json_by_the_bare_command_too(cli: Cli) -> None:
    assert cli("config", "--json").json == cli("config", "show", "--json").json


def test_a_file_that_is_not_there_is_told_when_a_memory_is_tied_to_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only where the project is that of the folder.
    monkeypatch.delenv("WELLKEPT_PROJECT")
    Path("there.py").touch()
    assert cli("remember", "Ships on Monday", "--file", "there.py").err == ""
    assert "Missing files: gone.py." in cli("remember", "Ships on Tuesday", "--file", "gone.py").err


def test_a_word_that_is_neither_source_nor_file_is_answered_with_the_sources(cli: Cli) -> None:
    ended = cli("import", "claude")
    assert ended.code == EXIT_CODES[NotFoundError]
    assert "claude-code, codex" in ended.err


def test_a_narrow_terminal_still_shows_what_is_remembered(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    cli("remember", "The parser is slow on large files", "--type", "gotcha")
    shown = click.unstyle(cli("list").out)
    assert "gotcha" in shown
    assert "  The parser is slow on large files\n" in shown
    assert all(len(line) <= 40 for line in shown.splitlines())


def test_a_damaged_database_is_told_with_a_way_out_that_is_not_the_doctor_again(
    cli: Cli, home: Path
) -> None:
    cli("remember", "The parser is slow")
    (home / "memory.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 8000)
    (home / "memory.db.before-v3").touch()
    told = cli("doctor").out
    assert "`wellkept admin restore FILE` (memory.db.before-v3 beside it is one)" in told
    assert "wellkept admin doctor" not in told


def test_prose_that_was_broken_for_a_wider_page_flows_and_lists_and_code_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    text = (
        "The deploy goes through the staging cluster\nfirst, always.\n\n- one\n- two\n\n"
        "```\nmake run\nmake test # and a remark that is longer than the page\n```\nshort\nlines"
    )
    assert indented(text).replace("\n    ", "\n").strip().splitlines() == [
        "The deploy goes through the staging",
        "cluster first, always.",
        "",
        "- one",
        "- two",
        "",
        "```",
        "make run",
        "make test # and a remark that is longer",
        "than the page",
        "```",
        "short",
        "lines",
    ]


def test_an_item_of_a_list_flows_by_itself_and_hangs_from_its_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    text = (
        "- The deploy goes through the staging cluster\n  first, always.\n- two\n\n"
        "  ```\n  make test # and a remark that is longer\n  ```\n10. ten"
    )
    assert indented(text).replace("\n    ", "\n").removeprefix("    ").splitlines() == [
        "- The deploy goes through the staging",
        "  cluster first, always.",
        "- two",
        "",
        "  ```",
        "  make test # and a remark that is",
        "longer",
        "  ```",
        "10. ten",
    ]


def test_a_narrow_terminal_begins_each_row_with_its_name_and_breaks_no_path(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = click.unstyle(cli("skill", "list").out)
    assert "\nhandle-an-incident  builtin:wellkept" in shown
    models = click.unstyle(cli("doctor").out)
    assert "openai:text-embedding-3-small@1024" in models


def test_no_colour_is_for_commands_that_read_no_settings_too(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "\x1b" in cli("config", "unset", "recall.limit").err
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in cli("config", "unset", "recall.limit").err
