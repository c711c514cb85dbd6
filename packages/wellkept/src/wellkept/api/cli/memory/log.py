"""`wellkept log` and `wellkept flag`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import MEMORY, SESSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wellkept.core.ports.injections import InjectedLine, Injection, SilentLine

_MOMENTS = ("session", "prompt", "file", "command", "failure", "plan")
_OUTCOMES = ("open", "used", "ignored", "unclear", "harm")


@click.command()
@click.option("--session", type=SESSION, help="Only this session: id or its beginning.")
@click.option("--moment", type=click.Choice(_MOMENTS), help="Only at such moments.")
@click.option(
    "--memory", "name", type=MEMORY, metavar="ID", help="Only this memory, or the id of a line."
)
@click.option("--outcome", type=click.Choice(_OUTCOMES), help="Only lines that ended so.")
@click.option("--silent", is_flag=True, help="List the lines that are no longer injected.")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True,
              help="Maximum number of injections.")  # fmt: skip
@click.option("--cursor", help="Continue after a page; the page before names it.")
@options.project_option
@options.json_option
def log(
    *,
    session: str | None,
    moment: str | None,
    name: str | None,
    outcome: str | None,
    silent: bool,
    limit: int,
    cursor: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Show what agents were told lately, why, and what came of each line.

    Newest first. `wellkept why` tells all about a line, `wellkept flag` silences a memory,
    `wellkept off` silences everything.
    """
    from wellkept.api.learning import spool_status

    with options.open_wellkept(project) as wk:
        if silent:
            _print_silent(wk.injected.silent(), as_json=as_json)
            return
        page = wk.injected.list(
            session=session,
            moment=moment,
            memory=name,
            outcome=outcome,
            limit=limit,
            cursor=cursor,
        )
        waiting = 0 if as_json else spool_status(wk.engine.store).waiting_bytes
    if as_json:
        output.print_json(page)
        return
    if not page.items:
        output.note("Nothing was injected yet. `wellkept install` adds the hooks to a client.")
    if waiting:
        output.note("Captured events wait; `wellkept spool drain` takes them in now.")
    for one in page.items:
        _print(one)
    if page.next_cursor:
        output.note(f"{page.total} in all; continue with --cursor {page.next_cursor}")


@click.command()
@click.argument("name", metavar="ID", type=MEMORY)
@click.option("--reason", default="", help="What was wrong.")
@click.option("--session", type=SESSION, help="The session it did harm in. Default: the latest.")
@options.project_option
@options.json_option
def flag(
    *, name: str, reason: str, session: str | None, project: str | None, as_json: bool
) -> None:
    """Flag a memory that is wrong or did harm: it goes silent and waits for review.

    `wellkept edit ID --verify --reviewed` lets it speak again.
    """
    with options.open_wellkept(project) as wk:
        memory = wk.injected.flag(name, reason=reason, session=session)
    if as_json:
        output.print_json({"memory": memory})
        return
    click.echo(f"m:{memory.short} is no longer injected and waits for review.")


def _print(one: Injection) -> None:
    trigger = f"  {output.one_line(one.trigger)[:80]}" if one.trigger else ""
    click.secho(
        f"{one.at:%Y-%m-%d %H:%M}  {one.moment}  session {one.session_id[:12]}"
        f"  {one.client}  {one.tokens} tokens{trigger}",
        bold=True,
    )
    for line in one.lines:
        click.echo(f"  {_outcome(line)}  {output.one_line(line.text) or '(text deleted)'}")
        if line.reason:
            click.secho(f"      why: {output.one_line(line.reason)}", dim=True)


def _outcome(line: InjectedLine) -> str:
    by = f" ({output.one_line(line.outcome_by)})" if line.outcome_by else ""
    return f"{line.outcome.value}{by}"


def _print_silent(silent: Sequence[SilentLine], *, as_json: bool) -> None:
    if as_json:
        output.print_json({"items": silent})
        return
    rows = [(one.line_id, f"{one.at:%Y-%m-%d}", output.one_line(one.reason)) for one in silent]
    output.print_table(("line", "since", "why"), rows, empty="No line is silent.")
