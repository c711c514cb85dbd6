"""Coding clients as a person sees them: whether Wellkept is in them, and what installing changes.

The installer lives beside the clients, which views do not import: whoever opens a project passes
a `ClientSetup` in (`Services.client_setup`).
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from wellkept.core.records import record

ClientScope: TypeAlias = Literal["user", "project"]
ClientAction: TypeAlias = Literal["install", "uninstall"]


@record(kw_only=True)
class ClientState:
    """Wellkept in one client. `state` is installed, outdated, absent or broken."""

    client: str
    scope: ClientScope
    state: str
    parts: tuple[str, ...]
    path: str
    client_seen: bool
    """Whether the client's folder exists, so that it is probably installed."""
    problem: str = ""
    """Why it cannot be read, or why the client stays silent although it is there."""


@record(kw_only=True)
class FileChange:
    """A file of a client before and after, as a unified diff; empty when nothing changes."""

    path: str
    is_new: bool
    is_removed: bool
    diff: str


@record(kw_only=True)
class ClientChange:
    """What installing or removing changes; `done` when it was written."""

    client: str
    scope: ClientScope
    action: ClientAction
    done: bool
    is_unchanged: bool
    files: tuple[FileChange, ...]
    notes: tuple[str, ...]


class ClientSetup(Protocol):
    """Looks at the clients of this machine and installs Wellkept in them."""

    def states(self) -> tuple[ClientState, ...]:
        """Every client in both scopes."""
        ...

    def change(
        self, client: str, *, scope: ClientScope, action: ClientAction, dry_run: bool
    ) -> ClientChange:
        """Install or remove; with `dry_run` only say what would change."""
        ...
