"""`wellkept relate` and `wellkept confidence`."""

from __future__ import annotations

import click

from wellkept.api.cli import options, output
from wellkept.api.cli.names import MEMORY
from wellkept.api.cli.system.maintenance import print_report
from wellkept.core.types import RelationType


@click.command()
@click.argument("name", metavar="ID", type=MEMORY)
@click.argument(
    "kind", metavar="RELATION", type=click.Choice([relation.value for relation in RelationType])
)
@click.argument("target", metavar="TARGET")
@click.option("--file", "is_file", is_flag=True, help="TARGET is a file, not a memory.")
@click.option(
    "--confidence", type=float, default=1.0, show_default=True, help="Confidence, 0 to 1."
)
@options.project_option
@options.json_option
def relate(
    *,
    name: str,
    kind: str,
    target: str,
    is_file: bool,
    confidence: float,
    project: str | None,
    as_json: bool,
) -> None:
    """Relate a memory to another memory or a file.

    RELATION is required_with, conflicts_with, validates, supersedes or derived_from. Changes of
    confidence propagate along relations between memories.
    """
    with options.open_wellkept(project) as wk:
        memory, file = (None, target) if is_file else (target, None)
        changed = wk.relate(name, kind, memory=memory, file=file, confidence=confidence)
    if as_json:
        output.print_json({"memory": changed})
    else:
        output.print_memory_line(changed, mark="related ")


@click.command()
@click.argument("name", metavar="ID", type=MEMORY)
@click.argument("confidence", type=float)
@options.dry_run_option
@options.project_option
@options.json_option
def confidence(
    *, name: str, confidence: float, dry_run: bool, project: str | None, as_json: bool
) -> None:
    """Set the confidence of a memory and update related memories.

    CONFIDENCE is 0 to 1. Changes below 0.05 do not propagate further.
    """
    with options.open_wellkept(project) as wk:
        report = wk.set_confidence(name, confidence, dry_run=dry_run)
    print_report(report, as_json=as_json)
