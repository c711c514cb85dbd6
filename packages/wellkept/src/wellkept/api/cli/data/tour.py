"""`wellkept init --tour`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

import wellkept
from wellkept.api.cli import options, output
from wellkept.api.cli.data.init import print_import_report
from wellkept.api.cli.system.maintenance import maintain_after_answer
from wellkept.core.text import counted

_QUESTIONS = (
    "How is the code laid out?",
    "How do I run the tests?",
    "What was decided, and why?",
)


@click.command()
@click.option("--ask", "questions", multiple=True, help="Question to try. Repeatable.")
@options.project_option
def tour(*, questions: tuple[str, ...], project: str | None) -> None:
    """Import this project, show a summary and try three questions.

    Nothing is written to the project folder.
    """
    with options.open_wellkept(project) as wk:
        _heading(f"Importing {wk.project_name}")
        with output.progress_bar("Reading") as progress:
            report = wk.import_repository(progress=progress)
            maintain_after_answer(wk)
        print_import_report(report)
        _summary(wk)
        for question in questions or _QUESTIONS:
            _heading(question)
            _answer(wk, question)
    _heading("Your turn")
    command = own_command()
    print_home()
    click.echo(f'  {command} remember "Deploys go through the staging cluster first"')
    click.echo(f'  {command} recall "how do we deploy?" --explain')


def print_home() -> None:
    """Print the variable that selects a non-default data folder."""
    if home := os.environ.get("WELLKEPT_HOME"):
        click.echo(f"  export WELLKEPT_HOME={shlex.quote(home)}   # data folder of this tour")


def own_command() -> str:
    """The command as typed in a shell: `wellkept`, or its path when not in PATH."""
    called = Path(sys.argv[0])
    if called.name != "wellkept" or shutil.which("wellkept"):
        return "wellkept"
    here = Path.cwd()
    return shlex.quote(str(called.relative_to(here) if called.is_relative_to(here) else called))


def _heading(text: str) -> None:
    click.echo()
    click.secho(output.safe(text), bold=True, fg="cyan")


def _summary(wk: wellkept.Wellkept) -> None:
    stats = wk.stats()
    _heading(counted(stats.total, "memory", "memories"))
    ranked = sorted(stats.by_type.items(), key=lambda item: (-item[1], item[0]))
    output.print_table(("type", "memories"), [(name, str(count)) for name, count in ranked])


def _answer(wk: wellkept.Wellkept, question: str) -> None:
    click.echo(output.styled(wk.ask(question).answer))
