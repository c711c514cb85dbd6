"""Hooking Holdfast into a coding client, out of it again, and looking whether it is.

One way for every client: work out the new text of one file, keep what it was, write it. Looking
and dry runs change nothing. Invariants: installing twice is installing once; uninstalling gives
the file back byte for byte when nothing else changed it since, and otherwise takes out only what
is ours. The hook command is given: nothing here knows where Holdfast is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from holdfast.clients.hook_set import Places, Scope
from holdfast.clients.install_files import (
    Record,
    RecordBook,
    Snapshot,
    digest,
    missing_folders,
    read_snapshot,
    remove_file,
    write_file,
)
from holdfast.clients.install_targets import TARGETS, Target
from holdfast.core.errors import ConflictError, UsageError
from holdfast.core.records import record


class State(StrEnum):
    """How a client and Holdfast stand to each other."""

    INSTALLED = "installed"
    OUTDATED = "outdated"
    ABSENT = "absent"
    BROKEN = "broken"


@record
class Change:
    """What is done to a file; None stands for no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    notes: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether everything is as it should be already."""
        return self.before == self.after


@record(kw_only=True)
class Standing:
    """What was found in one file; `problem` when it cannot be understood."""

    client: str
    scope: Scope
    path: Path
    state: State
    client_seen: bool
    problem: str = ""


@record(kw_only=True)
class Installer:
    """Installs for one machine: where the clients look, what they start, where records are kept.

    `command` is the program and its first arguments; client and event are added to it.
    """

    places: Places
    command: Sequence[str]
    records: RecordBook
    windows: bool = False

    def install(self, client: str, *, scope: Scope, dry_run: bool = False) -> Change:
        """Put Holdfast into a client's file. UsageError when it cannot be understood."""
        target = _target(client)
        path = target.path(scope, self.places)
        seen = read_snapshot(path)
        raw = seen.encoded(target.with_ours(seen, self.command, windows=self.windows))
        change = Change(path, seen.raw, raw, target.notes)
        if not dry_run and not change.is_none:
            # The record first: a crash in between leaves one that describes nothing.
            self.records.write(client, path, self._record(client, target, seen, raw))
            write_file(seen, raw)
        return change

    def uninstall(self, client: str, *, scope: Scope, dry_run: bool = False) -> Change:
        """Take Holdfast out of a client's file again."""
        target = _target(client)
        path = target.path(scope, self.places)
        seen = read_snapshot(path)
        record = self.records.read(client, path)
        change = Change(path, seen.raw, _without(target, seen, record))
        if dry_run:
            return change
        if change.after is None and seen.raw is not None:
            remove_file(seen, folders=record.folders if record else ())
        elif change.after is not None and not change.is_none:
            write_file(seen, change.after)
        self.records.forget(client, path)
        return change

    def standing(self, client: str, *, scope: Scope) -> Standing:
        """Whether Holdfast is in a client's file, as this installation would write it."""
        target = _target(client)
        path = target.path(scope, self.places)
        state, problem = State.BROKEN, ""
        try:
            state = self._state(target, read_snapshot(path))
        except (UsageError, ConflictError) as error:
            problem = error.message
        return Standing(
            client=client,
            scope=scope,
            path=path,
            state=state,
            client_seen=path.parent.is_dir(),
            problem=problem,
        )

    def _state(self, target: Target, seen: Snapshot) -> State:
        if seen.raw is None or not target.has_ours(seen):
            return State.ABSENT
        wanted = target.with_ours(seen, self.command, windows=self.windows)
        return State.INSTALLED if wanted == seen.text else State.OUTDATED

    def _record(self, client: str, target: Target, seen: Snapshot, raw: bytes) -> Record:
        """What to go back to: never a file that has something of ours in it."""
        old = self.records.read(client, seen.path)
        if old is not None and old.describes(seen):
            return Record(digest(raw), old.original, old.folders)
        if seen.raw is not None and target.has_ours(seen):
            text = target.without_ours(seen, None)
            return Record(digest(raw), None if text is None else seen.encoded(text))
        return Record(digest(raw), seen.raw, missing_folders(seen.path))


def _target(client: str) -> Target:
    target = TARGETS.get(client)
    if target is None:
        raise UsageError(
            f"There is no client called {client!r}.", hint=f"Known: {', '.join(TARGETS)}."
        )
    return target


def _without(target: Target, seen: Snapshot, record: Record | None) -> bytes | None:
    if seen.raw is None:
        return None
    if record is not None and record.describes(seen):
        return record.original
    if not target.has_ours(seen):
        return seen.raw
    text = target.without_ours(seen, record)
    return None if text is None else seen.encoded(text)
