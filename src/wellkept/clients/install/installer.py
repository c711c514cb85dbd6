"""Putting Wellkept into a coding client, taking it out again, and looking whether it is there.

One way for every client: work out the new text of each of its files, keep what they were, write
them. Looking and dry runs change nothing. Invariants: installing twice is installing once; a file
that cannot be understood or written leaves all of them as they were; uninstalling gives a file
back byte for byte when nothing else changed it since, and otherwise takes out only what is ours.
What is started is given: nothing here knows where Wellkept is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from wellkept.clients.hook_spec import ClientFolders, InstallPart, InstallScope, Programs
from wellkept.clients.install.files import (
    FileSnapshot,
    InstallRecord,
    InstallRecords,
    digest,
    missing_folders,
    read_snapshot,
    remove_file,
    write_file,
)
from wellkept.clients.install.target import InstallTarget
from wellkept.clients.install.targets import files_of
from wellkept.core.errors import ConflictError, UsageError, WellkeptError
from wellkept.core.records import record, replace


class InstallState(StrEnum):
    """How a client and Wellkept stand to each other."""

    INSTALLED = "installed"
    OUTDATED = "outdated"
    ABSENT = "absent"
    BROKEN = "broken"


@record
class PlannedFile:
    """What is done to a file; None stands for no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_none(self) -> bool:
        """Whether the file is as it should be already."""
        return self.before == self.after


@record
class InstallPlan:
    """What is done to a client's files; the one with the hooks is the first."""

    files: tuple[PlannedFile, ...]
    notes: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file that makes the client talk to Wellkept."""
        return self.files[0].path

    @property
    def is_none(self) -> bool:
        """Whether everything is as it should be already."""
        return all(file.is_none for file in self.files)


@record(kw_only=True)
class InstallStatus:
    """What was found of a client; `problem` when a file cannot be understood."""

    client: str
    scope: InstallScope
    path: Path
    state: InstallState
    parts: tuple[InstallPart, ...]
    client_seen: bool
    problem: str = ""


@record
class _Step:
    """One file's change, with the record to keep of it; None to drop the record."""

    seen: FileSnapshot
    change: PlannedFile
    record: InstallRecord | None
    folders: tuple[Path, ...] = ()
    note: str = ""


@record(kw_only=True)
class Installer:
    """Installs for one machine: where the clients look, what they start, where records are kept."""

    places: ClientFolders
    programs: Programs
    records: InstallRecords

    def install(self, client: str, *, scope: InstallScope, dry_run: bool = False) -> InstallPlan:
        """Put Wellkept into a client's files. UsageError when one cannot be understood."""
        steps = [self._installing(client, *file) for file in self._files(client, scope)]
        return self._done(client, steps, dry_run=dry_run, notes=files_of(client).notes)

    def uninstall(self, client: str, *, scope: InstallScope, dry_run: bool = False) -> InstallPlan:
        """Take Wellkept out of a client's files again."""
        steps = [self._uninstalling(client, *file) for file in self._files(client, scope)]
        return self._done(client, steps, dry_run=dry_run, notes=())

    def standing(self, client: str, *, scope: InstallScope) -> InstallStatus:
        """Whether Wellkept is in a client's files, as this installation would write it."""
        targets = files_of(client).targets(scope, self.places)
        found: list[tuple[InstallPart, InstallState]] = []
        problem = ""
        for target in targets:
            state = InstallState.BROKEN
            try:
                state = self._state(target, read_snapshot(target.path))
            except (UsageError, ConflictError) as error:
                problem = problem or error.message
            found.append((target.part, state))
        return InstallStatus(
            client=client,
            scope=scope,
            path=targets[0].path,
            state=_worst([state for _, state in found]),
            parts=tuple(part for part in InstallPart if _has(part, found)),
            client_seen=targets[0].path.parent.is_dir(),
            problem=problem,
        )

    # -- One file ---------------------------------------------------------------------------------

    def _files(self, client: str, scope: InstallScope) -> list[tuple[Path, list[InstallTarget]]]:
        """A client's targets by file."""
        found: dict[Path, list[InstallTarget]] = {}
        for target in files_of(client).targets(scope, self.places):
            found.setdefault(target.path, []).append(target)
        return list(found.items())

    def _installing(self, client: str, path: Path, targets: Sequence[InstallTarget]) -> _Step:
        seen = now = read_snapshot(path)
        for target in targets:
            now = _after(now, target.with_ours(now, self.programs))
        if now.raw is None or not _any_ours(targets, now):
            left = self._uninstalling(client, path, targets)
            is_taken = left.change.after is not None and now.raw == seen.raw
            note = f"{path} is not Wellkept's, and stays as it is." if is_taken else ""
            return replace(left, note=note)
        record = self._record(self.records.read(client, path), targets, seen, now.raw)
        return _Step(seen, PlannedFile(path, seen.raw, now.raw), record, record.folders)

    def _uninstalling(self, client: str, path: Path, targets: Sequence[InstallTarget]) -> _Step:
        seen = read_snapshot(path)
        record = self.records.read(client, path)
        left = FileSnapshot(path, _without(targets, seen, record))
        is_left = left.raw is not None and _any_ours(targets, left)
        note = f"{path} was changed since it was installed, and stays as it is." if is_left else ""
        folders = record.folders if record else ()
        return _Step(seen, PlannedFile(path, seen.raw, left.raw), None, folders, note)

    def _record(
        self,
        old: InstallRecord | None,
        targets: Sequence[InstallTarget],
        seen: FileSnapshot,
        raw: bytes,
    ) -> InstallRecord:
        """What to go back to: never a file that has something of ours in it."""
        if old is not None and old.describes(seen):
            return InstallRecord(digest(raw), old.original, old.folders)
        if _any_ours(targets, seen):
            return InstallRecord(digest(raw), _cleared(targets, seen, None))
        return InstallRecord(digest(raw), seen.raw, missing_folders(seen.path))

    def _state(self, target: InstallTarget, seen: FileSnapshot) -> InstallState:
        if seen.raw is None or not target.has_ours(seen):
            return InstallState.ABSENT
        wanted = target.with_ours(seen, self.programs)
        return InstallState.INSTALLED if wanted == seen.text else InstallState.OUTDATED

    # -- All files --------------------------------------------------------------------------------

    def _done(
        self, client: str, steps: Sequence[_Step], *, dry_run: bool, notes: tuple[str, ...]
    ) -> InstallPlan:
        if not dry_run:
            self._write(client, steps)
        left = tuple(step.note for step in steps if step.note)
        return InstallPlan(tuple(step.change for step in steps), (*notes, *left))

    def _write(self, client: str, steps: Sequence[_Step]) -> None:
        """Write every change, or, when one cannot be written, none."""
        done: list[_Step] = []
        try:
            for step in steps:
                self._write_one(client, step)
                done.append(step)
        except WellkeptError:
            for step in reversed(done):
                _take_back(step)
            raise
        for step in steps:
            if step.record is None:
                self.records.forget(client, step.change.path)

    def _write_one(self, client: str, step: _Step) -> None:
        if step.change.is_none:
            return
        if step.record is not None:
            # The record first: a crash in between leaves one that describes nothing.
            self.records.write(client, step.change.path, step.record)
        _put(step.seen, step.change.after, folders=step.folders)


def _after(seen: FileSnapshot, text: str | None) -> FileSnapshot:
    return FileSnapshot(seen.path, None if text is None else seen.encoded(text))


def _without(
    targets: Sequence[InstallTarget], seen: FileSnapshot, record: InstallRecord | None
) -> bytes | None:
    if seen.raw is None:
        return None
    if record is not None and record.describes(seen):
        return record.original
    return _cleared(targets, seen, record)


def _cleared(
    targets: Sequence[InstallTarget], seen: FileSnapshot, record: InstallRecord | None
) -> bytes | None:
    """The file without what is ours in it."""
    for target in targets:
        if seen.raw is not None and target.has_ours(seen):
            seen = _after(seen, target.without_ours(seen, record))
    return seen.raw


def _any_ours(targets: Sequence[InstallTarget], seen: FileSnapshot) -> bool:
    return any(target.has_ours(seen) for target in targets)


def _put(seen: FileSnapshot, raw: bytes | None, *, folders: tuple[Path, ...] = ()) -> None:
    if raw is not None:
        write_file(seen, raw)
    elif seen.raw is not None:
        remove_file(seen, folders=folders)


def _take_back(step: _Step) -> None:
    """Undo a change that was made; a file that changed again meanwhile is left alone."""
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
