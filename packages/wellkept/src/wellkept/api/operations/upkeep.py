"""Operations of the settings view: storage, sweeps, prune, archive, clients, settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from wellkept.api.operations.inputs import Input, Model, Texts
from wellkept.api.operations.review import BulkOutput
from wellkept.api.server.record_models import ViewOutput, output_model, view_model
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
    WorkUnit,
)
from wellkept.core.errors import UsageError
from wellkept.core.memory import WorkUnitRef
from wellkept.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from wellkept.api import Wellkept
    from wellkept.core.settings.model import SettingRule, Settings
    from wellkept.memory.lifecycle.report import MaintenanceReport


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


class SweepInput(Input):
    """A maintenance pass."""

    action: Literal["refresh", "decay", "compact", "prune", "maintain"]
    dry_run: bool = Field(default=True, description="Only say what would change.")


class SweepItem(Model):
    """One memory that changes, and why."""

    id: str
    short: str
    title: str
    rule: str
    reason: str
    before: str
    after: str


class SweepOutput(ViewOutput):
    """What a pass did, or would do."""

    action: str
    dry_run: bool
    examined: int
    changed: int
    removed: int
    counts: dict[str, int]
    items: list[SweepItem]
    notes: list[str]


MAX_ITEMS = 200


def sweep(wk: Wellkept, request: SweepInput) -> SweepOutput:
    """Run a maintenance pass, or preview it."""
    passes: dict[str, Callable[..., MaintenanceReport]] = {
        "refresh": wk.refresh,
        "decay": wk.decay,
        "compact": wk.compact,
        "prune": wk.prune,
        "maintain": wk.maintain,
    }
    done = passes[request.action](dry_run=request.dry_run)
    shown = {
        "action": request.action,
        "dry_run": request.dry_run,
        "examined": done.examined,
        "changed": done.changed,
        "removed": len(done.removed),
        "counts": done.counts,
        "items": [
            SweepItem(
                id=item.id,
                short=item.short,
                title=item.title,
                rule=item.rule,
                reason=item.reason,
                before="" if item.before is None else str(item.before),
                after="" if item.after is None else str(item.after),
            )
            for item in done.items[:MAX_ITEMS]
        ],
        "notes": list(done.notes),
    }
    text = f"{request.action}: {done.examined} examined, {done.changed} changed"
    return SweepOutput.of(shown, text=text)


class PruneUnsureInput(Input):
    """Memories of little confidence that nobody used for long."""

    below: float = Field(default=PRUNE_BELOW, ge=0, le=1, description="Confidence below this.")
    unused_days: int = Field(default=PRUNE_UNUSED_DAYS, ge=0, le=3650)
    dry_run: bool = Field(default=True, description="Only say what would go.")


def prune_unsure(wk: Wellkept, request: PruneUnsureInput) -> BulkOutput:
    """Delete memories of little confidence, with undo."""
    done = wk.prune_unsure(
        below=request.below, unused_days=request.unused_days, dry_run=request.dry_run
    )
    return BulkOutput.of(done, text=f"delete: {counted(done.count, 'memory', 'memories')}")


class RemoveStaleInput(Input):
    """Memories of deleted files."""

    dry_run: bool = Field(default=True, description="Only say what would go.")


def remove_stale(wk: Wellkept, request: RemoveStaleInput) -> BulkOutput:
    """Delete the memories of deleted files, with undo."""
    done = wk.remove_stale(dry_run=request.dry_run)
    return BulkOutput.of(done, text=f"delete: {counted(done.count, 'memory', 'memories')}")


class WorkUnitsInput(Input):
    """Units of work."""


class WorkUnitsOutput(ViewOutput):
    """Units of work with memories that are not archived, latest first."""

    items: list[view_model(WorkUnit)]  # type: ignore[valid-type]


def work_units(wk: Wellkept, request: WorkUnitsInput) -> WorkUnitsOutput:  # noqa: ARG001
    """Units of work."""
    found = wk.work_units()
    lines = [f"{one.label} ({one.methodology}): {one.memories} memories" for one in found]
    return WorkUnitsOutput.of({"items": found}, text="\n".join(lines) or "No work units.")


class ArchiveUnitInput(Input):
    """A finished unit of work."""

    methodology: str = Field(min_length=1)
    hierarchy: Texts = Field(min_length=1, description="From the outermost unit to this one.")
    dry_run: bool = Field(default=True, description="Only say what would be archived.")


def archive_unit(wk: Wellkept, request: ArchiveUnitInput) -> SweepOutput:
    """Archive the memories of a finished unit of work and of the units below it."""
    ref = WorkUnitRef(request.methodology, tuple(request.hierarchy), request.hierarchy[-1])
    done = wk.archive_work_unit(ref, dry_run=request.dry_run)
    shown: dict[str, Any] = {
        "action": "archive",
        "dry_run": request.dry_run,
        "examined": done.examined,
        "changed": done.changed,
        "removed": 0,
        "counts": done.counts,
        "items": [],
        "notes": list(done.notes),
    }
    return SweepOutput.of(shown, text=f"archive: {done.changed} memories")


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


class SettingsInput(Input):
    """Every setting."""


class SettingItem(Model):
    """A setting: its value, where it comes from, and what it may be. Secrets are not shown."""

    key: str
    doc: str
    value: str | None
    origin: str
    secret: bool
    choices: list[str]
    by_project: bool
    editable: bool = Field(default=False, description="Whether set_setting takes it.")


class SettingsOutput(ViewOutput):
    """Every setting."""

    items: list[SettingItem]


def settings(wk: Wellkept, request: SettingsInput) -> SettingsOutput:  # noqa: ARG001
    """Every setting with its origin."""
    return _settings_output(wk, wk.settings)


def _settings_output(wk: Wellkept, known: Settings) -> SettingsOutput:
    from wellkept.core.settings.model import rules

    items = [
        SettingItem(
            key=rule.key,
            doc=rule.doc,
            value=_shown(known.value(rule.key), secret=rule.secret),
            origin=known.origin(rule.key),
            secret=rule.secret,
            choices=_choices(wk, rule),
            by_project=rule.by_project,
            editable=rule.key in PAGE_SETTINGS,
        )
        for rule in rules()
    ]
    lines = [f"{one.key} = {one.value} ({one.origin})" for one in items]
    return SettingsOutput.of({"items": items}, text="\n".join(lines))


def _choices(wk: Wellkept, rule: SettingRule) -> list[str]:
    """What a setting may be; methodologies are those that are installed."""
    if rule.key == "methodology":
        return [one.id for one in wk.methodology.all()]
    return list(rule.choices)


def _shown(value: object, *, secret: bool) -> str | None:
    if value is None:
        return None
    return "(set)" if secret and value else str(value)


PAGE_SETTINGS = frozenset(
    {
        *("methodology", "embedding.provider", "embedding.model", "recall.limit"),
        *("context.budget_tokens", "context.sessions", "context.observations", "context.days"),
        *("context.skills", "capture.daily_model_tokens"),
    }
)
"""What the page may change: nothing that runs a program, names a file or a server, or is secret."""


class SetSettingInput(Input):
    """One setting of the person's own file."""

    key: str = Field(min_length=1)
    value: str | None = Field(default=None, description="Null takes it out of the file.")


def set_setting(wk: Wellkept, request: SetSettingInput) -> SettingsOutput:
    """Change a setting in the person's own file; it counts from the next call on."""
    from wellkept.api.wiring.settings_file import write_entry
    from wellkept.core.settings.model import rule_of
    from wellkept.core.settings.sources import SettingSources, inspect_settings
    from wellkept.observe.observer.methodology import parse_setting

    rule = rule_of(request.key)
    if rule.key not in PAGE_SETTINGS:
        raise UsageError(
            f"{rule.key} cannot be changed here.", hint=f"Run `wellkept config set {rule.key}`."
        )
    parsed = None if request.value is None else parse_setting(rule, request.value)
    if parsed is not None and not isinstance(parsed, (str, int, float)):
        parsed = str(parsed)
    sources = SettingSources.of(wk.services.environment, cwd=wk.services.folder)
    write_entry(sources.user_file, rule.key, parsed)
    changed, _ = inspect_settings(sources)
    return _settings_output(wk, changed)
