"""The verbs that keep a store healthy. `core.verbs` says what a declaration is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from wellkept.core.records import record
from wellkept.core.session.injected_text import quoted
from wellkept.core.team.people import Role
from wellkept.core.text import counted
from wellkept.core.verbs import Alias, Arg, Effect, Table, verb
from wellkept.memory.lifecycle.report import MaintenanceAction, MaintenanceReport

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.api import Wellkept
    from wellkept.api.maintenance.doctor import DoctorReport
    from wellkept.api.maintenance.restore import RestoreReport
    from wellkept.core.types import Progress
    from wellkept.project.join import JoinPreview


@verb(
    noun="admin",
    effect=Effect.REMOVES,
    repeatable=False,
    toolset="page",
    needs_toolset=True,
    aliases=(Alias("sweep", {"dry_run": True}),),
    tell="Refresh, decay, compact, prune or maintain; a preview unless told.",
    role=Role.ADMIN,
    examples=({"dry_run": True}, {"only": "decay", "dry_run": True}),
)
def maintain(
    wk: Wellkept,
    *,
    only: Annotated[
        Literal["refresh", "decay", "prune", "compact"] | None,
        Arg("Only this: follow files, weigh less, delete the unimportant, merge near-duplicates."),
    ] = None,
    if_due: Annotated[bool, Arg("Only if the last run is a day or 20 sessions ago.")] = False,
    min_importance: Annotated[
        float | None, Arg("With prune: keep those of this importance.", 0, 1, hidden=True)
    ] = None,
    min_confidence: Annotated[
        float | None, Arg("With prune: keep those of this confidence.", 0, 1, hidden=True)
    ] = None,
    include_verified: Annotated[bool, Arg("With prune: verified ones too.", hidden=True)] = False,
    dry_run: Annotated[bool, Arg("Only show what would change.")] = False,
    progress: Progress | None = None,
) -> MaintenanceReport:
    """Run all maintenance: refresh, decay, and archive what ended. Deletes nothing.

    Archives merged work, memories of past sessions, old timeline entries, and memories that are
    doubted and unused. `wellkept undo` lists what can be taken back. Maintenance also runs
    automatically, at most once a day. With --only prune unimportant memories are deleted for good,
    with --only compact near-duplicates are merged; both ask first. --only refresh follows renames
    in git and marks as stale what lost its files, its code or its success.
    """
    if only == "prune":
        from wellkept.memory.lifecycle.pruning import Retention

        usual = Retention()
        keep = Retention(
            min_importance=usual.min_importance if min_importance is None else min_importance,
            min_confidence=usual.min_confidence if min_confidence is None else min_confidence,
            timeline_days=wk.settings.timeline_retention_days,
        )
        return wk.prune(
            keep=keep, include_verified=include_verified, dry_run=dry_run, progress=progress
        )
    if only is not None:
        step = {"refresh": wk.refresh, "decay": wk.decay, "compact": wk.compact}[only]
        return step(dry_run=dry_run, progress=progress)
    if if_due and not dry_run:
        done = wk.maintain_if_due()
        none = MaintenanceReport(
            action=MaintenanceAction.MAINTAIN, dry_run=False, examined=0, notes=("Not due.",)
        )
        return none if done is None else done
    return wk.maintain(dry_run=dry_run, progress=progress)


@record(kw_only=True)
class Reindexed:
    """Counts of one run. `dropped` counts vectors of other models."""

    model_id: str | None
    indexed: int
    dropped: int
    resumed: bool

    def as_text(self) -> str:
        """What was done."""
        resumed = ", resumed from the last run" if self.resumed else ""
        return (
            f"Model: {self.model_id or 'none (full text only)'}\n"
            f"Indexed: {self.indexed}{resumed}; dropped vectors of old models: {self.dropped}"
        )


@verb(
    noun="admin",
    effect=Effect.ADDS,
    role=Role.ADMIN,
    on_files=True,
    examples=({},),
)
def reindex(
    wk: Wellkept,
    *,
    force: Annotated[bool, Arg("Rebuild all entries, even current ones.")] = False,
    progress: Progress | None = None,
) -> Reindexed:
    """Update the search indexes for the current embedding model.

    Works on the whole store. Search stays available, and an interrupted run resumes.
    """
    done = wk.reindex(force=force, progress=progress)
    return Reindexed(
        model_id=done.model_id, indexed=done.indexed, dropped=done.dropped, resumed=done.resumed
    )


@record(kw_only=True)
class BackedUp:
    """The copy of a store."""

    path: str
    size_bytes: int

    def as_text(self) -> str:
        """Where it is."""
        return f"{self.path} ({self.size_bytes:,} bytes)"


@verb(
    noun="admin",
    effect=Effect.ADDS,
    role=Role.ADMIN,
    on_files=True,
    examples=({"target": "copy.db"},),
)
def backup(
    wk: Wellkept,
    target: Annotated[str, Arg("A new file.", 1, names="file", metavar="FILE")],
    *,
    progress: Progress | None = None,
) -> BackedUp:
    """Copy the store to a new file.

    The copy is consistent even while other processes write. Existing files are not overwritten.
    """
    path = wk.backup(target, progress=progress)
    return BackedUp(path=str(path), size_bytes=path.stat().st_size)


def _day(moment: datetime | None) -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%d}"


@record(kw_only=True)
class Restored:
    """What replaced what, or would."""

    restored: RestoreReport
    dry_run: bool = False

    @property
    def question(self) -> str:
        """What is asked first."""
        found = self.restored
        if found.present is None:
            return f"Restore the backup to {found.target}?"
        memories = counted(found.present.memories, "memory", "memories")
        return f"Replace {memories} in {found.target} with the backup?"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know or do."""
        found = self.restored
        unread = f"The current store cannot be read: {found.problem}"
        again = "Restart processes that had the damaged database open."
        return (*([unread] if found.problem else []), *([] if found.in_place else [again]))

    def as_text(self) -> str:
        """Both stores by project, and what was done."""
        found = self.restored
        here = dict(found.present.projects) if found.present else {}
        there = dict(found.backup.projects)
        names = sorted({*here, *there}, key=lambda name: (-there.get(name, 0), name))
        stores = [("backup", found.backup), *([("now", found.present)] if found.present else [])]
        lines = [
            f"{which}: {counted(one.memories, 'memory', 'memories')}, "
            f"{_day(one.oldest_at)} to {_day(one.newest_at)}"
            for which, one in stores
        ]
        lines += [
            f"{name}: {there.get(name, 0):,} in the backup, {here.get(name, 0):,} now"
            for name in names
        ]
        memories = counted(found.backup.memories, "memory", "memories")
        head = "Would be restored" if self.dry_run else "Restored"
        lines.append(f"{head}: {memories} to {found.target}")
        return "\n".join(
            [*lines, *([f"Previous store saved as {found.kept}"] if found.kept else [])]
        )


@verb(
    noun="admin",
    effect=Effect.REMOVES,
    repeatable=False,
    role=Role.ADMIN,
    on_files=True,
    examples=({"source": "kept.db", "dry_run": True},),
)
def restore(
    wk: Wellkept,
    source: Annotated[str, Arg("A backup.", 1, names="file", metavar="FILE")],
    *,
    dry_run: Annotated[bool, Arg("Only show what would change.")] = False,
    progress: Progress | None = None,
) -> Restored:
    """Replace the store with a backup.

    FILE was written by `wellkept admin backup`, or is an automatic copy. It is checked first. The
    current store is copied beside it, even when damaged. Running processes continue with the
    restored data. The replacement is atomic.
    """
    done = wk.restore(source, dry_run=dry_run, progress=progress)
    return Restored(restored=done, dry_run=dry_run)


@record(kw_only=True)
class Diagnosis:
    """The result of all checks."""

    healthy: bool
    health: DoctorReport

    @property
    def failed(self) -> bool:
        """Whether an error was found."""
        return not self.healthy

    def as_text(self) -> str:
        """Facts, embedders, what was repaired and what is wrong."""
        health = self.health
        used = health.model.model_id if health.model else None
        lines = [f"{name}: {value}" for name, value in health.facts.items()]
        lines.append("")
        for tier in health.tiers:
            mark, can = "→" if tier.model_id == used else " ", "yes" if tier.available else "no"
            lines.append(f"{mark} {tier.name}: {can}, {tier.model_id}, {tier.reason}")
        if health.model is not None:
            seen = health.model
            many = f"; {seen.vectors:,} of {seen.wanted:,} memories have its vectors"
            lines += ["", f"In use: {used or 'text only'} ({seen.reason}){many if used else ''}"]
        lines += [f"repaired: {one.message}" for one in health.mended]
        lines += [f"{one.severity.value}: {one.message}" for one in health.findings]
        return "\n".join(lines if health.findings else [*lines, "No problems found."])


@verb(
    noun="admin",
    effect=Effect.ADDS,
    role=Role.ADMIN,
    on_files=True,
    lenient=True,
    examples=({},),
)
def doctor(
    wk: Wellkept,
    *,
    deep: Annotated[bool, Arg("Check every page and row.")] = False,
    repair: Annotated[bool, Arg("Rebuild derived data, such as indexes.")] = False,
    progress: Progress | None = None,
) -> Diagnosis:
    """Check the installation and the store, and repair problems.

    Exits with 1 when an error was found.
    """
    health = wk.doctor(deep=deep, repair=repair, progress=progress)
    return Diagnosis(healthy=health.healthy, health=health)


# -- Projects -------------------------------------------------------------------------------------


@record(kw_only=True)
class ProjectRow:
    """A project that holds memories."""

    project: str
    memories: int
    here: bool


@record(kw_only=True)
class KnownProjects:
    """Projects, largest first; `note` says why this folder is kept apart from one."""

    items: tuple[ProjectRow, ...]
    here: str
    note: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Why this folder is kept apart."""
        return (self.note,) if self.note else ()

    def as_text(self) -> str:
        """One line each."""
        return "\n".join(f"{one.project}: {one.memories}" for one in self.items)

    def as_table(self) -> Table:
        """Rows for a terminal."""
        rows = [("→" if o.here else "", o.project, str(o.memories)) for o in self.items]
        return Table(("", "project", "memories"), rows, empty="No projects yet.")


@verb(noun="admin", examples=({},))
def projects(wk: Wellkept) -> KnownProjects:
    """List projects with memories."""
    here = wk.project
    return KnownProjects(
        items=tuple(
            ProjectRow(project=name, memories=count, here=name == here)
            for name, count in wk.projects()
        ),
        here=here,
        note=wk.project_note,
    )


@record(kw_only=True)
class Joined:
    """The project that a folder, or another project, was joined to, and how many memories moved.
    `seen` is what the folder would see and bring."""

    project: str
    moved: int
    alias: str = ""
    seen: JoinPreview | None = None
    dry_run: bool = False

    @property
    def question(self) -> str:
        """What is asked first."""
        if self.seen is None:
            return f"Move all memories of {self.alias} to {self.project}?"
        return f"Let {self.seen.folder} read and write {self.project}?"

    @property
    def notes(self) -> tuple[str, ...]:
        """That there was nothing to move."""
        none = f"No memories in {self.alias}. List projects with `wellkept admin projects`."
        return (none,) if self.alias and not self.moved else ()

    def as_text(self) -> str:
        """What the folder would see, and what was done."""
        many, seen = counted(self.moved, "memory", "memories"), self.seen
        if seen is None:
            return f"{'Would move' if self.dry_run else 'Moved'} {many} to {self.project}"
        lines = [f"{self.project} ({seen.reason})"]
        memories = counted(seen.memories, "memory", "memories")
        lines.append(f"  {memories}, {counted(seen.sessions, 'session')}")
        lines += [f"  folder {quoted(one)}" for one in seen.folders]
        lines += [f"  m:{one.short} {quoted(one.content)[:80]}" for one in seen.newest]
        if seen.folders:
            moving = counted(seen.moving, "memory", "memories")
            lines.append(
                f"These folders will read what this one keeps, and the {moving} from here."
            )
        verb = "Would join" if self.dry_run else "Joined"
        return "\n".join([*lines, f"{verb} {self.project}, with {many} from here"])


@verb(
    noun="admin",
    effect=Effect.REMOVES,
    repeatable=False,
    role=Role.ADMIN,
    on_files=True,
    examples=({"merge": "other", "dry_run": True},),
)
def join(
    wk: Wellkept,
    name: Annotated[str, Arg("The project.", names="project", metavar="PROJECT")] = "",
    *,
    merge: Annotated[
        str | None,
        Arg("Make this project another name of one, with its memories.", metavar="ALIAS"),
    ] = None,
    into: Annotated[
        str | None, Arg("With --merge: which. Default: that of this folder.", metavar="PROJECT")
    ] = None,
    dry_run: Annotated[bool, Arg("Only show what would change.")] = False,
) -> Joined:
    """Let this folder use the memory of another project, or merge two projects.

    For a clone without common history, a fork, or a folder that was moved or restored. Shows what
    the folder would see, then asks. Without PROJECT: the one this folder is kept apart from, or was
    in before it was moved. Projects are names, or IDs from `wellkept admin projects`.
    """
    if merge is not None:
        target = into or wk.project
        moved = wk.merge_project(merge, into=target, dry_run=dry_run)
        return Joined(project=target, alias=merge, moved=moved, dry_run=dry_run)
    seen = wk.preview_join(name or None)
    moved = seen.moving if dry_run else wk.join_project(seen.project)
    return Joined(project=seen.project, moved=moved, seen=seen, dry_run=dry_run)
