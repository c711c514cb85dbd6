"""`wellkept uninstall`."""

from __future__ import annotations

import click

from wellkept.api.cli import options
from wellkept.api.cli.run.install import (
    client_argument,
    install_scope,
    make_installer,
    print_change,
    scope_options,
)


@click.command()
@client_argument
@scope_options
@options.dry_run_option
@options.json_option
def uninstall(*, client: str, scope: str | None, dry_run: bool, as_json: bool) -> None:
    """Remove Wellkept from a coding client.

    Settings files are restored byte for byte; if they changed since, only Wellkept's entries are
    removed. Memories are kept.
    """
    change = make_installer().uninstall(client, scope=install_scope(scope), dry_run=dry_run)
    status = "not installed" if change.is_unchanged else "removed"
    print_change(change, client=client, dry_run=dry_run, as_json=as_json, status=status)
