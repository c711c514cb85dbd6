"""`wellkept status --learning`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wellkept.core.session.scratchpad import Explanation
    from wellkept.observe.learning.statistics import ProjectStatistics
    from wellkept.observe.observer.api import ObservedSession


@click.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 500),
              help="Maximum number of latest conclusions.")  # fmt: skip
@options.project_option
@options.json_option
def observer(*, limit: int, project: str | None, as_json: bool) -> None:
    """Show open scratchpads, signal counts, the latest conclusions and statistics."""
    with options.open_wellkept(project, reads=True) as wk:
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
    found = (("unclear", known.confusing), ("failed", known.errors), ("redone", known.redone))
    for label, one in ((label, one) for label, some in found for one in some[:limit]):
        why = f"{one.sessions} sessions {one.cause or f'{one.spent_ms // 1_000} s'}"
        yield output.one_line(f"{label}  {one.what}: {one.count} times in {why}")


def _explanation_line(explanation: Explanation) -> str:
    from wellkept.core.ids import short_id

    subject = output.one_line(explanation.subject.replace("\n", " + "))
    return (
        f"m:{short_id(explanation.memory_id)}  {explanation.rule}  score {explanation.score:.2f}"
        f"  {subject}"
    )
