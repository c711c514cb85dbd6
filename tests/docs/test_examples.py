"""Every command line on every page is understood, and every Python example runs as it stands."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from tests.docs.pages import ROOT, blocks, command_lines, pages, words_of
from wellkept.api.cli import door
from wellkept.api.cli.root import root

pytestmark = pytest.mark.feature("I4")

# Pages whose Python needs more than an empty project; their own tests run it.
ELSEWHERE = {"docs/guides/agent.md": "tests/examples/test_agent_page.py"}
CALLS_A_MODEL = re.compile(
    r"^(?:import|from) (?:anthropic|openai|agents|crewai|llama|pydantic_ai)", re.M
)
# Placeholders in synopses: `[--json]`, `passed|failed`, `NAME...`, and the rest of a table of commands.
_SYNOPSIS = re.compile(r"\[[^\]]*\]|[A-Za-z_]+\|[A-Za-z_|]+|\.\.\.|…")


def understood(words: list[str]) -> None:
    """Parse a command line as the program does, without running it. UsageError when it is wrong."""
    command: click.Command = root
    context, rest = click.Context(root, info_name="wellkept"), list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        _, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command = found
        context = click.Context(command, info_name=found.name, parent=context)
    options, _, _ = command.make_parser(context).parse_args(rest)
    for parameter in command.get_params(context):
        given = options.get(parameter.name or "")
        if isinstance(parameter.type, click.Choice) and isinstance(given, str):
            parameter.type.convert(given, parameter, context)


@pytest.mark.parametrize("page", pages())
def test_every_command_line_is_understood(page: str) -> None:
    for written in command_lines(page):
        # Of a synopsis, the words up to the first placeholder must name a command.
        line = _SYNOPSIS.split(written)[0].rstrip(" -") if _SYNOPSIS.search(written) else written
        try:
            understood(words_of(line))
        except (click.UsageError, ValueError) as error:
            pytest.fail(f"{page}: {line}\n{error}")


def test_wrong_command_lines_are_refused() -> None:
    for wrong in ("wellkept recal x", "wellkept recall x --limt 3", "wellkept correct ID wrong"):
        with pytest.raises(click.UsageError):
            understood(words_of(wrong))


_SPOKEN = re.compile(r"(?:`|: |^\$? ?)wellkept ([a-z][a-z -]*)", re.MULTILINE)
READ_BY_PEOPLE = (
    "packages/*/src/**/*.py",
    "plugins/**/*.md",
    "plugins/**/*.toml",
    "web/src/**/*.tsx",
)


def test_pages_messages_and_client_files_name_no_word_of_before() -> None:
    files = [file for pattern in READ_BY_PEOPLE for file in ROOT.glob(pattern)]
    found = [
        f"{file.relative_to(ROOT)}: wellkept {said} is now {place[1]}"
        for file in (*files, *(ROOT / page for page in pages()))
        for said in _SPOKEN.findall(file.read_text("utf-8"))
        if (place := door.place_of(said.split()))
    ]
    assert found == []


def test_there_are_many_to_check() -> None:
    assert sum(len([*command_lines(page)]) for page in pages()) > 150


PYTHON = [
    (page, number, body)
    for page in pages()
    if page not in ELSEWHERE
    for number, (language, body) in enumerate(blocks(page))
    if language == "python"
]


@pytest.mark.parametrize(("page", "number", "body"), PYTHON, ids=[f"{p}:{n}" for p, n, _ in PYTHON])
def test_a_python_example_is_whole_or_at_least_python(
    page: str, number: int, body: str, tmp_path: Path, home: Path
) -> None:
    ast.parse(body)
    if "import wellkept" not in body.splitlines() or CALLS_A_MODEL.search(body):
        return  # a fragment, or it would call a service; packages/wellkept-adapters/tests runs such adapters
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:wellkept", "-c", body],
        cwd=tmp_path,
        env={**os.environ, "WELLKEPT_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_examples_that_are_run_elsewhere_are_run_there() -> None:
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text("utf-8")


@pytest.mark.parametrize("page", pages())
def test_data_in_examples_can_be_read(page: str) -> None:
    for language, body in blocks(page):
        if language == "json":
            json.loads(body)
        elif language == "toml":
            tomllib.loads(body)
        elif language in ("yaml", "yml"):
            yaml.safe_load(body)
