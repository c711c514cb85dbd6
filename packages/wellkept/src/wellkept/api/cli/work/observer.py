"""`wellkept observer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.groups import Group
from wellkept.api.cli.names import SESSION
from wellkept.api.cli.work.files import prefetch, recipe, related

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellkept.core.session.scratchpad import Explanation
    from wellkept.observe.learning.statistics import ProjectStatistics
    from wellkept.observe.observer.api import ObservedSession


@click.group(cls=Group)
def observer() -> None:
    """Show what is being learned, and report whether work passed."""


@observer.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 500),
              help="Maximum number of latest conclusions.")  # fmt: skip
@options.project_option
@options.json_option
def status(*, limit: int, project: str | None, as_json: bool) -> None:
    """Show open scratchpads, signal counts, the latest conclusions and statistics."""
    with options.open_wellkept(project) as wk:
        status = wk.observer.status(limit=limit)
    if as_json:
        output.print_json(status)
        return
    if not status.sessions and not status.latest:
        output.note("No observations yet. Sessions are observed through the client's hooks.")
    for session in status.sessions:
        click.echo(_session_line(session))
    if status.signals:
        click.echo("Signals: " + ", ".join(f"{kind} {n}" for kind, n in status.signals))
    for explanation in status.latest:
        click.echo(_explanation_line(explanation))
    for line in _statistic_lines(status.statistics, limit):
        click.echo(output.one_line(line))


@observer.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 500),
              help="Maximum number of commands.")  # fmt: skip
@options.project_option
@options.json_option
def commands(*, limit: int, project: str | None, as_json: bool) -> None:
    """Show the commands that worked here last, as they were typed."""
    with options.open_wellkept(project) as wk:
        found = wk.observer.commands(limit=limit)
    if as_json:
        output.print_json({"items": found})
        return
    if not found:
        output.note("No commands yet. A command is listed once a session ran it with success.")
    for one in found:
        click.echo(f"{one.purpose:8} {output.one_line(one.text)}")


@observer.command()
@click.argument("session", type=SESSION)
@click.argument("word", metavar="passed|failed", type=click.Choice(["passed", "failed"]))
@click.option("--task", help="One sub-task. Default: all work of the session.")
@click.option("--detail", default="", help="What was checked, and how.")
@click.option(
    "--complexity",
    type=click.Choice(["trivial", "standard", "complex"]),
    help="Size of the work. Default: derived from the session.",
)
@options.project_option
@options.json_option
def verdict(
    *,
    session: str,
    word: str,
    task: str | None,
    detail: str,
    complexity: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Report whether the work of SESSION passed; its findings are then promoted or discarded."""
    from wellkept.context.start.session_view import find_session

    with options.open_wellkept(project) as wk:
        found = find_session(wk.engine.store, session)
        result = wk.observer.verdict(
            found.id,
            cast("Literal['passed', 'failed']", word),
            task=task,
            detail=detail,
            complexity=complexity,
        )
    if as_json:
        output.print_json(result)
        return
    report = result.report
    if report is None:
        output.note(result.note)
        return
    click.echo(
        f"{len(report.promoted)} memories promoted, {len(report.confirmed)} confirmed,"
        f" {report.discarded} sub-tasks discarded."
    )
    for skipped in report.skipped:
        output.note(f"Not promoted ({skipped.rule}): {skipped.reason}")


def _session_line(session: ObservedSession) -> str:
    result = session.validation
    validation = result.status + (f" by {result.by}" if result.by else "")
    return output.one_line(
        f"{session.session_id[:12]}  {session.state.value}, {validation}; {session.steps} steps,"
        f" {session.files} files, {session.errors} errors, {session.notes} notes,"
        f" {session.promoted} promoted"
    )


def _statistic_lines(known: ProjectStatistics, limit: int) -> Iterator[str]:
    """What the step log says in numbers, at most `limit` lines of each."""
    for cost in known.costs[:limit]:
        yield (
            f"cost  {cost.module}: {cost.average_tokens_per_session:,.0f} tokens a session,"
            f" {cost.p90_tokens_per_session:,.0f} at the 90th percentile ({cost.sample_count})"
        )
    for plan in known.calibrations[:limit]:
        yield (
            f"plan  {plan.module}: {plan.average_actual_steps:.1f} steps against"
            f" {plan.average_planned_steps:.1f} planned ({plan.sample_count})"
        )
    for usual in known.prefetch[:limit]:
        yield f"reads  {usual.module_trigger}: {', '.join(usual.always_read_files)}"
    for file in known.confusing[:limit]:
        yield f"unclear  {file.path}: read {file.reads} times in {file.sessions} sessions"


def _explanation_line(explanation: Explanation) -> str:
    from wellkept.core.ids import short_id

    subject = output.one_line(explanation.subject.replace("\n", " + "))
    return (
        f"m:{short_id(explanation.memory_id)}  {explanation.rule}  score {explanation.score:.2f}"
        f"  {subject}"
    )


for _command in (related, prefetch, recipe):
    observer.add_command(_command)
