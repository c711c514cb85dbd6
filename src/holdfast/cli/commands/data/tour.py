"""`holdfast tour`: a first look at what a memory of this project knows."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

import holdfast
from holdfast.cli import options, output
from holdfast.cli.commands.data.init import print_intake
from holdfast.cli.commands.memory.recall import print_hit
from holdfast.cli.commands.system.maintenance import keep_up
from holdfast.core.text import counted

_QUESTIONS = (
    "How is the code laid out?",
    "How do I run the tests?",
    "What was decided, and why?",
)
_HITS = 2


@click.command()
@click.option("--ask", "questions", multiple=True, help="A question to try; may be repeated.")
@options.project_option
def tour(*, questions: tuple[str, ...], project: str | None) -> None:
    """Take in this project, show what is known, and try three questions.

    Nothing is written into the project.
    """
    with options.opened(project) as hf:
        _heading(f"Taking in {hf.project_name}")
        with output.progress_bar("Reading") as progress:
            report = hf.take_in(progress=progress)
            keep_up(hf)
        print_intake(report)
        _summary(hf)
        for question in questions or _QUESTIONS:
            _heading(question)
            _answer(hf, question)
    _heading("Your turn")
    command = own_command()
    print_home()
    click.echo(f'  {command} remember "Deploys go through the staging cluster first"')
    click.echo(f'  {command} recall "how do we deploy?" --explain')


def print_home() -> None:
    """Which variable leads to this memory, where it is not in its usual place."""
    if home := os.environ.get("HOLDFAST_HOME"):
        click.echo(f"  export HOLDFAST_HOME={shlex.quote(home)}   # where this memory is")


def own_command() -> str:
    """How to call this very command from here: by its name, or by its file if that is not found."""
    called = Path(sys.argv[0])
    if called.name != "holdfast" or shutil.which("holdfast"):
        return "holdfast"
    here = Path.cwd()
    return shlex.quote(str(called.relative_to(here) if called.is_relative_to(here) else called))


def _heading(text: str) -> None:
    click.echo()
    click.secho(output.safe(text), bold=True, fg="cyan")


def _summary(hf: holdfast.Holdfast) -> None:
    known = hf.stats()
    _heading(counted(known.total, "memory", "memories"))
    ranked = sorted(known.by_type.items(), key=lambda item: (-item[1], item[0]))
    output.print_table(("type", "memories"), [(name, str(count)) for name, count in ranked])


def _answer(hf: holdfast.Holdfast, question: str) -> None:
    found = hf.recall(question, limit=_HITS)
    for number, hit in enumerate(found, start=1):
        print_hit(hit, number=number, longest=400)
    if not found.hits:
        output.note("Nothing is known about that yet.")
