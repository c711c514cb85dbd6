"""Shared by all maintenance passes: their report, the log of runs, and safe batch writes.

Invariant: a report of a dry run lists exactly what the same call without `dry_run` would do to
the same store at the same moment. Nothing here decides what should change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, TypeAlias
from urllib.parse import quote

from wellkept.core.changes import Delete, Mark, Rescore
from wellkept.core.clock import from_ms, to_ms
from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, NotFoundError
from wellkept.core.memory import Memory
from wellkept.core.ports.store import KeyValueStore, Store
from wellkept.core.query import Filter, Validity
from wellkept.core.records import record
from wellkept.core.text import counted, first_line
from wellkept.core.types import Progress
from wellkept.core.verbs import Table

Figure: TypeAlias = float | str | None
"""One cell of a report: a number, a word, or nothing."""

SingleChange: TypeAlias = Rescore | Mark | Delete

WRITTEN_AT_ONCE = 5_000


class MaintenanceAction(StrEnum):
    """The maintenance passes."""

    DECAY = "decay"
    PRUNE = "prune"
    ARCHIVE = "archive"
    COMPACT = "compact"
    REFRESH = "refresh"
    RENAME = "rename"
    CONFIDENCE = "confidence"
    MAINTAIN = "maintain"


@record
class MaintenanceItem:
    """One memory that a pass changed, would change, or left alone for a reason.

    `rule` is the short name used for counts; `reason` is the sentence for people. Equal `before`
    and `after` mean that nothing changes. `path` has the ids along which a change spread.
    """

    id: str
    short: str
    title: str
    before: Figure
    after: Figure
    rule: str
    reason: str
    path: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether this is a change, not only a remark."""
        return self.before != self.after


@record(kw_only=True)
class MaintenanceReport:
    """What a pass did, or with `dry_run` would do.

    `removed` holds whole memories that are (to be) deleted, so that a caller can show, export or
    restore them.
    """

    HEADINGS: ClassVar[tuple[str, ...]] = ("id", "memory", "before", "after", "why")
    also_shown = ("changed", "counts")

    action: MaintenanceAction
    dry_run: bool
    examined: int
    items: tuple[MaintenanceItem, ...] = ()
    notes: tuple[str, ...] = ()
    removed: tuple[Memory, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many items there are by rule, in order of first appearance."""
        return dict(Counter(item.rule for item in self.items))

    @property
    def changed(self) -> int:
        """How many memories change."""
        return len({item.id for item in self.items if item.changes})

    @property
    def question(self) -> str:
        """What is asked before memories are deleted or merged."""
        words = {MaintenanceAction.PRUNE: "Delete {} permanently?"}
        words[MaintenanceAction.COMPACT] = "Merge {}?"
        many = counted(self.changed, "memory", "memories")
        return words.get(self.action, "").format(many) if self.changed else ""

    @property
    def ids(self) -> list[str]:
        """The memories that change."""
        return [item.id for item in self.items if item.changes]

    def as_text(self) -> str:
        """What changes, one line each, and how many."""
        return "\n".join([*("  ".join(row) for row in self.rows()), self._summary])

    def as_table(self) -> Table:
        """Rows for a terminal; changes below 0.001 are only counted."""
        listed = zip(self.items, self.rows(), strict=True)
        rows = [row for item, row in listed if not item.changes or row[2] != row[3]]
        tiny = len(self.items) - len(rows)
        more = f"Not listed: {tiny} changes below 0.001. " if tiny else ""
        return Table(self.HEADINGS, rows, foot=f"{more}{self._summary}")

    @property
    def _summary(self) -> str:
        what = "would change" if self.dry_run else "changed"
        return f"{self.action.value}: {self.changed} of {self.examined} {what}"

    def rows(self) -> list[tuple[str, ...]]:
        """The items as cells under `HEADINGS`."""
        return [(i.short, i.title, _cell(i.before), _cell(i.after), i.reason) for i in self.items]


def _cell(figure: Figure) -> str:
    if figure is None or isinstance(figure, str):
        return figure or ""
    return f"{figure:.3f}"


def item_for(
    memory: Memory,
    *,
    before: Figure,
    after: Figure,
    rule: str,
    reason: str,
    path: tuple[str, ...] = (),
) -> MaintenanceItem:
    """The report line of a memory."""
    title = first_line(memory.content, limit=60)
    return MaintenanceItem(memory.id, memory.short, title, before, after, rule, reason, path)


def merge_reports(
    action: MaintenanceAction, reports: Sequence[MaintenanceReport], *, dry_run: bool
) -> MaintenanceReport:
    """Several reports as one; `examined` is the largest, because passes see the same rows."""
    return MaintenanceReport(
        action=action,
        dry_run=dry_run,
        examined=max((r.examined for r in reports), default=0),
        items=tuple(item for r in reports for item in r.items),
        notes=tuple(note for r in reports for note in r.notes),
        removed=tuple(memory for r in reports for memory in r.removed),
    )


def open_in_project(project: str) -> Filter:
    """Open, unarchived memories of a project.

    Memories of scope `user` belong to the project they were taught in, so that two projects never
    maintain the same row.
    """
    return Filter(project=project, include_user=False)


def all_in_project(project: str) -> Filter:
    """All memories of a project, including closed and archived ones."""
    return Filter(project=project, include_user=False, validity=Validity.ANY, archived=None)


# -- Log of runs ----------------------------------------------------------------------------------


@record
class JobRun:
    """When a job last ran for a project, and how many sessions there were by then."""

    at: datetime
    session_count: int | None = None


def last_run(store: KeyValueStore, *, project: str, job: str) -> JobRun | None:
    """The last recorded run of a job, or None when it never ran."""
    value = store.get_value(_namespace(project), job)
    if not isinstance(value, dict):
        return None
    at_ms, sessions = value.get("at_ms"), value.get("session_count")
    if not isinstance(at_ms, int):
        return None
    return JobRun(from_ms(at_ms), sessions if isinstance(sessions, int) else None)


def record_run(store: KeyValueStore, run: JobRun, *, project: str, job: str) -> None:
    """Record that a job runs now."""
    value: dict[str, Json] = {"at_ms": to_ms(run.at), "session_count": run.session_count}
    store.put_value(_namespace(project), job, value)


def _namespace(project: str) -> str:
    return f"maintenance/{quote(project, safe='')}"


# -- Batch writes ---------------------------------------------------------------------------------


def write_each(
    store: Store, changes: Sequence[SingleChange], *, progress: Progress | None = None
) -> set[str]:
    """Apply independent changes in batches; returns the ids that were written.

    A memory that another process changed or deleted meanwhile is skipped.
    """
    written: set[str] = set()
    for start in range(0, len(changes), WRITTEN_AT_ONCE):
        written |= _write_batch(store, changes[start : start + WRITTEN_AT_ONCE])
        if progress:
            progress(min(start + WRITTEN_AT_ONCE, len(changes)), len(changes))
    return written


def _write_batch(store: Store, batch: Sequence[SingleChange]) -> set[str]:
    try:
        store.apply(batch)
    except (ConflictError, NotFoundError):
        if len(batch) == 1:
            return set()
        half = len(batch) // 2
        return _write_batch(store, batch[:half]) | _write_batch(store, batch[half:])
    return {change.id for change in batch}
