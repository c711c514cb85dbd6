"""Install Wellkept into a coding client, uninstall it, and report its status.

For every client: compute the new text of each file, save the original, write. Status and dry runs
change nothing. Invariants: installing twice equals installing once; when one file cannot be parsed
or written, none is changed; uninstalling restores a file byte for byte if nothing else changed it,
and otherwise removes only our entries. Programs are passed in: this module does not know where
Wellkept is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from shutil import which

from wellkept.clients.hook_spec import ClientFolders, InstallPart, InstallScope, Programs
from wellkept.clients.install.client_files import client_files
from wellkept.clients.install.files import (
    FileSnapshot,
    InstallRecord,
    InstallRecords,
    InstallTarget,
    digest,
    missing_folders,
    read_snapshot,
    remove_file,
    write_file,
)
from wellkept.clients.install.liveness import PluginInstall, installed_plugin, problems
from wellkept.core.errors import ConflictError, UsageError, WellkeptError
from wellkept.core.records import record, replace


class InstallState(StrEnum):
    """Whether Wellkept is installed in a client."""

    INSTALLED = "installed"
    OUTDATED = "outdated"
    ABSENT = "absent"
    BROKEN = "broken"


@record
class PlannedFile:
    """A file before and after; None stands for no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_unchanged(self) -> bool:
        """Whether there is nothing to change."""
        return self.before == self.after


@record
class InstallPlan:
    """The changes to a client's files; the one with the hooks comes first."""

    files: tuple[PlannedFile, ...]
    notes: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file with the hooks."""
        return self.files[0].path

    @property
    def is_unchanged(self) -> bool:
        """Whether there is nothing to change."""
        return all(file.is_unchanged for file in self.files)


@record(kw_only=True)
class InstallStatus:
    """The installation in a client; `problem` when a file cannot be parsed, `warnings` say why it
    stays silent although it is there."""

    client: str
    scope: InstallScope
    path: Path
    state: InstallState
    parts: tuple[InstallPart, ...]
    client_seen: bool
    problem: str = ""
    warnings: tuple[str, ...] = ()
    plugin: PluginInstall | None = None
    takes_hooks: bool = True

    @property
    def is_connected(self) -> bool:
        """Whether Wellkept is in the client as far as it can be: by hooks, a plugin, or the MCP
        server of a client without hooks."""
        by_plugin = self.plugin is not None and self.plugin.enabled
        wanted = InstallPart.HOOKS if self.takes_hooks else InstallPart.SERVER
        return by_plugin or wanted in self.parts


@record
class _Step:
    """One file's change and the record to save; None to delete the record."""

    snapshot: FileSnapshot
    change: PlannedFile
    record: InstallRecord | None
    folders: tuple[Path, ...] = ()
    note: str = ""


@record(kw_only=True)
class Installer:
    """Installs on one machine, given the clients' folders, programs and change records."""

    folders: ClientFolders
    programs: Programs
    records: InstallRecords

    def install(self, client: str, *, scope: InstallScope, dry_run: bool = False) -> InstallPlan:
        """Add Wellkept to a client's files. UsageError when one cannot be parsed."""
        steps = [self._install_step(client, *file) for file in self._files(client, scope)]
        return self._apply(client, steps, dry_run=dry_run, notes=client_files(client).notes)

    def uninstall(self, client: str, *, scope: InstallScope, dry_run: bool = False) -> InstallPlan:
        """Remove Wellkept from a client's files."""
        steps = [self._uninstall_step(client, *file) for file in self._files(client, scope)]
        return self._apply(client, steps, dry_run=dry_run, notes=())

    def status(self, client: str, *, scope: InstallScope) -> InstallStatus:
        """Whether Wellkept is in a client's files, and up to date."""
        targets = client_files(client).targets(scope, self.folders)
        found: list[tuple[InstallPart, InstallState]] = []
        problem = ""
        for target in targets:
            state = InstallState.BROKEN
            try:
                state = self._state(target, read_snapshot(target.path))
            except (UsageError, ConflictError) as error:
                problem = problem or error.message
            found.append((target.part, state))
        parts = tuple(part for part in InstallPart if _has(part, found))
        plugin = installed_plugin(client, scope=scope, folders=self.folders)
        silent = problems(client, targets, parts, plugin=plugin, folders=self.folders)
        return InstallStatus(
            client=client,
            scope=scope,
            path=targets[0].path,
            state=_worst([state for _, state in found]),
            parts=parts,
            client_seen=targets[0].path.parent.is_dir() or self._has_program(client),
            problem=problem,
            warnings=tuple(silent),
            plugin=plugin,
            takes_hooks=any(target.part is InstallPart.HOOKS for target in targets),
        )

    def _has_program(self, client: str) -> bool:
        path = self.folders.environment.get("PATH", "")
        return any(which(name, path=path) for name in client_files(client).programs if path)

    # -- One file ---------------------------------------------------------------------------------

    def _files(self, client: str, scope: InstallScope) -> list[tuple[Path, list[InstallTarget]]]:
        """A client's targets by file."""
        found: dict[Path, list[InstallTarget]] = {}
        for target in client_files(client).targets(scope, self.folders):
            found.setdefault(target.path, []).append(target)
        return list(found.items())

    def _install_step(self, client: str, path: Path, targets: Sequence[InstallTarget]) -> _Step:
        snapshot = now = read_snapshot(path)
        for target in targets:
            now = _after(now, target.with_wellkept(now, self.programs))
        if now.raw is None or not _any_wellkept(targets, now):
            left = self._uninstall_step(client, path, targets)
            is_taken = left.change.after is not None and now.raw == snapshot.raw
            note = f"{path} is not Wellkept's; left as it is." if is_taken else ""
            return replace(left, note=note)
        record = self._record(self.records.read(client, path), targets, snapshot, now.raw)
        return _Step(snapshot, PlannedFile(path, snapshot.raw, now.raw), record, record.folders)

    def _uninstall_step(self, client: str, path: Path, targets: Sequence[InstallTarget]) -> _Step:
        snapshot = read_snapshot(path)
        record = self.records.read(client, path)
        left = FileSnapshot(path, _restored(targets, snapshot, record))
        is_left = left.raw is not None and _any_wellkept(targets, left)
        note = f"{path} was edited since it was installed; left as it is." if is_left else ""
        folders = record.folders if record else ()
        return _Step(snapshot, PlannedFile(path, snapshot.raw, left.raw), None, folders, note)

    def _record(
        self,
        old: InstallRecord | None,
        targets: Sequence[InstallTarget],
        snapshot: FileSnapshot,
        raw: bytes,
    ) -> InstallRecord:
        """The record to save; its original never contains Wellkept."""
        if old is not None and old.describes(snapshot):
            return InstallRecord(digest(raw), old.original, old.folders)
        if _any_wellkept(targets, snapshot):
            return InstallRecord(digest(raw), _without_wellkept(targets, snapshot, None))
        return InstallRecord(digest(raw), snapshot.raw, missing_folders(snapshot.path))

    def _state(self, target: InstallTarget, snapshot: FileSnapshot) -> InstallState:
        if snapshot.raw is None or not target.has_wellkept(snapshot):
            return InstallState.ABSENT
        wanted = target.with_wellkept(snapshot, self.programs)
        return InstallState.INSTALLED if wanted == snapshot.text else InstallState.OUTDATED

    # -- All files --------------------------------------------------------------------------------

    def _apply(
        self, client: str, steps: Sequence[_Step], *, dry_run: bool, notes: tuple[str, ...]
    ) -> InstallPlan:
        if not dry_run:
            self._write(client, steps)
        left = tuple(step.note for step in steps if step.note)
        return InstallPlan(tuple(step.change for step in steps), (*notes, *left))

    def _write(self, client: str, steps: Sequence[_Step]) -> None:
        """Write all changes; when one fails, undo the others."""
        done: list[_Step] = []
        try:
            for step in steps:
                self._write_one(client, step)
                done.append(step)
        except WellkeptError:
            for step in reversed(done):
                _undo(step)
            raise
        for step in steps:
            if step.record is None:
                self.records.forget(client, step.change.path)

    def _write_one(self, client: str, step: _Step) -> None:
        if step.change.is_unchanged:
            return
        if step.record is not None:
            # Record first: after a crash in between, it describes no file and is ignored.
            self.records.write(client, step.change.path, step.record)
        _put(step.snapshot, step.change.after, folders=step.folders)


def _after(snapshot: FileSnapshot, text: str | None) -> FileSnapshot:
    return FileSnapshot(snapshot.path, None if text is None else snapshot.encoded(text))


def _restored(
    targets: Sequence[InstallTarget], snapshot: FileSnapshot, record: InstallRecord | None
) -> bytes | None:
    if snapshot.raw is None:
        return None
    if record is not None and record.describes(snapshot):
        return record.original
    return _without_wellkept(targets, snapshot, record)


def _without_wellkept(
    targets: Sequence[InstallTarget], snapshot: FileSnapshot, record: InstallRecord | None
) -> bytes | None:
    """The file without Wellkept."""
    for target in targets:
        if snapshot.raw is not None and target.has_wellkept(snapshot):
            snapshot = _after(snapshot, target.without_wellkept(snapshot, record))
    return snapshot.raw


def _any_wellkept(targets: Sequence[InstallTarget], snapshot: FileSnapshot) -> bool:
    return any(target.has_wellkept(snapshot) for target in targets)


def _put(snapshot: FileSnapshot, raw: bytes | None, *, folders: tuple[Path, ...] = ()) -> None:
    if raw is not None:
        write_file(snapshot, raw)
    elif snapshot.raw is not None:
        remove_file(snapshot, folders=folders)


def _undo(step: _Step) -> None:
    """Undo a change, unless the file changed again meanwhile."""
    try:
        written = FileSnapshot(step.change.path, step.change.after)
        _put(written, step.change.before, folders=step.folders)
    except WellkeptError:
        return


def _worst(states: Sequence[InstallState]) -> InstallState:
    worst_first = (InstallState.BROKEN, InstallState.OUTDATED, InstallState.INSTALLED)
    return next((state for state in worst_first if state in states), InstallState.ABSENT)


def _has(part: InstallPart, found: Sequence[tuple[InstallPart, InstallState]]) -> bool:
    there = (InstallState.INSTALLED, InstallState.OUTDATED)
    return any(each is part and state in there for each, state in found)
