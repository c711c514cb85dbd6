"""`wellkept admin move`: everything of a store to another engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wellkept.api.cli import options, output

if TYPE_CHECKING:
    from wellkept_team.moving.move import MoveReport


@click.command()
@click.option(
    "--to", "target", required=True, metavar="STORE", help="A file, or postgresql://host/database."
)
@click.option("--from", "source", metavar="STORE", help="Default: the store in use.")
@click.option(
    "--organisation",
    metavar="NAME",
    help="The organisation of the team's database on either side.",
)
@click.option(
    "--person",
    metavar="NAME",
    help="Member of the organisation who owns what is moved into it.",
)
@options.dry_run_option
@options.json_option
def move(
    *,
    target: str,
    source: str | None,
    organisation: str | None,
    person: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Copy the whole store to another engine, and verify the copy.

    The source stays as it is. A move that was cut off goes on where it was when it is run again.
    At the end every record is read on both sides and compared. Stop other writers first.

    Into an organisation of a team's database, as the owner of the database: --organisation and
    --person; personal memories are seen by that person only. People, tokens, policies and the audit
    log belong to the database and are not moved.
    """
    from wellkept_team.moving.move import move_store

    with options.open_wellkept() as wk:
        known = wk.services.location
    with output.progress_bar("Moving") as progress:
        report = move_store(
            _location(source) if source else known,
            _location(target),
            dry_run=dry_run,
            progress=progress,
            organisation=organisation,
            person=person,
        )
    if as_json:
        output.print_json({"move": report, "records": report.records})
        return
    _print(report)


def _location(given: str) -> Path | str:
    return given if given.startswith(("postgresql://", "postgres://")) else Path(given).expanduser()


def _print(report: MoveReport) -> None:
    output.print_table(
        ("table", "records"), [(one.name, f"{one.records:,}") for one in report.tables]
    )
    if report.dry_run:
        click.echo(f"Would be moved: {report.source} to {report.target}. Nothing was written.")
        return
    again = ", continued" if report.resumed else ""
    click.echo(f"Moved {report.records:,} records to {report.target}{again}; both sides are equal.")
    output.note("The source is unchanged. To use the copy: wellkept config set store.url ADDRESS")
