"""Exit codes, terminals, pipes, generated documentation and start-up of the command line."""

from __future__ import annotations

import io
import os
import pty
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from scripts.generate_docs import PAGES, ROOT
from tests.cli.conftest import Cli
from wellkept.api.cli import output
from wellkept.api.cli.door import DOOR, NOUNS, WORDS
from wellkept.api.cli.exit_codes import EXIT_CODES, OTHER_CODES, exit_code
from wellkept.api.cli.root import root
from wellkept.api.wiring import services
from wellkept.core.errors import StoreBusyError, WellkeptError

pytestmark = pytest.mark.feature("A3")
_ESCAPE = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202egnp.exe\r"


def _tree(kind: type[WellkeptError]) -> Iterator[type[WellkeptError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


def test_every_error_has_an_exit_code_of_its_own() -> None:
    own = {kind for kind in _tree(WellkeptError) if kind.__module__.startswith("wellkept.")}
    assert own <= set(EXIT_CODES)
    codes = [*EXIT_CODES.values(), *OTHER_CODES]
    assert len(codes) == len(set(codes))


def test_an_error_unknown_to_the_table_gets_its_ancestors_code() -> None:
    class VeryBusyError(StoreBusyError):
        pass

    assert exit_code(VeryBusyError("x")) == EXIT_CODES[StoreBusyError]


# -- Documentation --------------------------------------------------------------------------------


def _commands(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(inner, click.Context(inner, info_name=name, parent=context))


@pytest.mark.parametrize("name", PAGES)
def test_the_generated_pages_are_fresh(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), (
        "run scripts/generate_docs.py"
    )


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for path, command, _ in _commands(
        root, click.Context(root, info_name="wellkept", **root.context_settings)
    ):
        if path != "wellkept":
            assert f"### `{path}`" in page
        assert command.help
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{path} {parameter.opts}"
                assert any(option in page for option in parameter.opts)


def test_every_listing_has_json_and_every_destructive_command_a_preview_or_a_question() -> None:
    context = click.Context(root, info_name="wellkept", **root.context_settings)
    for path, command, _ in _commands(root, context):
        options = {option for parameter in command.params for option in parameter.opts}
        if not isinstance(command, click.Group) and path.split()[-1] not in {
            "chat",
            "completion",
            "open",
            "tour",
            "mcp",
            "serve",
        }:
            assert "--json" in options or path in {"wellkept config set", "wellkept config unset"}
        if path.split()[-1] in {"forget", "prune", "compact", "maintain", "merge", "delete"}:
            assert {"--dry-run", "--yes"} <= options


# -- Terminals ------------------------------------------------------------------------------------


def test_escape_sequences_in_a_memory_never_reach_the_terminal(cli: Cli) -> None:
    short = cli("remember", "--json", f"look {_ESCAPE} here", "--tag", _ESCAPE).json["memory"][
        "short"
    ]
    printed = [
        cli("list"),
        cli("show", short),
        cli("recall", "look"),
        cli("recall", "--json", "look"),
        cli("context", "--json", "look here"),
        cli("timeline", short),
        cli("forget", short, "--dry-run"),
        cli("show", _ESCAPE),
    ]
    for done in printed:
        for text in (done.out, done.err):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_neutralising_leaves_ordinary_text_alone() -> None:
    text = "Größe 記憶 😀\n\tindented"
    assert output.safe(text) == text
    assert output.safe("\x1b[31m") == "␛[31m"
    assert output.safe("\x9b") == "\\u009b"


def test_help_works_for_every_command(cli: Cli) -> None:
    for name in (*WORDS, *NOUNS):
        done = cli(name, "--help")
        assert done.code == 0
        assert done.out.startswith("Usage: wellkept")
    shown = [line.split()[0] for line in cli("--help").out.splitlines() if line[:3].strip()]
    assert {name for section in DOOR.values() for name in section} <= {*shown}
    assert cli("--version").out.startswith("wellkept ")


def test_a_mistyped_command_is_answered_with_the_nearest(cli: Cli) -> None:
    assert "Did you mean 'recall'?" in cli("recal", "x").err


def test_without_a_command_the_help_is_shown(cli: Cli) -> None:
    shown = [line.split()[0] for line in cli("--help").out.splitlines() if line[:3].strip()]
    assert {name for section in DOOR.values() for name in section} <= {*shown}
    assert "recall.limit" in cli("config").out


@pytest.mark.parametrize("group", ["skill", "graph"])
def test_a_group_named_alone_shows_its_help_and_cuts_no_sentence(cli: Cli, group: str) -> None:
    shown = cli(group)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == cli(group, "--help").out
    assert "..." not in shown.out.partition("Commands:")[2]


def test_ctrl_c_ends_with_130_and_no_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))
    done = cli("remember", "-")
    assert (done.code, done.out, done.err) == (130, "", "Stopped.\n")


def test_a_crash_is_not_mistaken_for_nothing_found(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise ZeroDivisionError

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Broken()))
    done = cli("recall", "-")
    assert done.code == 70
    assert "Traceback" in done.err


def test_a_working_folder_that_vanished_is_a_clear_error(cli: Cli) -> None:
    Path.cwd().rmdir()
    done = cli("list")
    assert (done.code, done.out) == (2, "")
    assert "does not exist any more" in done.err


def test_a_folder_in_place_of_the_database_is_a_clear_error(cli: Cli, tmp_path: Path) -> None:
    done = cli("--store", str(tmp_path), "list")
    assert done.code in {2, 5, 52, 54}
    assert "Traceback" not in done.err


def test_a_locked_database_has_an_exit_code_of_its_own(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("remember", "before")
    monkeypatch.setattr(services, "BUSY_TIMEOUT_MS", 0)
    with closing(sqlite3.connect(home / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert cli("remember", "meanwhile").code == 51
        assert cli("list", "--json").json["total"] == 1
        other.execute("ROLLBACK")
    assert cli("remember", "meanwhile").code == 0


# -- Real processes -------------------------------------------------------------------------------


def _environment(home: Path, **more: str) -> dict[str, str]:
    # Unbuffered, Python itself drops what does not fit into the pipe at once.
    unwanted = ("WELLKEPT_", "PYTHONUNBUFFERED")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    kept.update(
        WELLKEPT_HOME=str(home), WELLKEPT_PROJECT="demo", WELLKEPT_EMBEDDING_PROVIDER="none"
    )
    return kept | more


def _start(*arguments: str, home: Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "wellkept.cli", *arguments],
        env=_environment(home, **more),
        capture_output=True,
        cwd=home.parent,
        check=False,
    )


def test_a_terminal_without_the_characters_shows_escapes_instead_of_failing(home: Path) -> None:
    assert _start("remember", "記憶は残る", home=home).returncode == 0
    listed = _start("list", home=home, PYTHONIOENCODING="latin-1")
    assert listed.returncode == 0
    assert b"\\u8a18" in listed.stdout


def test_words_survive_a_locale_that_knows_no_unicode(home: Path) -> None:
    plain = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    assert _start("remember", "記憶は残る", home=home, **plain).returncode == 0
    assert "記憶は残る" in _start("list", home=home).stdout.decode()


def test_an_error_shows_its_traceback_only_on_request(home: Path) -> None:
    plain = _start("show", "nothing", home=home)
    assert (plain.returncode, b"Traceback" in plain.stderr) == (3, False)
    assert b"Traceback" in _start("show", "nothing", home=home, WELLKEPT_DEBUG="1").stderr


def test_a_reader_that_goes_away_is_no_error_message(home: Path) -> None:
    for n in range(3):
        _start("remember", f"number {n} " + "long " * 20_000, "--no-merge", home=home)
    process = subprocess.Popen(
        [sys.executable, "-m", "wellkept.cli", "recall", "--json", "long"],
        env=_environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home.parent,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 141
    assert errors == b""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_forget_asks_and_no_means_no(home: Path) -> None:
    short = _start("remember", "stays", "--key", "k", home=home) and "k"
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "wellkept.cli", "forget", short],
        env=_environment(home, TERM="xterm"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=home.parent,
    )
    os.close(slave)
    os.write(master, b"n\n")
    shown = _drain(master)
    assert process.wait() == 1
    assert b"Delete 1 memory permanently?" in shown
    assert _start("show", "k", home=home).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("more", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_gets_a_coloured_table_and_no_color_is_respected(
    home: Path, more: dict[str, str], coloured: bool
) -> None:
    _start("remember", "shown in a table", home=home)
    for arguments in (("list",), ("recall", "table", "--explain")):
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "wellkept.cli", *arguments],
            env=_environment(home, TERM="xterm-256color", COLUMNS="30", **more),
            stdout=slave,
            stderr=subprocess.DEVNULL,
            cwd=home.parent,
        )
        os.close(slave)
        shown = _drain(master)
        assert process.wait() == 0
        assert b"shown" in shown
        assert (re.search(rb"\x1b\[[0-9;]*3[0-7]m", shown) is not None) is coloured


def _drain(master: int) -> bytes:
    """Everything a process writes to a pseudo-terminal, until it lets go."""
    shown = b""
    try:
        while chunk := os.read(master, 4096):
            shown += chunk
    except OSError:
        pass
    os.close(master)
    return shown


@pytest.mark.feature("B4")
def test_words_only_commands_import_no_numpy_no_rich_and_no_tokenizer(home: Path) -> None:
    _start("remember", "a thing by words", home=home)
    program = (
        "import sys\n"
        "import wellkept\n"
        "from wellkept.api.cli.root import run\n"
        "heavy = {'numpy', 'rich', 'tokenizers', 'onnxruntime'}\n"
        "assert not heavy & set(sys.modules), 'by importing'\n"
        "for line in (['recall', '--mode', 'words', 'thing'], ['list'], ['stats'], ['--help']):\n"
        "    assert run(line) == 0\n"
        "    assert not heavy & set(sys.modules), line\n"
    )
    _run(program, home=home)


def test_importing_wellkept_makes_nothing_and_loads_no_engine(home: Path) -> None:
    program = (
        "import sys, wellkept\n"
        "assert not {'sqlite3', 'click', 'wellkept.store', 'wellkept.api'} & set(sys.modules)\n"
    )
    _run(program, home=home)
    assert not home.exists()


def _run(program: str, *, home: Path) -> None:
    """Run a program in a process of its own, which must end well."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=_environment(home),
        capture_output=True,
        cwd=home.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
