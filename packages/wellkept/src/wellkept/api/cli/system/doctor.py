"""`wellkept doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wellkept.api.cli import exit_codes, options, output

if TYPE_CHECKING:
    from wellkept.api.maintenance.doctor import DoctorReport


@click.command()
@click.option("--deep", is_flag=True, help="Check every page and row.")
@click.option("--repair", is_flag=True, help="Rebuild derived data, such as indexes.")
@options.json_option
def doctor(*, deep: bool, repair: bool, as_json: bool) -> int:
    """Check the installation and the store, and repair problems.

    Exits with 1 when an error was found.
    """
    with options.open_wellkept(lenient=True) as wk, output.progress_bar("Checking") as progress:
        health = wk.doctor(deep=deep, repair=repair, progress=progress)
    if as_json:
        output.print_json({"healthy": health.healthy, "health": health})
    else:
        _print(health)
    return exit_codes.OK if health.healthy else exit_codes.NOTHING


def _print(health: DoctorReport) -> None:
    output.print_table(("", ""), list(health.facts.items()))
    click.echo()
    in_use = health.model.model_id if health.model else None
    rows = [
        (
            "→" if tier.model_id == in_use else "",
            tier.name,
            "yes" if tier.available else "no",
            tier.model_id,
            tier.reason,
        )
        for tier in health.tiers
    ]
    output.print_table(("", "embedder", "available", "model", "reason"), rows)
    if health.model is not None:
        vectors = f"; {health.model.vectors:,} of {health.model.wanted:,} memories have its vectors"
        click.echo(
            f"\nIn use: {in_use or 'text only'} ({health.model.reason}){vectors if in_use else ''}"
        )
    for finding in health.mended:
        click.secho(f"repaired: {output.safe(finding.message)}", fg="green")
    for finding in health.findings:
        colour = "red" if finding.severity.value == "error" else "yellow"
        click.secho(f"{finding.severity.value}: {output.safe(finding.message)}", fg=colour)
    if not health.findings:
        click.secho("No problems found.", fg="green")
