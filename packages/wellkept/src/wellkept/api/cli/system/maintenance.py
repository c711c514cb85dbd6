"""Maintenance after a command, and reports of it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from wellkept.api.cli import output
from wellkept.core.errors import StoreError
from wellkept.core.text import counted

if TYPE_CHECKING:
    import subprocess

    import wellkept

_MAX_INLINE = 1_000  # memories; maintaining fewer takes a fraction of a second


def maintain_after_answer(wk: wellkept.Wellkept) -> None:
    """Run due maintenance after a command's output. Never fails the command.

    A large project is maintained in a separate process, so that the command returns at once.
    """
    with suppress(StoreError):
        if not wk.maintenance_is_due():
            return
        if wk.stats().total > _MAX_INLINE:
            start_maintenance(wk)
            return
        report = wk.maintain_if_due()
        archived = [i for i in report.items if i.after == "archived"] if report else []
        if archived:
            count = counted(len(archived), "memory", "memories")
            output.note(f"Maintenance archived {count}. `wellkept undo` takes it back.")


def start_maintenance(wk: wellkept.Wellkept) -> subprocess.Popen[bytes]:
    """Maintain a project in a detached process."""
    import subprocess

    url, project = wk.services.url, ("--project", wk.project)
    # An address may hold a password, which a command line would show to everybody.
    store = () if url else ("--store", str(wk.path))
    environment = {**os.environ, "WELLKEPT_STORE_URL": url} if url else None
    return subprocess.Popen(
        [sys.executable, "-m", "wellkept.cli", *store, "admin", "maintain", "--if-due", *project],
        cwd=wk.root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
