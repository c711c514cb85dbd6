"""Parsing command lines: nothing of a line is lost, and nothing breaks the parser."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import (
    MAX_PARSED_CHARS,
    files_shown,
    files_written,
    main_command,
    parse_command,
    read_commit,
)

pytestmark = pytest.mark.feature("C3")


def calls(line: str) -> list[str]:
    return [command.call for command in parse_command(line)]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("X=1 cmd --go", "X=1 cmd --go"),
        (".venv/bin/pytest -q", ".venv/bin/pytest -q"),
        ("poetry run pytest", "poetry run pytest"),
        ("cd apps/api && npx jest --testPathPattern=x", "npx jest --testPathPattern=x"),
        ("pytest \\\n  -q \\\n  tests", "pytest \\\n  -q \\\n  tests"),
        ("for f in a b; do ruff check $f; done", "ruff check $f"),
        ("{ make build; }", "make build"),
        ("(cd web; npm test) 2>&1", "npm test"),
        ("sudo -u app timeout 5 ./run.sh > log 2>&1", "sudo -u app timeout 5 ./run.sh > log 2>&1"),
        ("python3 - <<'EOF'\nprint('a')\nEOF", "python3 - <<'EOF'\nprint('a')\nEOF"),
        ("uv run pytest -k 'größe | é'", "uv run pytest -k 'größe | é'"),
    ],
)
def test_the_main_command_keeps_its_exact_text(line: str, text: str) -> None:
    main = main_command(parse_command(line))
    assert main is not None
    assert main.text == text


def test_environment_wrappers_and_program_are_told_apart() -> None:
    (command,) = parse_command("CI=1 NAME='a b' timeout 60 uv run .venv/bin/pytest -q")
    assert command.environment == ("CI=1", "NAME='a b'")
    assert command.wrappers == ("timeout 60", "uv run")
    assert (command.program, command.words) == (".venv/bin/pytest", ("pytest", "-q"))
    assert command.purpose is Purpose.TEST


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("make", ""),
        ("cd apps/api && make", "apps/api"),
        ("cd apps && cd api; make", "apps/api"),
        ("cd /srv/app && make", "/srv/app"),
        ("pushd apps && make", "apps"),
        ("(cd apps && ls); make", ""),
        ("pushd apps && popd && make", ""),
        ("git -C apps/api push", "apps/api"),
        ("cd $HOME && make", None),
        ("cd && make", None),
        ("cd - && make", None),
    ],
)
def test_the_folder_follows_cd_pushd_and_git(line: str, folder: str | None) -> None:
    main = main_command(parse_command(line))
    assert main is not None
    assert main.folder == folder


@pytest.mark.parametrize(
    ("line", "deciding"),
    [
        ("pytest | tail -3", ["tail -3"]),
        ("set -o pipefail; pytest | tail -3", ["pytest", "tail -3"]),
        ("make a && make b", ["make a", "make b"]),
        ("make a || make b", ["make b"]),
        ("make a; make b", ["make b"]),
        ("make a & make b", ["make b"]),
        ("set -e\nmake a\nmake b", ["set -e", "make a", "make b"]),
    ],
)
def test_which_commands_decide_the_exit_code(line: str, deciding: list[str]) -> None:
    assert [c.call for c in parse_command(line) if c.exit_counts] == deciding


def test_loops_groups_and_substitutions_give_the_commands_inside() -> None:
    assert calls("for f in *.py\ndo\n  ruff check $f\ndone") == ["ruff check $f"]
    assert calls("if [ -f x ]; then make a; else make b; fi") == ["make a", "make b"]
    assert calls("while read l; do cargo build; done < f") == ["read l", "cargo build"]
    assert calls("VERSION=$(make version)") == ["make version"]
    assert calls("# nothing but a remark") == []
    assert calls("A=1") == []


def test_a_heredoc_writes_its_file_and_does_not_read_it() -> None:
    line = parse_command("cat > src/a.py <<'EOF' && ruff check .\nx = 1\nEOF\nmake")
    assert files_written(line) == [("src/a.py", "x = 1\n")]
    assert files_shown(line) == []
    assert [c.call for c in line] == ["cat", "ruff check .", "make"]
    assert files_written(parse_command("cd web && tee b.ts <<EOF\nlet b\nEOF")) == [
        ("web/b.ts", "let b\n")
    ]


def test_output_of_a_script_is_no_file_written_from_its_text() -> None:
    assert files_written(parse_command("python - > out.txt <<EOF\nprint(1)\nEOF")) == []
    assert files_written(parse_command("cat >> a.md <<EOF\nmore\nEOF")) == []


def test_files_shown_are_named_from_where_the_line_starts() -> None:
    line = parse_command("cd src && cat a.py b.py | head -3 && sed -n 1,9p c.ts")
    assert files_shown(line) == ["src/a.py", "src/b.py", "src/c.ts"]


def test_a_commit_message_may_stand_in_a_heredoc() -> None:
    line = 'git add -A && git commit -m "$(cat <<\'EOF\'\nFix it\n\nBecause of "x".\nEOF\n)"'
    made = read_commit(parse_command(line), "")
    assert made is not None
    assert (made.subject, made.body) == ("Fix it", 'Because of "x".')
    piped = read_commit(parse_command("git commit -F - <<EOF\nFix y\nEOF"), "")
    assert piped is not None
    assert piped.subject == "Fix y"


def test_tee_does_not_hide_the_command_before_it() -> None:
    main = main_command(parse_command("pytest -q 2>&1 | tee log.txt"))
    assert main is not None
    assert main.purpose is Purpose.TEST


@pytest.mark.parametrize("line", ["cmd 'not closed", "make && (", 'echo "x', "done", "| |", "\0"])
def test_broken_text_is_one_command_or_more(line: str) -> None:
    assert all(command.words for command in parse_command(line))


def test_broken_text_is_kept_whole() -> None:
    (command,) = parse_command("deploy 'not closed")
    assert command.text == "deploy 'not closed"


PIECES = ("|", "&&", ";", "(", ")", "{ ", "}", "$(", "`", "'", '"', "<<E\n", "E\n", "a ", "=(", "\\",
          "[[ ", "${", "for x in ", "do ", "done", "if ", "case ", "é", "\n", "cd x", "git -C ")  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30).map("".join))
@example("\ud800 a | b")
@example("\U000cf517\x8d\xeb\xb0\x85:${\U000cf517\x8d\xeb\xb0\x85")
def test_no_text_breaks_the_parser(text: str) -> None:
    for command in parse_command(text):
        assert command.words
        assert command.text


@pytest.mark.parametrize(
    "piece", ["a|", "a=(", "${a", "[[ a && ", "(a;", "$(a ", "<<E ", "{ a;", "é|"]
)
def test_huge_text_is_parsed_in_good_time(piece: str) -> None:
    began = time.process_time()
    found = parse_command(piece * 40_000)
    assert time.process_time() - began < 3
    assert sum(len(command.text) for command in found) <= 40 * MAX_PARSED_CHARS
