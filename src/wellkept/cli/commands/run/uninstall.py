"""`wellkept uninstall`."""

from __future__ import annotations

import click

from wellkept.cli import options
from wellkept.cli.commands.run.install import (
    chosen,
    client_argument,
    make_installer,
    scope_options,
    tell,
)


@click.command()
@client_argument
@scope_options
@options.dry_run_option
@options.json_option
def uninstall(*, client: str, scope: str | None, dry_run: bool, as_json: bool) -> None:
    """Take Wellkept out of a coding client again.

    Each settings file gets back what it held before, to the byte; if it was changed since, only
    Wellkept's entries are taken out. Memories stay.
    """
    change = make_installer().uninstall(client, scope=chosen(scope), dry_run=dry_run)
    done = "was not in" if change.is_unchanged else "is no longer in"
    tell(change, client=client, dry_run=dry_run, as_json=as_json, done=done)
