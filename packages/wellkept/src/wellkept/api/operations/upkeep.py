"""Operations of the settings view: storage, prune, clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from wellkept.api.operations.inputs import Input
from wellkept.api.operations.record_models import ViewOutput, output_model, view_model
from wellkept.api.views.client_setup import (
    ClientAction,
    ClientChange,
    ClientScope,
    ClientState,
)
from wellkept.api.views.storage import (
    PRUNE_BELOW,
    PRUNE_UNUSED_DAYS,
    StorageView,
)
from wellkept.context.bulk import Edited
from wellkept.core.errors import UsageError
from wellkept.core.text import counted

if TYPE_CHECKING:
    from wellkept.api import Wellkept


class StorageInput(Input):
    """What fills the store."""


class StorageOutput(output_model(StorageView)):
    """Files, counts, and what a prune would take."""


def storage(wk: Wellkept, request: StorageInput) -> StorageOutput:  # noqa: ARG001
    """What fills the store."""
    found = wk.storage()
    text = (
        f"{found.total_bytes:,} bytes, {counted(found.memories, 'memory', 'memories')},"
        f" {found.prunable} could be pruned, {found.stale} name files that are gone"
    )
    return StorageOutput.of(found, text=text)


class EditedOutput(output_model(Edited)):
    """What was done; `undo_id` takes it back."""


class PruneUnsureInput(Input):
    """Memories of little confidence that nobody used for long."""

    below: float = Field(default=PRUNE_BELOW, ge=0, le=1, description="Confidence below this.")
    unused_days: int = Field(default=PRUNE_UNUSED_DAYS, ge=0, le=3650)
    dry_run: bool = Field(default=True, description="Only say what would go.")


def prune_unsure(wk: Wellkept, request: PruneUnsureInput) -> EditedOutput:
    """Delete memories of little confidence, with undo."""
    done = wk.prune_unsure(
        below=request.below, unused_days=request.unused_days, dry_run=request.dry_run
    )
    return EditedOutput.of(done, text=f"delete: {counted(done.count, 'memory', 'memories')}")


class RemoveStaleInput(Input):
    """Memories of deleted files."""

    dry_run: bool = Field(default=True, description="Only say what would go.")


def remove_stale(wk: Wellkept, request: RemoveStaleInput) -> EditedOutput:
    """Delete the memories of deleted files, with undo."""
    done = wk.remove_stale(dry_run=request.dry_run)
    return EditedOutput.of(done, text=f"delete: {counted(done.count, 'memory', 'memories')}")


class ClientsInput(Input):
    """Coding clients of this machine."""


class ClientsOutput(ViewOutput):
    """Every client in both scopes. Empty where this process knows none."""

    items: list[view_model(ClientState)]  # type: ignore[valid-type]


def clients(wk: Wellkept, request: ClientsInput) -> ClientsOutput:  # noqa: ARG001
    """Whether Wellkept is installed in each client."""
    setup = wk.services.client_setup
    states = setup.states() if setup is not None else ()
    lines = [f"{one.client} ({one.scope}): {one.state}" for one in states]
    return ClientsOutput.of({"items": states}, text="\n".join(lines) or "No clients are known.")


class ClientChangeInput(Input):
    """Install Wellkept in a client, or remove it."""

    client: str = Field(min_length=1)
    scope: ClientScope = "user"
    action: ClientAction = "install"
    dry_run: bool = Field(default=True, description="Only show the diff.")


class ClientChangeOutput(output_model(ClientChange)):
    """What changes in the client's files, as diffs."""


def change_client(wk: Wellkept, request: ClientChangeInput) -> ClientChangeOutput:
    """Install Wellkept in a client or remove it; the diff first."""
    setup = wk.services.client_setup
    if setup is None:
        raise UsageError("Clients cannot be changed from here.", hint="Run `wellkept install`.")
    done = setup.change(
        request.client, scope=request.scope, action=request.action, dry_run=request.dry_run
    )
    text = "\n".join(one.diff for one in done.files if one.diff) or "Nothing to change."
    return ClientChangeOutput.of(done, text=text)
