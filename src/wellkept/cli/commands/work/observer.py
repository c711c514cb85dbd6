"""`wellkept observer` and `wellkept why`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import click

from wellkept.cli import options, output
from wellkept.cli.commands.work.files import prefetch, recipe, together
from wellkept.cli.groups import Group

if TYPE_CHECKING:
    from wellkept.app.observer.api import MemoryReason, ObservedSession
    from wellkept.core.scratchpad import Explanation


@click.command()
@click.argument("name", metavar="ID")
@options.project_option
@options.json_option
def why(*, name: str, project: str | None, as_json: bool) -> None:
    """Show why a memory is there: sessions, signals, rule, score.

    ID is a full id, a short id or the beginning of one, or a key.
    """
    with options.opened(project) as wk:
        reason = wk.observer.why(wk.get(name))
    if as_json:
        output.print_json(reason)
        return
    _print_reason(reason)


@click.group(cls=Group)
def observer() -> None:
    """Show what is being learned, and say whether work held up."""


@observer.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 500),
              help="How many of the latest conclusions to show.")  # fmt: skip
@options.project_option
@options.json_option
def status(*, limit: int, project: str | None, as_json: bool) -> None:
    """Show open scratchpads, what was counted, and what was concluded last."""
    with options.opened(project) as wk:
        held = wk.observer.status(limit=limit)
    if as_json:
        output.print_json(held)
        return
    if not held.sessions and not held.latest:
        output.note("Nothing was noticed yet: sessions are watched through the client's hooks.")
    for session in held.sessions:
        click.echo(_session_line(session))
    if held.signals:
        click.echo("Counted: " + ", ".join(f"{kind} {n}" for kind, n in held.signals))
    for explanation in held.latest:
        click.echo(_explanation_line(explanation))


@observer.command()
@click.argument("session")
@click.argument("word", metavar="passed|failed", type=click.Choice(["passed", "failed"]))
@click.option("--task", help="One sub-task; without it, all of the session's work.")
@click.option("--detail", default="", help="What was checked and how.")
@click.option(
    "--complexity",
    type=click.Choice(["trivial", "standard", "complex"]),
    help="How large the work was; told from what was done otherwise.",
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
    """Say whether the work of SESSION held up; what it showed is then promoted or discarded."""
    from wellkept.app.session_view import find_session

    with options.opened(project) as wk:
        found = find_session(wk.engine.store, session)
        given = wk.observer.verdict(
            found.id,
            cast("Literal['passed', 'failed']", word),
            task=task,
            detail=detail,
            complexity=complexity,
        )
    if as_json:
        output.print_json(given)
        return
    report = given.report
    if report is None:
        output.note(given.note)
        return
    click.echo(
        f"{len(report.promoted)} memories promoted, {len(report.confirmed)} confirmed,"
        f" {report.discarded} sub-tasks discarded."
    )
    for skipped in report.skipped:
        output.note(f"Not promoted ({skipped.rule}): {skipped.reason}")


def _print_reason(reason: MemoryReason) -> None:
    memory, told = reason.memory, reason.explanation
    click.echo(f"{click.style('m:' + memory.short, fg='cyan', bold=True)} {memory.type.value}")
    click.echo(output.indented(memory.content, by=2))
    facts = [("source", memory.source.value)]
    if told is not None:
        facts += [
            ("rule", told.rule),
            ("validated by", told.validated_by),
            ("score", _score(told)),
            ("sessions", ", ".join(told.sessions)),
            *(("signal", signal) for signal in told.signals),
        ]
    # Sessions are named once.
    named = set(told.sessions) if told is not None else set[str]()
    facts += [
        ("evidence", f"{item.kind.value} {item.ref}")
        for item in memory.evidence
        if item.ref not in named
    ]
    for name, value in facts:
        if value:
            click.echo(f"  {click.style(name, dim=True)}: {output.one_line(value)}")
    if told is None and not memory.evidence:
        output.note("Nothing more is known of where it comes from.")


def _score(told: Explanation) -> str:
    if not told.is_weighed:
        return f"{told.score:.2f}" if told.score else ""
    return (
        f"{told.score:.2f} (more than {told.threshold:.2f} is needed at first)"
        f" = 0.4 x frequency {told.frequency:.2f} + 0.3 x recency {told.recency:.2f}"
        f" + 0.3 x novelty {told.novelty:.2f}"
    )


def _session_line(session: ObservedSession) -> str:
    result = session.validation
    validation = result.status + (f" by {result.by}" if result.by else "")
    return output.one_line(
        f"{session.session_id[:12]}  {session.state.value}, {validation}; {session.steps} steps,"
        f" {session.files} files, {session.errors} errors, {session.notes} notes,"
        f" {session.promoted} promoted"
    )


def _explanation_line(explanation: Explanation) -> str:
    from wellkept.core.ids import short_id

    subject = output.one_line(explanation.subject.replace("\n", " + "))
    return (
        f"m:{short_id(explanation.memory_id)}  {explanation.rule}  score {explanation.score:.2f}"
        f"  {subject}"
    )


for _command in (together, prefetch, recipe):
    observer.add_command(_command)
