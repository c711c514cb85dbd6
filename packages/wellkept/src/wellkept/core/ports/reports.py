"""Counts over memories and the log of lines given: what a person sees of a whole project.

Counts are joint, so one pass over the rows answers every facet: a caller sums the groups that fit.
Days are whole days since 1970 in the caller's offset from UTC.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from wellkept.core.records import record
from wellkept.core.types import MemoryType, Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wellkept.core.memory import Memory
    from wellkept.core.query import Filter

LabelName: TypeAlias = Literal["tag", "file", "module"]


@record(kw_only=True)
class MemoryGroup:
    """How many memories share all of these properties."""

    type: MemoryType
    source: Source
    band: int
    methodology: str | None
    needs_review: bool
    user_verified: bool
    closed: bool
    stale: bool
    archived: bool
    count: int


@record
class LabelCount:
    """How many memories have a tag, or name a file or module."""

    value: str
    count: int


@record
class DayCount:
    """How many memories were added on a day."""

    day: int
    count: int


@record(kw_only=True)
class LinesOfDay:
    """Lines given on a day, how many of them were used, and their tokens."""

    day: int
    lines: int
    used: int
    tokens: int


@record
class FileGroupCount:
    """Of a group of files: how many memories name one, and how many of the files are named."""

    memories: int
    files: int


class ReportStore(Protocol):
    """Counts for people, and what a memory replaced."""

    def replaced_by(self, memory_id: str) -> list[Memory]:
        """The memories that name this one as their successor, oldest first."""
        ...

    def memory_groups(self, where: Filter) -> list[MemoryGroup]:
        """The memories that match, counted by what a filter can name; in no order."""
        ...

    def label_counts(self, where: Filter, kind: LabelName, *, limit: int) -> list[LabelCount]:
        """The labels of the memories that match, most frequent first, then by name."""
        ...

    def memories_by_day(
        self, where: Filter, *, since: datetime | None = None, offset_minutes: int = 0
    ) -> list[DayCount]:
        """When the memories that match were created, by day, earliest first."""
        ...

    def lines_by_day(
        self, *, project: str | None, since: datetime | None = None, offset_minutes: int = 0
    ) -> list[LinesOfDay]:
        """Lines given, by day, earliest first."""
        ...

    def count_by_files(
        self, where: Filter, groups: Mapping[str, Sequence[str]]
    ) -> dict[str, FileGroupCount]:
        """For each named group of files, the memories that match and name one of them."""
        ...
