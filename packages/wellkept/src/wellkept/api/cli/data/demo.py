"""`wellkept admin demo`."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import click

from wellkept.api.cli import options, output
from wellkept.core.errors import UsageError


@click.command()
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Make it in this folder, which must be empty or missing, and keep it.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, other weeks.")
@click.option("--no-serve", is_flag=True, help="Only make it; needs --keep.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True,
              help="Port of the page; 0 picks a free one.")  # fmt: skip
@click.option("--open", "browse", is_flag=True, help="Open the page in a browser.")
@options.json_option
@click.pass_context
def demo(
    ctx: click.Context,
    *,
    folder: Path | None,
    seed: int,
    no_serve: bool,
    port: int,
    browse: bool,
    as_json: bool,
) -> None:
    """Make a project with weeks of history in a folder of its own, and show its page.

    Your own memory is not touched. Without --keep everything is removed at the end.
    """
    if (no_serve or as_json) and folder is None:
        raise UsageError("Without the page the demo is gone at once.", hint="Add --keep DIR.")
    if folder is not None and folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty.", hint="Choose another folder.")
    if shutil.which("git") is None:
        raise UsageError("The demo needs git.", hint="Install git.")
    if folder is not None:
        _make(ctx, folder.absolute(), seed, port, serve=not no_serve, browse=browse, json=as_json)
        return
    with tempfile.TemporaryDirectory(prefix="wellkept-demo-") as made:
        _make(ctx, Path(made), seed, port, serve=True, browse=browse, json=False)


def _make(
    ctx: click.Context,
    folder: Path,
    seed: int,
    port: int,
    *,
    serve: bool,
    browse: bool,
    json: bool,
) -> None:
    from wellkept.api.cli.demo.replay import make_demo

    with output.progress_bar("Four weeks of work") as progress:
        report = make_demo(folder, seed=seed, progress=progress)
    if json:
        output.print_json(report)
        return
    click.echo(
        f"{report.sessions} sessions, {report.events} events, {report.memories} memories,"
        f" {report.lines_given} lines given."
    )
    click.echo(f"Project: {report.project}\nMemory:  WELLKEPT_HOME={report.home}")
    if not serve:
        return
    from wellkept.api.cli.run.serve import serve as run_server

    os.environ["WELLKEPT_HOME"] = str(report.home)
    os.chdir(report.project)
    ctx.invoke(run_server, host="127.0.0.1", port=port, hosts=(), browse=browse, verbose=False)
