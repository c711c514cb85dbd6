"""The part of the model store that counts for people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from tests.support.model_store.data import ModelData
from tests.support.model_store.filter import methodology_of, passes
from wellkept.core.clock import to_ms
from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.ports.injections import LineOutcome
from wellkept.core.ports.reports import (
    DayCount,
    FileGroupCount,
    LabelCount,
    LabelName,
    LinesOfDay,
    MemoryGroup,
)
from wellkept.core.query import Filter, confidence_band

_DAY_MS = 86_400_000


class ModelReports(ABC):
    """The `ReportStore` port over plain dictionaries."""

    @property
    @abstractmethod
    def _data(self) -> ModelData: ...

    def replaced_by(self, memory_id: str) -> list[Memory]:
        found = [m for m in self._data.memories.values() if m.superseded_by == memory_id]
        return sorted(found, key=lambda one: (one.created_at, one.id))

    def memory_groups(self, where: Filter) -> list[MemoryGroup]:
        counts = Counter(map(_properties, self._matching(where)))
        return [
            MemoryGroup(
                type=kind,
                source=source,
                band=band,
                methodology=methodology,
                needs_review=review,
                user_verified=verified,
                closed=closed,
                stale=stale,
                archived=archived,
                count=count,
            )
            for (
                kind, source, band, methodology, review, verified, closed, stale, archived
            ), count in counts.items()
        ]  # fmt: skip

    def label_counts(self, where: Filter, kind: LabelName, *, limit: int) -> list[LabelCount]:
        if limit < 0:
            raise UsageError(f"limit must be at least 0, not {limit}.")
        counts = Counter(
            label for memory in self._matching(where) for label in set(_labels(memory, kind))
        )
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return [LabelCount(value, count) for value, count in ordered[:limit]]

    def memories_by_day(
        self, where: Filter, *, since: datetime | None = None, offset_minutes: int = 0
    ) -> list[DayCount]:
        days = Counter(
            _day(memory.created_at, offset_minutes)
            for memory in self._matching(where)
            if since is None or memory.created_at >= since
        )
        return [DayCount(day, count) for day, count in sorted(days.items())]

    def lines_by_day(
        self, *, project: str | None, since: datetime | None = None, offset_minutes: int = 0
    ) -> list[LinesOfDay]:
        lines = [
            (_day(one.at, offset_minutes), line)
            for one in self._data.injections.values()
            if project in (None, one.project) and (since is None or one.at >= since)
            for line in one.lines
        ]
        found: list[LinesOfDay] = []
        for day in sorted({day for day, _ in lines}):
            own = [line for other, line in lines if other == day]
            used = sum(line.outcome is LineOutcome.USED for line in own)
            tokens = sum(line.tokens for line in own)
            found.append(LinesOfDay(day=day, lines=len(own), used=used, tokens=tokens))
        return found

    def count_by_files(
        self, where: Filter, groups: Mapping[str, Sequence[str]]
    ) -> dict[str, FileGroupCount]:
        memories = self._matching(where)
        found: dict[str, FileGroupCount] = {}
        for name, files in groups.items():
            naming = [m for m in memories if not set(files).isdisjoint(m.files)]
            named = set(files) & {file for memory in naming for file in memory.files}
            found[name] = FileGroupCount(len(naming), len(named))
        return found

    def _matching(self, where: Filter) -> list[Memory]:
        return [memory for memory in self._data.memories.values() if passes(memory, where)]


def _properties(memory: Memory):
    return (
        memory.type,
        memory.source,
        confidence_band(memory.confidence),
        methodology_of(memory),
        memory.needs_review,
        memory.user_verified,
        not memory.is_open,
        memory.stale_at is not None,
        memory.archived_at is not None,
    )


def _labels(memory: Memory, kind: LabelName) -> tuple[str, ...]:
    return {"tag": memory.tags, "file": memory.files, "module": memory.modules}[kind]


def _day(moment: datetime, offset_minutes: int) -> int:
    return (to_ms(moment) + offset_minutes * 60_000) // _DAY_MS
