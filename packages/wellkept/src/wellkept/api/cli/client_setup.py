"""Coding clients for the views, which do not import the installer.

Every opened project may carry it, so nothing is imported before it is asked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from wellkept.api.views.client_setup import (
        ClientAction,
        ClientChange,
        ClientScope,
        ClientState,
    )


class InstalledClients:
    """The clients of this machine, for the project of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def states(self) -> tuple[ClientState, ...]:
        """Every client in both scopes."""
        from wellkept.api.cli.run.install import make_installer
        from wellkept.api.views.client_setup import ClientState
        from wellkept.clients.hook_spec import InstallScope
        from wellkept.clients.install.client_files import CLIENTS

        installer = make_installer(folder=self._folder)
        found = [installer.status(one, scope=scope) for one in CLIENTS for scope in InstallScope]
        return tuple(
            ClientState(
                client=one.client,
                scope=one.scope.value,
                state=one.state.value,
                parts=tuple(part.value for part in one.parts),
                path=str(one.path),
                client_seen=one.client_seen,
                problem=" ".join(filter(None, (one.problem, *one.warnings))),
            )
            for one in found
        )

    def change(
        self, client: str, *, scope: ClientScope, action: ClientAction, dry_run: bool
    ) -> ClientChange:
        """Install or remove; with `dry_run` only say what would change."""
        from wellkept.api.cli.run.install import (
            file_diff,
            make_installer,
            record_drain_command,
        )
        from wellkept.api.views.client_setup import ClientChange, FileChange
        from wellkept.clients.hook_spec import InstallScope
        from wellkept.clients.install.client_files import CLIENTS

        if client not in CLIENTS:
            raise UsageError(
                f"Unknown client {client!r}.", hint=f"Choose one of: {', '.join(CLIENTS)}."
            )
        installer = make_installer(folder=self._folder)
        run = installer.install if action == "install" else installer.uninstall
        plan = run(client, scope=InstallScope(scope), dry_run=dry_run)
        if action == "install" and not dry_run:
            record_drain_command(os.environ)
        return ClientChange(
            client=client,
            scope=scope,
            action=action,
            done=not dry_run,
            is_unchanged=plan.is_unchanged,
            files=tuple(
                FileChange(
                    path=str(file.path),
                    is_new=file.before is None and file.after is not None,
                    is_removed=file.after is None and file.before is not None,
                    diff=file_diff(file),
                )
                for file in plan.files
            ),
            notes=plan.notes,
        )
